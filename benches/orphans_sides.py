"""What is timed of orphans: finding them by a listing, and removing them.

Run as a program this is the process of one side, `orphans_sides.py SIDE TASK MASTER`, as `readers.serve`
has it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jobs_sides
import jobs_tables
import process_tree
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import readers
from corpus import Corpus

TASKS = ("find", "remove")
SIDES = ("lakebed", "lakebed on Spark", "iceberg")
_FAST = 10**9
"""As many files a second as go: what is timed is not to wait."""


def make_orphans(root: Path) -> None:
    """Has all orphans of a listing be there, as empty files."""
    for region in range(jobs_tables.REGIONS):
        (root / "data" / f"region=region-{region:03}").mkdir(parents=True, exist_ok=True)
    for path in pq.read_table(root / "orphans.parquet")["path"].to_pylist():
        os.close(os.open(path, os.O_CREAT))


def _left(root: Path) -> int:
    """How many files are in the folders of data."""
    return sum(1 for folder in (root / "data").iterdir() for _ in os.scandir(folder))


def _find(root: Path, side: str, spark: Any) -> int:
    """The orphans that there are, of the driver's or Spark's listing."""
    import lakebed
    import lakebed.spark as ls

    if side == "iceberg":
        return _iceberg(root, spark, "true")
    if side == "lakebed":
        scan = lakebed.open_table(root).orphans(listing=pads.dataset(root / "listing.parquet"))
        return sum(batch.num_rows for batch in scan.to_arrow_batch_reader())
    return ls.orphans(spark, str(root), listing=jobs_sides.listing(root, spark)).count()


def _iceberg(root: Path, spark: Any, dry_run: str) -> int:
    """Iceberg's procedure by the same listing."""
    listed = jobs_sides.listing(root, spark).selectExpr("path AS file_path", "modified AS last_modified")
    listed.createOrReplaceTempView("listing")
    table = f"{root.parent.name}.{root.name}"
    call = f"table => '{table}', file_list_view => 'listing', dry_run => {dry_run}"
    return int(spark.sql(f"CALL h.system.remove_orphan_files({call})").count())


def _remove(root: Path, side: str, spark: Any, plan: Path, log: Path) -> int:
    """The files that are removed, by reviewed rows and a fresh look by the same listing."""
    import lakebed
    import lakebed.spark as ls

    if side == "iceberg":
        return _iceberg(root, spark, "false")
    if side == "lakebed":
        listing = pads.dataset(root / "listing.parquet")
        table = lakebed.open_table(root)
        done = lakebed.apply(plan, table, log=log, listing=listing, files_per_second=_FAST)
        return done.counts["removed"]
    rows, listing = spark.read.parquet(str(plan)), jobs_sides.listing(root, spark)
    done = ls.apply(spark, rows, str(root), log=log, listing=listing, files_per_second=_FAST)
    return int(done.filter("outcome = 'removed'").count())


def _planned(root: Path, plan: Path) -> None:
    import lakebed

    scan = lakebed.open_table(root).orphans(listing=pads.dataset(root / "listing.parquet"))
    reader = scan.to_arrow_batch_reader()
    with pq.ParquetWriter(plan, reader.schema) as writer:
        for batch in reader:
            writer.write_table(pa.Table.from_batches([batch]))


def _ready(corpus: Corpus, side: str, task: str, master: str) -> Callable[[], dict[str, Any]]:
    root = Path(corpus.path)
    spark = None
    if side != "lakebed":
        spark = jobs_sides.session(root, master)
    return partial(_measured, root, side, task, spark)


def _measured(root: Path, side: str, task: str, spark: Any) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="bench-orphans-"))
    try:
        run = partial(_find, root, side, spark)
        if task == "remove":
            make_orphans(root)
            _planned(root, folder / "plan.parquet")
            run = partial(_remove, root, side, spark, folder / "plan.parquet", folder / "log")
        watch, before = process_tree.Watch(os.getpid()), process_tree.processor_seconds(os.getpid())
        watch.start()
        start = time.perf_counter()
        found = run()
        seconds = time.perf_counter() - start
        watch.stop()
        after = process_tree.processor_seconds(os.getpid())
        if task == "remove" and (left := _left(root)):
            raise AssertionError(f"{left} files are left")
    finally:
        shutil.rmtree(folder)
    processor = sum(after.values()) - sum(before.values())
    answer = {"rows": None, "found": found, "processor": processor, "most_bytes": watch.peak["all"]}
    return {"seconds": seconds, "load": os.getloadavg()[0], **answer}


if __name__ == "__main__":
    side, task, master = sys.argv[1:]
    readers.serve(partial(_ready, side=side, task=task, master=master))
