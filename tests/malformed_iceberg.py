"""Malformed metadata of Iceberg, for malformed_files.py."""

from __future__ import annotations

import copy
import struct
from typing import TYPE_CHECKING, Any

from iceberg_made import entry, entry_schema, field, list_schema
from malformed_forms import (
    ARRAY,
    MAGIC,
    Named,
    avro_files,
    avro_of,
    bitmap,
    framed,
    json_files,
    many,
    payload,
    vectors,
    without,
    without_fields,
)
from varints import zigzag

if TYPE_CHECKING:
    from paimon_files import Record

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


def metadata() -> Named:
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
    keys = ["format-version", "location", "schemas", "partition-specs"]
    yield from json_files(ICEBERG, keys, typed, of_bytes=True)


def manifest() -> Named:
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
    lacking = copy.deepcopy(schema)
    lacking["fields"][-1]["type"] = without(lacking["fields"][-1]["type"], "file_path")
    yield "n_no_file_path.avro", avro_of(lacking, (1, payload(lacking, record)))
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


def manifest_list() -> Named:
    schema = list_schema(2)
    yield from avro_files(schema, LISTED)
    summary = {"contains_null": True, "contains_nan": None, "lower_bound": b"", "upper_bound": b"\xff" * 99}
    good = payload(schema, {**LISTED, "partitions": [summary]})
    yield "y_summary_of_no_field.avro", avro_of(schema, (1, good))
    yield (
        "n_boolean_2.avro",
        avro_of(schema, (1, good.replace(b"\x02\x01\x00\x02\x00", b"\x02\x02\x00\x02\x00"))),
    )
    yield from without_fields(schema, LISTED, ("manifest_path", "partition_spec_id"))


def vector() -> Named:
    one = bitmap((0, 2, ARRAY))
    good = framed(many((0, one)))
    own = {
        "y_empty": framed(many()),
        "y_upper_half": framed(many((0, one), (7, one))),
        "n_size_too_small": struct.pack(">i", len(good)) + good[4:],
        "n_count_of_2_62": framed(many((0, one), count=1 << 62)),
        "n_count_too_large": framed(many((0, one), count=2)),
        "n_keys_descending": framed(many((7, one), (0, one))),
        "n_key_twice": framed(many((0, one), (0, one))),
        "n_key_negative": framed(many((0xFFFFFFFF, one))),
    }
    found = vectors(lambda body: many((0, body)), MAGIC) | own
    return ((f"{name}.bin", vector) for name, vector in found.items())
