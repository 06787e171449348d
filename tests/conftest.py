"""Fixtures that several tests share, and how a run reports where its data came from."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import compared
import covering
import jvm_groups
import pytest
import reported
import spark_sessions
from java_engine import Engine, IcebergEngines, JavaEngine, frugal_jvms
from paimon_made import MadeTable
from paimon_plans import Place
from spark_runtimes import SparkRuntimes, require_python_for_spark
from trust import THOROUGH, Figure

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from shared_data import OWN_DATA, SAMPLE_TABLE, SHARED_DATA, GoldenTable, sample_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_report_header() -> list[str]:
    pyspark = version("pyspark") if find_spec("pyspark") else "absent"
    absent = f"{OWN_DATA} ({SHARED_DATA} is absent: tests over it are skipped)"
    return [
        f"test data: {SHARED_DATA if SHARED_DATA.is_dir() else absent}",
        f"pyspark: {pyspark}",
        *covering.report(),
    ]


_OF_TABLES = (GoldenTable, GoldenIcebergTable, Place)

_FIGURES = pytest.StashKey[list[tuple[str, str]]]()
_COMPARED = pytest.StashKey[int]()
# What a worker tells the process that started it.
_OUTPUT = "lakebed"


@cache
def _by_driver() -> int | None:
    from lakebed.spark import frames

    return frames.SMALL_BYTES


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tables of the tests are small: on Spark executors read them all the same, unless the test is marked."""
    if item.get_closest_marker("spark") is not None:
        from lakebed.spark import frames

        most = _by_driver()
        frames.SMALL_BYTES = most if item.get_closest_marker("by_driver") else None


def is_of_table(item: pytest.Item) -> bool:
    """Whether it is a test of one golden table: which these are depends on the data beside the project."""
    call = getattr(item, "callspec", None)
    return call is not None and any(isinstance(value, _OF_TABLES) for value in call.params.values())


@pytest.fixture
def figure(pytestconfig: pytest.Config) -> Figure:
    """Keeps a goal and what was found for the end of the run."""
    figures = pytestconfig.stash.setdefault(_FIGURES, [])
    return lambda goal, found: figures.append((goal, found))


class Workers:
    """Gathers what pytest-xdist's workers tell at their end."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        figures, values = getattr(node, "workeroutput", {}).get(_OUTPUT, ([], 0))
        node.config.stash.setdefault(_FIGURES, []).extend(map(tuple, figures))
        node.config.stash[_COMPARED] = node.config.stash.get(_COMPARED, 0) + values


# Tests of a file that go to one worker together.
_CHUNK = 150


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is of the long form alone, and gives a worker many tests of one file at once: it opens
    and reads what they share once. Tests of one JVM go to the workers that have it, first of all: some take
    long, and short ones keep all workers busy to the end. Tests of golden tables are marked so.
    """
    for item in filter(is_of_table, items):
        item.add_marker("golden")
    if not THOROUGH and (left_out := [item for item in items if item.get_closest_marker("long")]):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("spark", "jvm"))))
    jvm_groups.assign(items)
    of_file: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            name = item.path.stem
            item.add_marker(pytest.mark.xdist_group(f"{name}-{of_file[name] // _CHUNK}"))
            of_file[name] += 1


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leaves the tests themselves out of what the garbage collector looks through again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    frugal_jvms()
    # NumPy's threads for matrices, which nobody multiplies here, spin in each of thousands of processes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Workers())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    config.stash[_COMPARED] = config.stash.get(_COMPARED, 0) + compared.total()
    if hasattr(config, "workeroutput"):
        config.workeroutput[_OUTPUT] = (config.stash.get(_FIGURES, []), config.stash[_COMPARED])
        return
    if session.exitstatus == pytest.ExitCode.OK and reported.failures(config, _passed(config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _passed(config: pytest.Config) -> int:
    return len(_stats(config).get("passed", []))


def _stats(config: pytest.Config) -> dict[str, list[Any]]:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    return reporter.stats if reporter else {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    stats, passed = _stats(config), _passed(config)
    phases = [report for name in ("", "passed", "failed", "error") for report in stats.get(name, [])]
    sections = {
        "figures": [f"{goal:<40} {found}" for goal, found in config.stash.get(_FIGURES, [])],
        "skipped": reported.skips(str(report.longrepr[2]) for report in stats.get("skipped", [])),
        "slowest files": reported.slowest(phases),
        "not enough": reported.failures(config, passed),
    }
    for name, lines in sections.items():
        if lines:
            terminalreporter.section(name)
            for line in lines:
                terminalreporter.write_line(line)
    terminalreporter.write_line(f"{passed} tests passed, {config.stash.get(_COMPARED, 0):,} values compared")


@pytest.fixture
def sample_table(tmp_path: Path) -> Path:
    """A copy of the sample table that a test may damage."""
    return Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "sample_table"))


@pytest.fixture(params=["paimon", "iceberg"])
def sample(request: pytest.FixtureRequest) -> lakebed.Table:
    """The sample table of each format."""
    return sample_of(request.param)


@pytest.fixture
def made(tmp_path: Path) -> MadeTable:
    """A Paimon table of one column that a test fills."""
    return MadeTable(tmp_path / "t", ("id", "BIGINT"))


@pytest.fixture
def tables() -> Any:
    """Tables in catalogs; where these are absent, the test is skipped."""
    return pytest.importorskip("catalog_tables")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark session for each worker of the run; tests that take it are marked `spark`."""
    require_python_for_spark()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = spark_sessions.begun("local[2]", {}, "ERROR")
    yield session
    session.stop()


AnEngine = TypeVar("AnEngine", Engine, JavaEngine, SparkRuntimes, IcebergEngines)


def _running(engine: Callable[[], AnEngine], scope: Literal["session", "module"]) -> Any:
    """A fixture of an engine, one for each worker or module; tests that take it are marked `jvm`."""

    def running() -> Iterator[AnEngine]:
        started = engine()
        yield started
        started.close()

    return pytest.fixture(scope=scope)(running)


paimon_java = _running(partial(JavaEngine, "PaimonEngine"), "session")
iceberg_javas = _running(IcebergEngines, "session")
# Iceberg's REST catalog, and Paimon's.
rest_java = _running(partial(JavaEngine, "RestCatalogEngine"), "session")
paimon_rest_java = _running(partial(JavaEngine, "PaimonRestEngine"), "module")
# HDFS of one name node and one data node, which takes half a gigabyte.
hdfs_java = _running(partial(JavaEngine, "HdfsEngine"), "module")

# Flink's SQL with Paimon's connector.
flink_java = _running(partial(JavaEngine, "FlinkEngine"), "module")
# The formats' runtimes for Spark 3.5.
spark_runtimes = _running(SparkRuntimes, "session")


@pytest.fixture
def iceberg_java(request: pytest.FixtureRequest, iceberg_javas: IcebergEngines) -> JavaEngine:
    """Iceberg's newest release, or the one that the test is parametrised with."""
    return iceberg_javas.at(getattr(request, "param", None))
