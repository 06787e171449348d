"""Arrow values as JSON: nothing rounded, nothing that JSON lacks."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from lakebed._values import to_json_values, to_rows, to_text

CASES = [
    (pa.array([1, None], pa.int8()), [1, None]),
    (pa.array([2**63 - 1]), [2**63 - 1]),
    (pa.array([True, None]), [True, None]),
    (
        pa.array([1.5, float("nan"), float("inf"), float("-inf"), None]),
        [1.5, "NaN", "Infinity", "-Infinity", None],
    ),
    (pa.array([Decimal("1E-10"), None], pa.decimal128(20, 10)), ["0.0000000001", None]),
    (pa.array([b"\x00\xff", None]), ["00ff", None]),
    (pa.array([b"\x00\xff"], pa.binary(2)), ["00ff"]),
    (pa.array([-1, None], pa.date32()), ["1969-12-31", None]),
    (pa.array([1], pa.time32("ms")), ["00:00:00.001"]),
    (pa.array([-1, None], pa.timestamp("ns")), ["1969-12-31T23:59:59.999999999", None]),
    (pa.array([1], pa.timestamp("us", "UTC")), ["1970-01-01T00:00:00.000001Z"]),
    (pa.array([["a", None], None, []]), [["a", None], None, []]),
    (pa.array([[b"a"], None], pa.list_(pa.binary())).slice(1), [None]),
    (pa.array([{"a": b"a"}, None]), [{"a": "61"}, None]),
    (pa.array([{}, None], pa.struct([])), [{}, None]),
    (pa.array([[("k", b"v")], None, []], pa.map_(pa.string(), pa.binary())), [{"k": "76"}, None, {}]),
    (pa.array([[(1, 2)], None], pa.map_(pa.int32(), pa.int32())), [[{"key": 1, "value": 2}], None]),
    (pa.array([None], pa.null()), [None]),
]

_UNION = pa.UnionArray.from_dense(
    pa.array([1, 0, 1, 2], pa.int8()),
    pa.array([0, 0, 1, 0], pa.int32()),
    [pa.array([b"a"]), pa.array([7, 8]), pa.nulls(1)],
)
CASES += [
    (_UNION, [7, "61", 8, None]),
    (_UNION.slice(1, 2), ["61", 8]),
    # A union inside a struct that has nulls of its own.
    (
        pa.StructArray.from_arrays([_UNION], ["u"], mask=pa.array([True, False, False, False])),
        [None, {"u": "61"}, {"u": 8}, {"u": None}],
    ),
    (pa.array([pa.MonthDayNano([1, 2, 3]), None]), [{"months": 1, "days": 2, "nanoseconds": 3}, None]),
]


@pytest.mark.parametrize(("array", "values"), CASES, ids=[str(case[0].type) for case in CASES])
def test_values(array, values):
    assert to_json_values(array) == values
    assert json.loads(json.dumps(values, allow_nan=False)) == values


def test_rows_of_batches_and_of_chunked_tables():
    batch = pa.record_batch({"a": [1, 2], "s": [{"x": 1}, None]})
    rows = [(1, {"x": 1}), (2, None)]
    assert to_rows(batch) == rows
    assert to_rows(pa.Table.from_batches([batch, batch])) == rows + rows
    assert to_rows(batch.select([])) == [(), ()]
    assert to_rows(batch.schema.empty_table()) == []


def test_texts():
    assert [to_text(v) for v in ("a", None, True, 1, [1, "é"])] == ["a", "null", "true", "1", '[1,"é"]']
