"""Snapshots, branches, tags and times of tables of the engine, against its own answers."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lakebed
from iceberg_answers import Row, arrow_type, assert_same_multiset, assert_same_rows, canonical_rows
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import SnapshotNotFoundError


@each_golden_iceberg_table()
def test_snapshots(table: GoldenTable):
    read = table.open().snapshots().to_arrow()
    rows = canonical_rows(read)
    expected = table.rows("snapshots")
    names = list(expected[0]) if expected else []
    assert_same_rows(
        [{name: row[name] for name in names} for row in rows], expected, f"{table.name}, snapshots"
    )
    details = [row for row in table.rows("time_travel") if "operation" in row]
    keys = ["snapshot_id", "parent_id", "operation", "schema_id"]
    got = [{name: row[name] for name in keys} for row in rows]
    assert_same_multiset(
        got, [{name: row[name] for name in keys} for row in details], f"{table.name}, snapshots"
    )


@each_golden_iceberg_table()
def test_snapshots_by_id_and_time(table: GoldenTable):
    opened = table.open()
    for row in table.rows("time_travel"):
        if "as_of_ms" in row:
            as_of(opened, row)
        elif "ref" in row:
            at = opened.at(branch=row["ref"]) if row["type"] == "branch" else opened.at(tag=row["ref"])
            assert at.snapshot_id == row["snapshot_id"]
            assert_schema(table, at, row["schema_id"])
        else:
            at = opened.at(snapshot=row["snapshot_id"])
            assert at.snapshot_id == row["snapshot_id"]
            assert_schema(table, at, row["schema_id_used"])


def as_of(opened: lakebed.Table, row: Row) -> None:
    """The snapshot of a time, or that there is none yet."""
    if isinstance(row["snapshot_id"], str):
        with pytest.raises(SnapshotNotFoundError):
            opened.at(timestamp=row["as_of_ms"])
    else:
        assert opened.at(timestamp=row["as_of_ms"]).snapshot_id == row["snapshot_id"]


def assert_schema(table: GoldenTable, at: lakebed.Table, schema_id: int) -> None:
    """The table has the columns of a schema: it takes them for statistics."""
    columns = [field for field in table.schema(schema_id) if field["type"] != "variant"]
    kinds = {field["name"]: arrow_type(field["type"]) for field in columns}
    scalar = {name: kind for name, kind in kinds.items() if not pa.types.is_nested(kind)}
    stats = at.files(stats=list(scalar)).schema.field("stats").type
    assert {field.name: field.type.field("lower_bound").type for field in stats} == scalar


@each_golden_iceberg_table()
def test_refs(table: GoldenTable):
    expected = [{**row, "type": row["type"].lower()} for row in table.rows("refs")]
    names = list(expected[0]) if expected else []
    rows = canonical_rows(table.open().refs().to_arrow().select(names)) if names else []
    assert_same_multiset(rows, expected, f"{table.name}, refs")


@each_golden_iceberg_table()
def test_schemas(table: GoldenTable):
    rows = {row["schema_id"]: row for row in table.open().schemas().to_arrow().to_pylist()}
    assert list(rows) == [schema["schema-id"] for schema in table.info["schemas"]]
    for schema in table.info["schemas"]:
        got = rows[schema["schema-id"]]["fields"]
        assert [(field["id"], field["name"], field["required"]) for field in got] == [
            (field["id"], field["name"], field["required"]) for field in schema["fields"]
        ]
