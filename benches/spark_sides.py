"""What is timed in Spark: lakebed's views, and the metadata tables and plans of the formats' own runtimes.

Run as a program this is the process of one side, `spark_sides.py SIDE TASK MASTER`, served by `readers`. The
clock runs from opening the table until the rows are in the driver, or written to the sink `noop`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import process_tree
import pyarrow as pa
import readers
from corpus import Corpus
from iceberg_tables import JAVA_VERSION, NEXT_VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_BYTES = 256 << 20
"""What one task reads at most where executors read: some second and a half of decoding."""
_SUMMED = ("record_count", "file_size_in_bytes")
_MAPS = (
    *("column_sizes", "value_counts", "null_value_counts", "nan_value_counts"),
    *("lower_bounds", "upper_bounds"),
)
_COMMON = (
    *("content", "file_path", "file_format", "spec_id", "partition", "record_count", "file_size_in_bytes"),
    *("key_metadata", "split_offsets", "equality_ids", "sort_order_id", "first_row_id"),
    *("referenced_data_file", "content_offset", "content_size_in_bytes"),
)
"""What both sides show of a file besides its statistics."""
_ICEBERG = {"3.5": "iceberg-spark-runtime-3.5_2.12", "4.0": "iceberg-spark-runtime-4.0_2.13"}
_PAIMON = {"3.5": "paimon-spark-3.5"}
PAIMON_VERSION = "0.9.0"
"""The newest of Paimon's runtimes for Spark that can be had."""
_CROSSED = {
    "data sent to Python workers": "to_python_bytes",
    "data returned from Python workers": "from_python_bytes",
    "internal.metrics.shuffle.write.bytesWritten": "shuffle_bytes",
}
_ROWS = "number of output rows"
_EVENTS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    # One file for all of it, also in Spark 4.
    "spark.eventLog.rolling.enabled": "false",
}
"""What a session is made with, and `spark.eventLog.dir`."""


def lakebed(spark: SparkSession, corpus: Corpus, task: str, read: Any = None) -> DataFrame:
    """One of lakebed's views, in its default settings unless Spark is to read."""
    import lakebed
    import lakebed.spark as ls

    table = lakebed.open_table(corpus.path)
    if task == "sum":
        return _sums(ls.files(spark, table, columns=_SUMMED, read=read))
    if task == "partitions":
        columns = ["partition", "file_count", *_SUMMED]
        return ls.partitions(spark, table, columns=columns, read=read)
    if task == "plan":
        return ls.plan(spark, table, read=read)
    if task == "maps":
        return ls.entries(spark, table, columns=[*_COMMON, *_MAPS], read=read)
    return ls.files(spark, table, columns=_COMMON, stats=table.schema.names, read=read)


def iceberg(spark: SparkSession, corpus: Corpus, task: str) -> DataFrame:
    """The same of Iceberg's metadata table `files`."""
    files = spark.read.format("iceberg").load(f"{Path(corpus.path).parents[1]}#files")
    if task == "sum":
        return _sums(files)
    if task == "partitions":
        return _sums(files.groupBy("partition"))
    return files.select(*_COMMON, *(_MAPS if task == "maps" else ("readable_metrics",)))


def iceberg_all(spark: SparkSession, corpus: Corpus, task: str) -> DataFrame:
    """What Iceberg has of its own for a task: `t.partitions`, or all columns of `files`."""
    name = "partitions" if task == "partitions" else "files"
    table = spark.read.format("iceberg").load(f"{Path(corpus.path).parents[1]}#{name}")
    if task == "partitions":
        return table.select("partition", "file_count", "record_count", "total_data_file_size_in_bytes")
    return table


def paimon(spark: SparkSession, corpus: Corpus, task: str) -> DataFrame:
    """Paimon's system table `$files`, and the splits that a read of the table is planned to be."""
    warehouse, name = f"paimon.`{Path(corpus.path).parent.stem}`", Path(corpus.path).name
    if task == "plan":
        splits = spark.table(f"{warehouse}.`{name}`").rdd.getNumPartitions()
        return spark.range(splits)
    files = spark.table(f"{warehouse}.`{name}$files`")
    return _sums(files) if task == "sum" else _sums(files.groupBy("partition"))


def one_row(spark: SparkSession, corpus: Corpus, _: str) -> DataFrame:
    """What nothing is faster than that runs Python in Spark: a row that says how many files there are."""
    making = partial(_make_row, files=corpus.live)
    return spark.range(1, numPartitions=1).mapInArrow(making, "files long, records long, bytes long")


def _make_row(batches: Iterator[pa.RecordBatch], files: int) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"files": [files], "records": [0], "bytes": [0]})


ITS_OWN = "iceberg, its own"
ONE_ROW = "mapInArrow, one row"
SIDES: dict[str, Callable[[Any, Corpus, str], Any]] = {
    "lakebed": lakebed,
    "lakebed, by Spark": partial(lakebed, read="spark"),
    "iceberg": iceberg,
    ITS_OWN: iceberg_all,
    ONE_ROW: one_row,
    "paimon": paimon,
}


def sides(corpus: Corpus, task: str) -> list[str]:
    """Those that can do a task on a table. Iceberg's find tables by their folders, through a hint."""
    found = [side for side in SIDES if side.startswith("lakebed")]
    if jar(corpus.format) is None:
        return found
    if corpus.format == "paimon":
        return [*found, "paimon"]
    if not Path(corpus.path).with_name("version-hint.text").exists():
        return found
    further = {"sum": [ONE_ROW], "partitions": [ITS_OWN], "readable": [ITS_OWN]}
    return [*found, "iceberg", *further.get(task, [])]


def pyspark_version() -> str:
    """That of the PySpark that both sides run in. Its module tells: `PYTHONPATH` may lead to another
    than the one that is installed.
    """
    import pyspark

    return pyspark.__version__


def jar(runtime: str) -> Path | None:
    """A format's runtime for this PySpark, if there is one in Maven's repository."""
    names = {"iceberg": _ICEBERG, "paimon": _PAIMON}[runtime]
    name = names.get(".".join(pyspark_version().split(".")[:2]))
    folder = Path.home() / f".m2/repository/org/apache/{runtime}/{name}"
    releases = {"iceberg": (JAVA_VERSION, NEXT_VERSION), "paimon": (PAIMON_VERSION,)}[runtime]
    found = (folder / release / f"{name}-{release}.jar" for release in releases)
    return next((file for file in found if name and file.is_file()), None)


def release_of(runtime: str) -> str:
    """The release of a format's runtime, of which there is one."""
    found = jar(runtime)
    return "" if found is None else found.parent.name


def _sums(rows: Any) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    frame: DataFrame = rows.agg(F.count("*").alias("file_count"), *(F.sum(name) for name in _SUMMED))
    return frame


def session(master: str, name: str, settings: dict[str, str]) -> SparkSession:
    """A Spark session of this interpreter that logs nothing."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**quiet, "spark.sql.session.timeZone": "UTC", **settings}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _session(side: str, master: str, corpus: Corpus, events: Path) -> SparkSession:
    settings = {
        **_EVENTS,
        "spark.eventLog.dir": events.as_uri(),
        "spark.driver.memory": "3g",
        "spark.sql.shuffle.partitions": "2",
    }
    if not side.startswith("lakebed"):
        settings["spark.jars"] = str(jar(corpus.format))
    if side == "paimon":
        settings["spark.sql.catalog.paimon"] = "org.apache.paimon.spark.SparkCatalog"
        settings["spark.sql.catalog.paimon.warehouse"] = Path(corpus.path).parents[1].as_uri()
    return session(master, f"bench of {side}", settings)


class _Events:
    """The event log of one session, read on from where the last run ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = 0

    def counts(self, spark: Any) -> dict[str, int]:
        """Of tasks that ended since: `tasks`, `step_rows` (the most that a step gave), and bytes by way."""
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        (log,) = self._folder.iterdir()
        text = log.read_text()
        new, self._read = text[self._read :], len(text)
        ended = [json.loads(line) for line in new.splitlines() if '"SparkListenerTaskEnd"' in line]
        rows: dict[int, int] = {}
        found = {"tasks": len(ended), **dict.fromkeys(_CROSSED.values(), 0)}
        for update in (one for event in ended for one in event["Task Info"]["Accumulables"]):
            name, value = update.get("Name"), int(update.get("Update") or 0)
            if name == _ROWS:
                rows[update["ID"]] = rows.get(update["ID"], 0) + value
            elif name in _CROSSED:
                found[_CROSSED[name]] += value
        return {**found, "step_rows": max(rows.values(), default=0)}


def _run(frame: Callable[[], DataFrame], task: str) -> tuple[list[int], int]:
    """What the numbers of all rows add up to, and how many rows there are; nothing of rows not collected."""
    made = frame()
    if task in ("maps", "readable", "plan"):
        made.write.format("noop").mode("overwrite").save()
        return [], 0
    rows = [row[-3:] for row in made.collect()]
    return [sum(column) for column in zip(*rows, strict=True)], len(rows)


def _measured(
    spark: SparkSession, events: _Events, frame: Callable[[], DataFrame], task: str
) -> dict[str, Any]:
    root = os.getpid()
    watch, before = process_tree.Watch(root), process_tree.processor_seconds(root)
    watch.start()
    start = time.perf_counter()
    totals, groups = _run(frame, task)
    seconds = time.perf_counter() - start
    watch.stop()
    after = process_tree.processor_seconds(root)
    counts = events.counts(spark)
    cpu = {name: round(spent - before.get(name, 0), 2) for name, spent in after.items()}
    # What was read is counted in files.
    answer = {"seconds": seconds, "rows": totals[0] if totals else counts["step_rows"], "totals": totals}
    return {**answer, "groups": groups, **counts, "cpu_seconds": cpu, "peak_bytes": watch.peak}


def _ready(
    corpus: Corpus, side: str, task: str, master: str, ends: ExitStack
) -> Callable[[], dict[str, Any]]:
    folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
    spark, events = _session(side, master, corpus, folder), _Events(folder)
    ends.callback(spark.stop)

    def measured() -> dict[str, Any]:
        found = _measured(spark, events, partial(SIDES[side], spark, corpus, task), task)
        if (side, task) == ("paimon", "plan"):
            found["rows"] = corpus.live  # splits have several files each, and are not told apart
        return found

    return measured


def main() -> None:
    """Answers until standard input ends."""
    side, task, master = sys.argv[1:]
    with ExitStack() as ends:
        readers.serve(partial(_ready, side=side, task=task, master=master, ends=ends))


if __name__ == "__main__":
    main()
