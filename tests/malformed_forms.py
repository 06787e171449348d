"""What can be wrong with any JSON, any Avro file and any deletion vector, for malformed_files.py."""

from __future__ import annotations

import copy
import io
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import fastavro
from paimon_files import SYNC, Record, Schema
from paimon_files import _bytes as prefixed
from varints import zigzag

Named = Iterator[tuple[str, bytes]]


def json_files(good: Record, required: list[str], typed: dict[str, Any], *, of_bytes: bool = False) -> Named:
    """What can be wrong with any JSON: its text, keys that must be there, and values of another type.

    Java's parser finds the encoding of bytes itself, but not that of a text that was read as UTF-8.
    """
    text = json.dumps(good)
    yield "y_good.json", text.encode()
    yield "y_spaces.json", json.dumps(good, indent=4).encode()
    yield "y_unknown_keys.json", json.dumps({"x-a": [1, {"b": None}], **good}).encode()
    yield "n_empty.json", b""
    yield "n_blank.json", b"  \n"
    yield "n_null.json", b"null"
    yield "n_array.json", f"[{text}]".encode()
    yield "n_number.json", b"1"
    yield "n_cut.json", text.encode()[:-1]
    yield "n_cut_in_the_middle.json", text.encode()[: len(text) // 2]
    yield "n_trailing.json", f"{text} x".encode()
    yield "n_two.json", f"{text}{text}".encode()
    yield "n_single_quotes.json", text.replace('"', "'").encode()
    yield "n_comment.json", f"/* */{text}".encode()
    yield f"{'y' if of_bytes else 'n'}_utf16.json", text.encode("utf-16")
    yield "n_brackets.json", b"[" * 4000
    yield "n_braces.json", b'{"a":' * 1000
    yield "i_deep_unknown_key.json", f'{{"x": {"[" * 500}{"]" * 500}, {text[1:]}'.encode()
    yield "i_mark_of_byte_order.json", b"\xef\xbb\xbf" + text.encode()
    yield "i_control_character.json", text.replace("{", '{"x": "\x01", ', 1).encode()
    yield "i_key_twice.json", f"{text[:-1]}, {text[1:]}".encode()
    yield "i_half_a_surrogate.json", text.replace("{", '{"x": "\\ud800", ', 1).encode()
    yield "i_number_beyond_all.json", text.replace("{", '{"x": 1e99999, ', 1).encode()
    for key in required:
        yield f"n_without_{key}.json", json.dumps({k: v for k, v in good.items() if k != key}).encode()
        yield f"n_null_{key}.json", json.dumps({**good, key: None}).encode()
    for key, value in typed.items():
        yield f"n_{key}.json", json.dumps(_put(good, key, value)).encode()


def _put(good: Record, name: str, value: Any) -> Record:
    """A copy with another value at the path that stands before ` is ` in a case's name."""
    changed: Any = copy.deepcopy(good)
    inner = changed
    *path, last = name.partition("_is_")[0].split(".")
    for part in path:
        inner = inner[int(part) if part.isdigit() else part]
    inner[int(last) if last.isdigit() else last] = value
    return dict(changed)


def avro_of(schema: Schema, *blocks: tuple[int, bytes], codec: bytes = b"null") -> bytes:
    """An Avro file of blocks whose count and payload are given, whatever they hold."""
    out = b"Obj\x01" + zigzag(2) + prefixed(b"avro.schema") + prefixed(json.dumps(schema).encode())
    out += prefixed(b"avro.codec") + prefixed(codec) + b"\0" + SYNC
    return out + b"".join(zigzag(count) + prefixed(payload) + SYNC for count, payload in blocks)


def one(schema: Schema, record: bytes) -> bytes:
    """An Avro file of one record, whatever its bytes are."""
    return avro_of(schema, (1, record))


def written(schema: Schema, record: Record) -> bytes:
    """An Avro file of one record."""
    return one(schema, payload(schema, record))


def of_text(schema: Schema, record: bytes, what: str, text: bytes) -> Named:
    """What can be wrong with a text in a record, before which one byte has its length."""
    at = record.index(text)
    yield (
        f"n_{what}_longer_than_the_block.avro",
        one(schema, record[: at - 1] + zigzag(1 << 40) + record[at:]),
    )
    yield f"n_{what}_of_negative_length.avro", one(schema, record[: at - 1] + zigzag(-9) + record[at:])
    yield f"n_{what}_not_utf8.avro", one(schema, record[:at] + b"\xff" + record[at + 1 :])


def payload(schema: Schema, record: Record) -> bytes:
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, fastavro.parse_schema(copy.deepcopy(schema)), record)
    return sink.getvalue()


def avro_files(schema: Schema, record: Record) -> Named:
    """What can be wrong with any Avro file of records."""
    good = payload(schema, record)
    file = avro_of(schema, (1, good))
    header = len(avro_of(schema))
    yield "y_good.avro", file
    yield "y_without_records.avro", avro_of(schema)
    yield "y_empty_block.avro", avro_of(schema, (0, b""), (1, good))
    yield "y_two_blocks.avro", avro_of(schema, (1, good), (1, good))
    yield "n_empty.avro", b""
    yield "n_magic.avro", b"Obj\x02" + file[4:]
    yield "n_encrypted.avro", b"AGS1" + file[4:]
    yield "n_cut_in_the_marker.avro", file[:-1]
    yield "n_cut_in_the_block.avro", file[:-20]
    yield "n_cut_in_the_header.avro", file[: header // 2]
    yield "n_marker.avro", file[:-1] + b"\xff"
    yield "n_trailing.avro", file + b"\0"
    yield "n_count_too_large.avro", avro_of(schema, (2, good))
    yield "n_count_too_small.avro", avro_of(schema, (1, good + good))
    yield "n_count_negative.avro", avro_of(schema, (-1, good))
    yield "n_count_of_2_62.avro", avro_of(schema, (1 << 62, good))
    yield "n_length_negative.avro", file[:header] + zigzag(1) + zigzag(-5) + good + SYNC
    yield "n_length_of_2_62.avro", file[:header] + zigzag(1) + zigzag(1 << 62) + good + SYNC
    yield "n_varint_of_11_bytes.avro", file[:header] + b"\xff" * 10 + b"\x01" + good + SYNC
    yield "n_codec.avro", avro_of(schema, (1, good), codec=b"rot13")
    yield "n_codec_not_its_own.avro", avro_of(schema, (1, good), codec=b"zstandard")
    yield "n_codec_snappy_short.avro", avro_of(schema, (1, b"\0\0"), codec=b"snappy")
    yield "n_deflate_bomb.avro", avro_of(schema, (1, _deflated(bytes(20 << 20))), codec=b"deflate")
    packed = _deflated(good)
    yield "y_deflate_before_a_checksum.avro", avro_of(schema, (1, packed + b"\1\2\3"), codec=b"deflate")
    # What a flipped bit in a length can make of two blocks.
    both = packed + SYNC + zigzag(1) + zigzag(len(packed)) + packed
    yield "n_deflate_before_a_block.avro", avro_of(schema, (1, both), codec=b"deflate")
    yield "n_schema.avro", file.replace(b'"record"', b'"rekord"', 1)
    yield "n_no_record.avro", avro_of("long", (1, zigzag(1)))  # type: ignore[arg-type]


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(content) + packer.flush()


def nullable(kind: Any) -> Any:
    return ["null", kind]


def record_of(name: str, **fields: Any) -> Schema:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def without(schema: Schema, name: str) -> Schema:
    return {**schema, "fields": [part for part in schema["fields"] if part["name"] != name]}


def without_fields(schema: Schema, record: Record, names: Iterable[str]) -> Named:
    """The file of a record once without each of these fields."""
    for name in names:
        lacking = without(schema, name)
        yield f"n_no_{name.lstrip('_').lower()}.avro", written(lacking, record)


MAGIC = bytes([0xD1, 0xD3, 0x39, 0x64])


def framed(body: bytes, magic: bytes = MAGIC) -> bytes:
    """A deletion vector around a bitmap, with its size and checksum."""
    data = magic + body
    return struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def bitmap(*containers: tuple[int, int, bytes]) -> bytes:
    """A roaring bitmap of 32 bits; containers are key, cardinality and bytes."""
    head = struct.pack("<II", 12346, len(containers))
    head += b"".join(struct.pack("<HH", key, count - 1 & 0xFFFF) for key, count, _ in containers)
    place = len(head) + 4 * len(containers)
    for _, _, data in containers:
        head += struct.pack("<I", place)
        place += len(data)
    return head + b"".join(data for _, _, data in containers)


def many(*bitmaps: tuple[int, bytes], count: int | None = None) -> bytes:
    """Bitmaps of 32 bits by the upper halves of their positions."""
    number = len(bitmaps) if count is None else count
    return struct.pack("<Q", number) + b"".join(struct.pack("<I", key) + data for key, data in bitmaps)


ARRAY = struct.pack("<HH", 3, 9)
"""The positions of a container of two."""


def vectors(whole: Callable[[bytes], bytes], magic: bytes) -> dict[str, bytes]:
    """What can be wrong with any deletion vector. Args: whole, what a format makes of a bitmap of 32 bits."""
    one = bitmap((0, 2, ARRAY))
    good = framed(whole(one), magic)
    bodies = {
        "y_full_container": bitmap((0, 65536, b"\xff" * 8192)),
        "n_cookie": struct.pack("<I", 1) + one[4:],
        "n_containers_of_2_31": struct.pack("<II", 12346, 1 << 31) + one[8:],
        "n_container_cut": one[:-1],
        "n_array_descending": bitmap((0, 2, struct.pack("<HH", 9, 3))),
        "n_array_twice_the_same": bitmap((0, 2, struct.pack("<HH", 3, 3))),
        "n_cardinality": bitmap((0, 5000, b"\xff" * 8192)),
    }
    return {
        "y_good": good,
        "n_nothing": b"",
        "n_magic": framed(whole(one), magic[:3] + bytes([magic[3] ^ 1])),
        "n_checksum": good[:-1] + bytes([good[-1] ^ 1]),
        "n_size_too_small": struct.pack(">i", 9) + good[4:],
        "n_size_negative": struct.pack(">i", -1) + good[4:],
        "n_cut": good[:-5],
        "n_trailing": framed(whole(one) + b"\0", magic),
        **{name: framed(whole(body), magic) for name, body in bodies.items()},
    }
