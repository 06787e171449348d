"""Iceberg's binary single values: cases from Iceberg's own tests, the engine's bounds, PyIceberg's bytes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from case_values import ticks
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg import conversions
from pyiceberg import types as peer

from iceberg_answers import arrow_type, canonical, leaves, wanted
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import CorruptError, LakebedError, SchemaError
from lakebed.iceberg import decode_values, encode_values
from shared_data import Case, each_case

_LONGS = st.integers(-(2**63), 2**63 - 1)
_INTS = st.integers(-(2**31), 2**31 - 1)

# Our type, PyIceberg's, and values of both; times are the integers that stand for them.
_PEERS: list[tuple[pa.DataType, peer.PrimitiveType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), peer.BooleanType(), st.booleans()),
    (pa.int32(), peer.IntegerType(), _INTS),
    (pa.int64(), peer.LongType(), _LONGS),
    (pa.float32(), peer.FloatType(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), peer.DoubleType(), st.floats(allow_nan=False)),
    (pa.date32(), peer.DateType(), _INTS),
    (pa.time64("us"), peer.TimeType(), st.integers(0, 86_400_000_000 - 1)),
    (pa.timestamp("us"), peer.TimestampType(), _LONGS),
    (pa.timestamp("us", "UTC"), peer.TimestamptzType(), _LONGS),
    (pa.timestamp("ns"), peer.TimestampNanoType(), _LONGS),
    (pa.timestamp("ns", "Asia/Tokyo"), peer.TimestamptzNanoType(), _LONGS),
    (pa.string(), peer.StringType(), st.text()),
    (pa.large_string(), peer.StringType(), st.text()),
    (pa.uuid(), peer.UUIDType(), st.uuids().map(lambda value: value.bytes)),
    (pa.binary(7), peer.FixedType(7), st.binary(min_size=7, max_size=7)),
    (pa.binary(), peer.BinaryType(), st.binary()),
    (pa.large_binary(), peer.BinaryType(), st.binary()),
]


def _decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    context = Context(prec=38)
    return st.integers(1 - 10**digits, 10**digits - 1).map(
        lambda value: context.scaleb(Decimal(value), -scale)
    )


_PEERS += [
    (pa.decimal128(digits, scale), peer.DecimalType(digits, scale), _decimals(digits, scale))
    for digits, scale in ((1, 0), (9, 2), (18, 18), (38, 10))
]


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array of values, of times by the integers that stand for them."""
    if isinstance(kind, pa.UuidType):
        return kind.wrap_array(pa.array(values, kind.storage_type))
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array(values, kind)


def _kind(iceberg_type: str) -> pa.DataType:
    """The Arrow type whose single values are those of an Iceberg type."""
    return pa.uuid() if iceberg_type == "uuid" else arrow_type(iceberg_type)


def _case_array(value: Any, iceberg_type: str) -> pa.Array:
    """The value of a case: times as integers or text, decimals as text, bytes as hex."""
    kind = _kind(iceberg_type)
    if isinstance(value, int):
        return _array([value], kind)
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(value)], kind)
    if isinstance(kind, pa.UuidType):
        return _array([uuid.UUID(value).bytes], kind)
    if pa.types.is_temporal(kind):
        return _array([ticks(value, kind)], kind)
    if pa.types.is_floating(kind):
        return pa.array([float(value)], kind)
    return pa.array([value if kind == pa.string() else bytes.fromhex(value)], kind)


@pytest.mark.parametrize(
    ("text", "iceberg_type", "number"),
    [
        ("1969-12-31", "date", -1),
        ("00:00:01.000002", "time", 1_000_002),
        ("1969-12-31T23:59:59.999999", "timestamp", -1),
        ("1970-01-01T00:00:01", "timestamp", 1_000_000),
        ("1970-01-01T00:00:00.000001+00:00", "timestamptz", 1),
        ("1970-01-01T01:00:00Z", "timestamptz", 3_600_000_000),
        ("1970-01-01T00:00:00.000000001", "timestamp_ns", 1),
        ("1969-12-31T23:59:59.999999999+00:00", "timestamptz_ns", -1),
        ("NaN", "float", None),
        ("-Infinity", "double", None),
    ],
)
def test_a_case_may_have_its_value_as_text(text: str, iceberg_type: str, number: int | None):
    array = _case_array(text, iceberg_type)
    assert array.type == _kind(iceberg_type)
    if number is None:
        assert str(array[0]) == {"NaN": "nan", "-Infinity": "-inf"}[text]
    else:
        assert array.equals(_array([number], array.type))


@each_case("iceberg_single_value_binary")
def test_cases_both_ways(case: Case):
    if case.error_kinds:
        with pytest.raises((LakebedError, pa.ArrowInvalid)):
            encode_values(_case_array(case["value"], case["type"]))
        return
    values, stored = _case_array(case["value"], case["type"]), pa.array([bytes.fromhex(case["bytes"])])
    assert decode_values(stored, values.type).equals(values)
    if case["direction"] == "both":
        assert encode_values(values).equals(stored)


@pytest.mark.parametrize(("kind", "peer_type", "values"), _PEERS, ids=[str(kind) for kind, _, _ in _PEERS])
def test_pyiceberg_has_the_same_bytes(kind: pa.DataType, peer_type: peer.PrimitiveType, values: Any):
    @settings(max_examples=50, deadline=None)
    @given(st.lists(values, max_size=5))
    def same(some: list[Any]) -> None:
        array = _array([*some, None], kind)
        stored = encode_values(array)
        assert stored.to_pylist() == [conversions.to_bytes(peer_type, value) for value in some] + [None]
        back = decode_values(stored, kind)
        assert back.type == kind
        assert back.equals(array)
        large = stored.cast(pa.large_binary())
        assert decode_values(large.slice(1), kind).equals(array.slice(1))

    same()


def _bounds(table: GoldenTable) -> Iterator[tuple[str, str, list[bytes], list[Any]]]:
    """Column, type, bounds as stored, and as the engine reads them."""
    rows = table.rows("files")
    for number, name, iceberg_type in leaves(table.schema()):
        if iceberg_type in ("unknown", "variant"):
            continue
        pairs = [
            (bytes.fromhex(row[side + "s"][str(number)]), row["readable_metrics"][name][side])
            for row in rows
            for side in ("lower_bound", "upper_bound")
            if (row[side + "s"] or {}).get(str(number)) is not None
        ]
        yield name, iceberg_type, [stored for stored, _ in pairs], [value for _, value in pairs]


@each_golden_iceberg_table()
def test_bounds_are_read_as_the_engine_reads_them(table: GoldenTable):
    for name, iceberg_type, stored, answers in _bounds(table):
        kind = _kind(iceberg_type)
        # Files written before the column was promoted have bounds of its old type.
        widths = {len(value) for value in stored}
        if pa.types.is_primitive(kind) and not pa.types.is_decimal(kind) and len(widths) > 1:
            continue
        values = decode_values(pa.array(stored, pa.binary()), kind)
        found = [str(value) for value in values.to_pylist()] if kind == pa.uuid() else canonical(values)
        assert found == [wanted(answer, kind) for answer in answers], name
        assert encode_values(values).to_pylist() == stored, name


@pytest.mark.parametrize(
    ("stored", "kind", "wrong"),
    [
        (b"\1\0\0\0", pa.int64(), "length"),
        (b"\1" * 8, pa.int32(), "length"),
        (b"", pa.bool_(), "length"),
        (b"", pa.decimal128(9, 2), "length"),
        (b"\x03\xe8", pa.decimal128(3, 2), "decimal"),
        (b"\xff", pa.string(), "utf8"),
        (b"\1" * 15, pa.uuid(), "length"),
        (b"\1" * 15, pa.binary(16), "length"),
    ],
)
def test_what_is_not_of_the_type_is_refused_with_its_record(stored: bytes, kind: pa.DataType, wrong: str):
    with pytest.raises(CorruptError) as caught:
        decode_values(pa.array([None, stored]), kind)
    assert (caught.value.kind, caught.value.record) == (wrong, 1)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.timestamp("ms"), pa.time64("ns"), pa.date64(), pa.null(), pa.list_(pa.int32())]
)
def test_types_without_single_values(kind: pa.DataType):
    with pytest.raises(SchemaError):
        decode_values(pa.array([None], pa.binary()), kind)
    with pytest.raises(SchemaError):
        encode_values(pa.nulls(1, kind))


def test_only_binary_is_decoded():
    with pytest.raises(SchemaError):
        decode_values(pa.array(["a"]), pa.string())


def test_decimals_of_more_bytes_than_they_need():
    stored = pa.array([b"\0" * 20 + b"\x05\x8c", b"\xff" * 20 + b"\x80"])
    assert decode_values(stored, pa.decimal128(9, 2)).to_pylist() == [Decimal("14.20"), Decimal("-1.28")]
