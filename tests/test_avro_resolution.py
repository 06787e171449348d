"""Reading as another schema: each rule of "Schema Resolution", what does not resolve, what it costs."""

from __future__ import annotations

import io
import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from raising import raises

from lakebed import avro
from lakebed.errors import CorruptError, LimitError, SchemaError, UnsupportedError


def record(*fields: dict[str, Any], name: str = "r", **more: Any) -> dict[str, Any]:
    """A record schema."""
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(kind: Any, name: str = "a", **more: Any) -> dict[str, Any]:
    """A field of it."""
    return {"name": name, "type": kind, **more}


def written(schema: Any, *records: Any) -> bytes:
    """An Avro file."""
    file = io.BytesIO()
    fastavro.writer(file, schema, records)
    return file.getvalue()


def resolved(writer: Any, reader: Any, *values: Any, **more: Any) -> list[Any]:
    """The values of a field of type `writer`, read as `reader`."""
    data = written(record(field(writer)), *({"a": value} for value in values))
    table = avro.read(data, schema=record(field(reader, **more))).to_arrow()
    table.validate(full=True)
    rows: list[Any] = table["a"].to_pylist()
    return rows


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def enum(*symbols: str, name: str = "e", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": symbols, **more}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def fixed(size: int, name: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


@pytest.mark.parametrize(
    ("writer", "reader", "values", "expected"),
    [
        ("int", "long", [-(1 << 31), 7], [-(1 << 31), 7]),
        ("int", "float", [16777217], [16777216.0]),
        ("int", "double", [16777217], [16777217.0]),
        ("long", "float", [1 << 60], [float(1 << 60)]),
        ("long", "double", [(1 << 53) + 1], [float(1 << 53)]),
        ("float", "double", [0.5, -1.25], [0.5, -1.25]),
        ("string", "bytes", ["é"], ["é".encode()]),
        ("bytes", "string", ["é".encode()], ["é"]),
        (array("int"), array("long"), [[1, 2], []], [[1, 2], []]),
        (array(["null", "int"]), array(["null", "long"]), [[1, None]], [[1, None]]),
        (map_of("int"), map_of("double"), [{"k": 1}], [[("k", 1.0)]]),
        (enum("A", "B"), enum("B", "A"), ["A", "B"], ["A", "B"]),
        (enum("A", "B", "C"), enum("C", "D", default="D"), ["A", "C"], ["D", "C"]),
        (fixed(2), fixed(2, "n.x"), [b"ab"], [b"ab"]),
        (fixed(2), fixed(2, "y", aliases=["x"]), [b"ab"], [b"ab"]),
        (enum("A", name="old.e"), enum("A", name="new", namespace="n", aliases=["old.e"]), ["A"], ["A"]),
        ("long", logical("long", "timestamp-micros"), [0], [EPOCH]),
    ],
)
def test_values_of_one_type_are_read_as_another(writer: Any, reader: Any, values: Any, expected: Any):
    assert resolved(writer, reader, *values) == expected


@pytest.mark.parametrize(
    ("writer", "reader", "values", "expected"),
    [
        ("int", ["null", "int"], [1], [1]),
        ("null", ["null", "string"], [None], [None]),
        ("null", [record(field("int"), name="n"), "null"], [None], [None]),
        (["null", "int"], ["long", "null"], [None, 3], [None, 3]),
        (["null", "int"], "long", [4], [4]),
        (["int", "string"], "bytes", ["s"], [b"s"]),
        (["int", "string"], ["string", "long", "boolean"], ["s", 5], ["s", 5]),
        (["int", "string", "null"], ["null", "bytes"], ["s", None], [b"s", None]),
        ("int", ["string", "double", "float"], [1], [1.0]),
        # The same type goes before one it would be promoted to.
        ("int", ["double", "int"], [1], [1]),
        (["double", "int"], ["double", "int"], [("int", 1), 2.5], [1, 2.5]),
        (["null", "int", "string"], ["string", "null", "int"], [None, 1, "s"], [None, 1, "s"]),
        (
            array(["int", "null", "string"]),
            array(["null", "int", "string"]),
            [[1, None, "s"]],
            [[1, None, "s"]],
        ),
    ],
)
def test_unions_resolve_branch_by_branch(writer: Any, reader: Any, values: Any, expected: Any):
    found = resolved(writer, reader, *values)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


INNER = record(field("int"), field("string", "b", default="own"), name="inner")


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("int", -5, -5),
        ("long", 1 << 62, 1 << 62),
        ("float", 1, 1.0),
        ("double", -2.5, -2.5),
        ("string", "é\u0100", "é\u0100"),
        ("bytes", "\u00ff\u0000a", b"\xff\x00a"),
        (fixed(2), "\u00ff\u0001", b"\xff\x01"),
        (enum("A", "B"), "B", "B"),
        (array("int"), [1, 2], [1, 2]),
        (array(array("null")), [[None], []], [[None], []]),
        (map_of("string"), {"k": "v"}, [("k", "v")]),
        (INNER, {"a": 1, "b": "given"}, {"a": 1, "b": "given"}),
        (INNER, {"a": 1}, {"a": 1, "b": "own"}),
        (["null", "int"], None, None),
        (["int", "null"], 7, 7),
        # Any branch, since version 1.12.
        (["null", "int"], 7, 7),
        (["int", "string", "null"], "s", "s"),
        (logical("bytes", "decimal", precision=4, scale=2), "\u0001\u0000", Decimal("2.56")),
        (logical("int", "date"), 0, datetime(1970, 1, 1).date()),
        ([logical("long", "timestamp-millis"), "null"], 0, EPOCH),
    ],
)
def test_a_field_that_only_the_reader_has_takes_its_default(kind: Any, default: Any, expected: Any):
    data = written(record(field("int", "w")), {"w": 1}, {"w": 2})
    reader = record(field(kind, "d", default=default), field("int", "w"))
    table = avro.read(data, schema=reader).to_arrow()
    table.validate(full=True)
    assert table.to_pylist() == [{"d": expected, "w": 1}, {"d": expected, "w": 2}]


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("int", 1 << 31),
        ("int", 1.5),
        ("long", "1"),
        ("boolean", 0),
        ("null", 0),
        ("string", 5),
        ("bytes", "\u0100"),
        (fixed(2), "a"),
        (enum("A"), "B"),
        (array("int"), {"a": 1}),
        (array("int"), [None]),
        (INNER, {"b": "x"}),
        (["null", "int"], "x"),
    ],
)
def test_a_default_that_is_no_value_of_its_type_is_refused(kind: Any, default: Any):
    data = written(record(field("int", "w")), {"w": 1})
    with raises(SchemaError, match="default", kind="schema") as refused:
        avro.read(data, schema=record(field("int", "w"), field(kind, "d", default=default))).to_arrow()
    assert (refused.value.field or "").startswith("d")


def test_fields_go_by_name_then_by_alias():
    data = written(record(field("int", "a"), field("int", "b"), field("int", "c")), {"a": 1, "b": 2, "c": 3})
    reader = record(field("long", "z", aliases=["a", "b"]), field("int", "a"), name="new", aliases=["r"])
    assert avro.read(data, schema=reader).to_arrow().to_pylist() == [{"z": 2, "a": 1}]


def test_names_match_without_their_namespace():
    data = written(record(field("int"), namespace="one"), {"a": 1})
    assert avro.read(data, schema=record(field("int"), namespace="two")).to_arrow().to_pylist() == [{"a": 1}]
    with pytest.raises(SchemaError, match=r"\(record one.r\).*\(record s\)"):
        avro.read(data, schema=record(field("int"), name="s")).to_arrow()


def test_a_schema_is_json_text_or_its_values():
    data = written(record(field("int")), {"a": 1})
    reader = record(field("double"))
    assert avro.read(data, schema=json.dumps(reader)).to_arrow() == avro.read(data, schema=reader).to_arrow()
    assert avro.read(data, schema=avro.read_schema(data)).to_arrow() == avro.read(data).to_arrow()
    found = avro.read(written("int", 1, 2), schema='"long"').to_arrow().to_pylist()
    assert found == [{"value": 1}, {"value": 2}]
    assert avro.read(written("int", 1), schema="long").to_arrow().to_pylist() == [{"value": 1}]
    assert avro.read(written("int", 1), schema=["null", "long"]).to_arrow()["value"].to_pylist() == [1]


def test_columns_are_paths_of_the_readers_schema():
    writer = record(field(record(field("int"), field("int", "b"), name="n"), "old"), field("string", "s"))
    data = written(writer, {"old": {"a": 1, "b": 2}, "s": "x"})
    inner = record(field("long", "c", aliases=["a"]), field("int", "d", default=9), name="n")
    reader = record(field(inner, "new", aliases=["old"]), field("bytes", "s"))
    read = avro.read(data, columns=["s", "new.d"], schema=reader).to_arrow()
    assert read.to_pylist() == [{"s": b"x", "new": {"d": 9}}]
    assert avro.read(data, columns=["new.c"], schema=reader).to_arrow().to_pylist() == [{"new": {"c": 1}}]
    with pytest.raises(SchemaError, match="old"):
        avro.read(data, columns=["old"], schema=reader).to_arrow()


def test_what_is_not_wanted_is_not_resolved():
    data = written(record(field("string"), field("int", "b")), {"a": "x", "b": 1})
    reader = record(field("int"), field("int", "b"), field("int", "c"))
    assert avro.read(data, columns=["b"], schema=reader).to_arrow().to_pylist() == [{"b": 1}]
    with pytest.raises(SchemaError):
        avro.read(data, schema=reader).to_arrow()


DECIMAL = logical("bytes", "decimal", precision=5, scale=2)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("long", "int"),
        ("double", "float"),
        ("int", "string"),
        ("int", "boolean"),
        (fixed(2), fixed(3)),
        (fixed(2), fixed(2, "y")),
        (fixed(2), "bytes"),
        (enum("A"), enum("A", name="f")),
        (enum("A"), "string"),
        (array("int"), map_of("int")),
        (array("int"), array("string")),
        ("int", ["null", "string"]),
        (record(field("int"), name="n"), record(field("int"), field("int", "b"), name="n")),
        (DECIMAL, {**DECIMAL, "scale": 3}),
        (DECIMAL, {**DECIMAL, "precision": 6}),
        (logical("long", "timestamp-millis"), logical("long", "timestamp-micros")),
        (logical("int", "time-millis"), logical("long", "time-micros")),
    ],
)
def test_what_does_not_resolve_is_refused_at_once(writer: Any, reader: Any):
    data = written(record(field(writer, "old")))
    with raises(SchemaError, match="reader's", kind="schema") as refused:
        _ = avro.read(data, schema=record(field(reader, "new", aliases=["old"]))).schema
    assert (refused.value.field or "").startswith("new")
    assert "old" in str(refused.value)
    assert refused.value.record is None


@pytest.mark.parametrize(
    ("writer", "reader", "good", "bad"),
    [
        (["null", "string"], ["null", "int"], None, "x"),
        (["null", "string"], "string", "x", None),
        (["int", "string"], "long", 1, "x"),
        (["int", "string", "null"], ["null", "double", "boolean"], 1, "x"),
        (array(["null", "string"]), array(["null", "int"]), [None], [None, "x"]),
        (enum("A", "B"), enum("A", "C"), "A", "B"),
    ],
)
def test_what_a_value_decides_is_refused_where_it_stands(writer: Any, reader: Any, good: Any, bad: Any):
    assert len(resolved(writer, reader, good, good)) == 2
    with raises(SchemaError, kind="schema", block=0, record=2, field="a"):
        resolved(writer, reader, good, good, bad, good)


def test_a_branch_that_does_not_resolve_can_still_be_skipped():
    data = written(
        record(field(["null", "string"]), field("int", "b")), {"a": "x", "b": 1}, {"a": None, "b": 2}
    )
    reader = record(field(["null", "int"]), field("int", "b"))
    assert avro.read(data, columns=["b"], schema=reader).to_arrow()["b"].to_pylist() == [1, 2]


def test_nulls_above_resolved_values_keep_their_columns_in_step():
    inner = record(
        field(["int", "string"]),
        field("null", "b"),
        field(["null", "string"], "c"),
        field("int", "d"),
        name="n",
    )
    wanted = record(
        field(["null", "string", "double"]),
        field(["null", "int"], "b"),
        field(array("int"), "e", default=[1, 2]),
        field("long", "d"),
        name="n",
    )
    row = {"a": "x", "b": None, "c": "y", "d": 7}
    found = resolved(["null", inner], [wanted, "null"], None, row, None, {**row, "a": 3})
    there = {"a": "x", "b": None, "e": [1, 2], "d": 7}
    assert found == [None, there, None, {**there, "a": 3.0}]


def test_a_reader_that_is_no_schema_is_the_callers_mistake():
    data = written(record(field("int")), {"a": 1})
    for schema in ("", "{", '"unknown"', '{"type": "record"}'):
        with pytest.raises(SchemaError, match="reader's schema"):
            avro.read(data, schema=schema).to_arrow()
    with pytest.raises(UnsupportedError, match="contains itself"):
        avro.read(data, schema=record(field(["null", "r"]))).to_arrow()


def test_strings_that_are_not_text_are_corrupt():
    with raises(CorruptError, kind="utf8", record=1):
        resolved("bytes", "string", b"ok", b"\xff")


def test_defaults_cannot_be_multiplied_without_bound():
    """Records without bytes, and a large default for each."""
    data = written(record(field("null")), *({"a": None} for _ in range(20_000)))
    reader = record(field("string", "d", default="x" * (1 << 20)))
    with pytest.raises(LimitError, match="max_block_bytes"):
        avro.read(data, schema=reader).to_arrow()
