"""The engine's own metadata tables, against that engine's answers, value for value, in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from covering import paimon_tables

import lakebed
from paimon_answers import Row, Schemas, arrow_type, canonical, stand, wanted

if TYPE_CHECKING:
    import pyarrow as pa

    from shared_data import GoldenTable

# The engine prints the modification time of a folder, which copying does not keep.
_NOT_COMPARABLE = {"branches": {"create_time"}}
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
    assert read.schema.names == list(types), f"{table.name}, {at}, ${name}"
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
