"""Manifests in ORC and Parquet: the same table as in Avro, and every damage a typed error."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from file_rows import with_column
from paimon_files import COLUMNAR, convert_table, raw_table
from raising import raises

import lakebed
from lakebed import LIMITS, errors, paimon
from lakebed.spark.inputs import ContentReader
from lakebed.spark.mappers import JobMap
from lakebed.view import Bounds
from shared_data import SAMPLE_TABLE

MANIFEST = max(
    (f for f in (SAMPLE_TABLE / "manifest").iterdir() if "list" not in f.name), key=lambda f: f.stat().st_size
)
LIST = max((SAMPLE_TABLE / "manifest").glob("manifest-list-*"), key=lambda f: f.stat().st_size)


@pytest.fixture(params=COLUMNAR)
def kind(request) -> str:
    name: str = request.param
    return name


@pytest.fixture
def converted(sample_table: Path, kind: str) -> Path:
    """The sample table with its manifests in another format."""
    convert_table(sample_table, COLUMNAR[kind])
    return sample_table


def rows_of(table: lakebed.Table, view: str, **keywords: Any) -> pa.Table:
    read: pa.Table = getattr(table, view)(**keywords).to_arrow()
    for name in ("file_path", "length", "path"):
        if name in read.column_names:
            read = read.drop_columns(name)
    return read


@pytest.mark.parametrize("view", ["manifests", "entries", "files"])
def test_views_are_those_of_the_same_table_in_avro(converted: Path, view: str):
    original, table = lakebed.open_table(SAMPLE_TABLE), lakebed.open_table(converted)
    for snapshot in original.snapshots().to_arrow()["snapshot_id"].to_pylist():
        expected = rows_of(original.at(snapshot=snapshot), view)
        assert rows_of(table.at(snapshot=snapshot), view).equals(expected)


@pytest.mark.parametrize("view", ["entries", "files"])
def test_questions_have_the_same_answers(converted: Path, view: str):
    original, table = lakebed.open_table(SAMPLE_TABLE), lakebed.open_table(converted)
    (column, *_) = original.schemas().to_arrow()["fields"].to_pylist()[-1]
    where = f"bucket = 1 and partition.{original.files().schema.field('partition').type[0].name} is not null"
    questions: list[dict[str, Any]] = [
        {"columns": ["file_name", "write_cols"]},
        {"where": "bucket = 1"},
        {"where": where.replace("partition.", "")},
        {"stats": [column["name"]]},
        {"limit": 3},
        {"threads": 1},
        {"threads": 4},
    ]
    for question in questions:
        assert rows_of(table, view, **question).equals(rows_of(original, view, **question)), question


def test_a_caller_that_holds_the_interpreter_waits_for_nothing(converted: Path):
    table = lakebed.open_table(converted)
    assert len(pl.DataFrame(table.entries(threads=4))) == len(table.entries().to_arrow())
    stream = pa.RecordBatchReader.from_stream(table.entries(threads=4))
    assert stream.read_all().equals(table.entries().to_arrow())


def test_a_storage_brings_the_same(converted: Path):
    from pyarrow.fs import LocalFileSystem

    stored = lakebed.open_table(str(converted), storage=LocalFileSystem())
    assert stored.files(threads=4).to_arrow().equals(lakebed.open_table(converted).files().to_arrow())


def test_executors_read_the_same(converted: Path):
    scan = lakebed.open_table(converted).entries()
    job = scan.job(Bounds())
    assert job is not None
    paths = [manifest["path"] for manifest in job.manifests]
    contents = pa.record_batch({"path": paths, "content": [Path(path).read_bytes() for path in paths]})
    reader = ContentReader(JobMap(job.to_bytes(), LIMITS))
    rows = pa.Table.from_batches(reader(iter([contents])))
    assert rows.to_pylist() == scan.to_arrow().to_pylist()


def test_single_files_are_reported_by_their_magic(kind: str):
    for file, read in ((MANIFEST, paimon.read_manifest), (LIST, paimon.read_manifest_list)):
        content = COLUMNAR[kind](raw_table(file))
        assert read(content).to_arrow().equals(read(file).to_arrow())


def test_fields_go_by_name_and_types_by_their_values(kind: str):
    table = raw_table(MANIFEST)
    file = table["_FILE"].combine_chunks()
    kept = [field for field in file.type if field.name not in ("_WRITE_COLS", "_EXTERNAL_PATH")]
    kept = [*kept[::-1], pa.field("_FUTURE", pa.list_(pa.float64()))]
    future = pa.nulls(len(file), kept[-1].type)
    children = [file.field(field.name) for field in kept[:-1]]
    other = pa.table(
        {
            "_FILE": pa.StructArray.from_arrays([*children, future], fields=kept),
            "_FUTURE": pa.array(["?"] * len(file)),
            **{name: table[name] for name in reversed(table.column_names) if name != "_FILE"},
        }
    )
    expected = paimon.read_manifest(MANIFEST).to_arrow()
    assert paimon.read_manifest(COLUMNAR[kind](other)).to_arrow().equals(expected)


FORMS: list[tuple[str, dict[str, Any]]] = [
    *(("ORC", {"compression": codec}) for codec in ("uncompressed", "zlib", "snappy", "lz4", "zstd")),
    ("ORC", {"file_version": "0.11"}),
    ("ORC", {"dictionary_key_size_threshold": 1.0}),
    ("ORC", {"stripe_size": 1024, "batch_size": 5}),
    *(("Parquet", {"compression": codec}) for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
    ("Parquet", {"row_group_size": 3}),
    ("Parquet", {"data_page_size": 10, "write_batch_size": 2}),
    ("Parquet", {"data_page_version": "2.0", "use_dictionary": False, "write_page_checksum": True}),
    ("Parquet", {"use_deprecated_int96_timestamps": True}),
]


@pytest.mark.parametrize(("container", "options"), FORMS)
def test_codecs_encodings_and_pages_say_the_same(container: str, options: dict[str, Any]):
    content = COLUMNAR[container](raw_table(MANIFEST), **options)
    assert paimon.read_manifest(content).to_arrow().equals(paimon.read_manifest(MANIFEST).to_arrow())


@pytest.mark.parametrize("texts", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("numbers", ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])
def test_every_encoding_of_parquet_is_read(texts: str, numbers: str):
    table = raw_table(LIST)
    encodings = {"_FILE_NAME": texts, "_FILE_SIZE": numbers, "_NUM_ADDED_FILES": numbers}
    content = COLUMNAR["Parquet"](table, use_dictionary=False, column_encoding=encodings)
    assert paimon.read_manifest_list(content).to_arrow().equals(paimon.read_manifest_list(LIST).to_arrow())


def test_more_rows_than_a_batch_has_come_in_order():
    table = pa.concat_tables([raw_table(MANIFEST)] * 1500).combine_chunks()
    expected = pa.concat_tables([paimon.read_manifest(MANIFEST).to_arrow()] * 1500)
    for write in COLUMNAR.values():
        assert paimon.read_manifest(write(table, compression="zstd")).to_arrow().equals(expected)


def test_a_codec_that_is_not_read_is_named():
    content = COLUMNAR["Parquet"](raw_table(MANIFEST), compression="brotli")
    with pytest.raises(errors.UnsupportedError, match="Brotli"):
        paimon.read_manifest(content).to_arrow()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_large_types_and_units_of_time(unit: str):
    table = raw_table(MANIFEST)
    large = pa.schema([field.with_type(_large(field.type, unit)) for field in table.schema])
    content = COLUMNAR["Parquet"](table.cast(large))
    assert paimon.read_manifest(content).to_arrow().equals(paimon.read_manifest(MANIFEST).to_arrow())


def _large(kind: pa.DataType, unit: str) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_large(field.type, unit)) for field in kind])
    if pa.types.is_list(kind):
        return pa.large_list(_large(kind.value_type, unit))
    large = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    return pa.timestamp(unit) if pa.types.is_timestamp(kind) else large.get(kind, kind)


@pytest.mark.parametrize(
    ("column", "value", "error", "what"),
    [
        ("_VERSION", pa.scalar(1, pa.int32()), errors.UnsupportedError, "version"),
        ("_VERSION", pa.scalar(3, pa.int32()), errors.UnsupportedError, "version"),
        ("_KIND", pa.scalar(2, pa.int8()), errors.CorruptError, "mismatch"),
        ("_KIND", pa.scalar(None, pa.int8()), errors.CorruptError, "required"),
        ("_PARTITION", pa.scalar(None, pa.binary()), errors.CorruptError, "required"),
        ("_BUCKET", pa.scalar("1"), errors.CorruptError, "schema"),
        ("_FILE", pa.scalar(1), errors.CorruptError, "required"),
    ],
)
def test_wrong_values_are_errors(kind: str, column: str, value: pa.Scalar, error, what: str):
    table = raw_table(MANIFEST)
    wrong = pa.array([value.as_py()] * len(table), value.type)
    content = COLUMNAR[kind](with_column(table, column, wrong))
    with raises(error, kind=what):
        paimon.read_manifest(content).to_arrow()


def test_a_required_field_that_is_absent_is_an_error(kind: str):
    content = COLUMNAR[kind](raw_table(MANIFEST).drop_columns("_TOTAL_BUCKETS"))
    with raises(errors.CorruptError, match="_TOTAL_BUCKETS", kind="required"):
        paimon.read_manifest(content).to_arrow()


def test_counts_are_compared_with_the_list(converted: Path, kind: str):
    for file in (SAMPLE_TABLE / "manifest").glob("manifest-list-*"):
        table = raw_table(file)
        sizes = [(converted / "manifest" / name).stat().st_size for name in table["_FILE_NAME"].to_pylist()]
        counts = [count + 1 for count in table["_NUM_ADDED_FILES"].to_pylist()]
        for name, values in (("_FILE_SIZE", sizes), ("_NUM_ADDED_FILES", counts)):
            table = with_column(table, name, pa.array(values, pa.int64()))
        (converted / "manifest" / file.name).write_bytes(COLUMNAR[kind](table))
    for file in (converted / "snapshot").glob("snapshot-*"):
        file.write_text(re.sub(r'"\w+ManifestListSize" *: *\d+,', "", file.read_text("utf-8")), "utf-8")
    with raises(errors.CorruptError, match="its list records", kind="mismatch"):
        lakebed.open_table(converted).entries().to_arrow()


def damages(content: bytes) -> list[bytes]:
    chance = random.Random(20_261_121)
    cuts = [content[: chance.randrange(4, len(content))] for _ in range(20)]
    flips = []
    for _ in range(60):
        flipped = bytearray(content)
        flipped[chance.randrange(4, len(content))] ^= 1 << chance.randrange(8)
        flips.append(bytes(flipped))
    garbage = [content[:4] + chance.randbytes(size) for size in (0, 1, 7, 100, 10_000)]
    return [content[:4], *cuts, *garbage, *flips]


def error_of(file: Path) -> errors.LakebedError | None:
    try:
        paimon.read_manifest(file).to_arrow()
    except errors.LakebedError as error:
        return error
    return None


def test_damage_is_a_typed_error_or_harmless(kind: str, tmp_path: Path):
    damaged = tmp_path / "manifest-damaged"
    refused = []
    for content in damages(COLUMNAR[kind](raw_table(MANIFEST))):
        damaged.write_bytes(content)
        refused.append(error_of(damaged))
    found = [error for error in refused if error is not None]
    assert len(found) > 25
    for error in found:
        assert isinstance(error, (errors.CorruptError, errors.UnsupportedError, errors.LimitError))
        assert error.path == str(damaged)
        assert str(damaged) in str(error)


def test_a_cut_file_is_truncated(kind: str, tmp_path: Path):
    whole = COLUMNAR[kind](raw_table(MANIFEST))
    cut = tmp_path / "manifest-cut"
    for length in (8, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:length])
        with raises(errors.TruncatedError, match=kind, kind="truncated", offset=length):
            paimon.read_manifest(cut).to_arrow()


@pytest.mark.parametrize("bound", ["max_rows", "max_file_bytes"])
def test_limits(kind: str, bound: str):
    content = COLUMNAR[kind](raw_table(MANIFEST))
    limits = dataclasses.replace(LIMITS, **{bound: 1})
    with pytest.raises(errors.LimitError, match=bound):
        paimon.read_manifest(content, limits=limits).to_arrow()


def test_text_that_is_not_utf8_is_refused():
    table = raw_table(MANIFEST)
    file = table["_FILE"].combine_chunks()
    names = pa.array([b"\xff\xfe"] * len(file)).view(pa.string())
    children = [names if field.name == "_FILE_NAME" else file.field(field.name) for field in file.type]
    wrong = pa.StructArray.from_arrays(children, fields=list(file.type))
    content = COLUMNAR["Parquet"](with_column(table, "_FILE", wrong))
    with raises(errors.CorruptError, kind="utf8"):
        paimon.read_manifest(content).to_arrow()
