"""Arrow types become those that Spark takes, and values keep what Spark can hold of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from lakebed.spark.types import cast_batch, to_spark

US = pa.timestamp("us")
CASES = [
    (pa.array([1, None], pa.int64()), pa.int64(), [1, None]),
    (pa.array([200, None], pa.uint8()), pa.int16(), [200, None]),
    (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0), [Decimal(2**64 - 1)]),
    (pa.array([-1, None], pa.timestamp("ns")), US, [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None]),
    (pa.array([1], pa.timestamp("ms")), US, [dt.datetime(1970, 1, 1, 0, 0, 0, 1000)]),
    (
        pa.array([1], pa.timestamp("ms", "Europe/Paris")),
        pa.timestamp("us", "UTC"),
        [dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.timezone.utc)],
    ),
    (pa.array([86_399_999, None], pa.time32("ms")), pa.int32(), [86_399_999, None]),
    (pa.array(["a", None]).dictionary_encode(), pa.string(), ["a", None]),
    (pa.array(["a", None], pa.large_string()), pa.string(), ["a", None]),
    (pa.array([b"ab", None], pa.binary(2)), pa.binary(), [b"ab", None]),
    (pa.array([["a"], None, []], pa.large_list(pa.large_string())), pa.list_(pa.string()), [["a"], None, []]),
    (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.uint8())), pa.map_(pa.string(), pa.int16()), None),
    (pa.array([{}, None], pa.struct([])), pa.struct([]), [{}, None]),
]


def test_what_is_nested_is_nullable_since_a_null_around_it_makes_it_so():
    inner = pa.field("value", pa.binary(), nullable=False)
    schema = pa.schema([pa.field("variant", pa.struct([inner])), pa.field("variants", pa.list_(inner))])
    found = to_spark(schema)
    assert found.field("variant").type.field("value").nullable
    assert found.field("variants").type.value_field.nullable


@pytest.mark.parametrize(("array", "kind", "values"), CASES, ids=[str(case[0].type) for case in CASES])
def test_a_type_and_its_values(array, kind, values):
    batch = pa.record_batch({"c": array})
    schema = to_spark(batch.schema)
    assert schema.field("c").type == kind
    column = cast_batch(batch, schema).column(0)
    assert column.to_pylist() == (array.to_pylist() if values is None else values)


@pytest.mark.parametrize("start", [0, 1])
def test_structs_are_cast_by_position_whatever_their_names(start):
    kind = pa.struct([("a", pa.uint8()), ("a", pa.timestamp("ns"))])
    parts = [pa.array([1, 2, 3], pa.uint8()), pa.array([1000, 2000, 3000], pa.timestamp("ns"))]
    struct = pa.StructArray.from_arrays(parts, fields=list(kind), mask=pa.array([False, True, False]))
    batch = pa.record_batch({"s": struct}).slice(start)
    schema = to_spark(batch.schema)
    column = cast_batch(batch, schema).column(0)
    assert [field.type for field in column.type] == [pa.int16(), US]
    first, second = column.flatten()
    assert first.to_pylist() == [1, None, 3][start:]
    assert second.cast(pa.int64()).to_pylist() == [1, None, 3][start:]
    assert column.is_null().to_pylist() == [False, True, False][start:]


def test_nullability_is_kept():
    schema = pa.schema([pa.field("a", pa.uint8(), nullable=False), pa.field("b", pa.uint8())])
    assert [field.nullable for field in to_spark(schema)] == [False, True]
