"""Files for the table that tests of commits have, and what is in it then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import writers
from object_store import client

from lakebed import Table, open_table

DAY = pa.struct([("day", pa.date32())])
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("name", pa.string())])
FIRST, SECOND = date(2024, 1, 1), date(2024, 1, 2)


def folder(day: date) -> str:
    return f"day={(day - date(1970, 1, 1)).days}/bucket-0"


def files(day: date, *names: str, rows: int = 10) -> pa.Table:
    """Data files of one partition."""
    count = len(names)
    return pa.table(
        {
            "file_path": pa.array([f"{folder(day)}/{name}" for name in names], pa.string()),
            "record_count": pa.array([rows] * count, pa.int64()),
            "file_size_in_bytes": pa.array([100] * count, pa.int64()),
            "partition": pa.array([{"day": day}] * count, DAY),
        }
    )


def every_commit(location: str, writer: str, commits: int) -> Iterator[int]:
    """A program for `writers.py`: appends, each fifth of which is deleted again, and compactions."""
    yield from _every_commit(open_table(location), writer, commits)


def every_commit_on_a_server(address: str, location: str, writer: str, commits: int) -> Iterator[int]:
    """The same to a table in the bucket of an S3 server."""
    yield from _every_commit(open_table(location, storage=client("obstore", address)), writer, commits)


def _every_commit(table: Table, writer: str, commits: int) -> Iterator[int]:
    yield -1

    def rewritten(table: Table, number: int) -> Table:
        return table.rewrite_manifests(sort=number % 8 == 1)

    yield from writers.commits(table, "bucket-0", writer, commits, rewritten)


def names(table: Table) -> list[str]:
    return sorted(table.files(columns=["file_name"]).to_arrow()["file_name"].to_pylist())


def stored(table: Table, name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(table.location, name).read_text("utf-8"))
    return read


def snapshot(table: Table) -> dict[str, Any]:
    return stored(table, f"snapshot/snapshot-{table.snapshot_id}")


def metadata(table: Table) -> dict[str, bytes]:
    """Every metadata file of the table."""
    root = Path(table.location)
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
