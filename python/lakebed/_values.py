"""Arrow values as what JSON can hold, for the command line and for notebooks."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def to_json_values(array: pa.Array) -> list[Any]:
    """The values of an array as JSON has them, column by column.

    Bytes are lower-case hex, dates and times ISO 8601 with the digits of their unit, decimals plain texts,
    floats that JSON lacks the texts `NaN`, `Infinity`, `-Infinity`; intervals objects of months, days and
    nanoseconds; structs objects, maps with text keys objects and other maps lists of `{"key", "value"}`; a
    dense union is the value of its member; null is None.
    """
    import pyarrow as pa

    kind = array.type
    if pa.types.is_struct(kind):
        return _objects(array)
    if pa.types.is_union(kind):
        return _members(array)
    if pa.types.is_interval(kind):
        parts = ("months", "days", "nanoseconds")
        return [value and dict(zip(parts, value, strict=True)) for value in array.to_pylist()]
    if pa.types.is_map(kind):
        return _maps(array)
    if _is_list(kind):
        items = iter(to_json_values(array.flatten()))
        return [None if n is None else [next(items) for _ in range(n)] for n in _lengths(array)]
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        texts = array.cast(pa.string()).to_pylist()
        return [None if text is None else text.replace(" ", "T") for text in texts]
    values: list[Any] = array.to_pylist()
    if pa.types.is_decimal(kind):
        return [None if value is None else format(value, "f") for value in values]
    if pa.types.is_floating(kind):
        return [value if value is None or math.isfinite(value) else _not_finite(value) for value in values]
    if _is_binary(kind):
        return [None if value is None else value.hex() for value in values]
    return values


def to_text(value: Any) -> str:
    """One JSON value as the text of a cell: nested ones as compact JSON, null as `null`."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_rows(batch: pa.RecordBatch | pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a batch or table as tuples of JSON values."""
    columns = [to_json_values(_whole(column)) for column in batch.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * batch.num_rows


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _objects(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    # Not `flatten`: pyarrow masks the children with the struct's nulls, and aborts where one is a union.
    columns = [to_json_values(array.field(number)) for number in range(len(names))]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
    return [
        dict(zip(names, row, strict=True)) if valid else None
        for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)
    ]


def _members(array: pa.UnionArray) -> list[Any]:
    import pyarrow as pa

    array = pa.concat_arrays([array])  # codes and offsets do not know of slices
    members = [to_json_values(array.field(number)) for number in range(array.type.num_fields)]
    places = dict(zip(array.type.type_codes, members, strict=True))
    pairs = zip(array.type_codes.to_pylist(), array.offsets.to_pylist(), strict=True)
    return [places[code][offset] for code, offset in pairs]


def _maps(array: pa.MapArray) -> list[Any]:
    import pyarrow as pa

    texts = pa.types.is_string(array.type.key_type)
    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    rows = to_json_values(entries)
    return [{e["key"]: e["value"] for e in row} if texts and row is not None else row for row in rows]


def _lengths(array: pa.Array) -> list[int | None]:
    import pyarrow.compute as pc

    lengths: list[int | None] = pc.list_value_length(array).to_pylist()
    return lengths


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
