"""What the canonical forms of both formats' answers share: validity, nesting, and floats bit by bit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

Row = dict[str, Any]


def valid(array: pa.Array, values: Iterable[Any]) -> list[Any]:
    """The values, None where the array is null."""
    pairs = zip(values, array.is_valid().to_pylist(), strict=True)
    return [value if there else None for value, there in pairs]


def structs(array: pa.StructArray, canonical: Callable[[pa.Array], list[Any]]) -> list[Any]:
    """The rows of a struct array as objects of canonical values."""
    names = [field.name for field in array.type]
    columns = [canonical(child) for child in array.flatten()]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
    return valid(array, (dict(zip(names, row, strict=True)) for row in rows))


def lists(
    array: pa.Array, items: pa.Array, canonical: Callable[[pa.Array], list[Any]]
) -> Iterator[list[Any]]:
    """The canonical items of each list, or of each map's keys or values; of a null one, anything."""
    values = canonical(items)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        starts = [(array.offset + row) * size for row in range(len(array) + 1)]
    else:
        starts = array.offsets.to_pylist()
    return (values[start:end] for start, end in pairwise(starts))


def canonical_by(
    array: pa.Array | pa.ChunkedArray,
    pairs: Callable[[list[Any], list[Any]], Any],
    time: Callable[[str, pa.DataType], str],
    scalar: Callable[[Any, pa.DataType], Any],
) -> list[Any]:
    """The values of an array in a canonical form, which says what maps, times and scalars are in it."""

    def canonical(inner: pa.Array) -> list[Any]:
        return canonical_by(inner, pairs, time, scalar)

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_struct(kind):
        return structs(array, canonical)
    if pa.types.is_map(kind):
        both = zip(lists(array, array.keys, canonical), lists(array, array.items, canonical), strict=True)
        return valid(array, (pairs(keys, values) for keys, values in both))
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return valid(array, lists(array, array.values, canonical))
    if pa.types.is_temporal(kind):
        return [text if text is None else time(text, kind) for text in array.cast(pa.string()).to_pylist()]
    return [value if value is None else scalar(value, kind) for value in array.to_pylist()]


def rows_by(canonical: Callable[[pa.ChunkedArray], list[Any]], table: pa.Table) -> list[Row]:
    """The rows of a table in a canonical form."""
    columns = [canonical(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def assert_rows(rows: Sequence[Row], expected: Sequence[Row], where: str) -> None:
    """Every row and column equal; the message names `where`, the row and the column."""
    for number, (row, wanted) in enumerate(zip(rows, expected, strict=False)):
        for column, value in wanted.items():
            assert column in row, f"{where}, row {number}: no column {column}"
            assert row[column] == value, (
                f"{where}, row {number}, column {column}: {row[column]!r}, expected {value!r}"
            )
    assert len(rows) == len(expected), f"{where}: {len(rows)} rows, expected {len(expected)}"


def float_bits(value: float, kind: pa.DataType) -> str:
    """Hex of a float's bits, "NaN" for every NaN: so that -0.0 is not 0.0, and NaN is NaN."""
    return "NaN" if value != value else struct.pack(">f" if kind == pa.float32() else ">d", value).hex()
