"""Malformed metadata of Paimon, for malformed_files.py."""

from __future__ import annotations

import json
import struct
from typing import Any

import malformed_forms as forms
from paimon_files import Record, container

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


def snapshot() -> forms.Named:
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
    yield from forms.json_files(PAIMON_SNAPSHOT, required, typed)


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


def schema() -> forms.Named:
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
    yield from forms.json_files(PAIMON_SCHEMA, ["fields", "partitionKeys", "primaryKeys"], typed)


COUNTS = forms.nullable({"type": "array", "items": forms.nullable("long")})
STATS = {"_MIN_VALUES": "bytes", "_MAX_VALUES": "bytes", "_NULL_COUNTS": COUNTS}


def manifest_list() -> forms.Named:
    numbers = ("_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES")
    schema = forms.record_of(
        "record",
        _VERSION="int",
        _FILE_NAME="string",
        **dict.fromkeys(numbers, "long"),
        _PARTITION_STATS=forms.record_of("stats", **STATS),
        _SCHEMA_ID="long",
    )
    row = {"_MIN_VALUES": bytes(12), "_MAX_VALUES": bytes(12), "_NULL_COUNTS": None}
    good: Record = {"_VERSION": 2, "_FILE_NAME": "manifest-0", **dict.fromkeys(numbers, 1)}
    good |= {"_PARTITION_STATS": row, "_SCHEMA_ID": 0}
    yield from forms.avro_files(schema, good)
    for name, value in (("a_path", "a/b"), ("up", ".."), ("climbing", "../../etc/passwd"), ("empty", "")):
        # As stored it is data; a table refuses to open it.
        yield f"i_file_name_{name}.avro", container(schema, [[{**good, "_FILE_NAME": value}]])
    yield "i_size_negative.avro", container(schema, [[{**good, "_FILE_SIZE": -1}]])
    yield "i_count_of_files_negative.avro", container(schema, [[{**good, "_NUM_ADDED_FILES": -1}]])
    yield "n_version_9.avro", container(schema, [[{**good, "_VERSION": 9}]])


# A BinaryRow of one INT, 7, after its arity.
ROW = struct.pack(">i", 1) + bytes(8) + struct.pack("<q", 7)


def manifest() -> forms.Named:
    file = forms.record_of(
        "file",
        _FILE_NAME="string",
        **dict.fromkeys(("_FILE_SIZE", "_ROW_COUNT"), "long"),
        **dict.fromkeys(("_MIN_KEY", "_MAX_KEY"), "bytes"),
        **{f"_{kind}_STATS": forms.record_of(f"{kind}_stats", **STATS) for kind in ("KEY", "VALUE")},
        **dict.fromkeys(("_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID"), "long"),
        _LEVEL="int",
        _EXTRA_FILES={"type": "array", "items": "string"},
        _CREATION_TIME=forms.nullable({"type": "long", "logicalType": "timestamp-millis"}),
        _EXTERNAL_PATH=forms.nullable("string"),
    )
    numbers = dict.fromkeys(("_VERSION", "_KIND", "_BUCKET", "_TOTAL_BUCKETS"), "int")
    schema = forms.record_of("record", **numbers, _PARTITION="bytes", _FILE=file)
    row: Record = {"_MIN_VALUES": ROW, "_MAX_VALUES": ROW, "_NULL_COUNTS": [0]}
    data: Record = {
        "_FILE_NAME": "data-0.parquet",
        **dict.fromkeys(("_FILE_SIZE", "_ROW_COUNT"), 1),
        **dict.fromkeys(("_MIN_KEY", "_MAX_KEY"), ROW),
        **dict.fromkeys(("_KEY_STATS", "_VALUE_STATS"), row),
        **dict.fromkeys(("_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID", "_LEVEL"), 0),
        "_EXTRA_FILES": [],
        "_CREATION_TIME": None,
        "_EXTERNAL_PATH": None,
    }
    good: Record = {"_VERSION": 2, "_KIND": 0, "_PARTITION": bytes(12), "_BUCKET": 0, "_TOTAL_BUCKETS": 1}
    good["_FILE"] = data
    yield from forms.avro_files(schema, good)

    def changed(**values: Any) -> bytes:
        return container(schema, [[{**good, **values}]])

    def of_file(**values: Any) -> bytes:
        return changed(_FILE={**data, **values})

    yield "n_version_9.avro", changed(_VERSION=9)
    yield "n_kind_2.avro", changed(_KIND=2)
    yield "n_kind_negative.avro", changed(_KIND=-1)
    yield "n_kind_beyond_32_bits.avro", changed(_KIND=1 << 40)
    yield "i_bucket_negative.avro", changed(_BUCKET=-7)
    yield "i_bucket_beyond_the_total.avro", changed(_BUCKET=5)
    # Rows and bounds are bytes here; who asks for their values meets what is wrong with them.
    yield "i_partition_of_no_bytes.avro", changed(_PARTITION=b"")
    yield "i_partition_of_many_columns.avro", changed(_PARTITION=b"\xff" * 12)
    yield "i_row_count_negative.avro", of_file(_ROW_COUNT=-1)
    yield "i_file_size_negative.avro", of_file(_FILE_SIZE=-1)
    yield "i_null_counts_too_many.avro", of_file(_VALUE_STATS={**row, "_NULL_COUNTS": [0] * 900})
    yield "i_null_count_negative.avro", of_file(_VALUE_STATS={**row, "_NULL_COUNTS": [-5]})
    yield "i_bounds_cut.avro", of_file(_VALUE_STATS={**row, "_MIN_VALUES": ROW[:9]})
    yield "i_level_beyond_8_bits.avro", of_file(_LEVEL=300)
    yield "n_creation_time_beyond_microseconds.avro", of_file(_CREATION_TIME=1 << 62)
    for name, value in (("up", ".."), ("climbing", "../../x"), ("a_folder", "a/b"), ("empty", "")):
        yield f"i_file_name_{name}.avro", of_file(_FILE_NAME=value)
        yield f"i_extra_file_{name}.avro", of_file(_EXTRA_FILES=[value])
    yield "i_external_path_elsewhere.avro", of_file(_EXTERNAL_PATH="http://169.254.169.254/latest")
    yield from forms.of_text(schema, forms.payload(schema, good), "name", b"data-0")
    yield from forms.without_fields(schema, good, ("_KIND", "_PARTITION", "_BUCKET"))
    fields = [*schema["fields"][:-1], {"name": "_FILE", "type": forms.without(file, "_FILE_NAME")}]
    nameless = {**schema, "fields": fields}
    yield "n_no_file_name.avro", forms.written(nameless, good)


def index_manifest() -> forms.Named:
    span = forms.record_of("range", f0="string", f1="int", f2="int", _CARDINALITY=forms.nullable("long"))
    schema = forms.record_of(
        "record",
        **dict.fromkeys(("_VERSION", "_KIND", "_BUCKET"), "int"),
        _PARTITION="bytes",
        **dict.fromkeys(("_INDEX_TYPE", "_FILE_NAME"), "string"),
        **dict.fromkeys(("_FILE_SIZE", "_ROW_COUNT"), "long"),
        _DELETIONS_VECTORS_RANGES=forms.nullable({"type": "array", "items": forms.nullable(span)}),
    )
    one: Record = {"f0": "data-0.parquet", "f1": 1, "f2": 22, "_CARDINALITY": 1}
    good: Record = {"_VERSION": 1, "_KIND": 0, "_PARTITION": bytes(12), "_BUCKET": 0}
    good |= {"_INDEX_TYPE": "DELETION_VECTORS", "_FILE_NAME": "index-0", "_FILE_SIZE": 31, "_ROW_COUNT": 1}
    good["_DELETIONS_VECTORS_RANGES"] = [one]
    yield from forms.avro_files(schema, good)

    def changed(**values: Any) -> bytes:
        return container(schema, [[{**good, **values}]])

    yield "n_version_9.avro", changed(_VERSION=9)
    # As stored it is data; a table refuses whatever adds no file.
    yield "i_kind_2.avro", changed(_KIND=2)
    yield "i_index_type_of_no_kind.avro", changed(_INDEX_TYPE="NONE")
    yield "i_ranges_null.avro", changed(_DELETIONS_VECTORS_RANGES=None)
    yield "i_range_null.avro", changed(_DELETIONS_VECTORS_RANGES=[None])
    for name, value in (
        ("offset_negative", {"f1": -1}),
        ("length_negative", {"f2": -1}),
        ("beyond_the_file", {"f1": 1 << 30, "f2": 1 << 30}),
        ("offset_beyond_32_bits", {"f1": 1 << 40}),
        ("cardinality_negative", {"_CARDINALITY": -1}),
        ("of_a_path", {"f0": "../../x"}),
    ):
        kind = "n" if name.endswith("bits") else "i"
        yield f"{kind}_range_{name}.avro", changed(_DELETIONS_VECTORS_RANGES=[{**one, **value}])
    yield "i_file_name_up.avro", changed(_FILE_NAME="..")
    yield "i_file_name_climbing.avro", changed(_FILE_NAME="../../x")


def vector() -> forms.Named:
    """Vectors after the version of their file, from its second byte to its end."""
    one, array = forms.bitmap((0, 2, forms.ARRAY)), forms.ARRAY
    magic = struct.pack(">i", 1581511376)
    own = {
        "y_good_of_64_bits": forms.framed(forms.many((0, one))),
        "y_empty": forms.framed(forms.bitmap(), magic),
        "n_magic_in_the_other_order": forms.framed(one, magic[::-1]),
        "n_magic_of_the_other_kind": forms.framed(one),
        "n_keys_descending": forms.framed(forms.bitmap((7, 2, array), (0, 2, array)), magic),
        "n_key_twice": forms.framed(forms.bitmap((0, 2, array), (0, 2, array)), magic),
        "n_count_of_2_62_of_64_bits": forms.framed(forms.many((0, one), count=1 << 62)),
        "n_keys_descending_of_64_bits": forms.framed(forms.many((7, one), (0, one))),
    }
    found = forms.vectors(lambda body: body, magic) | own
    return ((f"{name}.bin", b"\x01" + vector) for name, vector in found.items())
