"""Small tables, what lies in their folders, and what a job says of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exchanging import exchanged
from json_files import edited

import lakebed
from lakebed import Table
from lakebed.errors import LocationError

ROWS = pa.table({"id": [1, 2]})
OLD = datetime(2020, 1, 1, tzinfo=timezone.utc)
NOW = timedelta(0)


def data(folder: Path, name: str) -> str:
    """A file of rows, by its path."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(ROWS, file)
    return str(file)


def iceberg(folder: Path, *names: str, **properties: str) -> Table:
    """An Iceberg table with these files, which may be elsewhere."""
    table = lakebed.create_table(folder, ROWS.schema, "iceberg", properties=properties)
    return added(table, *(data(folder, name) for name in names))


def added(table: Table, *paths: str) -> Table:
    """An Iceberg table with more files."""
    for path in paths:
        table = table.append_files(lakebed.describe_file(table, path, ROWS))
    return table


def paimon(folder: Path, *names: str, **options: str) -> Table:
    """A Paimon table with these files, in its bucket or at full paths."""
    table = lakebed.create_table(folder, ROWS.schema, "paimon", properties={"bucket": "-1", **options})
    for name in names:
        file = lakebed.describe_file(table, data(folder, name), ROWS, columns={"bucket": 0})
        table = table.append_files(file)
    return table


def either(format_: str, folder: Path, *names: str) -> Table:
    """A table of that format with files of these names, in the folder where the format has them."""
    make, within = (paimon, "bucket-0") if format_ == "paimon" else (iceberg, "data")
    return make(folder, *(f"{within}/{name}.parquet" for name in names))


def manifests_of(table: Table) -> list[Path]:
    """The manifests in a table's folder."""
    folder = Path(table.location)
    return [*folder.glob("manifest/manifest-[!l]*"), *folder.glob("metadata/*-m*.avro")]


def shared(folder: Path, of_paimon: str, of_iceberg: str) -> Table:
    """A Paimon table in whose folder an Iceberg table is too: other writers make that, lakebed does not."""
    iceberg(folder, of_iceberg)
    aside = folder.with_name("aside")
    folder.rename(aside)
    table = paimon(folder, of_paimon)
    shutil.copytree(aside, folder, dirs_exist_ok=True)
    shutil.rmtree(aside)
    return table


def newest(table: Table) -> Path:
    """The newest metadata file of an Iceberg table."""
    return max(Path(table.location, "metadata").glob("v*.metadata.json"))


def changed(table: Table, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the newest metadata file of an Iceberg table."""
    with edited(newest(table)) as metadata:
        change(metadata)


def lost(*files: Path | str) -> list[str]:
    """Files that nothing names."""
    for file in map(Path, files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"lost")
    return sorted(map(str, files))


def found(scan: lakebed.Scan) -> list[str]:
    return sorted(path for path in scan.to_arrow()["file_path"].to_pylist() if path is not None)


def listing(paths: Sequence[str], modified: datetime | Sequence[datetime] = OLD, **columns: Any) -> pa.Table:
    times = [modified] * len(paths) if isinstance(modified, datetime) else list(modified)
    times = pa.array(times, pa.timestamp("us", "UTC"))
    sizes = pa.array([4] * len(paths), pa.int64())
    return pa.table({"path": pa.array(paths, pa.string()), "size": sizes, "modified": times, **columns})


def lying(*folders: Path) -> list[str]:
    return sorted(str(file) for folder in folders for file in folder.rglob("*") if file.is_file())


def refused(table: Table, given: pa.Table, message: str) -> None:
    """Neither one process nor several find orphans by a listing."""
    with pytest.raises(LocationError, match=message):
        found(table.orphans(listing=given))
    with pytest.raises(LocationError, match=message):
        exchanged(table.orphans(listing=given), listed=True)


def agreed(table: Table, given: pa.Table) -> list[str]:
    """The orphans by a listing, which several processes find too."""
    scan = table.orphans(listing=given, columns=["file_path"])
    paths = found(scan)
    assert len(exchanged(scan, listed=True)) == len(paths)
    return paths
