"""ORC and Parquet files taken apart, damaged where it hurts, and put together again.

Both keep what is where in messages: Protocol Buffers in ORC, Thrift's compact protocol in Parquet. They are
read here without a schema, changed in one place, and written again with all lengths around that place as they
must be, so that a reader gets as far as the damage.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Union

import pyarrow as pa
from varints import read_varint, varint

NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    255,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
TEXTS = (b"", b"\xff\xfe", b"\0" * 9, b"x" * 3000)


Value = Union[int, bytes, "Message", list[Any]]


@dataclass
class Message:
    """Fields of a message: number, wire type, value."""

    fields: list[list[Any]] = field(default_factory=list)

    def all(self, number: int) -> list[Any]:
        return [value for known, _, value in self.fields if known == number]

    def get(self, number: int) -> Any:
        return next(iter(self.all(number)), None)

    def put(self, number: int, value: Any) -> None:
        for known in self.fields:
            if known[0] == number:
                known[2] = value

    def places(self) -> Iterator[tuple[Message, int]]:
        """Every field, here and below."""
        for number, (_, _, value) in enumerate(self.fields):
            yield self, number
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Message):
                    yield from item.places()


def damage(message: Message, chance: random.Random) -> None:
    """Changes one field: its number, text or wire type, or takes it away, or puts it there twice."""
    places = list(message.places())
    if not places:
        return
    owner, at = chance.choice(places)
    known = owner.fields[at]
    value = known[2]
    how = chance.randrange(10)
    if how == 0:
        del owner.fields[at]
    elif how == 1:
        owner.fields.insert(at, list(known))
    elif how == 2:
        known[0] = chance.randrange(1, 14)
    elif isinstance(value, int):
        near = (value + 1, value - 1, value * 2, value ^ 1 << chance.randrange(32))
        known[2] = chance.choice([*NUMBERS, *near]) & ((1 << 64) - 1)
    elif isinstance(value, bytes):
        known[2] = chance.choice([*TEXTS, value[:-1], value + b"x", chance.randbytes(len(value))])
    elif isinstance(value, list) and len(value) > 1:
        # The first is the type of the items.
        number = chance.randrange(1, len(value))
        if isinstance(value[number], int):
            value[number] = chance.choice(NUMBERS)
        elif chance.random() < 0.5:
            value.append(value[number])
        else:
            del value[number]


Edit = Callable[[Message], None]
"""Changes a message."""


def _leave(message: Message) -> None:
    pass


# Which fields of ORC's messages are messages.
FOOTER: Any = {3: {}, 4: {7: {}}, 5: {}}
STRIPE_FOOTER: Any = {1: {}, 2: {}}


def protobuf(data: bytes, below: Any) -> Message:
    message, at = Message(), 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        value: Value
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
            if number in below:
                value = protobuf(value, below[number])
        else:
            raise ValueError(wire)
        message.fields.append([number, wire, value])
    return message


def protobuf_bytes(message: Message) -> bytes:
    out = b""
    for number, wire, value in message.fields:
        content = protobuf_bytes(value) if isinstance(value, Message) else value
        if isinstance(content, int):
            out += varint(number << 3 | wire) + varint(content)
        else:
            out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


class OrcFile:
    """An ORC file of one stripe; written again, chunks of compressed ones are stored as they are."""

    def __init__(self, content: bytes) -> None:
        self.postscript = protobuf(content[-1 - content[-1] : -1], {})
        self.is_chunked = bool(self.postscript.get(2))
        end = len(content) - 1 - content[-1]
        start = end - self.postscript.get(1)
        self.footer = protobuf(self._plain(content[start:end]), FOOTER)
        (stripe,) = self.footer.all(3)
        at, index, data = (stripe.get(number) or 0 for number in (1, 2, 3))
        footer_at = at + index + data
        self.stripe_footer = protobuf(
            self._plain(content[footer_at : footer_at + stripe.get(4)]), STRIPE_FOOTER
        )
        self.streams = []
        for stream in self.stripe_footer.all(1):
            length = stream.get(3) or 0
            self.streams.append(self._plain(content[at : at + length]))
            at += length

    def _plain(self, content: bytes) -> bytes:
        out, at = b"", 0
        if not self.is_chunked:
            return content
        while at < len(content):
            header = int.from_bytes(content[at : at + 3], "little")
            chunk = content[at + 3 : at + 3 + (header >> 1)]
            out += chunk if header & 1 else self._inflated(chunk)
            at += 3 + (header >> 1)
        return out

    def _inflated(self, chunk: bytes) -> bytes:
        if self.postscript.get(2) == 1:
            return zlib.decompress(chunk, -15)
        with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
            return bytes(stream.read())

    def _stored(self, content: bytes) -> bytes:
        if not self.is_chunked or not content:
            return content
        size = 30_000
        chunks = [content[at : at + size] for at in range(0, len(content), size)]
        return b"".join((len(chunk) << 1 | 1).to_bytes(3, "little") + chunk for chunk in chunks)

    def damaged(self, chance: random.Random) -> bytes:
        """The file with one thing of it damaged."""
        which = chance.choice(["postscript", "footer", "stripe_footer", "stripe_footer", "stream", "stream"])
        streams = list(self.streams)
        if which == "stream":
            number = chance.choice([at for at, content in enumerate(streams) if content])
            streams[number] = changed(streams[number], chance)
            return self.build(streams=streams)
        return self.build(**{which: lambda message: damage(message, chance)})  # type: ignore[arg-type]

    def build(
        self,
        *,
        postscript: Edit = _leave,
        footer: Edit = _leave,
        stripe_footer: Edit = _leave,
        streams: list[bytes] | None = None,
        stored: dict[int, bytes] | None = None,
    ) -> bytes:
        """The file with some things of it changed, and all lengths as they are then.

        `streams` are not yet compressed, those in `stored` are, by their number.
        """
        chunked = [self._stored(content) for content in streams or self.streams]
        for number, content in (stored or {}).items():
            chunked[number] = content
        of_stripe = protobuf(protobuf_bytes(self.stripe_footer), STRIPE_FOOTER)
        for stream, content in zip(of_stripe.all(1), chunked, strict=True):
            stream.put(3, len(content))
        stripe_footer(of_stripe)
        tail = self._stored(protobuf_bytes(of_stripe))
        of_file = protobuf(protobuf_bytes(self.footer), FOOTER)
        (stripe,) = of_file.all(3)
        for number, value in ((1, 3), (2, 0), (3, sum(map(len, chunked))), (4, len(tail))):
            stripe.put(number, value)
        footer(of_file)
        end = self._stored(protobuf_bytes(of_file))
        last = protobuf(protobuf_bytes(self.postscript), {})
        last.put(1, len(end))
        last.put(5, 0)
        postscript(last)
        closing = protobuf_bytes(last)[-255:]
        return b"ORC" + b"".join(chunked) + tail + end + closing + bytes([len(closing)])


def thrift(data: bytes, at: int) -> tuple[Message, int]:
    message, number = Message(), 0
    while data[at]:
        delta, kind = data[at] >> 4, data[at] & 0xF
        at += 1
        if delta:
            number += delta
        else:
            zigzag, at = read_varint(data, at)
            number = zigzag >> 1
        value, at = thrift_value(data, at, kind)
        message.fields.append([number, kind, value])
    return message, at + 1


def thrift_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return None, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return read_varint(data, at)
    if kind == 7:
        return data[at : at + 8], at + 8
    if kind == 8:
        length, at = read_varint(data, at)
        return data[at : at + length], at + length
    if kind == 9:
        size, of = data[at] >> 4, data[at] & 0xF
        at += 1
        if size == 15:
            size, at = read_varint(data, at)
        items: list[Any] = [of]
        for _ in range(size):
            item, at = thrift_value(data, at, of)
            items.append(item)
        return items, at
    assert kind == 12, kind
    return thrift(data, at)


def thrift_bytes(message: Message) -> bytes:
    out, last = b"", 0
    for number, kind, value in message.fields:
        delta = number - last
        out += bytes([delta << 4 | kind]) if 0 < delta < 16 else bytes([kind]) + varint(number << 1)
        out, last = out + value_bytes(kind, value), number
    return out + b"\0"


def value_bytes(kind: int, value: Any) -> bytes:
    if kind in (1, 2):
        return b""
    if kind == 3:
        return bytes([value & 0xFF])
    if kind in (4, 5, 6):
        return varint(value)
    if kind == 7:
        return bytes(value)
    if kind == 8:
        return varint(len(value)) + bytes(value)
    if kind == 9:
        of, *items = value
        header = bytes([0xF0 | of & 0xF]) + varint(len(items))
        return header + b"".join(value_bytes(of & 0xF, item) for item in items)
    return thrift_bytes(value)


class ParquetFile:
    """A Parquet file of one row group, taken apart to its pages."""

    def __init__(self, content: bytes) -> None:
        (length,) = struct.unpack("<I", content[-8:-4])
        self.footer, _ = thrift(content, len(content) - 8 - length)
        self.chunks: list[list[tuple[bytes, bytes]]] = []
        for _, _, metadata in self._columns(self.footer):
            start = min(value for value in (metadata.get(9), metadata.get(11)) if value) >> 1
            at, end, pages = start, start + (metadata.get(7) >> 1), []
            while at < end:
                header, behind = thrift(content, at)
                size = header.get(3) >> 1
                pages.append((content[at:behind], content[behind : behind + size]))
                at = behind + size
            self.chunks.append(pages)

    @staticmethod
    def _columns(footer: Message) -> Iterator[tuple[int, Message, Message]]:
        _, group = footer.get(4)
        for number, chunk in enumerate(group.get(1)[1:]):
            yield number, chunk, chunk.get(3)

    def damaged(self, chance: random.Random) -> bytes:
        """The file with one thing of it damaged."""
        which = chance.choice(["footer", "footer", "header", "header", "page"])
        column = chance.randrange(len(self.chunks))
        place = (column, chance.randrange(len(self.chunks[column])))
        if which == "page":
            return self.build(place, page=lambda page: changed(page, chance))
        return self.build(place, **{which: lambda message: damage(message, chance)})  # type: ignore[arg-type]

    def build(
        self,
        place: tuple[int, int] = (0, 0),
        *,
        footer: Edit = _leave,
        header: Edit = _leave,
        page: Callable[[bytes], bytes] = bytes,
    ) -> bytes:
        """The file with its footer changed, or one page: that of a column and number."""
        of_file, _ = thrift(thrift_bytes(self.footer), 0)
        out = b"PAR1"
        for number, _, metadata in self._columns(of_file):
            start, offsets = len(out), []
            for at, (header_bytes, body) in enumerate(self.chunks[number]):
                offsets.append(len(out))
                of_page, _ = thrift(header_bytes, 0)
                content = body
                if (number, at) == place:
                    content = page(body)
                    if content != body:
                        of_page.put(2, len(content) << 1)
                        of_page.put(3, len(content) << 1)
                    header(of_page)
                out += thrift_bytes(of_page) + content
            metadata.put(7, (len(out) - start) << 1)
            metadata.put(11, start << 1)
            metadata.put(9, offsets[1 if metadata.get(11) else 0] << 1)
        footer(of_file)
        end = thrift_bytes(of_file)
        return out + end + struct.pack("<I", len(end)) + b"PAR1"


def changed(content: bytes, chance: random.Random) -> bytes:
    """Bytes with a few of them changed, cut out or put in."""
    out = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        at = chance.randrange(len(out)) if out else 0
        how = chance.randrange(8)
        if how == 0:
            del out[at : at + chance.randrange(1, 9)]
        elif how == 1:
            out[at:at] = chance.randbytes(chance.randrange(1, 9))
        elif how == 2:
            out[at : at + 1] = b"\xff" * chance.randrange(1, 10)
        elif out:
            out[at] = chance.randrange(256) if how < 6 else out[at] ^ 1 << chance.randrange(8)
    return bytes(out)


def damages(files: list[bytes], parts: Callable[[bytes], Any], count: int, seed: int) -> Iterator[bytes]:
    """Damaged files: a third each with bytes changed, cut, and damaged by their structure.

    `parts` takes a file apart that is not compressed; of the others only bytes are changed.
    """
    chance = random.Random(seed)
    apart = [parts(files[0])]
    for number in range(count):
        content = chance.choice(files)
        if number % 3 == 0:
            yield changed(content, chance)
        elif number % 12 == 1:
            yield content[: chance.randrange(len(content))]
        else:
            yield chance.choice(apart).damaged(chance)
