"""Manifests, manifest lists and metadata written again: the same rows, the same bytes, also for others."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from file_rows import with_column
from iceberg_rewrite import header, of_list, of_manifest
from json_files import without
from raising import raises

from iceberg_golden import GoldenTable, golden_iceberg_tables
from lakebed import iceberg
from lakebed.errors import CorruptError, LakebedError, SchemaError, UnsupportedError
from shared_data import OWN_DATA, SHARED_DATA, each

SYNC = bytes(16)
# What PyIceberg takes of a manifest list's row.
LISTED = [
    "manifest_path",
    "manifest_length",
    "partition_spec_id",
    "content",
    "sequence_number",
    "min_sequence_number",
    "added_snapshot_id",
]
SCHEMA = {
    "type": "struct",
    "schema-id": 3,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "price", "required": False, "type": "decimal(9, 2)"},
        {"id": 3, "name": "key", "required": False, "type": "uuid"},
        {"id": 4, "name": "at", "required": False, "type": "timestamp"},
    ],
}
ENTRIES = pa.table(
    {
        "status": pa.array([1, 1], pa.int32()),
        "file_path": ["a", "b"],
        "file_format": ["PARQUET", "PARQUET"],
        "record_count": pa.array([1, 2], pa.int64()),
        "file_size_in_bytes": pa.array([10, 20], pa.int64()),
    }
)


def files_of_engines() -> dict[str, Path]:
    """Every Avro file of the metadata of the tables there are, by table and name."""
    folders = {table.name: table.path for table in golden_iceberg_tables()}
    roots = [SHARED_DATA / "iceberg" / "tables", OWN_DATA / "iceberg"]
    for root in roots:
        folders |= {str(path.parent.relative_to(root)): path.parent for path in root.glob("*/metadata")}
    return {
        f"{name}/{file.name}": file
        for name, folder in folders.items()
        for file in sorted((folder / "metadata").rglob("*.avro"))
    }


def each_file_of_engines(kind: str) -> pytest.MarkDecorator:
    found = {
        name: file for name, file in files_of_engines().items() if ("/snap-" in name) == (kind == "lists")
    }
    tables: dict[str, list[Path]] = {}
    for name, file in found.items():
        tables.setdefault(name.rpartition("/")[0], []).append(file)
    return each("files", list(tables.values()), list(tables), f"Iceberg {kind}")


def blocks(file: Path | bytes) -> list[tuple[int, bytes]]:
    """Records and inflated bytes of every block."""
    content = io.BytesIO(file if isinstance(file, bytes) else file.read_bytes())
    found: Any = fastavro.block_reader(content)
    return [(block.num_records, block.bytes_.getvalue()) for block in found]


def schemas(keys: dict[str, str]) -> dict[str, Any]:
    """The schemas that a header has, without what documents them."""
    return {key: without(json.loads(keys[key]), "doc") for key in ("avro.schema", "iceberg.schema")}


def is_of_current_java(keys: dict[str, str]) -> bool:
    """Its writer names the entry's Iceberg schema, which has the newest of the version's fields."""
    schema = json.loads(keys.get("iceberg.schema", '{"fields": []}'))
    names = {field["name"] for field in schema["fields"]}
    if "manifest_path" in names:
        return {"added_files_count", "key_metadata"} <= names
    files = [field["type"]["fields"] for field in schema["fields"] if field["name"] == "data_file"]
    newest = "referenced_data_file" if keys.get("format-version") != "1" else "sort_order_id"
    return any(field["name"] == newest for file in files for field in file)


def has_prefixed_fixed(keys: dict[str, str]) -> bool:
    """Iceberg Java writes fixed partition values with a length that its own schema does not have."""
    (file,) = (field for field in json.loads(keys["avro.schema"])["fields"] if field["name"] == "data_file")
    (partition,) = (field for field in file["type"]["fields"] if field["name"] == "partition")
    kinds = [kind for field in partition["type"]["fields"] for kind in field["type"]]
    return any(
        isinstance(kind, dict) and kind["type"] == "fixed" and "logicalType" not in kind for kind in kinds
    )


def assert_same(found: pa.Table, wanted: pa.Table) -> None:
    """Equal, NaN to NaN too."""
    assert found.schema == wanted.schema
    assert found.equals(wanted) or repr(found.to_pylist()) == repr(wanted.to_pylist())


def written_again(rows: pa.Table, keys: dict[str, str]) -> bytes:
    data = iceberg.write_manifest(rows, **of_manifest(keys), sync=SYNC, verify=True)
    assert data is not None
    return data


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@each_file_of_engines("manifests")
def test_manifests_of_the_engines_are_written_again(files: list[Path]):
    for file in files:
        try:
            rows, keys = iceberg.read_manifest(file).to_arrow(), header(file)
            json.loads(keys["schema"]), int(keys["partition-spec-id"])
        except (LakebedError, KeyError, ValueError):
            continue  # refused, or without the header that makes it a manifest of a spec
        data = written_again(rows, keys)
        again = iceberg.read_manifest(data).to_arrow()
        assert_same(again, rows)
        if is_of_current_java(keys):
            theirs, ours = keys, header(data)
            assert set(theirs) <= set(ours)
            assert schemas(ours) == schemas(theirs), file.name
            for key in ("schema", "partition-spec", "partition-spec-id", "format-version", "content"):
                assert ours.get(key) == theirs.get(key), (file.name, key)
            if not has_prefixed_fixed(keys):
                assert blocks(data) == blocks(file), file.name
        if not has_prefixed_fixed(keys):
            assert repr(by_ids(data)) == repr(by_ids(file)), file.name  # NaN as NaN


def by_ids(file: Path | bytes) -> list[Any]:
    """fastavro's records by field id, what is absent left out with what is null."""
    if isinstance(file, bytes):
        content = io.BytesIO(file)
        reader = fastavro.reader(content)
        schema, records = reader.writer_schema, [record for record in reader if isinstance(record, dict)]
    else:
        with file.open("rb") as opened:
            reader = fastavro.reader(opened)
            schema, records = reader.writer_schema, [record for record in reader if isinstance(record, dict)]
    return [numbered(record, schema) for record in records]


# `distinct_counts`, `file_ordinal` and `sort_columns`, which nobody reads, and the block size of version 1.
DEAD = {105, 106, 107, 111}


def numbered(record: dict[str, Any], schema: Any) -> dict[Any, Any]:
    found = {}
    for field in schema["fields"]:
        key = field.get("field-id", field["name"])
        value = record[field["name"]]
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        inner = next((kind for kind in kinds if isinstance(kind, dict) and kind["type"] == "record"), None)
        if inner is not None and value is not None:
            value = numbered(value, inner)
        if value is not None and key not in DEAD:
            found[key] = value
    return found


@each_file_of_engines("lists")
def test_manifest_lists_of_the_engines_are_written_again(files: list[Path]):
    for file in files:
        try:
            rows, keys = iceberg.read_manifest_list(file).to_arrow(), header(file)
        except LakebedError:
            continue
        version = int(keys.get("format-version", 1 if "sequence-number" not in keys else 2))
        if int(keys.get("snapshot-id", 2**63)) >= 2**63 or (
            version > 1 and rows["added_rows_count"].null_count
        ):
            continue  # of no snapshot that there can be, or of unknown counts
        own = of_list(keys) | {"format_version": version}
        data = iceberg.write_manifest_list(rows, **own, sync=SYNC, verify=True)
        assert data is not None
        assert_same(iceberg.read_manifest_list(data).to_arrow(), rows)
        if is_of_current_java(keys):
            ours = header(data)
            assert set(keys) == set(ours)
            for key in keys.keys() - {"avro.schema", "iceberg.schema"}:
                assert ours[key] == keys[key], (file.name, key)
            assert schemas(ours) == schemas(keys), file.name
            assert blocks(data) == blocks(file), file.name


def metadata_files() -> Iterator[tuple[str, Path]]:
    for table in golden_iceberg_tables():
        for file in sorted((table.path / "metadata").rglob("*.metadata.json*")):
            yield f"{table.name}/{file.name}", file


def text_of(file: Path) -> bytes:
    content = file.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


METADATA = dict(metadata_files())


@each("file", list(METADATA.values()), list(METADATA), "Iceberg metadata files")
def test_metadata_of_java_is_written_to_the_same_bytes(file: Path):
    metadata = iceberg.read_metadata(file)
    shuffled = {key: metadata[key] for key in sorted(metadata, reverse=True)}
    assert iceberg.write_metadata(shuffled) == text_of(file)


def test_metadata_is_compressed_by_its_name(tmp_path: Path):
    metadata = {
        "format-version": 2,
        "x-unknown": {"b": 2**63 - 1, "a": 1.5},
        "table-uuid": "u",
        "location": "/t",
        "last-sequence-number": 0,
        "last-updated-ms": 1,
        "last-column-id": 4,
        "schemas": [SCHEMA],
        "current-schema-id": 3,
        "partition-specs": [{"fields": [], "spec-id": 0}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
    }
    plain, packed = tmp_path / "v1.metadata.json", tmp_path / "v2.gz.metadata.json"
    for path in (plain, packed):
        iceberg.write_metadata(metadata, path)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert iceberg.read_metadata(packed) == metadata
    assert list(json.loads(plain.read_text()))[-1] == "x-unknown"
    with pytest.raises(FileExistsError):
        iceberg.write_metadata(metadata, plain)
    with pytest.raises(SchemaError, match="default-spec-id"):
        iceberg.write_metadata({**metadata, "default-spec-id": 7}, plain, overwrite=True)
    assert iceberg.read_metadata(plain) == metadata


FIELDS = [
    {"name": "id", "transform": "bucket[4]", "source-id": 1, "field-id": 1000},
    {"name": "the price", "transform": "identity", "source-id": 2, "field-id": 1001},
    {"name": "key", "transform": "identity", "source-id": 3, "field-id": 1002},
    {"name": "at", "transform": "identity", "source-id": 4, "field-id": 1003},
    {"name": "gone", "transform": "void", "source-id": 2, "field-id": 1004},
]


def partitioned(**changes: Any) -> pa.Table:
    """Two entries with tuples of `FIELDS`, the second with other values."""
    first = {"id": 1, "the price": Decimal("1.25"), "key": "f79c3e09-677c-4bbd-a479-3f349cb785e7", "at": 5}
    kinds = {"id": pa.int32(), "the price": pa.decimal128(9, 2), "key": pa.string(), "at": pa.timestamp("us")}
    kinds |= changes.pop("kinds", {})
    tuples = pa.array([first, {**first, **changes}], pa.struct(list(kinds.items())))
    return ENTRIES.append_column("partition", tuples)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_partition_tuples_of_every_type(version: int, codec: str):
    rows = partitioned(at=None)
    data = iceberg.write_manifest(
        rows,
        schema=SCHEMA,
        spec={"spec-id": 7, "fields": FIELDS},
        format_version=version,
        codec=codec,
        verify=True,
    )
    assert data is not None
    read = iceberg.read_manifest(data).to_arrow()
    assert [{k: v for k, v in row.items() if k != "gone"} for row in read["partition"].to_pylist()] == rows[
        "partition"
    ].to_pylist()
    keys = header(data)
    assert (keys["schema-id"], keys["partition-spec-id"], keys["avro.codec"]) == ("3", "7", codec)
    names = [field["name"] for field in partition_schema(keys)]
    assert names == ["id", "the_x20price", "key", "at", "gone"]


def partition_schema(keys: dict[str, str]) -> list[dict[str, Any]]:
    file = json.loads(keys["avro.schema"])["fields"][-1]["type"]["fields"]
    fields: list[dict[str, Any]] = next(f for f in file if f["name"] == "partition")["type"]["fields"]
    return fields


@pytest.mark.parametrize(
    ("rows", "field", "record"),
    [
        (ENTRIES.drop_columns(["file_path"]), "file_path", None),
        (with_column(ENTRIES, "colour", pa.array([1, 2])), "colour", None),
        (with_column(ENTRIES, "record_count", pa.array(["1", "2"])), "record_count", None),
        (with_column(ENTRIES, "record_count", pa.array([1, None], pa.int64())), "record_count", 1),
        (with_column(ENTRIES, "status", pa.array([1, 3], pa.int32())), "status", 1),
        (with_column(ENTRIES, "content", pa.array([0, 1], pa.int32())), "content", 1),
        (with_column(ENTRIES, "spec_id", pa.array([0, 1], pa.int32())), "spec_id", 1),
        (with_column(ENTRIES, "first_row_id", pa.array([None, 1], pa.int64())), "first_row_id", 1),
        (with_column(ENTRIES, "partition", pa.array([{"x": None}, {"x": 1}])), "partition.x", 1),
    ],
)
def test_entries_that_do_not_fit_are_refused(rows: pa.Table, field: str, record: int | None, tmp_path: Path):
    path = tmp_path / "m.avro"
    with raises(SchemaError, field=field, record=record):
        iceberg.write_manifest(rows, path, schema=SCHEMA, spec=[], format_version=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "field", "record"),
    [
        ({"the price": Decimal("12345678.00"), "kinds": {"the price": pa.decimal128(10, 2)}}, "the price", 1),
        ({"key": "no uuid"}, "key", 1),
        ({"kinds": {"id": pa.float32()}}, "id", None),
        ({"more": 1, "kinds": {"more": pa.int32()}}, "more", 1),
    ],
)
def test_partition_tuples_that_do_not_fit_are_refused(
    changes: dict[str, Any], field: str, record: int | None
):
    with raises(SchemaError, field=f"partition.{field}", record=record):
        iceberg.write_manifest(partitioned(**changes), schema=SCHEMA, spec=FIELDS, format_version=2)


def test_rows_are_counted_over_batches():
    broken = pa.table({"status": pa.array([1, None], pa.int32())})
    rows = pa.concat_tables([ENTRIES, with_column(ENTRIES, "status", broken["status"])])
    with raises(SchemaError, field="status", record=3):
        iceberg.write_manifest(rows, schema=SCHEMA, spec=[], format_version=1)


def test_what_is_no_manifest_of_the_format_is_refused():
    with pytest.raises(UnsupportedError, match="version 4"):
        iceberg.write_manifest(ENTRIES, schema=SCHEMA, spec=[], format_version=4)
    with pytest.raises(SchemaError, match="delete files"):
        iceberg.write_manifest(ENTRIES, schema=SCHEMA, spec=[], format_version=1, content="deletes")
    with pytest.raises(SchemaError, match="source-id"):
        iceberg.write_manifest(ENTRIES, schema=SCHEMA, spec=[*FIELDS[:1], {"name": "x"}], format_version=2)
    with pytest.raises((CorruptError, SchemaError)):
        iceberg.write_manifest(ENTRIES, schema={"type": "list"}, spec=[], format_version=2)


@each("table", golden_iceberg_tables(), [t.name for t in golden_iceberg_tables()], "golden Iceberg tables")
def test_pyiceberg_reads_the_same_entries(table: GoldenTable, tmp_path: Path):
    manifest = pytest.importorskip("pyiceberg.manifest")
    from pyiceberg.io.pyarrow import PyArrowFileIO

    def entries(path: Path, listed: dict[str, Any]) -> list[str]:
        listed = {key: listed[key] for key in LISTED} | {"manifest_path": str(path)}
        listed["content"] = manifest.ManifestContent(listed["content"])
        of = manifest.ManifestFile.from_args(**listed)
        found = of.fetch_manifest_entry(PyArrowFileIO(), discard_deleted=False)
        return [
            repr([plain(value) for value in (*entry._data[:4], *entry.data_file._data)]) for entry in found
        ]

    def plain(value: Any) -> Any:
        return dict(value) if isinstance(value, Mapping) else value

    for file in sorted((table.path / "metadata").glob("snap-*.avro"))[-1:]:
        for listed in iceberg.read_manifest_list(file).to_arrow().to_pylist():
            stored = table.file(listed["manifest_path"])
            if has_prefixed_fixed(header(stored)):
                continue
            again = tmp_path / stored.name
            again.write_bytes(written_again(iceberg.read_manifest(stored).to_arrow(), header(stored)))
            assert entries(again, listed) == entries(stored, listed)


def test_partition_fields_go_by_their_names_even_where_those_are_ids_of_others():
    columns = [{"id": 1, "name": "1001"}, {"id": 2, "name": "b"}]
    schema = {**SCHEMA, "fields": [{**column, "required": False, "type": "int"} for column in columns]}
    spec = [
        {"name": "1001", "transform": "identity", "source-id": 1, "field-id": 1000},
        {"name": "b", "transform": "identity", "source-id": 2, "field-id": 1001},
    ]
    tuples: list[dict[str, Any]] = [{"1001": 1, "b": 2}, {"1001": None, "b": 3}]
    for names in (["1001", "b"], ["b", "1001"]):
        kind = pa.struct([(name, pa.int32()) for name in names])
        rows = ENTRIES.append_column("partition", pa.array(tuples, kind))
        data = iceberg.write_manifest(rows, schema=schema, spec=spec, format_version=2)
        assert data is not None
        assert iceberg.read_manifest(data).to_arrow()["partition"].to_pylist() == tuples
