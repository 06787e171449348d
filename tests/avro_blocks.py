"""The blocks of an Avro file as its own numbers have them, and where errors must say that faults are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from varints import read_zigzag

from lakebed.errors import LakebedError

SYNC_BYTES = 16


@dataclass(frozen=True)
class Block:
    """Where a block begins, its payload and its end, and the number of its first record and of all."""

    start: int
    payload: int
    end: int
    first: int
    count: int


def _header_end(data: bytes) -> int:
    count, at = read_zigzag(data, len(b"Obj\1"))
    while count:
        if count < 0:
            _, at = read_zigzag(data, at)
        for _ in range(2 * abs(count)):
            length, at = read_zigzag(data, at)
            at += length
        count, at = read_zigzag(data, at)
    return at + SYNC_BYTES


def blocks(data: bytes) -> Iterator[Block]:
    """Blocks until one whose numbers cannot be true."""
    at, first = _header_end(data), 0
    while at < len(data):
        try:
            count, size_at = read_zigzag(data, at)
            size, payload = read_zigzag(data, size_at)
        except IndexError:
            # The file ends within the numbers.
            yield Block(at, len(data), len(data), first, 0)
            return
        yield Block(at, payload, payload + size, first, count)
        if count < 0 or size < 0:
            return
        at, first = payload + size + SYNC_BYTES, first + count


def assert_place(data: bytes, error: LakebedError) -> None:
    """Asserts that an error behind the header of a file has its block, and a record where one is at fault.

    No record is where a block's own numbers are wrong, its payload is cut or does not inflate, bytes are left
    behind its last record, or the marker behind it is another. Of several records, the payload may be shorter
    than any so many could be: that is known before the first is read.
    """
    assert error.block is not None
    assert error.offset is not None
    block = next(block for number, block in enumerate(blocks(data)) if number == error.block)
    assert block.start <= error.offset <= len(data), error
    of_block = error.kind in ("codec", "checksum", "trailing", "sync", "limit") or block.end > len(data)
    may_be_count = error.kind == "truncated" and error.offset == block.payload and block.count > 1
    if error.offset < block.payload or of_block or (may_be_count and error.record is None):
        assert error.record is None, error
    else:
        assert error.record is not None, error
        assert 0 <= error.record - block.first < block.count, error
