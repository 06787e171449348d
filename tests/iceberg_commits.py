"""Commits to an Iceberg table, and what they left behind, as tests look at it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows

import lakebed
from lakebed import iceberg


def appends(location: str, name: str, commits: int, others: bool = False) -> Iterator[int]:
    """A program for `writers.py`: a file in each commit; with `others` one of another kind follows."""
    table = lakebed.open_table(location)
    yield -1
    for number in range(commits):
        file = file_rows(f"data/{name}-{number}.parquet", spec_id=0)
        table = table.append_files(file, merge=number % 2 == 0)
        if others:
            table = _other(table, f"{name}-{number}", number)
        yield number


def _other(table: lakebed.Table, name: str, number: int) -> lakebed.Table:
    """A commit that no data file comes by and none goes."""
    kind, stored = number % 8, metadata(table)
    schemas = {schema["schema-id"]: schema for schema in stored["schemas"]}
    column = schemas[stored["current-schema-id"]]["fields"][0]["name"]
    if kind == 0:
        renamed = lakebed.SchemaChange.rename_column(column, "key" if column == "id" else "id")
        return table.update_schema(renamed)
    if kind == 1:
        if stored["default-spec-id"]:
            return table.update_spec(remove=["part"])
        return table.update_spec(add={"part": f"bucket(2, {column})"})
    if kind == 2:
        table.create_tag("tag", replace="tag" in stored["refs"])
        return table.refresh()
    if kind == 3:
        return table.add_deletes(deletes=file_rows(f"data/{name}-d.parquet", content=1, spec_id=0))
    if kind == 4:
        return table.rewrite_manifests()
    if kind == 5:
        return table.expire_snapshots(timedelta(0), retain_last=20).table
    if kind == 6:
        with table.transaction() as transaction:
            transaction.append_files(file_rows(f"data/{name}-t.parquet", spec_id=0))
            transaction.update_properties({"in": name})
            transaction.delete_files([f"data/{name}-t.parquet"])
        return transaction.table
    return table.update_properties({"last": name})


SCHEMA = pa.schema([("id", pa.int64())])


def empty(folder: Path, kind: str) -> lakebed.Table:
    """A table of the column `id`: of the format version `v1`, `v2` or `v3`, or in a `catalog`."""
    if kind != "catalog":
        return lakebed.create_table(folder / "t", SCHEMA, "iceberg", format_version=int(kind[1:]))
    tables = pytest.importorskip("catalog_tables")
    return lakebed.open_table(tables.sqlite(folder).create_table("db.t", SCHEMA))


def files(*names: str, **columns: Any) -> pa.Table:
    """Rows of data files for a commit."""
    count = len(names)
    paths = [f"data/{name}.parquet" for name in names]
    given = {"file_path": paths, "record_count": [7] * count, "file_size_in_bytes": [1] * count}
    return pa.table(given | columns)


def names(table: lakebed.Table) -> list[str]:
    """The stems of all files."""
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    return sorted(Path(path).stem for path in paths)


def path(table: lakebed.Table, name: str) -> str:
    """The path of the file of that stem."""
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    return str(next(found for found in paths if Path(found).stem == name))


def live(table: lakebed.Table) -> list[str]:
    """The data files."""
    rows = table.files(columns=["file_path", "content"]).to_arrow().to_pylist()
    paths = [row["file_path"] for row in rows if row["content"] == 0]
    return sorted(path.removeprefix(f"{table.location}/") for path in paths)


def as_pyiceberg(table: lakebed.Table) -> Any:
    """The table as PyIceberg opens its newest metadata file."""
    newest = table.metadata_table("metadata_log_entries").to_arrow()["file"][-1].as_py()
    return pytest.importorskip("pyiceberg.table").StaticTable.from_metadata(newest)


def newest_metadata(table: lakebed.Table) -> Path:
    """The latest metadata file there is."""
    folder = Path(table.location, "metadata")
    return max(folder.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))


def metadata(table: lakebed.Table) -> dict[str, Any]:
    """What the latest metadata file says."""
    return iceberg.read_metadata(newest_metadata(table))


def statistics(table: lakebed.Table, path: str) -> dict[str, Any]:
    """A statistics file of the current snapshot, as `set_statistics` takes it."""
    sizes = {"file-size-in-bytes": 1, "file-footer-size-in-bytes": 1}
    return {"snapshot-id": table.snapshot_id, "statistics-path": path, **sizes, "blob-metadata": []}


def metadata_names(table: lakebed.Table) -> set[str]:
    return {path.name for path in Path(table.location, "metadata").iterdir()}
