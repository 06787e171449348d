"""Fixtures that several tests share, and how a run reports where its data came from."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from java_engine import JavaEngine
from paimon_made import MadeTable

from shared_data import OWN_DATA, SAMPLE_TABLE, SHARED_DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_report_header() -> list[str]:
    pyspark = version("pyspark") if find_spec("pyspark") else "absent"
    absent = f"{OWN_DATA} ({SHARED_DATA} is absent: tests over it are skipped)"
    return [f"test data: {SHARED_DATA if SHARED_DATA.is_dir() else absent}", f"pyspark: {pyspark}"]


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
    import pyspark
    from pyspark.sql import SparkSession

    if pyspark.__version__.startswith("3.") and sys.version_info >= (3, 12):
        pytest.skip(f"PySpark {pyspark.__version__} runs on Python 3.11 and older")
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
    yield from _running("PaimonEngine")


@pytest.fixture(scope="session")
def iceberg_java() -> Iterator[JavaEngine]:
    """Iceberg's, as `paimon_java`."""
    yield from _running("IcebergEngine")


def _running(name: str) -> Iterator[JavaEngine]:
    engine = JavaEngine(name)
    yield engine
    engine.close()
