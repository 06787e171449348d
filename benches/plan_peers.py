"""What is timed of plans beside Python: each format's own Java in a warm JVM, and the floor."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import rust_peers
from corpus import Corpus, MissingInputError
from paimon_tables import java_classpath, java_version
from session import FLOOR, Contestant

ICEBERG_JAR = (
    Path.home() / ".m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.0_2.13/1.11.0"
    "/iceberg-spark-runtime-4.0_2.13-1.11.0.jar"
)
_SOURCES = Path(__file__).resolve().with_name("peers_java")


def java(corpus: Corpus, task: str, threads: int, cache: Path) -> list[Contestant]:
    """The engine that wrote the table, where a JVM and its jars are there; it has no plan in batches."""
    if task == "stream" or shutil.which("java") is None:
        return []
    found = _iceberg_jars() if corpus.format == "iceberg" else _paimon_jars(cache)
    if found is None:
        return []
    version, jars = found
    program = str(_SOURCES / f"{corpus.format.capitalize()}Plan.java")
    command = ("java", "-Xmx3g", "-Dlog4j2.level=OFF", "-cp", jars, program, corpus.path, task, str(threads))
    return [Contestant(f"{corpus.format}-java", task, version, str(threads), command)]


def _iceberg_jars() -> tuple[str, str] | None:
    """Its Spark runtime from Maven's repository, and Hadoop's classes, which PySpark brings."""
    pyspark = find_spec("pyspark")
    if pyspark is None or not pyspark.submodule_search_locations or not ICEBERG_JAR.is_file():
        return None
    return "1.11.0", f"{ICEBERG_JAR}:{pyspark.submodule_search_locations[0]}/jars/*"


def _paimon_jars(cache: Path) -> tuple[str, str] | None:
    """Those that the generator of its tables is built with."""
    try:
        return java_version(), java_classpath(cache)
    except MissingInputError:
        return None


def floor(corpus: Corpus, task: str) -> list[Contestant]:
    """All manifests inflated and walked on one thread. Raises: MissingInputError: there is no cargo."""
    if task != "all":
        return []
    command = (str(rust_peers.build()), "--serve", FLOOR, "entries", *corpus.manifests)
    return [Contestant(FLOOR, task, "", "1", command)]
