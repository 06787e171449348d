"""Rows read by every door while lakebed calls Python: a program, since a fault would end its process.

Arguments: a folder for two tables, their format. Prints "read" when all was right.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pyarrow as pa
from file_rows import file_rows
from local_storage import Names, WritableLocalStorage

import lakebed
from lakebed import Table

Format = Literal["iceberg", "paimon"]
FORMATS: list[Format] = ["iceberg", "paimon"]
COLUMNS = ["file_path"]
SCHEMA = pa.schema([("id", pa.int64())])


def made(folder: Path, form: Format, commits: int) -> str:
    """A table with a file of each commit, a manifest each."""
    table = lakebed.create_table(str(folder), SCHEMA, form)
    for number in range(commits):
        name = f"bucket-0/{number}" if form == "paimon" else f"data/{number}.parquet"
        table = table.append_files(file_rows(name))
    return str(folder)


def duck(scan: Any) -> int:
    with duckdb.connect() as connection:
        connection.register("scanned", scan)
        return len(connection.sql("select * from scanned").fetchall())


DOORS: dict[str, Callable[[Any], int]] = {
    "to_arrow": lambda scan: scan.to_arrow().num_rows,
    "to_arrow_batch_reader": lambda scan: scan.to_arrow_batch_reader().read_all().num_rows,
    "pyarrow": lambda scan: pa.table(scan).num_rows,
    "polars": lambda scan: pl.DataFrame(scan).height,
    "duckdb": duck,
}


Contents = list[tuple[str, bool, int | None, int | None]]


class Calling(WritableLocalStorage):
    """A storage whose every method first calls what it is told to, once for each call of lakebed's."""

    def __init__(self) -> None:
        self.inside: Callable[[], None] | None = None
        self.calls = 0

    def _call(self) -> None:
        inside, self.inside = self.inside, None
        if inside is not None:
            self.calls += 1
            inside()
            self.inside = inside

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        self._call()
        return super().read(path, start, end)

    def list(self, prefix: str) -> Names:
        self._call()
        return super().list(prefix)

    def folders(self, prefix: str) -> Names:
        return [name for name in self.list(prefix) if Path(prefix, name).is_dir()]

    def contents(self, prefix: str) -> Contents:
        names = self.list(prefix)
        if not Path(prefix).is_dir():
            raise FileNotFoundError(prefix)
        return [(name, Path(prefix, name).is_dir(), 1, 0) for name in names]

    def modified(self, path: str) -> int | None:
        self._call()
        return int(Path(path).stat().st_mtime * 1000)

    def write(self, path: str, data: bytes) -> None:
        self._call()
        super().write(path, data)

    def remove(self, path: str) -> None:
        self._call()
        super().remove(path)


def outer_calls(location: str, storage: Calling) -> dict[str, Callable[[], object]]:
    """What calls the storage."""
    table = lakebed.open_table(location, storage=storage)
    name = table.metadata_tables[0]
    through = {door: (lambda read=read: read(table.files(columns=COLUMNS))) for door, read in DOORS.items()}
    return through | {
        "open_table": lambda: lakebed.open_table(location, storage=storage),
        "one thread": lambda: table.files(threads=1).to_arrow(),
        "metadata table": lambda: table.metadata_table(name).to_arrow(),
        "find_tables": lambda: lakebed.find_tables(str(Path(location).parent), storage=storage).to_arrow(),
        "orphans": lambda: table.orphans().to_arrow(),
        "avro": lambda: lakebed.avro.read(first_avro(location), storage=storage).to_arrow(),
    }


def first_avro(location: str) -> str:
    return str(min(path for path in Path(location).rglob("*") if is_avro(path)))


def is_avro(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:3] == b"Obj"


def callbacks_read(location: str, other: Table, rows: int) -> None:
    """Storages read another table, by every door, whatever calls them."""
    storage = Calling()
    for name, outer in outer_calls(location, storage).items():
        for door, read in DOORS.items():
            found: list[int] = []
            storage.calls, storage.inside = (
                0,
                lambda read=read, found=found: found.append(read(other.files(columns=COLUMNS))),
            )
            outer()
            storage.inside = None
            assert storage.calls > 0, (name, door)
            assert found == [rows] * storage.calls, (name, door, found)


def commits_read(location: str, form: Format, other: Table, rows: int) -> None:
    """So do generators whose batches are committed, and of Paimon storages that are written to."""
    storage, found = Calling(), list[int]()
    table = lakebed.open_table(location, storage=storage if form == "paimon" else None)

    def inside() -> None:
        found.extend(read(other.files(columns=COLUMNS)) for read in DOORS.values())

    schema = pa.schema(
        [("file_path", pa.string()), ("record_count", pa.int64()), ("file_size_in_bytes", pa.int64())]
    )

    def files() -> Iterator[pa.RecordBatch]:
        inside()
        yield pa.record_batch(
            [["bucket-0/new" if form == "paimon" else "data/new.parquet"], [1], [1]], schema=schema
        )

    storage.inside = inside
    table.append_files(pa.RecordBatchReader.from_batches(schema, files()))
    storage.inside = None
    assert form == "iceberg" or storage.calls > 3
    assert found == [rows] * len(DOORS) * (storage.calls + 1)


def listings_read(location: str, other: Table, rows: int) -> None:
    """So do listings that are generators."""
    schema = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified", pa.timestamp("ms"))])
    found: list[int] = []

    def listing() -> Iterator[pa.RecordBatch]:
        found.extend(read(other.files(columns=COLUMNS)) for read in DOORS.values())
        paths = [str(path) for path in Path(location).rglob("*") if path.is_file()]
        paths.append(f"{location}/bucket-0/nowhere")
        yield pa.record_batch([paths, [1] * len(paths), [0] * len(paths)], schema=schema)

    given = pa.RecordBatchReader.from_batches(schema, listing())
    orphans = lakebed.open_table(location).orphans(listing=given, older_than=timedelta(0)).to_arrow()
    assert orphans["file_path"].to_pylist() == [f"{location}/bucket-0/nowhere"]
    assert found == [rows] * len(DOORS)


def finalisers_and_handlers_read(location: str, other: Table, rows: int) -> None:
    """So do finalisers, which collections run at any time, and handlers of signals."""
    storage, found = Calling(), list[int]()

    class Circle:
        def __init__(self) -> None:
            self.me = self
            self.stream = pa.RecordBatchReader.from_stream(other.files(columns=COLUMNS))

        def __del__(self) -> None:
            found.append(pa.table(other.files(columns=COLUMNS)).num_rows)

    def collect() -> None:
        Circle()
        gc.collect()

    table, storage.inside = lakebed.open_table(location, storage=storage), collect
    assert all(read(table.files(columns=COLUMNS)) for read in DOORS.values())
    assert found == [rows] * storage.calls

    def handler(*_: object) -> None:
        found.extend(read(other.files(columns=COLUMNS)) for read in DOORS.values())

    def signalled() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)

    found.clear()
    signal.signal(signal.SIGUSR1, handler)
    storage.inside = signalled
    assert all(read(table.files(columns=COLUMNS)) for read in DOORS.values())
    assert found
    assert set(found) == {rows}


def main(folder: str, form: Format) -> None:
    outer, rows = made(Path(folder, "outer"), form, 5), 3
    other = lakebed.open_table(made(Path(folder, "other"), form, rows))
    callbacks_read(outer, other, rows)
    listings_read(outer, other, rows)
    finalisers_and_handlers_read(outer, other, rows)
    commits_read(outer, form, other, rows)
    sys.stdout.write("read\n")


if __name__ == "__main__":
    main(sys.argv[1], "paimon" if sys.argv[2] == "paimon" else "iceberg")
