"""Malformed sidecars of Paimon's manifests and partition statistics of Iceberg, for malformed_files.py."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import fastavro
import malformed_forms as forms
from iceberg_made import field, optional
from paimon_files import Record, records
from sidecar_table import SIDECAR_TABLE

Block = tuple[int, int, int, list[bytes | None]]
"""Offset, length and records, with the payloads of partitions, row ids and buckets."""

MANIFEST = SIDECAR_TABLE / "manifest" / "manifest-0"
MOST = (1 << 31) - 1


def _leb(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _prefixed(content: bytes) -> bytes:
    return _leb(len(content)) + content


def _numbers(*deltas: int) -> bytes:
    return b"".join(map(_leb, (len(deltas), *deltas)))


class _Sidecar:
    """The sidecar of the small table's manifest in its parts."""

    def __init__(self) -> None:
        with MANIFEST.open("rb") as content:
            found = list(fastavro.block_reader(content))
        entries = records(MANIFEST)
        self.header = MANIFEST.read_bytes()[: found[0].offset]
        self.partitions = list(dict.fromkeys(entry["_PARTITION"] for entry in entries))
        self.blocks: list[Block] = []
        for block in found:
            some, entries = entries[: block.num_records], entries[block.num_records :]
            numbers = sorted({self.partitions.index(entry["_PARTITION"]) for entry in some})
            deltas = [after - before for before, after in zip([0, *numbers], numbers, strict=False)]
            buckets = sorted({entry["_BUCKET"] for entry in some})
            pairs = _numbers(buckets[0], *[1] * (len(buckets) - 1)) + _numbers(4, *[0] * (len(buckets) - 1))
            self.blocks.append(
                (block.offset, block.size, block.num_records, [_numbers(*deltas), None, pairs])
            )

    def body(self, **parts: Any) -> bytes:
        """Everything in front of the checksum, with other parts."""
        header: bytes = parts.get("header", self.header)
        partitions: list[bytes] = parts.get("partitions", self.partitions)
        blocks: list[Block] = parts.get("blocks", self.blocks)
        out: bytes = (
            b"PMSC" + parts.get("version", _leb(1)) + parts.get("header_length", _leb(len(header))) + header
        )
        out += parts.get("partition_count", _leb(len(partitions))) + b"".join(map(_prefixed, partitions))
        out += parts.get("block_count", _leb(len(blocks)))
        for offset, length, count, payloads in blocks:
            out += _leb(offset) + _leb(length) + _leb(count)
            out += b"".join(b"\0" if one is None else b"\1" + _prefixed(one) for one in payloads)
        return out

    def file(self, **parts: Any) -> bytes:
        return _summed(self.body(**parts))

    def first(self, **parts: Any) -> bytes:
        """With another first block."""
        offset, length, count, (partitions, rows, buckets) = self.blocks[0]
        payloads = [
            parts.get("partitions", partitions),
            parts.get("rows", rows),
            parts.get("buckets", buckets),
        ]
        place = parts.get("offset", offset), parts.get("length", length), parts.get("records", count)
        return self.file(blocks=[(*place, payloads), *self.blocks[1:]])


def _summed(body: bytes) -> bytes:
    return body + zlib.crc32(body).to_bytes(4, "big")


def sidecar() -> forms.Named:
    whole = _Sidecar()
    body, blocks = whole.body(), whole.blocks
    at = body.index(whole.header) + len(whole.header)
    yield "y_good.sidecar", whole.file()
    yield "y_nothing_is_known.sidecar", whole.file(blocks=[(*one[:3], [None] * 3) for one in blocks])
    yield "y_rows.sidecar", whole.first(rows=struct.pack(">qq", 0, 9) + _numbers())
    yield "y_more_partitions_than_are_used.sidecar", whole.file(partitions=[*whole.partitions, bytes(28)])
    yield "n_empty.sidecar", b""
    yield "n_checksum_alone.sidecar", _summed(b"")
    yield "n_checksum.sidecar", body + bytes(4)
    yield "n_magic.sidecar", _summed(b"PMSD" + body[4:])
    yield "n_version_2.sidecar", whole.file(version=_leb(2))
    yield "n_version_in_two_bytes.sidecar", whole.file(version=b"\x81\0")
    yield "n_number_of_11_bytes.sidecar", whole.file(header_length=b"\xff" * 10 + b"\1")
    yield "n_number_of_64_bits.sidecar", whole.file(header_length=b"\xff" * 9 + b"\1")
    yield "n_cut.sidecar", whole.file()[:-1]
    yield "n_cut_in_the_blocks.sidecar", _summed(body[:-5])
    yield "n_cut_in_the_header.sidecar", _summed(body[: at // 2])
    yield "n_trailing.sidecar", _summed(body + b"\0")
    yield "n_header_short.sidecar", whole.file(header=whole.header[:20])
    yield "n_header_of_2_62_bytes.sidecar", whole.file(header_length=_leb(1 << 62))
    yield "n_partitions_2_31.sidecar", whole.file(partition_count=_leb(MOST))
    yield "n_partition_of_2_31_bytes.sidecar", _summed(body[:at] + _leb(1) + _leb(MOST) + body[at + 2 :])
    yield "n_partition_short.sidecar", whole.file(partitions=[b"x" * 11, *whole.partitions[1:]])
    yield "n_partition_twice.sidecar", whole.file(partitions=[*whole.partitions, whole.partitions[0]])
    yield "n_partition_of_no_row.sidecar", whole.file(partitions=[b"\xff" * 40, *whole.partitions[1:]])
    yield "n_partitions_fewer.sidecar", whole.file(partitions=whole.partitions[:-1])
    yield "n_blocks_2_31.sidecar", whole.file(block_count=_leb(MOST))
    yield "n_blocks_none.sidecar", whole.file(blocks=[])
    yield "n_blocks_without_the_last.sidecar", whole.file(blocks=blocks[:-1])
    yield "n_blocks_without_the_second.sidecar", whole.file(blocks=[blocks[0], *blocks[2:]])
    yield "n_blocks_in_another_order.sidecar", whole.file(blocks=[blocks[1], blocks[0], *blocks[2:]])
    both = (blocks[0][0], blocks[0][1] + blocks[1][1], blocks[0][2] + blocks[1][2])
    yield "n_two_blocks_as_one.sidecar", whole.file(blocks=[(*both, blocks[0][3]), *blocks[2:]])
    moved = [(*blocks[0][:2], 2, blocks[0][3]), *blocks[1:4], (*blocks[4][:2], 5, blocks[4][3])]
    yield "n_records_of_another_block.sidecar", whole.file(blocks=moved)
    # A byte from one block to the next.
    first, second = blocks[:2]
    moved = [(first[0], first[1] + 1, *first[2:]), (second[0] + 1, second[1] - 1, *second[2:]), *blocks[2:]]
    yield "n_block_ends_in_the_next.sidecar", whole.file(blocks=moved)
    yield "n_offset_2_62.sidecar", whole.first(offset=1 << 62)
    yield "n_length_0.sidecar", whole.first(length=0)
    yield "n_length_2_62.sidecar", whole.first(length=1 << 62)
    yield "n_length_to_63_bits.sidecar", whole.first(length=(1 << 63) - 1)
    yield "n_records_0.sidecar", whole.first(records=0)
    yield "n_records_more.sidecar", whole.first(records=2)
    yield "n_records_2_63.sidecar", whole.first(records=(1 << 63) - 1)
    yield "n_partitions_of_a_block_none.sidecar", whole.first(partitions=_numbers())
    yield "n_partitions_of_a_block_2_31.sidecar", whole.first(partitions=_leb(MOST))
    yield "n_partitions_of_a_block_unknown.sidecar", whole.first(partitions=_numbers(99))
    yield "n_partitions_of_a_block_twice.sidecar", whole.first(partitions=_numbers(0, 0))
    yield "n_partitions_more_than_records.sidecar", whole.first(partitions=_numbers(0, 1))
    yield "n_partitions_of_a_block_trailing.sidecar", whole.first(partitions=_numbers(0) + b"\0")
    yield "n_buckets_none.sidecar", whole.first(buckets=_numbers() * 2)
    yield "n_buckets_without_totals.sidecar", whole.first(buckets=_numbers(0))
    yield "n_bucket_of_no_total.sidecar", whole.first(buckets=_numbers(2) + _numbers(4))
    yield "n_bucket_of_32_bits.sidecar", whole.first(buckets=_numbers(MOST + 1) + _numbers(4))
    yield "n_total_negative.sidecar", whole.first(buckets=_numbers(0) + _numbers(3))
    yield "n_buckets_more_than_records.sidecar", whole.first(buckets=_numbers(0, 1) + _numbers(4, 0))
    yield "n_rows_short.sidecar", whole.first(rows=bytes(9))
    yield "n_rows_negative.sidecar", whole.first(rows=struct.pack(">qq", -2, -1) + _numbers())
    yield "n_rows_descend.sidecar", whole.first(rows=struct.pack(">qq", 9, 0) + _numbers())
    yield "n_rows_2_31.sidecar", whole.first(rows=struct.pack(">qq", 0, 9) + _leb(MOST))


_REQUIRED = {
    "spec_id": (2, "int"),
    "data_record_count": (3, "long"),
    "data_file_count": (4, "int"),
    "total_data_file_size_in_bytes": (5, "long"),
}
_OPTIONAL = {
    "position_delete_record_count": (6, "long"),
    "position_delete_file_count": (7, "int"),
    "equality_delete_record_count": (8, "long"),
    "equality_delete_file_count": (9, "int"),
    "total_record_count": (10, "long"),
    "last_updated_at": (11, "long"),
    "last_updated_snapshot_id": (12, "long"),
}
_TUPLE: Record = {"type": "record", "name": "r1", "fields": [field(1000, "region", optional("string"))]}
_STATS: Record = {
    "type": "record",
    "name": "partition_stats",
    "fields": [
        field(1, "partition", _TUPLE),
        *(field(number, name, kind) for name, (number, kind) in _REQUIRED.items()),
        *(field(number, name, optional(kind)) for name, (number, kind) in _OPTIONAL.items()),
    ],
}


def partition_stats() -> forms.Named:
    good: Record = {"partition": {"region": "emea"}, **dict.fromkeys(_REQUIRED, 1)}
    good |= {**dict.fromkeys(_OPTIONAL, 1), "spec_id": 0}
    yield from forms.avro_files(_STATS, good)

    def typed(name: str, kind: Any, value: Any) -> bytes:
        fields = [{**one, "type": kind} if one["name"] == name else one for one in _STATS["fields"]]
        return forms.written({**_STATS, "fields": fields}, {**good, name: value})

    yield "y_partition_is_null_within.avro", forms.written(_STATS, {**good, "partition": {"region": None}})
    yield "n_partition_is_null.avro", typed("partition", optional(_TUPLE), None)
    yield "n_partition_is_text.avro", typed("partition", "string", "emea")
    for name, kind in (("region", "double"), ("fields", {"type": "array", "items": "string"})):
        other = {**_TUPLE, "fields": [field(1000, "region", kind)]}
        value = {"region": 1.5 if kind == "double" else ["emea"]}
        yield f"n_partition_of_other_{name}.avro", typed("partition", other, value)
    for name in ("partition", *_REQUIRED):
        fields = [one for one in _STATS["fields"] if one["name"] != name]
        yield f"n_without_{name}.avro", forms.written({**_STATS, "fields": fields}, good)
    for name in _REQUIRED:
        yield f"n_{name}_is_text.avro", typed(name, "string", "1")
    for name in _OPTIONAL:
        fields = [one for one in _STATS["fields"] if one["name"] != name]
        yield f"y_without_{name}.avro", forms.written({**_STATS, "fields": fields}, good)
    yield "n_spec_id_of_64_bits.avro", typed("spec_id", "long", 1 << 40)
    yield "n_last_updated_at_far.avro", forms.written(_STATS, {**good, "last_updated_at": 1 << 62})
    # As stored they are shown; nothing is computed from them.
    yield "y_data_file_count_negative.avro", forms.written(_STATS, {**good, "data_file_count": -1})
    yield "y_data_record_count_2_63.avro", forms.written(_STATS, {**good, "data_record_count": (1 << 63) - 1})
    yield "i_spec_unknown.avro", forms.written(_STATS, {**good, "spec_id": 99})
