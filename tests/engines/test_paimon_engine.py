"""Paimon's Java engine over golden tables: that it answers what it answered when they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from paimon_answers import Row, assert_rows, by_file
from shared_data import GoldenTable, each_golden_paimon_table

if TYPE_CHECKING:
    from java_engine import JavaEngine

pytestmark = pytest.mark.jvm

# An answer → the column that names its files, and where `read` has them.
STORED = {
    "lists": ("list", "lists"),
    "entries": ("manifest", "manifests"),
    "index_entries": ("index_manifest", "index_manifests"),
}
# What the answers have besides: the file, and values decoded by their types.
DECODED = {"pos", "partition", "min_key", "max_key", "cols", "evolved", "deleted_positions"}


@each_golden_paimon_table()
def test_java_answers_what_it_answered(table: GoldenTable, paimon_java: JavaEngine):
    read = paimon_java.ask("read", table=table.path)
    for answers, (key, part) in STORED.items():
        if not (table.expected / f"{answers}.jsonl").is_file():
            continue
        expected = dict(by_file(table.rows(answers), key))
        assert read[part].keys() == expected.keys()
        for name, rows in expected.items():
            stored = [_stored(row, key) for row in rows if row["pos"] is not None]
            assert_rows(read[part][name], stored, f"{table.name}, {name}")
    for name, rows in read["system"].items():
        if (table.expected / "sys" / f"{name}.jsonl").is_file():
            expected_rows = sorted(map(_plain, table.rows(f"sys/{name}")), key=repr)
            assert_rows(sorted(map(_plain, rows), key=repr), expected_rows, f"{table.name}, {name}")
        elif (table.expected / "sys" / f"{name}.error").is_file():
            assert "error" in rows, f"{table.name}, {name}"


def _stored(value: Any, key: str = "") -> Any:
    """A row of the answers as `read` has it: bytes as they are stored."""
    if isinstance(value, dict):
        left_out = {*DECODED, key, "role"}
        return {name: _stored(part) for name, part in value.items() if name not in left_out}
    return [_stored(part) for part in value] if isinstance(value, list) else value


def _plain(row: Row) -> Row:
    """A row of a metadata table without times and lists, whose texts differ in digits and brackets."""
    return {
        name: value
        for name, value in row.items()
        if not name.endswith("time") and not isinstance(value, list) and not str(value).startswith("[")
    }
