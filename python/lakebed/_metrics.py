"""Counts and bounds of columns, as metadata keeps them of a data file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed._columns import Column, columns_of, leaves_of
from lakebed._pyarrow import pa, pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakebed.table import Table

_MODE = re.compile(r"none|counts|full|truncate\((\d+)\)")
_INFERRED = "truncate(16)"
"""The mode of columns of which nothing is said, in both formats."""
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


UNKEPT = Mode(counts=False, bounds=False, length=None)
"""The mode of columns of which nothing is kept."""


def wanted_metrics(table: Table) -> Iterator[tuple[str, pa.DataType, Mode]]:
    """The columns in no list and no map that metrics are kept of, by name, in the schema's order.

    Raises: ValueError for a property that is not a mode.
    """
    for column, mode in wanted_modes(table, columns_of(table)):
        if not column.repeated:
            yield column.path, column.shown, mode


def wanted_modes(table: Table, columns: Sequence[Column]) -> list[tuple[Column, Mode]]:
    """The columns that metrics are kept of: of Iceberg those without fields of their own, also in lists and
    maps, of Paimon the table's columns.

    Args: columns, the table's.
    Raises: ValueError for a property that is not a mode.
    Source: Iceberg's `MetricsConfig.java`; Paimon's `StatsCollectorFactories.java`.
    """
    of_iceberg = table.format == "iceberg"
    wanted = leaves_of(columns) if of_iceberg else list(columns)
    texts = _modes_of_iceberg(table, columns, wanted) if of_iceberg else _modes_of_paimon(table, wanted)
    modes = [
        (column, mode_of(column, text, table.format)) for column, text in zip(wanted, texts, strict=True)
    ]
    return [one for one in modes if one[1].counts and (one[0].type is not None or one[0].children)]


def mode_of(column: Column, text: str = _INFERRED, table_format: str = "iceberg") -> Mode:
    """A mode for the values of a column: only texts and bytes are cut. Raises: ValueError."""
    mode, kind = Mode.parse(text), column.type
    bounds = mode.bounds and kind is not None and _has_bounds(kind, table_format)
    return Mode(mode.counts, bounds, mode.length if kind in (pa.string(), pa.binary()) else None)


def _modes_of_iceberg(table: Table, columns: Sequence[Column], leaves: Sequence[Column]) -> list[str]:
    properties = table.properties
    named, default = "write.metadata.metrics.column.{}", properties.get("write.metadata.metrics.default")
    most = int(properties.get("write.metadata.metrics.max-inferred-column-defaults", "100"))
    inferred = {leaf.path for leaf in leaves} if len(leaves) <= most else _first_of(columns, most)
    sorted_by = _sorted_by(table)
    general = default or (_INFERRED if len(leaves) <= most else "none")
    of_sorted = general if Mode.parse(general).bounds else _INFERRED
    modes = [default or (_INFERRED if leaf.path in inferred else "none") for leaf in leaves]
    modes = [of_sorted if leaf.id in sorted_by else mode for leaf, mode in zip(leaves, modes, strict=True)]
    return [properties.get(named.format(leaf.path), mode) for leaf, mode in zip(leaves, modes, strict=True)]


def _first_of(columns: Sequence[Column], most: int) -> set[str]:
    """The first columns that have no fields: of each level all before those within them."""
    found: list[str] = []

    def visit(columns: Sequence[Column]) -> None:
        found.extend(column.path for column in columns if column.kind == "primitive")
        for column in columns:
            if len(found) < most:
                visit(column.children)

    visit(columns)
    return set(found[:most])


def _sorted_by(table: Table) -> set[int]:
    """The ids of columns that the table is sorted by."""
    orders = table.metadata_table("sort_orders").to_arrow().to_pylist()
    fields = [field for order in orders if order["is_default"] for field in order["fields"]]
    ordered = [field["source_ids"] for field in fields if not field["transform"].startswith("bucket")]
    return {column for columns in ordered for column in columns}


def _modes_of_paimon(table: Table, columns: Sequence[Column]) -> list[str]:
    properties, named = table.properties, "fields.{}.stats-mode"
    most = int(properties.get("metadata.stats-keep-first-n-columns", "-1"))
    default = properties.get("metadata.stats-mode", _INFERRED)
    # The bound is on all columns, also on those with a mode of their own.
    return [
        "none" if 0 <= most <= number else properties.get(named.format(column.name), default)
        for number, column in enumerate(columns)
    ]


def _has_bounds(kind: pa.DataType, table_format: str) -> bool:
    """Paimon's engine keeps none of binaries."""
    without = table_format == "paimon" and pa.types.is_binary(kind)
    return not (without or pa.types.is_nested(kind) or pa.types.is_null(kind))


def cut(lower: Any, upper: Any, mode: Mode) -> tuple[Any, Any]:
    """Bounds as metadata keeps them: texts and bytes cut as the mode says, and zeros that are not one.

    Args: lower and upper, None where there is none.
    """
    # Zeros are equal: a bound of the other sign would leave one of them out.
    if isinstance(lower, float) and lower == 0:
        lower = -0.0
    if isinstance(upper, float) and upper == 0:
        upper = 0.0
    if mode.length is None or lower is None or upper is None:
        return lower, upper
    return lower[: mode.length], upper_prefix(upper, mode.length)


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
        if self.nans and self.nan_is_greatest and self.mode.bounds:
            nan = pa.scalar(float("nan"), self.kind)
            lower, upper = nan if lower is None else lower, nan
        is_exact = self.mode.length is None and not pa.types.is_floating(self.kind)
        if is_exact or lower is None or upper is None:
            return lower, upper
        ends = cut(lower.as_py(), upper.as_py(), self.mode)
        least, greatest = (None if end is None else pa.scalar(end, self.kind) for end in ends)
        return least, greatest


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
