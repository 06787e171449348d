"""Footers of Parquet files, taken apart and put together again: such as other writers write, or had written.

Thrift's compact protocol; structs are dicts by field id of pairs of type and value, lists pairs of the
elements' type and the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
Struct = dict[int, tuple[int, Any]]
# Field ids of `parquet.thrift`.
ROW_GROUPS, CREATED_BY, COLUMN_ORDERS = 4, 6, 7
_COLUMNS, _META_DATA, _STATISTICS = 1, 3, 12
OLD_MAX, OLD_MIN, NULL_COUNT, MAX, MIN = 1, 2, 3, 5, 6


def edited(path: Path, edit: Callable[[Struct], object]) -> Path:
    """The file with an edited footer, at the same path."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = _Reader(content[-8 - length : -8]).struct()
    edit(footer)
    written = _struct(footer)
    path.write_bytes(content[: -8 - length] + written + len(written).to_bytes(4, "little") + content[-4:])
    return path


def statistics(footer: Struct) -> Iterator[Struct]:
    """The statistics of all column chunks."""
    for group in footer[ROW_GROUPS][1][1]:
        for chunk in group[_COLUMNS][1][1]:
            yield chunk[_META_DATA][1][_STATISTICS][1]


def with_old_bounds(footer: Struct) -> None:
    """Bounds in the fields that are deprecated, in an order that nobody says."""
    footer.pop(COLUMN_ORDERS)
    footer[CREATED_BY] = (_BINARY, b"somebody version 1.0")
    for one in statistics(footer):
        for old, new in ((OLD_MAX, MAX), (OLD_MIN, MIN)):
            if new in one:
                one[old] = one.pop(new)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def _take(self, length: int) -> bytes:
        self._at += length
        return self._content[self._at - length : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def struct(self) -> Struct:
        found: Struct = {}
        last = 0
        while header := self._take(1)[0]:
            kind = header & 15
            number = self._varint() if header < 16 else 0
            last = (number >> 1) ^ -(number & 1) if header < 16 else last + (header >> 4)
            found[last] = (kind, self._value(kind))
        return found

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return None
        if kind == _BYTE:
            return self._take(1)
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_LIST, _SET):
            header = self._take(1)[0]
            count = self._varint() if header >> 4 == 15 else header >> 4
            inner = header & 15
            return inner, [self._take(1) if inner < 3 else self._value(inner) for _ in range(count)]
        return self.struct() if kind == _STRUCT else self._varint()


def _varint(value: int) -> bytes:
    written = b""
    while value > 0x7F:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])


def _struct(fields: Struct) -> bytes:
    written, last = b"", 0
    for number, (kind, value) in sorted(fields.items()):
        written += bytes([(number - last) << 4 | kind]) + _value(kind, value)
        last = number
    return written + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in (_TRUE, _FALSE):
        return b""
    if kind in (_BYTE, _DOUBLE):
        return bytes(value)
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind in (_LIST, _SET):
        inner, items = value
        count = len(items)
        head = bytes([count << 4 | inner]) if count < 15 else bytes([0xF0 | inner]) + _varint(count)
        return head + b"".join(item if inner < 3 else _value(inner, item) for item in items)
    return _struct(value) if kind == _STRUCT else _varint(value)
