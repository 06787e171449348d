"""Malformed metadata of Iceberg, for malformed_files.py."""

from __future__ import annotations

import copy
import struct
from typing import Any

import malformed_forms as forms
from iceberg_made import entry, entry_schema, field, list_schema
from paimon_files import Record
from varints import zigzag

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


def metadata() -> forms.Named:
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
    yield from forms.json_files(ICEBERG, keys, typed, of_bytes=True)


def manifest() -> forms.Named:
    schema, record = entry_schema(2), entry()
    good = forms.payload(schema, record)
    yield from forms.avro_files(schema, record)
    bounds: Record = {"lower_bounds": {1: b"\1\2\3", -1: b""}, "upper_bounds": {1: b"\xff" * 40}}
    yield "y_bounds_of_no_type.avro", forms.written(schema, entry(**bounds))
    yield "y_negative_counts.avro", forms.written(schema, entry(record_count=-1))
    yield "i_status_7.avro", forms.one(schema, zigzag(7) + good[1:])
    yield "n_union_branch_2.avro", forms.one(schema, good[:1] + zigzag(2) + good[2:])
    yield "n_union_branch_negative.avro", forms.one(schema, good[:1] + zigzag(-1) + good[2:])
    yield from forms.of_text(schema, good, "path", b"a.parquet")
    lacking = copy.deepcopy(schema)
    lacking["fields"][-1]["type"] = forms.without(lacking["fields"][-1]["type"], "file_path")
    yield "n_no_file_path.avro", forms.written(lacking, record)
    twice = copy.deepcopy(schema)
    twice["fields"][-1]["type"]["fields"][1]["field-id"] = 101
    yield "i_field_id_twice.avro", forms.written(twice, record)
    huge = entry_schema(2, [field(1000 + number, f"p{number}", ["null", "long"]) for number in range(60)])
    wide = {f"p{number}": None for number in range(60)}
    yield "y_wide_partition.avro", forms.written(huge, entry(partition=wide))


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


def manifest_list() -> forms.Named:
    schema = list_schema(2)
    yield from forms.avro_files(schema, LISTED)
    summary = {"contains_null": True, "contains_nan": None, "lower_bound": b"", "upper_bound": b"\xff" * 99}
    good = forms.payload(schema, {**LISTED, "partitions": [summary]})
    yield "y_summary_of_no_field.avro", forms.one(schema, good)
    true, two = b"\x02\x01\x00\x02\x00", b"\x02\x02\x00\x02\x00"
    yield "n_boolean_2.avro", forms.one(schema, good.replace(true, two))
    yield from forms.without_fields(schema, LISTED, ("manifest_path", "partition_spec_id"))


def vector() -> forms.Named:
    one = forms.bitmap((0, 2, forms.ARRAY))
    good = forms.framed(forms.many((0, one)))
    own = {
        "y_empty": forms.framed(forms.many()),
        "y_upper_half": forms.framed(forms.many((0, one), (7, one))),
        "n_size_too_small": struct.pack(">i", len(good)) + good[4:],
        "n_count_of_2_62": forms.framed(forms.many((0, one), count=1 << 62)),
        "n_count_too_large": forms.framed(forms.many((0, one), count=2)),
        "n_keys_descending": forms.framed(forms.many((7, one), (0, one))),
        "n_key_twice": forms.framed(forms.many((0, one), (0, one))),
        "n_key_negative": forms.framed(forms.many((0xFFFFFFFF, one))),
    }
    found = forms.vectors(lambda body: forms.many((0, body)), forms.MAGIC) | own
    return ((f"{name}.bin", vector) for name, vector in found.items())
