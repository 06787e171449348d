"""What is timed of plans beside Python: each format's own Java in a warm JVM."""

from __future__ import annotations

import shutil
from pathlib import Path

import iceberg_tables
from corpus import Corpus, MissingInputError
from paimon_tables import java_classpath, java_version
from session import Contestant

_TASKS = {"plan": "all", "plan-partition": "partition", "plan-range": "range"}
"""What its programs call the tasks that it has."""
_SOURCES = Path(__file__).resolve().with_name("peers_java")


def java(corpus: Corpus, task: str, threads: int, cache: Path) -> list[Contestant]:
    """The engine that wrote the table, where a JVM and its jars are there; it has no plan in batches."""
    asked = _TASKS.get(task)
    if asked is None or shutil.which("java") is None:
        return []
    found = _iceberg_jars() if corpus.format == "iceberg" else _paimon_jars(cache)
    if found is None:
        return []
    version, jars = found
    program = str(_SOURCES / f"{corpus.format.capitalize()}Plan.java")
    command = ("java", "-Xmx3g", "-Dlog4j2.level=OFF", "-cp", jars, program, corpus.path, asked, str(threads))
    return [Contestant(f"{corpus.format}-java", task, version, str(threads), command)]


def _iceberg_jars() -> tuple[str, str] | None:
    jars = iceberg_tables.java_classpath()
    return None if jars is None else (iceberg_tables.JAVA_VERSION, jars)


def _paimon_jars(cache: Path) -> tuple[str, str] | None:
    """Those that the generator of its tables is built with."""
    try:
        return java_version(), java_classpath(cache)
    except MissingInputError:
        return None
