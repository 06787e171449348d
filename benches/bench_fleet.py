"""What `lakebed health` of a warehouse of many small tables takes, on a storage that answers late.

Half of the tables are Iceberg's and half Paimon's, of some commits each, by lakebed's own writers. Every
request takes so many milliseconds; the bound on requests at once is that of `lakebed.health`.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from delayed import DelayedFileSystem

import lakebed

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("day", pa.date32())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--commits", type=int, default=4)
    parser.add_argument("--milliseconds", type=float, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = made(Path(folder), asked.tables, asked.commits)
        storage = CountedFileSystem(asked.milliseconds)
        started, processor = time.perf_counter(), time.process_time()
        rows = lakebed.health(tables, storage=storage)
        took, processor = time.perf_counter() - started, time.process_time() - processor
    unread = rows.num_rows - rows["error"].null_count
    print(
        f"{rows.num_rows} tables of {asked.commits} commits, {unread} not read: {took:.2f} s, "
        f"{processor:.2f} s of the processor, {storage.requests} requests of {asked.milliseconds:g} ms"
    )


def made(folder: Path, count: int, commits: int) -> list[str]:
    """The tables of a warehouse."""
    first = written(folder / "paimon_0", "paimon", commits)
    # Its metadata names no folder, so that a copy is a table.
    copies = [shutil.copytree(first, folder / f"paimon_{number}") for number in range(1, count // 2)]
    paimon = [first, *copies]
    iceberg = [written(folder / f"iceberg_{n}", "iceberg", commits) for n in range(count - len(paimon))]
    return [str(table) for table in (*paimon, *iceberg)]


def written(folder: Path, kind: str, commits: int) -> Path:
    table = lakebed.create_table(folder, SCHEMA, kind)
    for number in range(commits):
        path = f"bucket-0/{number}.parquet" if kind == "paimon" else f"data/{number}.parquet"
        row = {"file_path": [path], "record_count": [1000], "file_size_in_bytes": [64 << 20]}
        table = table.append_files(
            pa.table(row | ({"bucket": pa.array([0], pa.int32())} if kind == "paimon" else {}))
        )
    return folder


class CountedFileSystem(DelayedFileSystem):
    """A late storage that counts its requests."""

    def __init__(self, milliseconds: float) -> None:
        super().__init__(milliseconds)
        self.requests = 0

    def wait(self) -> None:
        self.requests += 1
        super().wait()


if __name__ == "__main__":
    main()
