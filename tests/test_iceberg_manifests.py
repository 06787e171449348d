"""Manifests of the engine against its own answers, and of every writer against fastavro's reading by ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iceberg_peers import (
    ENTRY_COLUMNS,
    Row,
    entry_rows,
    list_rows,
    peer_value,
    rows_of,
)
from iceberg_shared import SharedTable, each_shared_iceberg_table

from iceberg_answers import assert_same_rows, canonical_rows, wanted
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed import iceberg

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


def listed_manifests(table: GoldenTable) -> dict[tuple[str, int | None, int], Row]:
    """Every manifest of every snapshot with its row in a list, once for each way that it is to be read."""
    found = {}
    for row in table.rows("manifest_lists"):
        key = (row["manifest_path"], row["first_row_id"], row["sequence_number"])
        found.setdefault(key, row)
    return found


@each_golden_iceberg_table()
def test_the_engines_answers(table: GoldenTable):
    for manifest in listed_manifests(table).values():
        path = table.file(manifest["manifest_path"])
        listed = {**manifest, "key_metadata": None, "partitions": None}
        read = iceberg.read_manifest(path, listed=listed).to_arrow()
        types = list(read.schema.field("partition").type)
        expected = [
            {**{name: row[name] for name in ENTRY_COLUMNS}, "partition": values(row["partition"], types)}
            for row in table.raw_entries(manifest)
        ]
        rows = [
            {**row, "partition": list(row["partition"].values())}
            for row in canonical_rows(read.select([*ENTRY_COLUMNS, "partition"]))
        ]
        assert_same_rows(rows, expected, f"{table.name}, {path.name}")


def values(partition: list[Row], types: list[pa.Field]) -> list[object]:
    """The values of a partition of the raw entries, in the order of their fields' ids."""
    assert len(partition) == len(types)
    partition = sorted(partition, key=lambda field: int(field["field_id"]))
    return [wanted(field["value"], kind.type) for field, kind in zip(partition, types, strict=True)]


@each_shared_iceberg_table()
def test_fastavro_reads_the_same(table: SharedTable):
    for file in sorted((table.path / "metadata").glob("snap-*.avro")):
        for listed in list_rows(file):
            path = table.file(listed["manifest_path"])
            expected = list(entry_rows(path, listed))
            read = iceberg.read_manifest(path, listed=listed).to_arrow()
            assert_same_rows(rows_of(read), by_position(expected, read), f"{table.name}, {path.name}")


def by_position(rows: list[Row], read: pa.Table) -> list[Row]:
    """Rows of fastavro with their partitions under the names that lakebed gives, in the same order."""
    fields = list(read.schema.field("partition").type)
    return [
        row
        | {
            "partition": {
                field.name: peer_value(value, field.type)
                for field, value in zip(fields, in_order(row["partition"]), strict=True)
            }
        }
        for row in rows
    ]


def in_order(partition: dict[int, object]) -> list[object]:
    return [partition[number] for number in sorted(partition)]


@each_shared_iceberg_table()
def test_without_its_row_in_the_list_a_manifest_is_as_stored(table: SharedTable):
    unknown = {"sequence_number": None, "added_snapshot_id": None, "partition_spec_id": None}
    names = [name for name in ENTRY_COLUMNS if name not in ("spec_id", "first_row_id")]
    for file in manifests(table):
        rows, expected = (
            [{name: row[name] for name in names} for row in some]
            for some in (
                rows_of(iceberg.read_manifest(file).to_arrow()),
                entry_rows(file, {"content": 0, "first_row_id": None, **unknown}),
            )
        )
        assert_same_rows(rows, expected, file.name)


def manifests(table: SharedTable) -> list[Path]:
    """Every manifest of a table that some list names."""
    lists = (table.path / "metadata").glob("snap-*.avro")
    return sorted({table.file(row["manifest_path"]) for file in lists for row in list_rows(file)})
