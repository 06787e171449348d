"""What is timed of plans. Run as a program this is the process of one Python reader."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readers import Reader, Rows, Run, serve, tables
from session import Contestant

if TYPE_CHECKING:
    from corpus import Corpus

PARTITION = (
    "region = 'region-007' AND event_ts >= '2024-10-08T00:00:00+00:00'"
    " AND event_ts < '2024-10-09T00:00:00+00:00'"
)
RANGE = "id = 123450001"
FILTERS = {"all": None, "stream": None, "partition": PARTITION, "range": RANGE}
"""The filter of each task; `peers_java/IcebergPlan.java` has the same."""
ICEBERG_JAR = (
    Path.home() / ".m2/repository/org/apache/iceberg/iceberg-spark-runtime-4.0_2.13/1.11.0"
    "/iceberg-spark-runtime-4.0_2.13-1.11.0.jar"
)


def _lakebed(task: str, threads: int | None) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        import lakebed

        def run() -> tuple[Rows, Any]:
            table = lakebed.open_table(corpus.path)
            if task == "stream":
                plan = table.plan(threads=threads).to_arrow_batch_reader()
                return sum(batch.num_rows for batch in plan), None
            return tables([table.plan(where=FILTERS[task], deletes="ids", threads=threads).to_arrow()])

        return run

    return prepare


def _pyiceberg(task: str) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        from pyiceberg.table import StaticTable

        def run() -> tuple[Rows, Any]:
            table = StaticTable.from_metadata(corpus.path)
            scan = table.scan() if FILTERS[task] is None else table.scan(row_filter=FILTERS[task])
            tasks = list(scan.plan_files())
            return len(tasks), tasks

        return run

    return prepare


READERS = [
    reader
    for task in FILTERS
    for reader in (
        Reader("lakebed", task, "lakebed", "1", _lakebed(task, 1)),
        Reader("lakebed, all cores", task, "lakebed", "all", _lakebed(task, None)),
        Reader("pyiceberg", task, "pyiceberg", "all (GIL)", _pyiceberg(task)),
    )
]
"""All of them in Python, in the order in which they are reported."""


def contestants(corpus: Corpus, task: str, java_threads: int) -> list[Contestant]:
    """The readers of one task; Iceberg's Java where Java, its Spark runtime and PySpark's jars are there."""
    program = str(Path(__file__).resolve())
    greeting = json.dumps(asdict(corpus))
    found = [
        Contestant(
            reader.label,
            task,
            reader.version,
            reader.threads,
            (sys.executable, program, reader.label, task),
            greeting,
        )
        for reader in READERS
        if reader.task == task
    ]
    java = _java_command(corpus, task, java_threads)
    if java:
        found.append(Contestant("iceberg-java", task, "1.11.0", str(java_threads), java))
    return found


def _java_command(corpus: Corpus, task: str, threads: int) -> tuple[str, ...] | None:
    pyspark = find_spec("pyspark")
    if shutil.which("java") is None or pyspark is None or not pyspark.submodule_search_locations:
        return None
    if not ICEBERG_JAR.is_file():
        return None
    jars = f"{ICEBERG_JAR}:{pyspark.submodule_search_locations[0]}/jars/*"
    program = str(Path(__file__).with_name("peers_java") / "IcebergPlan.java")
    quiet = "-Dlog4j2.level=OFF"
    return ("java", "-Xmx3g", quiet, "-cp", jars, program, corpus.path, task, str(threads))


if __name__ == "__main__":
    serve(READERS)
