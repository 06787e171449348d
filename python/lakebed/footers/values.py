"""Bounds as footers have them, as values of a table's columns.

A bound on its way is a number, a text or bytes that compares as its column's values do: of dates and times
their number in the column's unit, of decimals their digits, of UUIDs their bytes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from lakebed._columns import Column
    from lakebed.footers.footer import Convert, FileColumn

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST = {8: 1 << 7, 16: 1 << 15, 32: 1 << 31, 64: 1 << 63}


def fits(given: FileColumn, column: Column, file_format: str, table_format: str | None) -> bool:
    """Whether readers of the table read a primitive column of a file as one of the table.

    Source: Iceberg specification, "Schema Evolution" and Appendix A; Paimon's `ParquetVectorUpdaterFactory`.
    """
    have, want = given.type, column.type
    is_same = have == want and given.form != "local-timestamp"
    if want is None or have is None or is_same or table_format is None:
        return want is None or have == want
    return bool(_fits(given, have, want, file_format, table_format)) or (
        file_format == "AVRO" and column.unique and pa.types.is_string(have)
    )


def _fits(given: FileColumn, have: Any, want: Any, file_format: str, table_format: str) -> Any:
    if pa.types.is_integer(have) and pa.types.is_integer(want):
        wider = table_format == "iceberg" or want.bit_width <= 32
        signed = pa.types.is_signed_integer(have)
        return wider and (
            have.bit_width <= want.bit_width if signed else have.bit_width < min(want.bit_width, 32)
        )
    if pa.types.is_floating(have) and pa.types.is_floating(want):
        return table_format == "iceberg" and have == pa.float32() and want == pa.float64()
    if pa.types.is_decimal(have) and pa.types.is_decimal(want):
        return have.scale == want.scale and have.precision <= want.precision
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        # Paimon's Avro files have the names of the two kinds exchanged.
        exchanged = file_format == "AVRO" and table_format == "paimon"
        if given.form == "local-timestamp" and table_format == "iceberg":
            return False  # its Java does not know them
        if given.form != "int96" and (have.tz is None) != (want.tz is None) and not exchanged:
            return False
        # ORC and INT96 have nanoseconds whatever was written.
        loose = file_format == "ORC" or given.form == "int96"
        if want.unit == "ns":
            return loose or table_format == "paimon"
        return loose or _PER_SECOND[have.unit] <= _PER_SECOND[want.unit]
    if pa.types.is_time(have) and pa.types.is_time(want):
        return _PER_SECOND[have.unit] <= _PER_SECOND[want.unit]
    # Files of other writers have no types of these.
    plain = (pa.types.is_fixed_size_binary(want) and pa.types.is_binary(have)) or (
        pa.types.is_time32(want) and pa.types.is_int32(have)
    )
    return file_format == "ORC" and plain


def converter(
    given: FileColumn, column: Column, file_format: str, table_format: str | None
) -> Convert | None:
    """What makes bounds of a file's column those of a table's column; None where there are none.

    Args: given and column, that fit each other.
    """
    have, want = given.type, column.type
    if have is None or want is None or pa.types.is_null(have) or given.form == "int96":
        return None
    if pa.types.is_boolean(want):
        return lambda value: value if isinstance(value, bool) else None
    if pa.types.is_integer(want):
        return _integer(want.bit_width)
    if pa.types.is_floating(want):
        # Paimon's engines compare NaN as the greatest number, and footers do not say whether there is any.
        return None if table_format == "paimon" else _float
    if pa.types.is_decimal(want):
        return _decimal(want)
    if pa.types.is_date(want):
        return _integer(32)
    if pa.types.is_timestamp(want) or pa.types.is_time(want):
        if not (pa.types.is_timestamp(have) or pa.types.is_time(have)):
            return _integer(32)
        return _scaled(_PER_SECOND[have.unit], _PER_SECOND[want.unit], 32 if pa.types.is_time32(want) else 64)
    if pa.types.is_string(want):
        return _text
    if table_format == "paimon" or file_format == "ORC":
        return None  # no bounds of bytes: Paimon keeps none, ORC has none
    length = want.byte_width if pa.types.is_fixed_size_binary(want) else None
    return lambda value: value if isinstance(value, bytes) and length in (None, len(value)) else None


def array_of(bounds: list[Any], column: Column) -> pa.Array:
    """Bounds of a column as views show its values; None is null."""
    kind, shown = column.type, column.shown
    if kind is None or pa.types.is_null(kind):
        return pa.nulls(len(bounds), shown)
    if column.unique:
        texts = [None if bound is None else str(UUID(bytes=bound)) for bound in bounds]
        return pa.array(texts, pa.string()).cast(shown)
    if pa.types.is_decimal(kind):
        digits = [None if bound is None else Decimal(bound).scaleb(-kind.scale) for bound in bounds]
        return pa.array(digits, kind)
    if pa.types.is_date(kind) or pa.types.is_time32(kind):
        return pa.array(bounds, pa.int32()).cast(kind).cast(shown)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.array(bounds, pa.int64()).cast(kind).cast(shown)
    if pa.types.is_fixed_size_binary(kind):
        return pa.array(bounds, pa.binary()).cast(shown)
    return pa.array(bounds, kind).cast(shown)


def _integer(bits: int) -> Convert:
    most = _MOST[bits]

    def convert(value: Any) -> int | None:
        return int(value) if isinstance(value, int) and -most <= value < most else None

    return convert


def _scaled(have: int, want: int, bits: int) -> Convert:
    """Of numbers of so many a second those of others, rounded down, as readers do."""
    fit = _integer(bits)

    def convert(value: Any) -> int | None:
        if not isinstance(value, int):
            return None
        scaled: int | None = fit(value * (want // have) if want >= have else value // (have // want))
        return scaled

    return convert


def _float(value: Any) -> float | None:
    return value if isinstance(value, float) and value == value else None


def _decimal(kind: pa.Decimal128Type) -> Convert:
    most: int = 10**kind.precision

    def convert(value: Any) -> int | None:
        digits: int
        if isinstance(value, bytes):
            digits = int.from_bytes(value, "big", signed=True)
        elif isinstance(value, str):
            try:
                exact = Decimal(value).scaleb(kind.scale)
                digits = int(exact)
            except (ArithmeticError, ValueError):
                return None
            if digits != exact:
                return None
        elif isinstance(value, int):
            digits = value
        else:
            return None
        return digits if -most < digits < most else None

    return convert


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None  # cut within a letter, or no text
