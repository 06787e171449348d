"""What is made of columns below PyIceberg: metrics by field id, and objects of one row after another."""

from __future__ import annotations

import gc
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakebed._below import NotTheSameError

types = pytest.importorskip("pyiceberg.types")
conversions = pytest.importorskip("pyiceberg.conversions")
metrics = pytest.importorskip("lakebed.pyiceberg.metrics")
ahead = pytest.importorskip("lakebed.pyiceberg.ahead")

COUNTS = pa.map_(pa.int32(), pa.int64())


def by_id(array: pa.Array, field_id: int) -> list[Any]:
    """What `Metrics` has of a column, by row."""
    found, rows = metrics.Metrics(array).of(field_id)
    values: list[Any] = [None] * len(array)
    for row, value in zip(
        range(len(array)) if rows is None else rows.to_pylist(), found.to_pylist(), strict=True
    ):
        values[row] = value
    return values


@pytest.mark.parametrize(
    "rows",
    [
        [[(1, 10), (2, 20)]] * 5,
        [[(2, row), (1, row + 100), (7, 0)] for row in range(9)],
        [[(1, 10), (2, 20)], [(2, 21), (1, 11)]],
        [[(1, 10)], [(2, 21), (1, 11)], []],
        [[(1, 10)], None, [(1, 12)]],
        [[], []],
        [],
    ],
    ids=["regular", "another order", "orders differ", "ids differ", "null", "empty", "none"],
)
def test_metrics_are_found_by_field_id(rows: list[Any]) -> None:
    array = pa.array(rows, COUNTS)
    parts = [array]
    if not array.null_count:
        # pyarrow gives no lists of a slice with nulls; none is made of manifests.
        parts += [array[1:], array[:-1], pa.concat_arrays([array, array])[1:-1]]
    for part in parts:
        made = metrics.Metrics(part)
        made.check_unique()
        for field_id in (1, 2, 7, 8):
            expected = [dict(one or ()).get(field_id) for one in part.to_pylist()]
            assert by_id(part, field_id) == expected
            assert by_id(part, field_id) == expected, "asked again"


@pytest.mark.parametrize("row", [[(1, 1), (1, 2)], [(3, 1), (1, 2), (3, 3)]])
@pytest.mark.parametrize("other", [[], [(2, 5)]])
def test_a_field_that_is_twice_is_refused(row: list[Any], other: list[Any]) -> None:
    for rows in ([row] * 3, [other, row], [row, other]):
        with pytest.raises(NotTheSameError, match="a field twice"):
            metrics.Metrics(pa.array(rows, COUNTS)).check_unique()


@pytest.mark.parametrize(("precision", "scale"), [(4, 2), (18, 0), (38, 10)])
def test_bounds_of_decimals_are_pyicebergs(precision: int, scale: int) -> None:
    kind, random_ = types.DecimalType(precision, scale), random.Random(7)
    most = 10**precision - 1
    numbers = [0, 1, -1, 127, 128, -128, -129, most, -most]
    numbers += [random_.randint(-most, most) >> random_.randint(0, 60) for _ in range(200)]
    # The fewest bytes, as Iceberg writes them, and more of them.
    for more in ([0], [0, 1, 2, 3]):
        stored = [
            one.to_bytes(min(16, one.bit_length() // 8 + 1 + random_.choice(more)), "big", signed=True)
            for one in numbers
        ]
        values = pa.array([*stored, b""], pa.binary())
        for part in (values, values[3:100], values[:1], values[:0]):
            found = metrics.bounds(part, kind, pa.decimal128(precision, scale))
            expected = [conversions.from_bytes(kind, one) if one else Decimal(0) for one in part.to_pylist()]
            assert found.to_pylist() == expected
            assert found.type == pa.decimal128(precision, scale)


@pytest.mark.parametrize("stored", [(10**4).to_bytes(2, "big", signed=True), bytes(17), b"\x80" + bytes(15)])
def test_bounds_that_are_no_decimal_are_refused(stored: bytes) -> None:
    with pytest.raises(NotTheSameError, match="a bound that is no decimal"):
        metrics.bounds(pa.array([b"\x01", stored]), types.DecimalType(4, 2), pa.decimal128(4, 2))


def test_rows_one_after_another_are_made_in_blocks() -> None:
    blocks: list[tuple[int, int]] = []

    def make(first: int, end: int) -> list[object]:
        assert not gc.isenabled()
        blocks.append((first, end))
        return [object() for _ in range(first, end)]

    made = ahead.Ahead(100_000, make)
    objects = [made[row] for row in range(1_000)]
    assert all(made[row] is one for row, one in enumerate(objects))
    assert len(blocks) < 12
    assert blocks[-1][1] < 2 * 1_000 + 2, "hardly more than was asked for"
    blocks.clear()
    for row in range(50_000, 60_000, 100):
        assert made[row] is made[row]
    assert blocks == [(row, row + 1) for row in range(50_000, 60_000, 100)]
    assert made[99_999] is not made[99_998]
    assert gc.isenabled()
