"""Random schemas and records, written by fastavro with random codecs and block sizes: read by lakebed, and
written again."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Context, Decimal
from typing import Any

import fastavro
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed import avro

CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
UTC = dt.timezone.utc

Schema = Any
# A schema, the values it takes, and what Arrow gives back for one of them.
Typed = tuple[Schema, st.SearchStrategy[Any]]

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_WIDE = Context(prec=100)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def _moments(zone: dt.timezone | None, step: int) -> st.SearchStrategy[dt.datetime]:
    bounds = dt.datetime(1, 1, 3), dt.datetime(9999, 12, 30)
    return st.datetimes(*bounds).map(
        lambda moment: moment.replace(microsecond=moment.microsecond // step * step, tzinfo=zone, fold=0)
    )


def _times(step: int) -> st.SearchStrategy[dt.time]:
    return st.times().map(lambda time: time.replace(microsecond=time.microsecond // step * step, fold=0))


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**precision - 1
    return st.integers(-bound, bound).map(lambda unscaled: Decimal(unscaled).scaleb(-scale, _WIDE))


def _logical(kind: str, logical: str, values: st.SearchStrategy[Any], **more: Any) -> Typed:
    return {"type": kind, "logicalType": logical, **more}, values


_LEAVES: list[Typed] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", _integers(32)),
    ("long", _integers(64)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=12)),
    ("string", _TEXT),
    _logical("int", "date", st.dates()),
    _logical("int", "time-millis", _times(1000)),
    _logical("long", "time-micros", _times(1)),
    _logical("long", "timestamp-millis", _moments(UTC, 1000)),
    _logical("long", "timestamp-micros", _moments(UTC, 1)),
    _logical("long", "local-timestamp-millis", _moments(None, 1000)),
    _logical("long", "local-timestamp-micros", _moments(None, 1)),
    _logical("bytes", "decimal", _decimals(9, 2), precision=9, scale=2),
    _logical("bytes", "decimal", _decimals(38, 10), precision=38, scale=10),
    _logical("bytes", "decimal", _decimals(60, 5), precision=60, scale=5),
]


class Namer:
    """Names that no other type of the schema has."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"


def _named(draw: st.DrawFn, name: Namer) -> Typed:
    match draw(st.sampled_from(["enum", "fixed", "decimal"])):
        case "enum":
            symbols = [f"S{number}" for number in range(draw(st.integers(1, 4)))]
            return {"type": "enum", "name": name("E"), "symbols": symbols}, st.sampled_from(symbols)
        case "fixed":
            size = draw(st.integers(1, 20))
            return {"type": "fixed", "name": name("F"), "size": size}, st.binary(min_size=size, max_size=size)
        case _:
            schema = {"type": "fixed", "name": name("D"), "size": 12, "logicalType": "decimal"}
            return {**schema, "precision": 20, "scale": 3}, _decimals(20, 3)


def _record(draw: st.DrawFn, name: Namer, depth: int, least: int = 0) -> Typed:
    types = [_type(draw, name, depth - 1) for _ in range(draw(st.integers(least, 4)))]
    fields = [{"name": f"f{number}", "type": schema} for number, (schema, _) in enumerate(types)]
    schema = {"type": "record", "name": name("R"), "fields": fields}
    return schema, st.fixed_dictionaries({f"f{number}": values for number, (_, values) in enumerate(types)})


def _union(draw: st.DrawFn, name: Namer, depth: int) -> Typed:
    """Of null and another type, in either order, or of types that Python tells apart."""
    if draw(st.booleans()):
        schema, values = _type(draw, name, depth - 1)
        while schema == "null" or isinstance(schema, list):
            schema, values = _type(draw, name, 0)
        branches = [schema, "null"] if draw(st.booleans()) else ["null", schema]
        return branches, st.none() | values
    kinds: dict[str, st.SearchStrategy[Any]]
    kinds = {"null": st.none(), "boolean": st.booleans(), "string": _TEXT, "bytes": st.binary(max_size=9)}
    numbers = draw(st.sampled_from([("long", _integers(64)), ("double", st.floats(allow_nan=False))]))
    kinds[numbers[0]] = numbers[1]
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=3, max_size=5, unique=True))
    return chosen, st.one_of([kinds[kind] for kind in chosen])


def _type(draw: st.DrawFn, name: Namer, depth: int) -> Typed:
    nested = ["array", "map", "record", "union"] if depth > 0 else []
    match draw(st.sampled_from(["leaf", "leaf", "named", *nested])):
        case "array":
            items, values = _type(draw, name, depth - 1)
            return {"type": "array", "items": items}, st.lists(values, max_size=4)
        case "map":
            items, values = _type(draw, name, depth - 1)
            return {"type": "map", "values": items}, st.dictionaries(_TEXT, values, max_size=3)
        case "record":
            return _record(draw, name, depth)
        case "union":
            return _union(draw, name, depth)
        case "named":
            return _named(draw, name)
    return draw(st.sampled_from(_LEAVES))


@st.composite
def _files(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]], bytes]:
    schema, values = _record(draw, Namer(), depth=3, least=1)
    records = draw(st.lists(values, max_size=25))
    file = io.BytesIO()
    interval = draw(st.sampled_from([1, 40, 400, 16_000]))
    fastavro.writer(file, schema, records, codec=draw(st.sampled_from(CODECS)), sync_interval=interval)
    return schema, records, file.getvalue()


_MODEST = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@given(file=_files())
@_MODEST
def test_rows_are_those_written(file: tuple[Schema, list[dict[str, Any]], bytes]):
    _, _, data = file
    table = avro.read(data).to_arrow()
    table.validate(full=True)
    expected = list(fastavro.reader(io.BytesIO(data)))
    assert [_plain(row, field_types(table.schema)) for row in table.to_pylist()] == expected


@given(file=_files(), random=st.randoms(use_true_random=False))
@_MODEST
def test_a_projection_is_the_same_columns(file: tuple[Schema, list[dict[str, Any]], bytes], random: Any):
    _, _, data = file
    whole = avro.read(data).to_arrow()
    columns = random.sample(whole.column_names, random.randint(1, whole.num_columns))
    assert avro.read(data, columns=columns).to_arrow().equals(whole.select(columns))


@given(file=_files(), codec=st.sampled_from(CODECS), block_bytes=st.sampled_from([1, 40, 64_000]))
@_MODEST
def test_rows_are_written_again(
    file: tuple[Schema, list[dict[str, Any]], bytes], codec: str, block_bytes: int
):
    schema, _, data = file
    table = avro.read(data).to_arrow()
    written = avro.write(table, schema=schema, codec=codec, block_bytes=block_bytes, verify=True)
    assert written is not None
    assert avro.read(written).to_arrow().equals(table)
    expected = list(fastavro.reader(io.BytesIO(data)))
    assert list(fastavro.reader(io.BytesIO(written))) == expected


@given(file=_files())
@_MODEST
def test_threads_change_nothing(file: tuple[Schema, list[dict[str, Any]], bytes]):
    _, _, data = file
    assert avro.read(data, threads=3).to_arrow().equals(avro.read(data, threads=1).to_arrow())


def field_types(fields: Any) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in fields}


def _plain(value: Any, kind: Any) -> Any:
    """A value of Arrow as fastavro gives it: maps as dicts."""
    if value is None:
        return None
    if isinstance(kind, dict):
        return {name: _plain(item, kind[name]) for name, item in value.items()}
    if pa.types.is_struct(kind):
        return _plain(value, field_types(kind))
    if pa.types.is_map(kind):
        return {key: _plain(item, kind.item_type) for key, item in value}
    if pa.types.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    return value
