"""What is timed of jobs: lakebed's views, and what Iceberg's own runtime for Spark has for them.

Run as a program this is the process of one side, `jobs_sides.py SIDE TASK MASTER`, as `readers.serve` has it.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import jobs_tables
import readers
import spark_sides
from corpus import Corpus, restored

EXPIRED = 0.9
"""The part of all snapshots that expires."""
_FLOOR = ("content", "file_path", "file_format", "file_size_in_bytes")
PAIMON_TASKS = ("paimon_orphans", "paimon_expire_plan", "paimon_compact_manifests")
SIDES: dict[str, tuple[str, ...]] = {
    "lakebed": (
        *("manifests", "plan", "partitions", "health", "reachable", "orphans", "expire_plan"),
        *("growth", "file_history", "rewrite_manifests"),
        *PAIMON_TASKS,
    ),
    "spark": ("plan", "partitions", "health", "reachable", "orphans"),
    "iceberg": ("partitions", "orphans", "expire_plan", "rewrite_manifests"),
    "paimon": PAIMON_TASKS,
}
"""Who does which tasks."""

Found = tuple[int, "float | None"]
"""How much a task found, and its seconds where not all are its own."""


def _restored(root: Path) -> AbstractContextManager[None]:
    """Takes away what is committed to an Iceberg table meanwhile."""
    return restored(root / "metadata" / "version-hint.text", lambda: [root / "metadata"])


def _expired_ms(snapshots: int) -> int:
    """Before when snapshots expire."""
    return jobs_tables.committed_ms(round(snapshots * EXPIRED))


def kept(snapshots: int) -> int:
    """So many snapshots of a Paimon table stay."""
    return max(1, snapshots // 10)


def _lakebed(root: Path, snapshots: int, task: str) -> Found:
    """The views, from opening the table to the last row: the rows there are, of `expire_plan` the files."""
    import pyarrow.dataset as pads

    import lakebed

    table = lakebed.open_table(root)
    match task:
        case "manifests":
            found = _manifests(root)
        case "orphans":
            found = _drained(table.orphans(listing=pads.dataset(root / "listing.parquet")))
        case "expire_plan":
            older_than = datetime.fromtimestamp(_expired_ms(snapshots) / 1000, timezone.utc)
            found = _drained(table.expire_plan(older_than, 1, filter="file_path IS NOT NULL"))
        case "rewrite_manifests":
            with _restored(root):
                found = table.rewrite_manifests().manifests().to_arrow().num_rows
        case "file_history":
            found = _drained(table.file_history(columns=["change", "snapshot_id", "file_path"]))
        case _:
            found = _drained(getattr(table, task)())
    return found, None


def _manifests(root: Path) -> int:
    """Every manifest that some snapshot has, once: the least that jobs can read."""
    import lakebed

    def rows(path: str) -> int:
        read = lakebed.iceberg.read_manifest(path, columns=list(_FLOOR), threads=1)
        return int(read.to_arrow().num_rows)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return sum(threads.map(rows, map(str, (root / "metadata").glob("*-m*.avro"))))


def _drained(scan: Any) -> int:
    return sum(batch.num_rows for batch in scan.to_arrow_batch_reader())


@contextmanager
def _copy(root: Path) -> Iterator[Path]:
    """The metadata of a Paimon table alone, manifests by links, for what commits or deletes."""
    copy = root.with_name(f"{root.name}-copy-{os.getpid()}")
    try:
        for folder in ("snapshot", "manifest", "schema"):
            # Hints of snapshots may be written in place, which links would hand on to the table.
            how = os.link if folder == "manifest" else shutil.copy
            shutil.copytree(root / folder, copy / folder, copy_function=how)
        yield copy
    finally:
        shutil.rmtree(copy)


def _lakebed_paimon(root: Path, snapshots: int, task: str) -> Found:
    """Orphans, snapshots or manifests."""
    import lakebed

    if task == "paimon_orphans":
        return _drained(lakebed.open_table(root).orphans(datetime.now(timezone.utc))), None
    with _copy(root) as copy:
        start = time.perf_counter()
        table = lakebed.open_table(copy)
        if task == "paimon_compact_manifests":
            found = _drained(table.rewrite_manifests().manifests())
        else:
            plan = table.expire_plan(timedelta(0), kept(snapshots)).to_arrow_batch_reader()
            found = sum(batch["kind"].to_pylist().count("snapshot") for batch in plan)
        return found, time.perf_counter() - start


def _spark(root: Path, _snapshots: int, task: str, spark: Any) -> Found:
    """The views on Spark. Returns: as `_lakebed`."""
    import lakebed.spark

    table = lakebed.spark.open_table(spark, str(root))
    if task == "orphans":
        return table.orphans(listing=listing(root, spark)).count(), None
    return getattr(table, task)().count(), None


def listing(root: Path, spark: Any) -> Any:
    """What is in the table's folders, as a DataFrame."""
    return spark.read.parquet(str(root / "listing.parquet"))


def _iceberg(root: Path, snapshots: int, task: str, spark: Any) -> Found:
    """Iceberg's procedures and actions, which here delete nothing. Returns: as `_lakebed`."""
    jvm = spark._jvm
    if task == "partitions":
        return len(spark.sql(f"SELECT * FROM h.{root.parent.name}.{root.name}.partitions").collect()), None
    if task == "orphans":
        listed = listing(root, spark).selectExpr("path AS file_path", "modified AS last_modified")
        listed.createOrReplaceTempView("listing")
        call = f"table => '{root.parent.name}.{root.name}', file_list_view => 'listing', dry_run => true"
        return len(spark.sql(f"CALL h.system.remove_orphan_files({call})").collect()), None
    with _restored(root):
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        table = jvm.org.apache.iceberg.hadoop.HadoopTables(conf).load(str(root))
        actions = jvm.org.apache.iceberg.spark.actions.SparkActions.get()
        if task == "expire_plan":
            action = actions.expireSnapshots(table).expireOlderThan(_expired_ms(snapshots)).retainLast(1)
            return int(action.expireFiles().count()), None
        actions.rewriteManifests(table).execute()
        table.refresh()
        return int(table.currentSnapshot().dataManifests(table.io()).size()), None


_ON_SPARK = {"spark": _spark, "iceberg": _iceberg}


def session(root: Path, master: str) -> Any:
    """A session with Iceberg's runtime, where there is one, and the table's catalog."""
    quiet = {"spark.driver.memory": "6g", "spark.local.dir": tempfile.gettempdir()}
    jar = spark_sides.jar("iceberg")
    if jar is None:
        return spark_sides.session(master, "bench of jobs", quiet)
    settings = {
        **quiet,
        "spark.jars": str(jar),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.h.type": "hadoop",
        "spark.sql.catalog.h.warehouse": str(root.parents[1]),
        "spark.sql.catalog.h.cache-enabled": "false",
    }
    return spark_sides.session(master, "bench of jobs", settings)


def _ready(corpus: Corpus, side: str, task: str, master: str) -> Callable[[], dict[str, Any]]:
    root, snapshots = Path(corpus.path), corpus.columns
    run = partial(_lakebed_paimon if task in PAIMON_TASKS else _lakebed, root, snapshots, task)
    if side in _ON_SPARK:
        run = partial(_ON_SPARK[side], root, snapshots, task, session(root, master))
    return partial(_measured, run)


def _measured(run: Callable[[], Found]) -> dict[str, Any]:
    start, before = time.perf_counter(), os.times()
    found, alone = run()
    seconds, after = time.perf_counter() - start, os.times()
    processor = after.user + after.system - before.user - before.system
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    answer = {"rows": None, "found": found, "processor": processor, "most_bytes": most}
    return {"seconds": seconds if alone is None else alone, **answer}


if __name__ == "__main__":
    side, task, master = sys.argv[1:]
    readers.serve(partial(_ready, side=side, task=task, master=master))
