"""The engine's own metadata tables, against that engine's answers, value for value, in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from covering import paimon_tables

import lakebed
from paimon_answers import Row, Schemas, arrow_type, canonical, stand, wanted
from shared_data import GoldenTable, each_golden_paimon_table

# The engine prints the modification time of a folder, which copying does not keep.
_NOT_COMPARABLE = {"branches": {"create_time"}}
# Columns that Paimon 1.4, which gave the answers, has not.
OF_PAIMON_2 = {
    "snapshots": ["operation", "writer_version"],
    "partitions": ["total_buckets", "done", "deleted_record_count"],
    "table_indexes": ["row_range_start", "row_range_end", "index_field_id", "index_field_name"],
}
# The engine takes the statistics of a file with some of the columns for those of the table's first ones.
_BY_POSITION = {"null_value_counts", "min_value_stats", "max_value_stats"}


def _answers() -> Iterator[Any]:
    for table in paimon_tables():
        for file in sorted(table.expected.glob("**/sys/*.jsonl")):
            at, name = file.parent.parent.relative_to(table.expected).as_posix(), file.stem
            yield pytest.param(table, "" if at == "." else at, name, id=f"{table.name}-{at}-{name}")


@pytest.mark.parametrize(("table", "at", "name"), list(_answers()))
def test_system_table(table: GoldenTable, at: str, name: str):
    opened = stand(lakebed.open_table(table.path), at)
    read = opened.metadata_table(name).to_arrow()
    types = {column: arrow_type(_bare(text)) for column, text in _types(table)[name].items()}
    assert read.schema.names == [*types, *OF_PAIMON_2.get(name, [])], f"{table.name}, {at}, ${name}"
    read = read.select(list(types))
    rows = [dict(zip(types, row, strict=True)) for row in zip(*map(canonical, read.columns), strict=True)]
    expected = [
        _expected(table, row, types) for row in table.rows(f"{at}/sys/{name}" if at else f"sys/{name}")
    ]
    skipped = _NOT_COMPARABLE.get(name, set())
    columns = [field["name"] for field in Schemas(table).latest()["fields"]]
    rows, expected = ([_without(row, skipped, columns) for row in some] for some in (rows, expected))
    assert _sorted(rows) == _sorted(expected), f"{table.name}, {at}, ${name}"


@cache
def _types(table: GoldenTable) -> dict[str, dict[str, str]]:
    types: dict[str, dict[str, str]] = json.loads((Path(table.expected) / "sys" / "_types.json").read_text())
    return types


def _bare(text: str) -> str | dict[str, Any]:
    """A type of the answers as schema files spell it."""
    if text.startswith("ARRAY<STRING>"):
        return {"type": "ARRAY", "element": "STRING"}
    if text.startswith("ARRAY<ROW<"):
        fields = [("f0", "STRING"), ("f1", "INT"), ("f2", "INT"), ("_CARDINALITY", "BIGINT")]
        row = {"type": "ROW", "fields": [{"name": name, "type": kind} for name, kind in fields]}
        return {"type": "ARRAY", "element": row}
    return text


def _expected(table: GoldenTable, row: Row, types: dict[str, pa.DataType]) -> Row:
    placed = json.loads(json.dumps(row).replace("${TABLE}", str(table.path)))
    return {name: wanted(placed[name], kind) for name, kind in types.items()}


def _without(row: Row, skipped: set[str], columns: list[str]) -> Row:
    """A row without what is not comparable."""
    written = row.get("write_cols") or []
    if written[: len(columns)] != columns[: len(written)]:
        skipped = skipped | _BY_POSITION
    return {name: value for name, value in row.items() if name not in skipped}


def _sorted(rows: list[Row]) -> list[str]:
    return sorted(map(json.dumps, rows))


@pytest.mark.parametrize("name", OF_PAIMON_2)
@each_golden_paimon_table()
def test_columns_of_paimon_2_are_pypaimons(table: GoldenTable, name: str):
    loader = pytest.importorskip("pypaimon.table.system.system_table_loader")
    peer_table = pytest.importorskip("pypaimon.table.file_store_table")
    # pypaimon counts the buckets that have files; Paimon's Java says how many there are.
    columns = [column for column in OF_PAIMON_2[name] if column not in {"operation", "total_buckets"}]
    key = {"snapshots": "snapshot_id", "partitions": "partition", "table_indexes": "file_name"}[name]
    try:
        peer = loader.load(name, peer_table.FileStoreTable.from_path(str(table.path)))._build_arrow_table()
    except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
        pytest.skip(f"pypaimon cannot read {table.name}: {type(error).__name__}: {error}"[:100])
    ours = lakebed.open_table(table.path).metadata_table(name, columns=[key, *columns]).to_arrow()
    found, expected = (
        {row.pop(key): row for row in some.select([key, *columns]).to_pylist()} for some in (ours, peer)
    )
    # pypaimon prints some values of partitions otherwise.
    both = found.keys() & expected.keys()
    assert len(both) == len(expected) or name == "partitions"
    assert {one: found[one] for one in both} == {one: expected[one] for one in both}
