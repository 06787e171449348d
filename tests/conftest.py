"""Fixtures that several tests share, and how a run reports where its data came from."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from java_engine import Engine, JavaEngine
from paimon_made import MadeTable
from spark_runtimes import SparkRuntimes, require_python_for_spark

from shared_data import OWN_DATA, SAMPLE_TABLE, SHARED_DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from trust import Figure


def pytest_report_header() -> list[str]:
    pyspark = version("pyspark") if find_spec("pyspark") else "absent"
    absent = f"{OWN_DATA} ({SHARED_DATA} is absent: tests over it are skipped)"
    return [f"test data: {SHARED_DATA if SHARED_DATA.is_dir() else absent}", f"pyspark: {pyspark}"]


_FIGURES = pytest.StashKey[list[tuple[str, str]]]()


@pytest.fixture
def figure(pytestconfig: pytest.Config) -> Figure:
    """Keeps a goal and what was found for the end of the run."""
    figures = pytestconfig.stash.setdefault(_FIGURES, [])
    return lambda goal, found: figures.append((goal, found))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if figures := config.stash.get(_FIGURES, []):
        terminalreporter.section("figures")
        for goal, found in figures:
            terminalreporter.write_line(f"{goal:<40} {found}")


@pytest.fixture
def sample_table(tmp_path: Path) -> Path:
    """A copy of the sample table that a test may damage."""
    return Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "sample_table"))


@pytest.fixture
def made(tmp_path: Path) -> MadeTable:
    """A Paimon table of one column that a test fills."""
    return MadeTable(tmp_path / "t", ("id", "BIGINT"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark session for the whole run; tests that take it are marked `spark`."""
    from pyspark.sql import SparkSession

    require_python_for_spark()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("lakebed tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        # Over a few rows, compiling and re-planning take longer than running.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def paimon_java() -> Iterator[JavaEngine]:
    """Paimon's Java engine, one for the whole run; tests that take it are marked `jvm`."""
    yield from _running(JavaEngine("PaimonEngine"))


@pytest.fixture(scope="session")
def iceberg_java() -> Iterator[JavaEngine]:
    """Iceberg's, as `paimon_java`."""
    yield from _running(JavaEngine("IcebergEngine"))


@pytest.fixture(scope="session")
def spark_runtimes() -> Iterator[SparkRuntimes]:
    """The formats' runtimes for Spark 3.5, as `paimon_java`."""
    yield from _running(SparkRuntimes())


AnEngine = TypeVar("AnEngine", bound=Engine)


def _running(engine: AnEngine) -> Iterator[AnEngine]:
    yield engine
    engine.close()
