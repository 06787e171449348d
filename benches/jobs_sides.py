"""What is timed of jobs: lakebed's views, and what Iceberg's own runtime for Spark has for them.

Run as a program this is the process of one side, `jobs_sides.py SIDE TASK MASTER`: the corpus as JSON on the
first line of standard input, a line of answer when it is ready, then one for each further line.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jobs_paimon
import jobs_tables
import spark_sides

EXPIRED = 0.9
"""The part of all snapshots that expires."""
_FLOOR = ("content", "file_path", "file_format", "file_size_in_bytes")


@contextlib.contextmanager
def restored(root: Path) -> Iterator[None]:
    """Takes away what was committed to a table."""
    metadata, hint = root / "metadata", root / "metadata" / "version-hint.text"
    before, text = set(metadata.iterdir()), hint.read_text()
    yield
    hint.write_text(text)
    for file in set(metadata.iterdir()) - before:
        file.unlink()
    for file in metadata.glob(".version-hint.text.crc"):
        file.unlink()


def expired_ms(snapshots: int) -> int:
    """Before when snapshots expire."""
    return jobs_tables.committed_ms(round(snapshots * EXPIRED))


class Lakebed:
    """The views, from opening the table to the last row."""

    def __init__(self, root: Path, snapshots: int) -> None:
        self._root, self._before = root, expired_ms(snapshots) / 1000

    def run(self, task: str) -> int:
        """Returns: the rows there are, of `expire_plan` the files."""
        import pyarrow.dataset as pads

        import lakebed

        table = lakebed.open_table(self._root)
        match task:
            case "manifests":
                return self._manifests()
            case "orphans":
                return _drained(table.orphans(listing=pads.dataset(self._root / "listing.parquet")))
            case "expire_plan":
                older_than = datetime.fromtimestamp(self._before, timezone.utc)
                return _drained(table.expire_plan(older_than, 1, filter="file_path IS NOT NULL"))
            case "rewrite_manifests":
                with restored(self._root):
                    return table.rewrite_manifests().manifests().to_arrow().num_rows
            case "file_history":
                return _drained(table.file_history(columns=["change", "snapshot_id", "file_path"]))
            case _:
                return _drained(getattr(table, task)())

    def _manifests(self) -> int:
        """Every manifest that some snapshot has, once: the least that jobs can read."""
        import lakebed

        def rows(path: str) -> int:
            read = lakebed.iceberg.read_manifest(path, columns=list(_FLOOR), threads=1)
            return int(read.to_arrow().num_rows)

        paths = (self._root / "metadata").glob("*-m*.avro")
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return sum(threads.map(rows, map(str, paths)))


def _drained(scan: Any) -> int:
    return sum(batch.num_rows for batch in scan.to_arrow_batch_reader())


class Iceberg:
    """Iceberg's procedures and actions, which here delete nothing."""

    def __init__(self, root: Path, snapshots: int, master: str) -> None:
        self._root, self._before = root, expired_ms(snapshots)
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
        from pyspark.sql import SparkSession

        settings = {
            "spark.jars": str(spark_sides.jar("iceberg")),
            "spark.driver.memory": "6g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.h.type": "hadoop",
            "spark.sql.catalog.h.warehouse": str(root.parents[1]),
            "spark.sql.catalog.h.cache-enabled": "false",
            "spark.local.dir": tempfile.gettempdir(),
        }
        builder = SparkSession.builder.master(master).appName("bench of jobs")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("OFF")

    def run(self, task: str) -> int:
        """Returns: as `Lakebed.run`."""
        spark, jvm = self._spark, self._spark._jvm
        assert jvm is not None
        if task == "orphans":
            listed = spark.read.parquet(str(self._root / "listing.parquet"))
            listed = listed.selectExpr("path AS file_path", "modified AS last_modified")
            listed.createOrReplaceTempView("listing")
            name = f"{self._root.parent.name}.{self._root.name}"
            call = f"table => '{name}', file_list_view => 'listing', dry_run => true"
            return len(spark.sql(f"CALL h.system.remove_orphan_files({call})").collect())
        with restored(self._root):
            conf = spark.sparkContext._jsc.hadoopConfiguration()
            table = jvm.org.apache.iceberg.hadoop.HadoopTables(conf).load(str(self._root))
            actions = jvm.org.apache.iceberg.spark.actions.SparkActions.get()
            if task == "expire_plan":
                action = actions.expireSnapshots(table).expireOlderThan(self._before).retainLast(1)
                return int(action.expireFiles().count())
            actions.rewriteManifests(table).execute()
            table.refresh()
            return int(table.currentSnapshot().dataManifests(table.io()).size())


SIDES: dict[str, tuple[str, ...]] = {
    "lakebed": (
        *("manifests", "plan", "reachable", "orphans", "expire_plan"),
        *("growth", "file_history", "rewrite_manifests"),
        *jobs_paimon.TASKS,
    ),
    "iceberg": ("orphans", "expire_plan", "rewrite_manifests"),
    "paimon": jobs_paimon.TASKS,
}
"""Who does which tasks."""


def main() -> None:
    """Answers until standard input ends."""
    side, task, master = sys.argv[1:]
    corpus = json.loads(sys.stdin.readline())
    root, snapshots = Path(corpus["path"]), int(corpus["columns"])
    try:
        run = _ready(side, root, snapshots, master)
        print("{}", flush=True)
        for _ in sys.stdin:
            print(json.dumps(_measured(run, task)), flush=True)
    except Exception as error:  # noqa: BLE001 - a failed side is a result: the report shows its text
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


def _ready(side: str, root: Path, snapshots: int, master: str) -> Callable[[str], tuple[int, float | None]]:
    """What runs a task: how much it found, and its seconds where not all are its own."""

    def run(task: str) -> tuple[int, float | None]:
        if task in jobs_paimon.TASKS:
            return jobs_paimon.run(root, snapshots, task)
        return one.run(task), None

    one = Iceberg(root, snapshots, master) if side == "iceberg" else Lakebed(root, snapshots)
    return run


def _measured(run: Callable[[str], tuple[int, float | None]], task: str) -> dict[str, Any]:
    start, before = time.perf_counter(), os.times()
    found, alone = run(task)
    seconds, after = time.perf_counter() - start, os.times()
    processor = after.user + after.system - before.user - before.system
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    answer = {"rows": None, "found": found, "processor": processor, "most_bytes": most}
    return {"seconds": seconds if alone is None else alone, **answer}


if __name__ == "__main__":
    main()
