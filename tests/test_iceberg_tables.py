"""Every Iceberg table there is, of whatever writer: it decodes, and other readers see the same entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from iceberg_peers import (
    ENTRY_IDS,
    FILE_IDS,
    LIST_IDS,
    Row,
    entry_rows,
    list_rows,
    metadata,
    partition_names,
    peer_value,
    stored_values,
)

import lakebed
from lakebed.errors import LakebedError
from shared_data import SHARED_DATA, each

if TYPE_CHECKING:
    import pyarrow as pa

VIEWS = [
    "files",
    "entries",
    "manifests",
    "snapshots",
    "refs",
    "schemas",
    "partitions",
    "buckets",
    "deletes",
]
COLUMNS = [*ENTRY_IDS.values(), *FILE_IDS.values(), "spec_id"]
LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class SharedTable:
    """A table's metadata without its data, in a folder other than where it was written."""

    name: str
    path: Path

    @cached_property
    def metadata(self) -> list[Row]:
        """Every metadata file there is."""
        return [metadata(file) for file in sorted((self.path / "metadata").glob("*.metadata.json"))]

    @cached_property
    def relocate(self) -> dict[str, str]:
        """Every prefix that paths of this table's metadata have → the folder."""
        written = set()
        for table in self.metadata:
            for snapshot in table.get("snapshots") or []:
                written |= set(self._manifest_paths(snapshot))
        prefixes = {path.rpartition("/metadata/")[0] for path in written}
        locations = {table["location"] for table in self.metadata if "location" in table}
        return {prefix: str(self.path) for prefix in prefixes | locations}

    def _manifest_paths(self, snapshot: Row) -> Iterator[str]:
        yield from snapshot.get("manifests") or []
        if path := snapshot.get("manifest-list"):
            yield path
            yield from (row["manifest_path"] for row in list_rows(self.file(path)))

    def file(self, written: str) -> Path:
        """Where a metadata file is that is written of."""
        return self.path / "metadata" / written.rpartition("/")[2]

    def open(self) -> lakebed.Table:
        return lakebed.open_table(self.path, relocate=self.relocate)

    def manifests(self, snapshot: Row) -> list[Row]:
        """The records of a snapshot's manifest list; of inline manifests, what is known of them."""
        if path := snapshot.get("manifest-list"):
            return list_rows(self.file(path))
        unknown = dict.fromkeys(LIST_IDS.values())
        known = {"content": 0, "sequence_number": 0, "partition_spec_id": 0}
        return [
            {**unknown, **known, "manifest_path": path, "added_snapshot_id": snapshot["snapshot-id"]}
            for path in snapshot["manifests"]
        ]

    def why_refused(self) -> str | None:
        """What this table has that Iceberg does not allow."""
        ids = [row["snapshot-id"] for table in self.metadata for row in table.get("snapshots") or []]
        return "a snapshot id of more than 64 bits" if any(id_ > LARGEST_ID for id_ in ids) else None


def shared_tables() -> list[SharedTable]:
    root = SHARED_DATA / "iceberg" / "tables"
    folders = sorted(path.parent for path in root.glob("*/metadata"))
    return [SharedTable(str(folder.relative_to(root)), folder) for folder in folders]


def each_table(*, refused: bool = False) -> pytest.MarkDecorator:
    """Parametrises `table` over the tables that can be read, or over those that must be refused."""
    tables = [table for table in shared_tables() if (table.why_refused() is not None) == refused]
    return each("table", tables, [table.name for table in tables], "Iceberg tables")


@each_table(refused=True)
def test_refused_tables(table: SharedTable):
    with pytest.raises(LakebedError) as caught:
        table.open()
    assert str(table.path) in (caught.value.path or "")
    assert len(str(caught.value).splitlines()) == 1


def at_each_snapshot(table: SharedTable) -> Iterator[tuple[lakebed.Table, Row, Row]]:
    """The table at each of its snapshots, with the snapshot and the metadata as they were parsed here."""
    now = table.open()
    current = next(row for row in table.metadata if is_current(row, now))
    for snapshot in current.get("snapshots") or []:
        yield now.at(snapshot=snapshot["snapshot-id"]), snapshot, current


def is_current(parsed: Row, now: lakebed.Table) -> bool:
    """Whether a metadata file speaks of the table as it is."""
    snapshots = [row["snapshot-id"] for row in parsed.get("snapshots") or []]
    return snapshots == now.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()


@each_table()
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_decodes(table: SharedTable, view: str):
    scan = getattr(table.open(), view)()
    read = scan.to_arrow()
    read.validate(full=True)
    assert read.schema == scan.schema


@each_table()
def test_every_metadata_table_decodes(table: SharedTable):
    now = table.open()
    assert now.metadata_tables
    for name in now.metadata_tables:
        scan = now.metadata_table(name)
        read = scan.to_arrow()
        read.validate(full=True)
        assert read.schema == scan.schema, name


@each_table()
def test_fastavro_reads_the_same_manifest_lists(table: SharedTable):
    for at, snapshot, _ in at_each_snapshot(table):
        if path := snapshot.get("manifest-list"):
            expected = list_rows(table.file(path))
            read = lakebed.iceberg.read_manifest_list(table.file(path)).to_arrow()
            assert read.select(list(LIST_IDS.values())).to_pylist() == expected
            paths = at.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
            assert paths == [row["manifest_path"] for row in expected]


@each_table()
def test_fastavro_reads_the_same_entries(table: SharedTable):
    for at, snapshot, current in at_each_snapshot(table):
        read = at.entries().to_arrow()
        types = {field.name: field.type for field in read.schema.field("partition").type}
        names = partition_names(current)
        expected = [
            row | {"partition": partition(row["partition"], names, types)}
            for manifest in table.manifests(snapshot)
            for row in entry_rows(table.file(manifest["manifest_path"]), manifest)
        ]
        assert_same_entries(rows_of(read), expected, f"{table.name}, snapshot {snapshot['snapshot-id']}")


def partition(by_id: dict[Any, Any], names: dict[int, str], types: dict[str, pa.DataType]) -> Row:
    """A partition by field id as one by name, with every field that the table has."""
    values = {names.get(number): value for number, value in by_id.items()}
    return {name: peer_value(values.get(name), kind) for name, kind in types.items()}


def rows_of(read: pa.Table) -> list[Row]:
    """Entries as peers have them."""
    rows = read.select(COLUMNS).to_pylist()
    partitions = read["partition"].combine_chunks()
    columns = {
        field.name: stored_values(column)
        for field, column in zip(partitions.type, partitions.flatten(), strict=True)
    }
    return [
        {name: dict(value) if is_map(name, value) else value for name, value in row.items()}
        | {"partition": {name: values[number] for name, values in columns.items()}}
        for number, row in enumerate(rows)
    ]


def is_map(name: str, value: Any) -> bool:
    return value is not None and re.search(r"_(sizes|counts|bounds)$", name) is not None


def assert_same_entries(rows: list[Row], expected: list[Row], where: str) -> None:
    """The same entries in any order: of which manifest comes first, the format says nothing."""
    rows, expected = (sorted(some, key=_order) for some in (rows, expected))
    for number, (row, answer) in enumerate(zip(rows, expected, strict=False)):
        for name, value in answer.items():
            assert row[name] == value, f"{where}, row {number}, column {name}"
    assert len(rows) == len(expected), where


def _order(row: Row) -> str:
    return f"{row['file_path']} {row['status']} {row['content_offset']} {row['snapshot_id']}"


def _json_files() -> list[Path]:
    return sorted((SHARED_DATA / "iceberg" / "json").glob("*/*.json"))


@each("file", _json_files(), [f"{f.parent.name}-{f.stem}" for f in _json_files()], "Iceberg metadata files")
def test_metadata_files_of_every_writer(file: Path):
    expected = metadata(file)
    if (reason := why_metadata_is_refused(expected)) is None:
        table = lakebed.open_table(file)
        assert (table.format, table.location) == ("iceberg", expected["location"])
        snapshots = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
        assert snapshots == [row["snapshot-id"] for row in expected.get("snapshots") or []]
        assert len(table.schemas().to_arrow()) == len(expected.get("schemas") or [expected.get("schema")])
        return
    with pytest.raises(LakebedError, match=re.escape(reason)) as caught:
        lakebed.open_table(file)
    assert caught.value.path == str(file)
    assert len(str(caught.value).splitlines()) == 1


REQUIRED = {
    1: ["location", "last-updated-ms", "last-column-id"],
    2: ["table-uuid", "location", "schemas", "partition-specs", "sort-orders", "default-sort-order-id"],
    3: ["table-uuid", "location", "schemas", "partition-specs", "sort-orders", "next-row-id"],
}


def why_metadata_is_refused(table: Row) -> str | None:
    """A word of the error that this metadata must give; None where it must be read."""
    version = table["format-version"]
    if version not in REQUIRED:
        return str(version)
    if absent := [key for key in REQUIRED[version] if key not in table]:
        return absent[0]
    schemas = [schema.get("schema-id", 0) for schema in table.get("schemas") or []]
    current = table.get("current-schema-id")
    return str(current) if current is not None and schemas and current not in schemas else None
