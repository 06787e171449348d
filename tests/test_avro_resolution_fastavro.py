"""Random schemas evolved by legal steps: lakebed and fastavro read the same rows as the reader's schema."""

from __future__ import annotations

import io
import struct
from typing import Any

import fastavro
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_avro_fastavro import Namer

from lakebed import avro

# A writer's schema, the reader's that it has become, and the values it takes.
Evolved = tuple[Any, Any, st.SearchStrategy[Any]]

_ASCII = st.text(st.characters(max_codepoint=127), max_size=9)
_PLAIN: dict[str, tuple[st.SearchStrategy[Any], list[str]]] = {
    "null": (st.none(), ["null"]),
    "boolean": (st.booleans(), ["boolean"]),
    "int": (st.integers(-(1 << 31), (1 << 31) - 1), ["int", "long", "float", "double"]),
    "long": (st.integers(-(1 << 63), (1 << 63) - 1), ["long", "float", "double"]),
    "float": (st.floats(width=32, allow_nan=False), ["float", "double"]),
    "double": (st.floats(allow_nan=False), ["double"]),
    "string": (_ASCII, ["string", "bytes"]),
    "bytes": (_ASCII.map(str.encode), ["bytes", "string"]),
}
_DEFAULTS: list[tuple[Any, Any]] = [
    ("null", None),
    ("boolean", True),
    ("int", -7),
    ("long", 1 << 40),
    ("double", 2.5),
    ("string", "é"),
    ("bytes", "\u00ff\u0000"),
    (["null", "int"], None),
    (["long", "null"], 5),
    ({"type": "array", "items": "int"}, [1, 2, 3]),
    ({"type": "array", "items": "string"}, []),
    ({"type": "map", "values": "long"}, {"a": 1}),
]


class _Evolution:
    """Draws pairs of schemas; names are unique."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.name = draw, Namer()

    def yes(self) -> bool:
        return self.draw(st.booleans())

    def type(self, depth: int) -> Evolved:
        nested = ["array", "map", "record", "nullable", "union"] if depth > 0 else []
        kind = self.draw(st.sampled_from(["plain", "plain", "enum", "fixed", *nested]))
        evolved: Evolved = getattr(self, kind)(depth - 1)
        return evolved

    def plain(self, depth: int) -> Evolved:
        writer = self.draw(st.sampled_from(sorted(_PLAIN)))
        values, wider = _PLAIN[writer]
        return writer, self.draw(st.sampled_from(wider)), values

    def array(self, depth: int) -> Evolved:
        writer, reader, values = self.type(depth)
        written, read = ({"type": "array", "items": items} for items in (writer, reader))
        return written, read, st.lists(values, max_size=4)

    def map(self, depth: int) -> Evolved:
        writer, reader, values = self.type(depth)
        written, read = ({"type": "map", "values": items} for items in (writer, reader))
        return written, read, st.dictionaries(_ASCII, values, max_size=3)

    def enum(self, depth: int) -> Evolved:
        symbols = [f"S{number}" for number in range(self.draw(st.integers(1, 5)))]
        writer = {"type": "enum", "name": self.name("E"), "symbols": symbols}
        kept = self.draw(st.permutations(["NEW", *symbols]))[: self.draw(st.integers(1, 6))]
        reader = {**self.renamed(writer), "symbols": kept, "default": kept[0]}
        return writer, reader, st.sampled_from(symbols)

    def fixed(self, depth: int) -> Evolved:
        size = self.draw(st.integers(0, 9))
        writer = {"type": "fixed", "name": self.name("F"), "size": size}
        return writer, self.renamed(writer), st.binary(min_size=size, max_size=size)

    def renamed(self, named: dict[str, Any]) -> dict[str, Any]:
        """The same type, or another name with the old one as an alias."""
        return dict(named) if self.yes() else {**named, "name": self.name("N"), "aliases": [named["name"]]}

    def nullable(self, depth: int) -> Evolved:
        """Of these, one side or both are nullable; a value that may be null stays so."""
        writer, reader, values = self.type(depth)
        while isinstance(writer, list) or writer == "null" or isinstance(reader, list):
            writer, reader, values = self.type(0)
        nullable = ["null", reader] if self.yes() else [reader, "null"]
        match self.draw(st.sampled_from(["both", "reader", "writer", "nulls"])):
            case "both":
                return ["null", writer] if self.yes() else [writer, "null"], nullable, st.none() | values
            case "reader":
                return writer, nullable, values
            case "writer":
                return ["null", writer], reader, values
        return "null", nullable, st.none()

    def union(self, depth: int) -> Evolved:
        """Of types of which none is promoted to another, in another order and with more of them."""
        kinds = self.draw(
            st.lists(st.sampled_from(["null", "boolean", "long", "string"]), unique=True, min_size=1)
        )
        values = st.one_of([_PLAIN[kind][0] for kind in kinds])
        more = [] if self.yes() else [{"type": "array", "items": "int"}]
        return kinds, self.draw(st.permutations([*kinds, *more])), values

    def record(self, depth: int) -> Evolved:
        name = self.name("R")
        written, wanted, values = [], [], {}
        for number in range(self.draw(st.integers(0, 4))):
            writer, reader, value = self.type(depth)
            field = f"f{number}"
            written.append({"name": field, "type": writer})
            values[field] = value
            match self.draw(st.sampled_from(["kept", "kept", "renamed", "dropped"])):
                case "kept":
                    wanted.append({"name": field, "type": reader})
                case "renamed":
                    wanted.append({"name": self.name("f_"), "type": reader, "aliases": ["x", field]})
        for kind, default in self.draw(st.lists(st.sampled_from(_DEFAULTS), max_size=2)):
            wanted.append({"name": self.name("d_"), "type": kind, "default": default})
        writer = {"type": "record", "name": name, "fields": written}
        reader = {**self.renamed(writer), "fields": self.draw(st.permutations(wanted))}
        return writer, reader, st.fixed_dictionaries(values)


@st.composite
def _files(draw: st.DrawFn) -> tuple[Any, bytes]:
    writer, reader, values = _Evolution(draw).record(3)
    file = io.BytesIO()
    interval = draw(st.sampled_from([1, 50, 16_000]))
    fastavro.writer(file, writer, draw(st.lists(values, max_size=20)), sync_interval=interval)
    return reader, file.getvalue()


_MODEST = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


@given(file=_files())
@_MODEST
def test_rows_are_those_of_fastavro(file: tuple[Any, bytes]):
    reader, data = file
    table = avro.read(data, schema=reader).to_arrow()
    table.validate(full=True)
    expected = [_arrow(reader, row) for row in fastavro.reader(io.BytesIO(data), reader_schema=reader)]
    assert table.to_pylist() == expected
    assert table.column_names == [field["name"] for field in reader["fields"]]


@given(file=_files(), random=st.randoms(use_true_random=False))
@_MODEST
def test_columns_and_threads_change_no_value(file: tuple[Any, bytes], random: Any):
    reader, data = file
    whole = avro.read(data, schema=reader, threads=1).to_arrow()
    assert avro.read(data, schema=reader, threads=3).to_arrow().equals(whole)
    columns = random.sample(whole.column_names, random.randint(0, whole.num_columns))
    assert avro.read(data, columns=columns, schema=reader).to_arrow().equals(whole.select(columns))


def _arrow(schema: Any, value: Any) -> Any:
    """A value of fastavro as Arrow gives it, and as the specification has it where fastavro has it otherwise:

    - An int or long promoted to float stays a double there; here it is rounded to a float.
    - Defaults of bytes stay text there; their characters are bytes.
    """
    if isinstance(schema, list):
        fitting = (branch for branch in schema if _fits(branch, value))
        return _arrow(next(fitting), value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        return {field["name"]: _arrow(field["type"], value[field["name"]]) for field in schema["fields"]}
    if kind == "array":
        return [_arrow(schema["items"], item) for item in value]
    if kind == "map":
        return [(key, _arrow(schema["values"], item)) for key, item in value.items()]
    if kind == "float" and isinstance(value, (int, float)):
        return struct.unpack("f", struct.pack("f", value))[0]
    return value.encode("latin-1") if kind == "bytes" and isinstance(value, str) else value


def _fits(branch: Any, value: Any) -> bool:
    """Whether a value may be of this branch: enough to find it in a nullable union, and in those above."""
    return (value is None) == (branch == "null") and isinstance(value, list) == (
        isinstance(branch, dict) and branch["type"] == "array"
    )
