"""The end of ORC files, which the compiled core reads."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._columns import UUID_BYTES
from lakebed._pyarrow import pa
from lakebed.footers.footer import Convert, Counts, FileColumn, counts_of

if TYPE_CHECKING:
    from lakebed.limits import Limits

MAGIC = b"ORC"
# Numbers of kinds (ORC specification, "Type Information").
_LIST, _MAP, _STRUCT, _BINARY, _LONG, _DECIMAL = 10, 11, 12, 8, 4, 14


@cache
def _kinds() -> dict[int, pa.DataType]:
    """Of kinds without parameters the types of Arrow, which is imported when they are asked for."""
    return {
        0: pa.bool_(),
        1: pa.int8(),
        2: pa.int16(),
        3: pa.int32(),
        _LONG: pa.int64(),
        5: pa.float32(),
        6: pa.float64(),
        7: pa.string(),
        _BINARY: pa.binary(),
        9: pa.timestamp("ns"),
        15: pa.date32(),
        16: pa.string(),
        17: pa.string(),
        18: pa.timestamp("ns", "UTC"),
    }


class OrcFooter:
    """A `Footer` of ORC.

    Args: footer, what the core has read of it.
    Source: ORC specification, "File Tail"; Iceberg's `OrcMetrics.java`.
    """

    format = "ORC"

    def __init__(self, footer: tuple[int, list[int], list[Any], list[Any]]) -> None:
        self.rows, offsets, self._types, self._statistics = footer
        self.split_offsets: list[int] | None = offsets
        self._numbers: list[int] = []
        root = self._types[0]
        names = zip(root[2], root[1], strict=True)
        self.columns = tuple(self._column(name, number) for name, number in names)

    @staticmethod
    def read(end: bytes, size: int, path: str, limits: Limits) -> OrcFooter | int:
        """The footer, or how many of the last bytes are needed for it.

        Raises: CorruptError and its kin with path and offset, UnsupportedError, LimitError.
        """
        read = _native.orc_footer((path, _arrow.frozen(end)), size, limits)
        return read if isinstance(read, int) else OrcFooter(read)

    def counts(self, number: int, convert: Convert | None) -> Counts:
        """What is known of a primitive column."""
        known = self._statistics[self._numbers[number]]
        *counts, lower, upper = known
        # NaN stands where the first value was NaN: any number may be among the others.
        if isinstance(lower, float) and isinstance(upper, float):
            lower = float("-inf") if lower != lower else lower
            upper = float("inf") if upper != upper else upper
        return counts_of((*counts, lower, upper), convert)

    def _column(self, name: str, number: int) -> FileColumn:
        kind, children, names, attributes, (precision, scale) = self._types[number]
        text = attributes.get("iceberg.id", "")
        field_id = int(text) if text.isdecimal() else None
        word = {_STRUCT: "struct", _LIST: "list", _MAP: "map"}.get(kind, "primitive")
        required = attributes.get("iceberg.required") == "true"
        if word != "primitive":
            parts = {"struct": names, "list": ["element"], "map": ["key", "value"]}[word]
            inner = tuple(self._column(part, child) for part, child in zip(parts, children, strict=True))
            return FileColumn(name, field_id, word, None, None, required, inner)
        self._numbers.append(number)
        values = _type(kind, attributes, precision, scale)
        return FileColumn(name, field_id, word, values, len(self._numbers) - 1, required)


def _type(kind: int, attributes: dict[str, str], precision: int, scale: int) -> pa.DataType | None:
    """The Arrow type of a primitive's values; attributes are Iceberg's (`ORCSchemaUtil.java`)."""
    if kind == _DECIMAL:
        # Writers before ORC 0.12 record no precision.
        return pa.decimal128(precision or 38, scale if precision else 10) if precision <= 38 else None
    if kind == _LONG and attributes.get("iceberg.long-type") == "TIME":
        return pa.time64("us")
    if kind == _BINARY:
        binary = attributes.get("iceberg.binary-type", "BINARY")
        length = attributes.get("iceberg.length", "")
        if binary == "UUID":
            return pa.binary(UUID_BYTES)
        if binary == "FIXED" and length.isdecimal():
            return pa.binary(int(length))
    return _kinds().get(kind)
