"""What the end of a file says, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lakebed._pyarrow import pa

Convert = Callable[[Any], Any]
"""Makes a bound of what a footer has as one; None where it is no value of the column's type."""


@dataclass(frozen=True)
class FileColumn:
    """A column of a file, or a field, an element, a key or a value within one.

    Attributes: name, as the file has it; id, Iceberg's field id, where the file has one; kind, "primitive",
        "struct", "list" or "map"; type, of a primitive the Arrow type of its values, None for one that no
        table has; number, of a primitive its place among all; required, whether it is never null where what
        it is in is not; form, of some timestamps how they are stored: "int96", whose time zone
        nothing says, and "local-timestamp" of Avro.
    """

    name: str
    id: int | None
    kind: str
    type: pa.DataType | None
    number: int | None
    required: bool
    children: tuple[FileColumn, ...] = ()
    form: str = ""

    def has_ids(self) -> bool:
        """Whether it or anything within has a field id."""
        return self.id is not None or any(child.has_ids() for child in self.children)


@dataclass
class Counts:
    """What is known of the values of one column of a file; None where it is not.

    Attributes: values, their number, nulls among them; nulls; size, their bytes in the file; lower and
        upper, bounds of all values that are neither null nor NaN, None also where there is no such value.
    """

    values: int | None = None
    nulls: int | None = None
    size: int | None = None
    lower: Any = None
    upper: Any = None


def counts_of(known: Sequence[Any], convert: Convert | None) -> Counts:
    """What the core has read of a column. Args: known, values, nulls, bytes, and both bounds."""
    values, nulls, size, lower, upper = known
    if convert is None or lower is None or upper is None:
        return Counts(values, nulls, size)
    lower, upper = convert(lower), convert(upper)
    # Of a writer that mixed them up nothing is believed.
    is_range = lower is not None and upper is not None and lower <= upper
    return Counts(values, nulls, size, *((lower, upper) if is_range else ()))


class Footer(Protocol):
    """The end of a file.

    Attributes: format, "PARQUET", "ORC" or "AVRO"; rows, their number; split_offsets, where a reader may
        begin: the offsets of row groups or stripes, None of a format that does not know them; columns, the
        file's, an object that files of one writer may share.
    """

    format: str
    rows: int
    split_offsets: list[int] | None
    columns: tuple[FileColumn, ...]

    def counts(self, number: int, convert: Convert | None) -> Counts:
        """What is known of a primitive column. Args: convert, None where bounds are not wanted."""
        ...
