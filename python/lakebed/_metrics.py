"""Counts and bounds of columns, as metadata keeps them of a data file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa, pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakebed.table import Table

_MODE = re.compile(r"none|counts|full|truncate\((\d+)\)")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True)
class Mode:
    """How much is kept of a column: Iceberg's `MetricsModes.java`, Paimon's `metadata.stats-mode`.

    Attributes: bounds, whether there are any; length, the code points or bytes they are cut to, None for all.
    """

    counts: bool
    bounds: bool
    length: int | None

    @staticmethod
    def parse(text: str) -> Mode:
        """Raises: ValueError for a mode that neither format has."""
        found = _MODE.fullmatch(text.strip().lower())
        if found is None or found[1] == "0":
            # The text itself may be anything that was put into a table's properties.
            raise ValueError("a metrics mode is none, counts, truncate(16) or full")
        word = found[0].partition("(")[0]
        length = int(found[1]) if found[1] else None
        return Mode(word != "none", word in ("full", "truncate"), length)


def wanted_metrics(table: Table) -> Iterator[tuple[str, pa.DataType, Mode]]:
    """The columns that metrics are kept of, by name, in the schema's order.

    Raises: ValueError for a property that is not a mode.
    """
    properties = table.properties
    if table.format == "iceberg":
        named, default = "write.metadata.metrics.column.{}", "write.metadata.metrics.default"
        most = int(properties.get("write.metadata.metrics.max-inferred-column-defaults", "100"))
        leaves = list(_leaves(table.schema, ""))
    else:
        named, default = "fields.{}.stats-mode", "metadata.stats-mode"
        most = int(properties.get("metadata.stats-keep-first-n-columns", "-1"))
        leaves = [(field.name, field.type) for field in table.schema]
    for number, (name, kind) in enumerate(leaves):
        # Iceberg's bound is on columns without a mode of their own or of the table's, Paimon's on all.
        beyond = 0 <= most <= number and not (table.format == "iceberg" and default in properties)
        inferred = "none" if beyond else properties.get(default, "truncate(16)")
        given = properties.get(named.format(name))
        mode = Mode.parse(inferred if given is None or (beyond and table.format == "paimon") else given)
        if mode.counts:
            bounds = mode.bounds and _has_bounds(kind, table.format)
            yield name, kind, Mode(mode.counts, bounds, mode.length)


def _leaves(fields: Iterable[pa.Field[Any]], prefix: str) -> Iterator[tuple[str, pa.DataType]]:
    """The fields in no list and no map that have no fields themselves, by dotted path."""
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, f"{prefix}{field.name}.")
        elif not pa.types.is_nested(field.type):
            yield f"{prefix}{field.name}", field.type


def _has_bounds(kind: pa.DataType, table_format: str) -> bool:
    """Paimon's engine keeps none of binaries."""
    without = table_format == "paimon" and pa.types.is_binary(kind)
    return not (without or pa.types.is_nested(kind) or pa.types.is_null(kind))


@dataclass
class ColumnMetrics:
    """What is known of the values of one column, batch by batch.

    Args: kind, the column's Arrow type; nan_is_greatest, whether NaN is a bound, above all numbers (as Java
        compares), or none.
    """

    kind: pa.DataType
    mode: Mode
    nan_is_greatest: bool
    values: int = 0
    nulls: int = 0
    nans: int = 0
    lower: Any = None
    upper: Any = None

    def add(self, values: pa.Array) -> None:
        """Counts more values. Cost: one pass for the counts, one for the bounds."""
        self.values += len(values)
        self.nulls += values.null_count
        if pa.types.is_floating(self.kind):
            is_nan = pc.is_nan(values)
            self.nans += pc.sum(is_nan).as_py() or 0
            values = values.filter(pc.invert(pc.fill_null(is_nan, True)))
        if not self.mode.bounds or len(values) == values.null_count:
            return
        found = pc.min_max(values)
        # Scalars, not Python's values: those have no nanoseconds and no width.
        self.lower = _most_extreme([self.lower, found["min"]], "min")
        self.upper = _most_extreme([self.upper, found["max"]], "max")

    def bounds(self) -> tuple[Any, Any]:
        """The least and the greatest value, cut as the mode says; None where there is none."""
        lower, upper = self.lower, self.upper
        if pa.types.is_floating(self.kind) and self.mode.bounds:
            if self.nans and self.nan_is_greatest:
                nan = pa.scalar(float("nan"), self.kind)
                lower, upper = nan if lower is None else lower, nan
            # Zeros are equal: a bound of the other sign would leave one of them out.
            lower = pa.scalar(-0.0, self.kind) if lower is not None and lower.as_py() == 0 else lower
            upper = pa.scalar(0.0, self.kind) if upper is not None and upper.as_py() == 0 else upper
        length = self.mode.length
        has_prefixes = pa.types.is_string(self.kind) or pa.types.is_binary(self.kind)
        if length is None or lower is None or not has_prefixes:
            return lower, upper
        least, greatest = lower.as_py()[:length], upper_prefix(upper.as_py(), length)
        return pa.scalar(least, self.kind), None if greatest is None else pa.scalar(greatest, self.kind)


def _most_extreme(bounds: list[Any], which: str) -> Any:
    known = [pa.repeat(bound, 1) for bound in bounds if bound is not None]
    return pc.min_max(pa.concat_arrays(known))[which]


def upper_prefix(value: str | bytes, length: int) -> str | bytes | None:
    """The least value of at most `length` code points or bytes that is not below any with `value`'s prefix.

    Returns: a value that is short enough itself; None where nothing is above the prefix.
    """
    if len(value) <= length:
        return value
    for end in range(length, 0, -1):
        following = _following(value[end - 1])
        if following is not None:
            return value[: end - 1] + following  # type: ignore[operator]  # text to text, bytes to bytes
    return None


def _following(unit: str | int) -> str | bytes | None:
    """The next code point or byte, if there is one."""
    if isinstance(unit, int):
        return bytes([unit + 1]) if unit < 0xFF else None
    number = ord(unit) + 1
    # There are no surrogates in UTF-8.
    number = _SURROGATES.stop if number in _SURROGATES else number
    return chr(number) if number <= _LAST_CODE_POINT else None
