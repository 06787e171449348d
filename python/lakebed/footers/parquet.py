"""The end of Parquet files, which the compiled core reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._columns import UUID_BYTES
from lakebed._pyarrow import pa
from lakebed.footers.footer import Counts, FileColumn, counts_of

if TYPE_CHECKING:
    from lakebed.footers.footer import Convert
    from lakebed.limits import Limits

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
_REQUIRED, _REPEATED = 0, 2
_WORDS = re.compile(r"(\w+)(?:\((\w+)(?:,(\w+))?\))?")


@cache
def _plain() -> dict[str, pa.DataType]:
    """Of types without parameters those of Arrow, which is imported when they are asked for."""
    return {
        **{
            name: getattr(pa, name)()
            for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
        },
        **{name: getattr(pa, name)() for name in ("uint64", "string", "binary", "null")},
        "boolean": pa.bool_(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "int96": pa.timestamp("ns"),
        "uuid": pa.binary(UUID_BYTES),
    }


class ParquetFooter:
    """A `Footer` of Parquet.

    Args: footer, what the core has read of it.
    Source: Parquet specification, `parquet.thrift`; Iceberg's `ParquetMetrics.java`, `ParquetUtil.java`.
    """

    format = "PARQUET"

    def __init__(self, footer: tuple[int, list[int], list[Any], list[Any]]) -> None:
        self.rows, offsets, elements, self._statistics = footer
        self.split_offsets: list[int] | None = offsets
        self.columns = _columns(tuple(elements))

    @staticmethod
    def read(end: bytes, size: int, path: str, limits: Limits) -> ParquetFooter | int:
        """The footer, or how many of the last bytes are needed for it.

        Raises: CorruptError and its kin with path and offset, EncryptionError, UnsupportedError, LimitError.
        """
        read = _native.parquet_footer((path, _arrow.frozen(end)), size, limits)
        return read if isinstance(read, int) else ParquetFooter(read)

    def counts(self, number: int, convert: Convert | None) -> Counts:
        """What is known of a primitive column, of all row groups together."""
        return counts_of(self._statistics[number], convert)


@lru_cache(maxsize=4)
def _columns(elements: tuple[Any, ...]) -> tuple[FileColumn, ...]:
    """The columns of a schema, made once for files that have the same."""
    tree = _Tree(elements)
    return tuple(tree.fields(elements[0][3]))


class _Tree:
    """The elements of a schema as a tree (Parquet specification, "Nested Types").

    Args: elements, of which the core has looked whether they are one.
    """

    def __init__(self, elements: tuple[Any, ...]) -> None:
        self._elements, self._at, self._number = elements, 1, 0

    def fields(self, children: int) -> Iterator[FileColumn]:
        """The next columns."""
        for _ in range(children):
            yield self._column()

    def _column(self) -> FileColumn:
        name, values, repetition, children, field_id = self._next()
        if repetition != _REPEATED:
            return self._single(name, values, children, field_id, required=repetition == _REQUIRED)
        # A repeated element outside a list is a list that is never null, of items that are never null.
        item = self._single(name, values, children, None, required=True)
        return FileColumn(name, field_id, "list", None, None, required=True, children=(item,))

    def _single(
        self, name: str, values: str, children: int, field_id: int | None, *, required: bool
    ) -> FileColumn:
        if not children:
            self._number += 1
            form = "int96" if values == "int96" else ""
            kind, number = _type(values), self._number - 1
            return FileColumn(name, field_id, "primitive", kind, number, required, form=form)
        inner: tuple[FileColumn, ...]
        word = "struct"
        below = self._elements[self._at] if children == 1 else None
        if values == "list" and below is not None and below[2] == _REPEATED:
            word, inner = "list", (self._item(name),)
        elif values == "map" and below is not None and below[2] == _REPEATED and below[3] == 2:
            self._next()
            word, inner = "map", tuple(self.fields(2))
        else:
            inner = tuple(self.fields(children))
        return FileColumn(name, field_id, word, None, None, required, inner)

    def _item(self, of: str) -> FileColumn:
        """The item of a list, which is the repeated element itself in legacy forms."""
        name, values, _, children, field_id = self._next()
        if children != 1 or name in ("array", f"{of}_tuple"):
            return self._single(name, values, children, field_id, required=True)
        return self._column()

    def _next(self) -> Any:
        self._at += 1
        return self._elements[self._at - 1]


def _type(values: str) -> pa.DataType | None:
    """The Arrow type of a primitive's values; None of those that no table has."""
    found = _WORDS.fullmatch(values)
    if values in _plain() or found is None:
        return _plain().get(values)
    word, first, second = found.groups()
    if word == "decimal":
        precision, scale = int(first), int(second)
        return pa.decimal128(precision, scale) if 0 <= scale <= precision <= 38 and precision else None
    if word == "fixed":
        return pa.binary(int(first))
    if word == "timestamp" and first:
        return pa.timestamp(first, "UTC" if second else None)
    if word == "time" and first:
        return pa.time32(first) if first == "ms" else pa.time64(first)
    return None
