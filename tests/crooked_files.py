"""Writes tests/data/crooked: small odd files of every kind of metadata, and what must become of them.

`<kind>/y_…` must be read, `n_…` must be refused by a typed error, `i_…` may be either: in a second, within
bounded memory, without a crash. `python tests/crooked_files.py` writes them again; ids are their names.
"""

from __future__ import annotations

import copy
import io
import json
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
from iceberg_made import entry, entry_schema, field, list_schema
from paimon_files import SYNC, Record, Schema, container
from paimon_files import _bytes as prefixed
from paimon_files import _zigzag as zigzag

CROOKED = Path(__file__).resolve().parent / "data" / "crooked"

Named = Iterator[tuple[str, bytes]]


def files() -> dict[str, bytes]:
    """Path below the folder → content."""
    makers = {
        "iceberg_metadata": iceberg_metadata,
        "iceberg_manifest": iceberg_manifest,
        "iceberg_manifest_list": iceberg_manifest_list,
        "iceberg_vector": iceberg_vector,
        "paimon_snapshot": paimon_snapshot,
        "paimon_schema": paimon_schema,
        "paimon_manifest_list": paimon_manifest_list,
    }
    return {f"{kind}/{name}": content for kind, make in makers.items() for name, content in make()}


def json_files(good: Record, required: list[str], typed: dict[str, Any]) -> Named:
    """What can be wrong with any JSON: its text, keys that must be there, and values of another type."""
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
    yield "n_utf16.json", text.encode("utf-16")
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


ICEBERG: Record = {
    "format-version": 2,
    "table-uuid": "00000000-0000-4000-8000-000000000000",
    "location": "/t",
    "last-sequence-number": 1,
    "last-updated-ms": 1000,
    "last-column-id": 2,
    "current-schema-id": 0,
    "schemas": [
        {
            "type": "struct",
            "schema-id": 0,
            "fields": [
                {"id": 1, "name": "id", "required": True, "type": "long"},
                {"id": 2, "name": "tags", "required": False, "type": "string"},
            ],
        }
    ],
    "default-spec-id": 0,
    "partition-specs": [
        {"spec-id": 0, "fields": [{"name": "b", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}]}
    ],
    "last-partition-id": 1000,
    "default-sort-order-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "properties": {},
    "current-snapshot-id": 1,
    "snapshots": [
        {
            "snapshot-id": 1,
            "sequence-number": 1,
            "timestamp-ms": 1000,
            "manifest-list": "/t/metadata/l.avro",
            "summary": {"operation": "append"},
            "schema-id": 0,
        }
    ],
}


def iceberg_metadata() -> Named:
    column = "schemas.0.fields.0"
    deep: Any = "long"
    for number in range(200):
        deep = {"type": "list", "element-id": number + 10, "element": deep, "element-required": True}
    typed = {
        "format-version_is_text": "2",
        "format-version_is_0": 0,
        "format-version_is_9": 9,
        "format-version_is_huge": 10**30,
        "format-version_is_a_fraction": 2.5,
        "location_is_a_number": 7,
        "schemas_is_text": "x",
        "schemas_is_empty": [],
        "schemas.0.fields_is_an_object": {},
        "schemas.0.type_is_another": "list",
        f"{column}.id_is_text": "1",
        f"{column}.id_is_beyond_32_bits": 1 << 40,
        f"{column}.name_is_null": None,
        f"{column}.type_is_unknown": "no such type",
        f"{column}.type_is_a_decimal_too_wide": "decimal(39, 2)",
        f"{column}.type_is_a_negative_fixed": "fixed[-1]",
        f"{column}.type_is_a_list_without_element": {"type": "list", "element-id": 3},
        f"{column}.type_is_deep": deep,
        "current-schema-id_is_none_of_them": 7,
        "partition-specs_is_null": None,
        "partition-specs.0.fields.0.source-id_is_text": "x",
        "default-spec-id_is_none_of_them": 7,
        "snapshots_is_text": "x",
        "snapshots.0.snapshot-id_is_a_fraction": 1.5,
        "snapshots.0.snapshot-id_is_beyond_64_bits": 1 << 70,
        "snapshots.0.manifest-list_is_a_number": 1,
        "properties_is_a_list": [],
    }
    yield from json_files(ICEBERG, ["format-version", "location", "schemas", "partition-specs"], typed)


PAIMON_SNAPSHOT: Record = {
    "version": 3,
    "id": 1,
    "schemaId": 0,
    "baseManifestList": "manifest-list-0",
    "deltaManifestList": "manifest-list-1",
    "commitUser": "tests",
    "commitIdentifier": 1,
    "commitKind": "APPEND",
    "timeMillis": 1000,
}


def paimon_snapshot() -> Named:
    typed = {
        "id_is_text": "x",
        "id_is_beyond_64_bits": 1 << 70,
        "schemaId_is_a_list": [],
        "baseManifestList_is_a_number": 7,
        "baseManifestList_is_a_path": "../../etc/passwd",
        "deltaManifestList_is_a_folder": "a/b",
        "deltaManifestList_is_up": "..",
        "timeMillis_is_text": "now",
        "commitIdentifier_is_an_object": {},
    }
    yield "i_without_schemaId.json", json.dumps({**PAIMON_SNAPSHOT, "schemaId": None}).encode()
    required = ["id", "baseManifestList", "deltaManifestList", "timeMillis"]
    yield from json_files(PAIMON_SNAPSHOT, required, typed)


PAIMON_SCHEMA: Record = {
    "version": 3,
    "id": 0,
    "fields": [{"id": 0, "name": "id", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
    "highestFieldId": 1,
    "partitionKeys": [],
    "primaryKeys": ["id"],
    "options": {"bucket": "4"},
    "timeMillis": 0,
}


def paimon_schema() -> Named:
    typed = {
        "fields_is_text": "x",
        "fields.0.id_is_text": "x",
        "fields.0.name_is_null": None,
        "fields.0.type_is_unknown": "NUMBER",
        "fields.0.type_is_empty": "",
        "fields.0.type_is_a_decimal_too_wide": "DECIMAL(39, 2)",
        "fields.0.type_is_cut": "ARRAY<INT",
        "fields.0.type_is_deep": "ARRAY<" * 2000 + "INT" + ">" * 2000,
        "fields.0.type_is_a_number_too_long": f"VARCHAR({'9' * 400})",
        "fields.1.name_is_there_twice": "id",
        "primaryKeys_is_no_column": ["x"],
        "partitionKeys_is_no_column": ["x"],
        "partitionKeys_is_text": "x",
        "options_is_a_list": [],
        "options_is_a_bucket_that_is_no_number": {"bucket": "many"},
        "options_is_a_bucket_key_that_is_no_column": {"bucket": "4", "bucket-key": "x"},
    }
    yield "y_version_9.json", json.dumps({**PAIMON_SCHEMA, "version": 9}).encode()
    yield from json_files(PAIMON_SCHEMA, ["fields", "partitionKeys", "primaryKeys"], typed)


def avro_of(schema: Schema, *blocks: tuple[int, bytes], codec: bytes = b"null") -> bytes:
    """An Avro file of blocks whose count and payload are given, whatever they hold."""
    out = b"Obj\x01" + zigzag(2) + prefixed(b"avro.schema") + prefixed(json.dumps(schema).encode())
    out += prefixed(b"avro.codec") + prefixed(codec) + b"\0" + SYNC
    return out + b"".join(zigzag(count) + prefixed(payload) + SYNC for count, payload in blocks)


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
    yield "n_deflate_bomb.avro", avro_of(schema, (1, _deflated(20 << 20)), codec=b"deflate")
    yield "n_schema.avro", file.replace(b'"record"', b'"rekord"', 1)
    yield "n_no_record.avro", avro_of("long", (1, zigzag(1)))  # type: ignore[arg-type]


def _deflated(size: int) -> bytes:
    """Zeros, compressed a thousandfold."""
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(bytes(size)) + packer.flush()


def iceberg_manifest() -> Named:
    schema, record = entry_schema(2), entry()
    good = payload(schema, record)
    yield from avro_files(schema, record)
    yield (
        "y_bounds_of_no_type.avro",
        avro_of(
            schema,
            (1, payload(schema, entry(lower_bounds={1: b"\1\2\3", -1: b""}, upper_bounds={1: b"\xff" * 40}))),
        ),
    )
    yield "y_negative_counts.avro", avro_of(schema, (1, payload(schema, entry(record_count=-1))))
    yield "i_status_7.avro", avro_of(schema, (1, zigzag(7) + good[1:]))
    yield "n_union_branch_2.avro", avro_of(schema, (1, good[:1] + zigzag(2) + good[2:]))
    yield "n_union_branch_negative.avro", avro_of(schema, (1, good[:1] + zigzag(-1) + good[2:]))
    path = good.index(b"a.parquet")
    yield (
        "n_path_longer_than_the_block.avro",
        avro_of(schema, (1, good[: path - 1] + zigzag(1 << 40) + good[path:])),
    )
    yield "n_path_of_negative_length.avro", avro_of(schema, (1, good[: path - 1] + zigzag(-9) + good[path:]))
    yield "n_path_not_utf8.avro", avro_of(schema, (1, good.replace(b"a.parquet", b"\xff.parquet")))
    without = copy.deepcopy(schema)
    file = without["fields"][-1]["type"]
    file["fields"] = [part for part in file["fields"] if part["name"] != "file_path"]
    yield "n_no_file_path.avro", avro_of(without, (1, payload(without, record)))
    twice = copy.deepcopy(schema)
    twice["fields"][-1]["type"]["fields"][1]["field-id"] = 101
    yield "i_field_id_twice.avro", avro_of(twice, (1, payload(twice, record)))
    huge = entry_schema(2, [field(1000 + number, f"p{number}", ["null", "long"]) for number in range(60)])
    yield (
        "y_wide_partition.avro",
        avro_of(huge, (1, payload(huge, entry(partition={f"p{number}": None for number in range(60)})))),
    )


LISTED: Record = {
    "manifest_path": "/t/metadata/m.avro",
    "manifest_length": 100,
    "partition_spec_id": 0,
    "content": 0,
    "sequence_number": 1,
    "min_sequence_number": 1,
    "added_snapshot_id": 1,
    "added_files_count": 1,
    "existing_files_count": 0,
    "deleted_files_count": 0,
    "added_rows_count": 1,
    "existing_rows_count": 0,
    "deleted_rows_count": 0,
}


def iceberg_manifest_list() -> Named:
    schema = list_schema(2)
    yield from avro_files(schema, LISTED)
    summary = {"contains_null": True, "contains_nan": None, "lower_bound": b"", "upper_bound": b"\xff" * 99}
    good = payload(schema, {**LISTED, "partitions": [summary]})
    yield "y_summary_of_no_field.avro", avro_of(schema, (1, good))
    yield (
        "n_boolean_2.avro",
        avro_of(schema, (1, good.replace(b"\x02\x01\x00\x02\x00", b"\x02\x02\x00\x02\x00"))),
    )
    for name in ("manifest_path", "partition_spec_id"):
        without = copy.deepcopy(schema)
        without["fields"] = [part for part in without["fields"] if part["name"] != name]
        yield f"n_no_{name}.avro", avro_of(without, (1, payload(without, LISTED)))


def paimon_manifest_list() -> Named:
    stats = [("_MIN_VALUES", "bytes"), ("_MAX_VALUES", "bytes")]
    fields: list[Record] = [{"name": name, "type": kind} for name, kind in stats]
    fields.append({"name": "_NULL_COUNTS", "type": ["null", {"type": "array", "items": ["null", "long"]}]})
    numbers = ("_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES")
    schema: Schema = {
        "type": "record",
        "name": "record",
        "fields": [
            {"name": "_VERSION", "type": "int"},
            {"name": "_FILE_NAME", "type": "string"},
            *({"name": name, "type": "long"} for name in numbers),
            {"name": "_PARTITION_STATS", "type": {"type": "record", "name": "stats", "fields": fields}},
            {"name": "_SCHEMA_ID", "type": "long"},
        ],
    }
    row = {"_MIN_VALUES": bytes(12), "_MAX_VALUES": bytes(12), "_NULL_COUNTS": None}
    good: Record = {"_VERSION": 2, "_FILE_NAME": "manifest-0", **dict.fromkeys(numbers, 1)}
    good |= {"_PARTITION_STATS": row, "_SCHEMA_ID": 0}
    yield from avro_files(schema, good)
    for name, value in (("a_path", "a/b"), ("up", ".."), ("climbing", "../../etc/passwd"), ("empty", "")):
        # As stored it is data; a table refuses to open it.
        yield f"i_file_name_{name}.avro", container(schema, [[{**good, "_FILE_NAME": value}]])
    yield "i_size_negative.avro", container(schema, [[{**good, "_FILE_SIZE": -1}]])
    yield "i_count_of_files_negative.avro", container(schema, [[{**good, "_NUM_ADDED_FILES": -1}]])
    yield "n_version_9.avro", container(schema, [[{**good, "_VERSION": 9}]])


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


def iceberg_vector() -> Named:
    array = struct.pack("<HH", 3, 9)
    one = bitmap((0, 2, array))
    good = framed(many((0, one)))
    yield "y_good.bin", good
    yield "y_empty.bin", framed(many())
    yield "y_upper_half.bin", framed(many((0, one), (7, one)))
    yield "y_full_container.bin", framed(many((0, bitmap((0, 65536, b"\xff" * 8192)))))
    yield "n_nothing.bin", b""
    yield "n_magic.bin", framed(many((0, one)), b"\xd1\xd3\x39\x65")
    yield "n_checksum.bin", good[:-1] + bytes([good[-1] ^ 1])
    yield "n_size_too_small.bin", struct.pack(">i", len(good)) + good[4:]
    yield "n_size_negative.bin", struct.pack(">i", -1) + good[4:]
    yield "n_cut.bin", good[:-5]
    yield "n_count_of_2_62.bin", framed(many((0, one), count=1 << 62))
    yield "n_count_too_large.bin", framed(many((0, one), count=2))
    yield "n_trailing.bin", framed(many((0, one)) + b"\0")
    yield "n_keys_descending.bin", framed(many((7, one), (0, one)))
    yield "n_key_twice.bin", framed(many((0, one), (0, one)))
    yield "n_key_negative.bin", framed(many((0xFFFFFFFF, one)))
    yield "n_cookie.bin", framed(many((0, struct.pack("<I", 1) + one[4:])))
    yield "n_containers_of_2_31.bin", framed(many((0, struct.pack("<II", 12346, 1 << 31) + one[8:])))
    yield "n_container_cut.bin", framed(many((0, one[:-1])))
    yield "n_array_descending.bin", framed(many((0, bitmap((0, 2, struct.pack("<HH", 9, 3))))))
    yield "n_array_twice_the_same.bin", framed(many((0, bitmap((0, 2, struct.pack("<HH", 3, 3))))))
    yield "n_cardinality.bin", framed(many((0, bitmap((0, 5000, b"\xff" * 8192)))))


def write() -> None:
    """Writes the folder anew."""
    shutil.rmtree(CROOKED, ignore_errors=True)
    for name, content in files().items():
        path = CROOKED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    write()
