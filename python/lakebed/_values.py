"""Arrow values as what JSON can hold, for the command line and for notebooks."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

from lakebed._pyarrow import pa, pc


def to_json_values(array: pa.Array) -> list[Any]:
    """The values of an array as JSON has them, column by column.

    Bytes are lower-case hex, dates and times ISO 8601 with the digits of their unit (years after 9999 with a
    sign, as ISO 8601 and Java have them: `+10000-01-01`), decimals plain texts,
    floats that JSON lacks the texts `NaN`, `Infinity`, `-Infinity`; intervals objects of months, days and
    nanoseconds; structs objects, maps with text keys objects and other maps lists of `{"key", "value"}`; a
    dense union is the value of its member; null is None.
    """
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
        lengths = pc.list_value_length(array).to_pylist()
        return [None if n is None else [next(items) for _ in range(n)] for n in lengths]
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _times(array)
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


def to_records(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """The rows of a batch or table as objects of JSON values, by the names of columns."""
    names = rows.schema.names
    return [dict(zip(names, row, strict=True)) for row in to_rows(rows)]


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
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
    array = pa.concat_arrays([array])  # codes and offsets do not know of slices
    members = [to_json_values(array.field(number)) for number in range(array.type.num_fields)]
    places = dict(zip(array.type.type_codes, members, strict=True))
    pairs = zip(array.type_codes.to_pylist(), array.offsets.to_pylist(), strict=True)
    return [places[code][offset] for code, offset in pairs]


def _times(array: pa.Array) -> list[str | None]:
    """Dates, times and timestamps."""
    kind = array.type
    is_date, is_time = pa.types.is_date(kind), pa.types.is_time(kind)
    if pa.types.is_date32(kind):
        unit, per_day, numbers = "", 1, array.cast(pa.int32())
    else:
        unit = "ms" if is_date else kind.unit
        integers = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        per_day, numbers = _SECONDS_PER_DAY * 10 ** _DIGITS[unit], array.cast(integers)
    bounds = pc.min_max(numbers)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least is None or (0 if is_time else _FIRST * per_day) <= least <= most < (
        per_day if is_time else _LAST * per_day
    ):
        texts: list[str | None] = array.cast(pa.string()).to_pylist()
        return [None if text is None else text.replace(" ", "T") for text in texts]
    digits = _DIGITS[unit] if unit else 0
    zone = "Z" if pa.types.is_timestamp(kind) and kind.tz is not None else ""

    def text(number: int) -> str:
        if is_time:
            return ("-" if number < 0 else "") + _clock(abs(number), digits)
        day, clock = divmod(number, per_day)
        return _date(day) if is_date else f"{_date(day)}T{_clock(clock, digits)}{zone}"

    return [None if number is None else text(number) for number in numbers.to_pylist()]


_SECONDS_PER_DAY = 86_400
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
# Days since 1970 of the year 1 and of the year 10000: pyarrow writes what is between them right.
_FIRST, _LAST = -719_162, 2_932_897
_DAYS_OF_400_YEARS = 146_097


def _date(day: int) -> str:
    """A day since 1970 in the proleptic Gregorian calendar, which repeats itself every 400 years."""
    era, day = divmod(day - _FIRST, _DAYS_OF_400_YEARS)
    within = date.fromordinal(day + 1)
    year = within.year + 400 * era
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{within:%m-%d}"


def _clock(time: int, digits: int) -> str:
    """A time of day in units of so many digits of a second; hours count past 23 where it is of no day."""
    seconds, fraction = divmod(time, 10**digits)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}" + (f".{fraction:0{digits}}" if digits else "")


def _maps(array: pa.MapArray) -> list[Any]:
    texts = pa.types.is_string(array.type.key_type)
    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    rows = to_json_values(entries)
    return [{e["key"]: e["value"] for e in row} if texts and row is not None else row for row in rows]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary(), pa.binary_view()) or pa.types.is_fixed_size_binary(kind)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
