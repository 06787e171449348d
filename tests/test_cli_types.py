"""Types as `lakebed show` prints them."""

from __future__ import annotations

import pytest
from command_line import output
from iceberg_made import MadeTable

from lakebed._display import readable


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("decimal(9, 2)", "decimal(9, 2)"),
        (
            '{"type": "struct", "fields": [{"id": 1, "name": "a", "required": true, "type": "int"}]}',
            "struct<a: int>",
        ),
        ('{"type": "list", "element-id": 3, "element": "string", "element-required": true}', "list<string>"),
        ('{"type": "map", "key-id": 4, "key": "int", "value-id": 5, "value": "date"}', "map<int, date>"),
        ('{"type": "ARRAY NOT NULL", "element": "INT NOT NULL"}', "array<INT NOT NULL> NOT NULL"),
        (
            '{"type": "MAP", "key": "INT", "value": {"type": "MULTISET", "element": "DATE"}}',
            "map<INT, multiset<DATE>>",
        ),
        ('{"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}', "row<x: INT>"),
        ('{"type": "VECTOR", "element": "FLOAT", "length": 3}', "vector<FLOAT, 3>"),
    ],
)
def test_nested_types_are_readable(text: str, words: str):
    assert readable(text) == words


def test_show_tells_the_format_version_and_nested_types(tmp_path):
    tags = {"type": "list", "element-id": 2, "element": "string", "element-required": False}
    table = MadeTable(tmp_path / "t", (1, "tags", tags))
    shown = output("show", table.root)
    assert "iceberg table, format version 2" in shown
    assert "list<string>" in shown
    assert table.open().format_version == 2
