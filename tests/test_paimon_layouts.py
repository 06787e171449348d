"""Manifests and lists in the layout of every writer since 0.8: the same rows, whatever their form in Avro."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from paimon_files import Record, Schema, avro_file, container, records
from raising import raises

from lakebed import avro, paimon
from lakebed.errors import CorruptError, UnsupportedError
from shared_data import SAMPLE_TABLE

MANIFESTS = sorted(f for f in (SAMPLE_TABLE / "manifest").iterdir() if "list" not in f.name)
LISTS = sorted((SAMPLE_TABLE / "manifest").glob("manifest-list-*"))

PYPAIMON_NAMES = {
    "record": "ManifestEntry",
    "record__FILE": "DataFileMeta",
    "record__FILE__KEY_STATS": "record_KEY_STATS",
    "record__FILE__VALUE_STATS": "record_VALUE_STATS",
}

# The fields that came last with a release, the newest first.
AGES = {"1.3": 20, "1.2": 19, "1.0": 18, "1.0 snapshots": 17, "0.9": 16, "0.8": 15, "0.4": 13, "0.3": 12}


def entries() -> tuple[Schema, list[Record]]:
    """The schema of the sample table's manifests, and all their records, each with some nulls filled in."""
    rows = [record for file in MANIFESTS for record in records(file)]
    for number, row in enumerate(rows):
        row["_FILE"]["_EXTRA_FILES"] = [f"extra-{item}" for item in range(number % 3)]
        row["_FILE"]["_VALUE_STATS_COLS"] = None if number % 2 else ["é", "b"]
        row["_FILE"]["_WRITE_COLS"] = [] if number % 2 else ["_ROW_ID"]
        row["_FILE"]["_FIRST_ROW_ID"] = number - 2 if number % 3 else None
        row["_FILE"]["_EXTERNAL_PATH"] = f"s3:/bucket/{number}" if number % 2 else None
        row["_FILE"]["_EMBEDDED_FILE_INDEX"] = bytes(number) if number % 2 else None
    return avro.read_schema(MANIFESTS[0]), rows


def lists() -> tuple[Schema, list[Record]]:
    return avro.read_schema(LISTS[0]), [record for file in LISTS for record in records(file)]


def file_of(schema: Schema) -> Schema:
    """The record schema of `_FILE`."""
    (file,) = (field["type"] for field in schema["fields"] if field["name"] == "_FILE")
    assert isinstance(file, dict)
    return file


def read_entries(content: bytes) -> list[Record]:
    rows: list[Record] = paimon.read_manifest(content).to_arrow().to_pylist()
    return rows


def expected_entries() -> list[Record]:
    return read_entries(avro_file(*entries()))


def test_the_plain_form_is_what_fastavro_wrote():
    _, rows = entries()
    for row, record in zip(expected_entries(), rows, strict=True):
        flat = {**record, **record["_FILE"]}
        for name in ("_KIND", "_PARTITION", "_FILE_NAME", "_EXTRA_FILES", "_WRITE_COLS", "_FIRST_ROW_ID"):
            assert row[name.removeprefix("_").lower()] == flat[name]


@pytest.mark.parametrize("count", AGES.values(), ids=AGES)
def test_fewer_fields_are_null(count: int):
    schema, rows = entries()
    absent = [field["name"].removeprefix("_").lower() for field in file_of(schema)["fields"][count:]]
    file_of(schema)["fields"] = file_of(schema)["fields"][:count]
    for expected, row in zip(expected_entries(), read_entries(avro_file(schema, rows)), strict=True):
        assert row == {**expected, **dict.fromkeys(absent)}


def test_newer_fields_are_read_and_unknown_ones_are_skipped():
    schema, rows = entries()
    longs = {"type": "array", "items": "long"}
    maps = {"name": "x", "type": {"type": "map", "values": longs}}
    future = {"type": "record", "name": "Future", "fields": [maps]}
    schema["fields"].insert(0, {"name": "_FIRST", "type": ["null", future]})
    file = file_of(schema)["fields"]
    file.insert(3, {"name": "_FUTURE", "type": "Future"})
    file.append({"name": "_WRITE_COLS_SEQUENCES", "type": ["null", longs], "default": None})
    schema["fields"].append({"name": "_LAST", "type": "double"})
    for number, row in enumerate(rows):
        row["_FIRST"] = {"x": {"a": [1, 2], "b": []}} if number % 2 else None
        row["_FILE"]["_FUTURE"] = {"x": {}}
        row["_FILE"]["_WRITE_COLS_SEQUENCES"] = [number, -number]
        row["_LAST"] = 0.5
    read = read_entries(avro_file(schema, rows))
    for number, (expected, row) in enumerate(zip(expected_entries(), read, strict=True)):
        assert row == {**expected, "write_cols_sequences": [number, -number]}


@pytest.mark.parametrize("seed", range(8))
def test_fields_go_by_name_in_any_order(seed: int):
    schema, rows = entries()
    chance = random.Random(seed)
    chance.shuffle(schema["fields"])
    chance.shuffle(file_of(schema)["fields"])
    content = avro_file(schema, rows)
    assert read_entries(content) == expected_entries()
    assert paimon.read_manifest(content, columns=["level"]).to_arrow().to_pylist() == [
        {"level": row["level"]} for row in expected_entries()
    ]


def nullable(schema: Schema, names: set[str]) -> None:
    """Makes fields a union with null, as writers before 0.9 had their nested records."""
    for field in schema["fields"]:
        inner = field["type"]
        if isinstance(inner, dict) and inner["type"] == "record":
            nullable(inner, names)
        if field["name"] in names:
            field["type"] = ["null", inner]


def of_08(schema: Schema) -> Any:
    nullable(schema, {"_FILE", "_KEY_STATS", "_VALUE_STATS", "_PARTITION_STATS"})
    return ["null", schema]


def of_pypaimon_rust(schema: Schema) -> Any:
    return ["null", schema]


def of_pypaimon(schema: Schema) -> Any:
    """Other names of records, in no namespace."""
    inner = [field["type"] for field in schema["fields"]]
    for record in inner:
        if isinstance(record, dict) and record["type"] == "record":
            of_pypaimon(record)
    schema["name"] = PYPAIMON_NAMES[schema["name"]]
    schema.pop("namespace", None)
    return schema


FORMS: list[Callable[[Schema], Any]] = [of_08, of_pypaimon_rust, of_pypaimon]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_other_writers(form: Callable[[Schema], Any]):
    schema, rows = entries()
    assert read_entries(avro_file(form(schema), rows)) == expected_entries()


def test_a_null_where_the_record_should_be_is_refused():
    schema, rows = entries()
    nullable(schema, {"_FILE"})
    rows[1]["_FILE"] = None
    with raises(CorruptError, kind="required"):
        read_entries(avro_file(schema, rows))


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_every_codec_in_many_blocks(codec: str):
    schema, rows = entries()
    content = avro_file(schema, rows * 20, codec, sync_interval=5_000)
    assert len(avro.read_blocks(content)) > 1
    for threads in (1, 3):
        read = paimon.read_manifest(content, threads=threads).to_arrow().to_pylist()
        assert read == expected_entries() * 20


def test_zstandard_frames_that_do_not_say_their_size():
    schema, rows = entries()
    compressor = zstandard.ZstdCompressor(level=1, write_content_size=False)
    content = container(schema, [rows, rows[:1], rows], "zstandard", compressor.compress)
    assert len(avro.read_blocks(content)) == 3
    expected = expected_entries()
    assert read_entries(content) == [*expected, *expected[:1], *expected]


def test_arrays_with_negative_counts():
    schema, rows = entries()
    assert read_entries(container(schema, [rows], negative_counts=True)) == expected_entries()


@pytest.mark.parametrize("version", [1, 3])
def test_other_versions_are_refused(version: int):
    for (schema, rows), read in ((entries(), paimon.read_manifest), (lists(), paimon.read_manifest_list)):
        rows[-1]["_VERSION"] = version
        with raises(UnsupportedError, kind="version"):
            read(avro_file(schema, rows)).to_arrow()


def list_forms() -> dict[str, Any]:
    """Schemas of manifest lists: of 7, 11 and 13 fields, pypaimon's 15, and in another order."""
    plain, _ = lists()
    fields = plain["fields"]
    added = [
        {"name": "_TOTAL_BUCKETS", "type": ["null", "int"], "default": None},
        {"name": "_EXTRA_FILES", "type": ["null", {"type": "array", "items": "string"}], "default": None},
    ]
    forms = {f"{count} fields": {**plain, "fields": fields[:count]} for count in (7, 11, len(fields))}
    forms["pypaimon"] = {**plain, "name": "ManifestFileMeta", "fields": [*fields, *added]}
    forms["shuffled"] = {**plain, "fields": random.Random(7).sample(fields, len(fields))}
    return {**forms, "0.8": of_08(copy.deepcopy(plain))}


@pytest.mark.parametrize("schema", list_forms().values(), ids=list_forms())
def test_manifest_lists_of_other_writers(schema: Any):
    plain, rows = lists()
    expected = paimon.read_manifest_list(avro_file(plain, rows)).to_arrow()
    for number, row in enumerate(rows):
        row |= {"_TOTAL_BUCKETS": number, "_EXTRA_FILES": ["manifest.avro.sidecar"]}
    read = paimon.read_manifest_list(avro_file(schema, rows)).to_arrow()
    record = schema[1] if isinstance(schema, list) else schema
    there = {field["name"].removeprefix("_").lower() for field in record["fields"]}
    for name in expected.column_names:
        column = expected[name].combine_chunks()
        if name in {"total_buckets", "extra_files"}:
            column = pa.array([row[f"_{name.upper()}"] for row in rows], column.type)
        wanted = column if name in there else pa.nulls(len(column), column.type)
        assert read[name].combine_chunks().equals(wanted), name
