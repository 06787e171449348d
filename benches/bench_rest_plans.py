"""Times the plan of a large Iceberg table as a REST catalog answers it: in parts, and as one answer, beside
PyIceberg's own plan. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from session import resident_bytes

import lakebed
from lakebed.iceberg import Planner

SECRET = b"a secret of benches"
SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string())])
REGIONS = 20
EVERY = 10
"""One data file in so many has position deletes of its own."""


def made(folder: Path, files: int, per_manifest: int) -> Path:
    """A table of so many files, with bounds of `id`, in manifests of one partition each."""
    properties = {"commit.manifest-merge.enabled": "false"}
    table = lakebed.create_table(folder, SCHEMA, "iceberg", partition_by=["region"], properties=properties)
    for first in range(0, files, per_manifest):
        numbers = range(first, min(files, first + per_manifest))
        region = f"region-{first // per_manifest % REGIONS:02}"
        paths = [f"{folder}/data/region={region}/{number:07}.parquet" for number in numbers]
        count = len(paths)
        bounds = [{"id": {"lower_bound": one * 1000, "upper_bound": one * 1000 + 999}} for one in numbers]
        rows = {
            "file_path": paths,
            "record_count": [1000] * count,
            "file_size_in_bytes": [123_456] * count,
            "partition": pa.array([{"region": region}] * count),
            "stats": pa.array(bounds),
        }
        table = table.append_files(pa.table(rows))
        deletes = {
            "file_path": [f"{path}-deletes.parquet" for path in paths[::EVERY]],
            "content": [1] * len(paths[::EVERY]),
            "record_count": [10] * len(paths[::EVERY]),
            "file_size_in_bytes": [1234] * len(paths[::EVERY]),
            "partition": pa.array([{"region": region}] * len(paths[::EVERY])),
            "referenced_data_file": paths[::EVERY],
        }
        table = table.add_deletes(deletes=pa.table(deletes))
    return folder


def in_parts(folder: Path, tasks: int) -> Iterator[int]:
    """The sizes of the answers [bytes]: the plan, then each part."""
    planner = Planner(SECRET, tasks_per_part=tasks, parts_per_answer=1 << 20)
    table = lakebed.open_table(folder)
    answer = planner.plan_text(table, {"filter": {"type": "not-null", "term": "id"}})
    yield len(answer)
    for task in json.loads(answer).get("plan-tasks", []):
        # As a server does for each request.
        yield len(planner.fetch_text(lakebed.open_table(folder), {"plan-task": task}))


def at_once(folder: Path, _tasks: int) -> Iterator[int]:
    """The size of one answer [bytes]."""
    yield from in_parts(folder, 1 << 60)


def as_objects(folder: Path, _tasks: int) -> Iterator[int]:
    """How many tasks one answer has, as Python's own objects."""
    yield len(lakebed.open_table(folder).plan(where="id IS NOT NULL").to_rest()["file-scan-tasks"])


def by_pyiceberg(folder: Path, _tasks: int) -> Iterator[int]:
    """How many tasks PyIceberg plans."""
    from pyiceberg.table import StaticTable

    newest = max(folder.glob("metadata/*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    yield len(list(StaticTable.from_metadata(str(newest)).scan(row_filter="id is not null").plan_files()))


SIDES: dict[str, Callable[[Path, int], Iterator[int]]] = {
    "parts": in_parts,
    "whole": at_once,
    "to_rest": as_objects,
    "pyiceberg": by_pyiceberg,
}


def _peak_bytes() -> int:
    # Not `ru_maxrss`, which a new program has of the one before it.
    return resident_bytes(os.getpid(), "VmHWM") or 0


def measured(side: str, folder: Path, tasks: int) -> dict[str, Any]:
    """One side, in this process."""
    if side == "pyiceberg":
        import pyiceberg.table  # noqa: F401 - its import is no part of the plan
    before, start = _peak_bytes(), time.perf_counter()
    times, sizes = [], []
    for size in SIDES[side](folder, tasks):
        times.append(time.perf_counter() - start)
        sizes.append(size)
    return {
        "first": times[min(1, len(times) - 1)],
        "all": times[-1],
        "answers": len(sizes),
        "largest": max(sizes),
        "peak": _peak_bytes() - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--per-manifest", type=int, default=2_000)
    parser.add_argument("--tasks", type=int, default=2_000, help="of a part")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(measured(given.side, given.table, given.tasks)))
        return
    print(f"{lakebed._native.BUILD_PROFILE} build, {given.files:,} files, {given.tasks:,} tasks of a part")
    with tempfile.TemporaryDirectory() as folder:
        table = made(Path(folder) / "t", given.files, given.per_manifest)
        for side in given.sides.split(","):
            asked = ("--side", side, "--table", str(table), "--tasks", str(given.tasks))
            runs = [
                json.loads(subprocess.check_output([sys.executable, __file__, *asked], text=True))
                for _ in range(given.repeats)
            ]
            best = min(runs, key=lambda run: run["all"])
            print(
                f"{side:10} first {best['first']:7.3f} s  all {best['all']:7.3f} s  "
                f"answers {best['answers']:4}  largest {best['largest']:>12,}  "
                f"peak {best['peak'] >> 20:5} MiB"
            )


if __name__ == "__main__":
    main()
