"""A Paimon table of many snapshots for the bench of jobs, written by lakebed, and the jobs on it.

Each commit adds a manifest of as many files as any other; each fiftieth deletes the files of the oldest
commit there is. The data files are there, empty: Paimon lists folders, and knows no inventory of them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
from jobs_tables import ORPHANS, REGIONS, Sizes

import lakebed

DELETING = 50
"""So many commits for each that deletes."""
TASKS = ("paimon_orphans", "paimon_expire_plan", "paimon_compact_manifests")
_METADATA = ("snapshot", "manifest", "schema")


def made(cache: Path, sizes: Sizes) -> Path:
    """The folder of a table of that size, written unless it is there."""
    root = cache / "paimon" / sizes.name
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        _write(root, sizes)
        (root / "complete").touch()
    return root


def _write(root: Path, sizes: Sizes) -> None:
    columns = [("id", pa.int64()), ("region", pa.string())]
    columns += [(f"c{number}", pa.int64()) for number in range(3, sizes.columns + 1)]
    # Manifests stay as they were committed, and an expiry takes all snapshots at once.
    options = {
        "bucket": "-1",
        "manifest.merge-min-count": str(sizes.snapshots + 1),
        "snapshot.expire.limit": str(sizes.snapshots),
    }
    table = lakebed.create_table(
        root, pa.schema(columns), "paimon", partition_by=["region"], properties=options
    )
    for region in range(REGIONS):
        (root / _bucket(region)).mkdir(parents=True)
    live: list[int] = []
    per_commit = max(1, sizes.files // sizes.snapshots)
    for commit in range(1, sizes.snapshots + 1):
        if commit % DELETING == 0:
            table = table.delete_files(_paths(live.pop(0), per_commit))
        else:
            table = table.append_files(_files(commit, per_commit), check_files=False)
            live.append(commit)
            for path in _paths(commit, per_commit):
                (root / path).touch()
    for path in _paths(sizes.snapshots + 1, min(ORPHANS, per_commit)):
        (root / path).touch()


def _bucket(region: int) -> str:
    return f"region=region-{region:03}/bucket-0"


def _paths(commit: int, count: int) -> list[str]:
    names = (f"data-{commit:08x}-7f1f-4c3a-9d0e-{place:012x}-0.parquet" for place in range(count))
    return [f"{_bucket(place % REGIONS)}/{name}" for place, name in enumerate(names)]


def _files(commit: int, count: int) -> pa.Table:
    regions = [{"region": f"region-{place % REGIONS:03}"} for place in range(count)]
    return pa.table(
        {
            "file_path": _paths(commit, count),
            "record_count": pa.array([1_000 + place for place in range(count)], pa.int64()),
            "file_size_in_bytes": pa.repeat(pa.scalar(1 << 20, pa.int64()), count),
            "partition": pa.array(regions, pa.struct([("region", pa.string())])),
            "bucket": pa.repeat(pa.scalar(0, pa.int32()), count),
        }
    )


@contextmanager
def _copy(root: Path) -> Iterator[Path]:
    """The metadata alone, manifests by links, for what commits or deletes."""
    copy = root.with_name(f"{root.name}-copy-{os.getpid()}")
    try:
        for folder in _METADATA:
            # Hints of snapshots may be written in place, which links would hand on to the table.
            how = os.link if folder == "manifest" else shutil.copy
            shutil.copytree(root / folder, copy / folder, copy_function=how)
        yield copy
    finally:
        shutil.rmtree(copy)


def run(root: Path, snapshots: int, task: str) -> tuple[int, float | None]:
    """How many orphans, snapshots or manifests a task found, and its seconds where not all are its own."""
    if task == "paimon_orphans":
        return _rows(lakebed.open_table(root).orphans(datetime.now(timezone.utc))), None
    with _copy(root) as copy:
        start = time.perf_counter()
        table = lakebed.open_table(copy)
        if task == "paimon_compact_manifests":
            found = _rows(table.rewrite_manifests().manifests())
        else:
            plan = table.expire_plan(timedelta(0), kept(snapshots)).to_arrow_batch_reader()
            found = sum(batch["kind"].to_pylist().count("snapshot") for batch in plan)
        return found, time.perf_counter() - start


def kept(snapshots: int) -> int:
    """So many snapshots stay."""
    return max(1, snapshots // 10)


def _rows(scan: Any) -> int:
    return sum(batch.num_rows for batch in scan.to_arrow_batch_reader())
