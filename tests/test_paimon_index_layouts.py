"""Index manifests in the layout of every writer since 0.5: the same rows, whatever their form."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from json_files import changed
from paimon_files import COLUMNAR, Record, Schema, avro_file, container, convert_table, records
from raising import raises

import lakebed
from lakebed import avro, paimon
from lakebed.errors import CorruptError, UnsupportedError
from shared_data import OWN_DATA

TABLE = OWN_DATA / "golden" / "paimon" / "append_dv64"
MANIFESTS = sorted((TABLE / "manifest").glob("index-manifest-*"))
RANGES = "_DELETIONS_VECTORS_RANGES"


def index_manifest() -> tuple[Schema, list[Record]]:
    """The schema of the table's index manifests, and all their records, with a global index in one."""
    rows = [record for file in MANIFESTS for record in records(file)]
    rows[0][RANGES] = None
    rows[0]["_EXTERNAL_PATH"] = "s3:/bucket/index-1"
    rows[0]["_GLOBAL_INDEX"] = {
        "_ROW_RANGE_START": 0,
        "_ROW_RANGE_END": 7,
        "_INDEX_FIELD_ID": 2,
        "_EXTRA_FIELD_IDS": [3, 4],
        "_INDEX_META": b"\x00\xff",
    }
    return avro.read_schema(MANIFESTS[0]), rows


def read(content: bytes) -> list[Record]:
    rows: list[Record] = paimon.read_index_manifest(content).to_arrow().to_pylist()
    return rows


def field_of(schema: Schema, name: str) -> Any:
    (field,) = (field for field in schema["fields"] if field["name"] == name)
    return field


def range_of(schema: Schema) -> Schema:
    """The record schema of a range."""
    record: Schema = field_of(schema, RANGES)["type"][1]["items"][1]
    return record


def test_70_the_plain_form_is_what_fastavro_wrote():
    schema, rows = index_manifest()
    for row, record in zip(read(avro_file(schema, rows)), rows, strict=True):
        assert (row["partition"], row["file_name"]) == (record["_PARTITION"], record["_FILE_NAME"])
        assert row["deletions_vectors_ranges"] == _without_underscores(record[RANGES])
        index = _without_underscores(record["_GLOBAL_INDEX"])
        assert row["global_index"] == (index and {**index, "source_meta": None})


def test_29_versions_other_than_1_are_refused():
    schema, rows = index_manifest()
    for version in (0, 2, 3):
        rows[1]["_VERSION"] = version
        with raises(UnsupportedError, match=f"_VERSION is {version}, not 1", kind="version", record=1):
            read(avro_file(schema, rows))


@pytest.mark.parametrize("absent", [["_GLOBAL_INDEX"], ["_GLOBAL_INDEX", "_EXTERNAL_PATH"]])
def test_28_fields_of_older_writers(absent: list[str]):
    schema, rows = index_manifest()
    expected = read(avro_file(schema, rows))
    schema["fields"] = [field for field in schema["fields"] if field["name"] not in absent]
    names = [name.removeprefix("_").lower() for name in absent]
    assert read(avro_file(schema, rows)) == [{**row, **dict.fromkeys(names)} for row in expected]


def test_28_ranges_without_cardinality():
    schema, rows = index_manifest()
    range_of(schema)["fields"].pop()
    for row, record in zip(read(avro_file(schema, rows)), rows, strict=True):
        ranges = _without_underscores(record[RANGES])
        assert row["deletions_vectors_ranges"] == (
            ranges and [{**item, "cardinality": None} for item in ranges]
        )


def test_28_fields_of_newer_writers():
    schema, rows = index_manifest()
    expected = read(avro_file(schema, rows))
    index = field_of(schema, "_GLOBAL_INDEX")["type"][1]
    index["fields"].append({"name": "_SOURCE_META", "type": ["null", "bytes"], "default": None})
    schema["fields"].append({"name": "_FUTURE", "type": {"type": "map", "values": "long"}})
    schema["fields"].reverse()
    rows[0]["_GLOBAL_INDEX"]["_SOURCE_META"] = b"source"
    for row in rows:
        row["_FUTURE"] = {"a": 1}
    expected[0]["global_index"]["source_meta"] = b"source"
    assert read(avro_file(schema, rows)) == expected


def test_27_counts_unions_and_items_that_are_never_null():
    schema, rows = index_manifest()
    expected = read(avro_file(schema, rows))
    assert read(container(schema, [rows], negative_counts=True)) == expected
    items = field_of(schema, RANGES)["type"][1]
    items["items"] = items["items"][1]
    assert read(avro_file(schema, rows)) == expected
    assert read(avro_file(["null", schema], rows)) == expected


@pytest.mark.parametrize("form", COLUMNAR)
def test_30_other_formats(form: str, tmp_path: Path):
    shutil.copytree(TABLE, tmp_path / "t")
    before = lakebed.open_table(tmp_path / "t")
    expected = [before.deletes().to_arrow(), before.indexes().to_arrow()]
    convert_table(tmp_path / "t", COLUMNAR[form])
    after = lakebed.open_table(tmp_path / "t")
    assert [after.deletes().to_arrow(), after.indexes().to_arrow()] == expected


def _replaced(tmp_path: Path, rows: list[Record]) -> lakebed.Table:
    """A copy of the table whose latest snapshot has these index files."""
    copy = tmp_path / "t"
    shutil.copytree(TABLE, copy)
    table = lakebed.open_table(copy)
    snapshot = json.loads((copy / "snapshot" / f"snapshot-{table.snapshot_id}").read_text("utf-8"))
    content = avro_file(avro.read_schema(MANIFESTS[0]), rows)
    (copy / "manifest" / snapshot["indexManifest"]).write_bytes(content)
    return table


def test_61_external_index_files_are_read_where_they_are(tmp_path: Path):
    rows = records(MANIFESTS[0])
    for number, row in enumerate(rows):
        moved = tmp_path / f"moved-{number}"
        shutil.copy(TABLE / "index" / row["_FILE_NAME"], moved)
        row["_EXTERNAL_PATH"] = f"file:{moved}"
    deletes = _replaced(tmp_path, rows).deletes(columns=["file_path", "record_count", "positions"]).to_arrow()
    assert set(deletes["file_path"].to_pylist()) == {row["_EXTERNAL_PATH"] for row in rows}
    assert deletes["record_count"].to_pylist() == list(map(len, deletes["positions"].to_pylist()))


def _deleting(row: Record) -> None:
    row["_KIND"] = 1


def _elsewhere(row: Record) -> None:
    row["_FILE_NAME"] = "../../index-1"


def _miscounted(row: Record) -> None:
    row[RANGES][0]["_CARDINALITY"] += 1


def _null_range(row: Record) -> None:
    row[RANGES][0] = None


def _negative(row: Record) -> None:
    row[RANGES][0]["f1"] = -1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_deleting, "mismatch"),
        (_elsewhere, "mismatch"),
        (_miscounted, "mismatch"),
        (_null_range, "required"),
        (_negative, "length"),
    ],
)
def test_entries_that_cannot_be(change: Any, kind: str, tmp_path: Path):
    rows = records(MANIFESTS[0])
    change(rows[0])
    with raises(CorruptError, kind=kind):
        _replaced(tmp_path, rows).deletes(columns=["positions"]).to_arrow()


def _without_underscores(value: Any) -> Any:
    """A value of fastavro's under the columns' names."""
    return changed(value, lambda row: {name.removeprefix("_").lower(): item for name, item in row.items()})
