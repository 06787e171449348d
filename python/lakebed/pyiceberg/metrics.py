"""Metrics of entries by field id, as columns: counts, and bounds in the type of their column."""

from __future__ import annotations

from array import array as array_of
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import types
from pyiceberg.conversions import from_bytes

from lakebed._below import NotTheSameError, integers
from lakebed.pyiceberg.ahead import Once

if TYPE_CHECKING:
    from collections.abc import Iterable

_FIXED_WIDTH: dict[Any, pa.DataType] = {
    types.BooleanType: pa.int8(),
    types.IntegerType: pa.int32(),
    types.LongType: pa.int64(),
    types.FloatType: pa.float32(),
    types.DoubleType: pa.float64(),
    types.DateType: pa.int32(),
    types.TimeType: pa.int64(),
    types.TimestampType: pa.int64(),
    types.TimestamptzType: pa.int64(),
}
"""Bounds whose bytes are the values: little-endian, of one width."""
_SIGNS = bytes(128) + b"\xff" * 128
"""What is in front of a number by its first byte."""


class Metrics:
    """A map by field id of each of some entries."""

    def __init__(self, array: pa.MapArray) -> None:
        self.array = array
        self._ends = integers(array.offsets) if len(array) else [0]

    @Once
    def _ids(self) -> list[int] | None:
        """The ids of each entry where all have the same in one order, as those of most manifests have."""
        rows, first, end = len(self.array), self._ends[0], self._ends[-1]
        width = (end - first) // max(1, rows)
        if self.array.null_count or self._ends != list(range(first, end + 1, width or 1))[: rows + 1]:
            return None
        keys = self.array.keys
        raw = memoryview(keys.buffers()[1] or b"").cast("B").cast("i")[keys.offset :]
        ids = raw[first : first + width]
        return ids.tolist() if raw[first:end].tobytes() == ids.tobytes() * rows else None

    def check_unique(self) -> None:
        """Raises: NotTheSameError where an entry has an id twice, of which a dict keeps one."""
        if self._ids is not None:
            is_unique = len(set(self._ids)) == len(self._ids)
        else:
            is_unique = _are_unique(self._rows, self._keys)
        if not is_unique:
            raise NotTheSameError("metrics with a field twice")

    def of(self, field_id: int) -> tuple[pa.Array, pa.Array | None]:
        """The values of a column, and the rows that have one, None for all rows."""
        if self._ids is None:
            at = pc.indices_nonzero(pc.equal(self._keys, field_id))
            rows = None if len(at) == len(self.array) else self._rows.take(at)
            return self._items.take(at), rows
        if field_id not in self._ids:
            return self._items[:0], pa.array([], pa.int64())
        place, width = self._ids.index(field_id), len(self._ids)
        return self._items.take(_places(place, len(self._items), width)), None

    @Once
    def _rows(self) -> pa.Array:
        """The row of each pair."""
        mask = self.array.is_null() if self.array.null_count else None
        lists = pa.ListArray.from_arrays(self.array.offsets, self.array.keys, mask=mask)
        return pc.list_parent_indices(lists).cast(pa.int64())

    @property
    def _keys(self) -> pa.Array:
        return self.array.keys[self._ends[0] : self._ends[-1]]

    @Once
    def _items(self) -> pa.Array:
        return self.array.items[self._ends[0] : self._ends[-1]]


def _are_unique(rows: pa.Array, keys: pa.Array) -> bool:
    follows = pc.and_(pc.equal(rows[1:], rows[:-1]), pc.less_equal(keys[1:], keys[:-1]))
    if not pc.any(follows).as_py():
        return True
    # Not in ascending order.
    pairs = pa.table({"row": rows, "key": keys}).group_by(["row", "key"]).aggregate([([], "count_all")])
    return len(pairs) == len(keys)


@lru_cache(maxsize=256)
def _places(first: int, end: int, step: int) -> pa.Array:
    """Where the values of a column are: the same for each kind of metrics, and for most batches."""
    return numbers(range(first, end, step))


def numbers(values: Iterable[int]) -> pa.Array:
    """Numbers as an int64 array, without an object of Arrow's for each."""
    raw = array_of("q", values)
    return pa.Array.from_buffers(pa.int64(), len(raw), [None, pa.py_buffer(raw)])


def bounds(values: pa.Array, field_type: Any, kind: pa.DataType) -> pa.Array:
    """Bounds in the type of their column, none of them null. Raises: NotTheSameError."""
    if isinstance(kind, pa.BaseExtensionType):
        raise NotTheSameError(f"a bound of {field_type}, which PyIceberg's inspect does not take")
    if not len(values):
        return pa.array([], kind)
    lengths = pc.unique(pc.binary_length(values)).to_pylist()
    width = _FIXED_WIDTH.get(type(field_type))
    if width is not None and lengths == [width.bit_width // 8]:
        plain = pa.Array.from_buffers(width, len(values), [None, _bytes_of(values)])
        if isinstance(field_type, types.BooleanType):
            return pc.not_equal(plain, pa.scalar(0, width))
        return plain if kind == width else plain.view(kind)
    if isinstance(field_type, types.StringType) and (
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        try:
            return values.cast(pa.string()).cast(kind)
        except pa.ArrowInvalid:
            raise NotTheSameError("a bound that is not UTF-8") from None
    if isinstance(field_type, types.DecimalType) and pa.types.is_decimal128(kind):
        return _decimals(values, lengths, field_type, kind)
    # As PyIceberg does, value by value; what it raises, its own code raises again.
    try:
        return pa.array([from_bytes(field_type, one) for one in values.to_pylist()], kind)
    except Exception as error:
        raise NotTheSameError(f"a bound of {field_type} ({type(error).__name__})") from error


def _bytes_of(values: pa.Array) -> pa.Buffer:
    """The bytes of all values, one after another."""
    ends = integers(
        pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, values.buffers()[1]], offset=values.offset)
    )
    return (values.buffers()[2] or pa.py_buffer(b""))[ends[0] : ends[-1]]


def _decimals(values: pa.Array, lengths: list[int], field_type: Any, kind: pa.DataType) -> pa.Array:
    """Big-endian numbers of any length as Arrow has them, of 16 bytes and little-endian."""
    if max(lengths) > 16:
        raise NotTheSameError(f"a bound that is no {field_type}")
    if len(lengths) > 1:
        # Those of each length, and from there back to their rows.
        of_each = pc.binary_length(values)
        places = [pc.indices_nonzero(pc.equal(of_each, length)) for length in lengths]
        parts = [
            _decimals(values.take(at), [length], field_type, kind)
            for at, length in zip(places, lengths, strict=True)
        ]
        return pa.concat_arrays(parts).take(pc.sort_indices(pa.concat_arrays(places)))
    count, length = len(values), lengths[0]
    stored, made = memoryview(_bytes_of(values)).tobytes(), bytearray(16 * count)
    for place in range(length):
        made[place::16] = stored[length - 1 - place :: length]
    for place in range(length, 16) if length else ():
        made[place::16] = stored[::length].translate(_SIGNS)
    buffers = [None, pa.py_buffer(made)]
    extremes = pc.min_max(pa.Array.from_buffers(pa.decimal128(38, 0), count, buffers)).as_py().values()
    if any(abs(int(one)) >= 10**field_type.precision for one in extremes):
        raise NotTheSameError(f"a bound that is no {field_type}")
    return pa.Array.from_buffers(kind, count, buffers)
