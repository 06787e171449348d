"""What is read of single files is written again, as the engine writes it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from file_rows import with_column

from lakebed import avro, paimon
from lakebed.errors import LakebedError, SchemaError, UnsupportedError
from shared_data import SHARED_DATA, GoldenTable, each, each_golden_paimon_table

MANIFEST = (paimon.read_manifest, paimon.write_manifest)
# By how the names of files begin, the longer beginnings first.
KINDS = {
    "manifest-list-": (paimon.read_manifest_list, paimon.write_manifest_list),
    "index-manifest-": (paimon.read_index_manifest, paimon.write_index_manifest),
    "manifest-": MANIFEST,
}
LAYOUTS = ("current", "2.1", "legacy")
CODECS = ("zstandard", "null", "deflate", "snappy", "bzip2", "xz")
# Why the bytes of some files cannot be the same: their writers had other schemas than the three that are
# written. (Of which fields, Arrow tells: those are equal all the same.)
OTHER_SCHEMAS = {
    "Java 0.9": "17 fields of a data file and fewer, no union around records",
    "Java 1.0 to 1.3": "fewer fields of data files, lists without row ids, index manifests without paths",
    "pypaimon": "records of other names, item types that are not null",
    "C++": "zstandard as Java, schemas of Java 1.0",
}

REAL_TABLES = sorted({path.parent for path in SHARED_DATA.glob("paimon/**/manifest") if any(path.iterdir())})
each_real_table = each(
    "table",
    REAL_TABLES,
    [str(path.relative_to(SHARED_DATA / "paimon")) for path in REAL_TABLES],
    "real tables",
)


def kind_of(file: Path) -> tuple[Any, Any]:
    return next(pair for beginning, pair in KINDS.items() if file.name.startswith(beginning))


def avro_files(table: Path) -> Iterator[tuple[Path, Any, Any]]:
    """The table's manifests and lists of all kinds, with what reads and what writes them."""
    for file in sorted((table / "manifest").glob("*")):
        if file.read_bytes().startswith(b"Obj\x01"):
            yield file, *kind_of(file)


def blocks(data: bytes) -> tuple[dict[str, Any], list[tuple[int, bytes]]]:
    """The header's metadata, and count and records of every block, not compressed."""
    reader: Any = fastavro.block_reader(io.BytesIO(data))
    found = [(block.num_records, block.bytes_.getvalue()) for block in reader]
    return dict(reader.metadata), found


def layout_of(file: Path) -> str | None:
    """The layout whose schema a file has; None for one of a writer that is not imitated."""
    read, write = kind_of(file)
    rows = read(file).to_arrow().slice(0, 0)
    text = avro.read_metadata(file)["avro.schema"]
    same = (
        layout for layout in LAYOUTS if avro.read_metadata(write(rows, layout=layout))["avro.schema"] == text
    )
    return next(same, None)


@each_golden_paimon_table()
def test_files_of_the_engine_are_written_again(table: GoldenTable) -> None:
    check_files(table.path, of_today=not table.name.startswith(("v090_", "v111_")))


@each_real_table
def test_files_of_many_writers_are_written_again(table: Path) -> None:
    check_files(table, of_today=False)


def check_files(table: Path, of_today: bool) -> None:
    """Rows are the same; where the schema is one that is written, so are the blocks, byte for byte."""
    for file, read, write in avro_files(table):
        rows = read(file).to_arrow()
        data = file.read_bytes()
        header = avro.read_metadata(data)
        layout, codec = layout_of(file), header["avro.codec"].decode()
        again = write(rows, layout=layout or "2.1", codec=codec)
        assert read(again).to_arrow() == rows, file
        assert layout is not None or not of_today, f"{file}: {OTHER_SCHEMAS}"
        if layout is not None:
            assert avro.read_metadata(again) == header, file
            assert blocks(again) == blocks(data), file


@each_golden_paimon_table()
def test_json_files_are_those_of_the_engine(table: GoldenTable) -> None:
    found = [
        *table.path.glob("**/snapshot-*"),
        *table.path.glob("**/tag-*"),
        *table.path.glob("**/changelog-*"),
    ]
    for file in (
        file for file in found if file.is_file() and file.parent.name in ("snapshot", "tag", "changelog")
    ):
        assert paimon.write_snapshot(paimon.read_snapshot(file)) == file.read_bytes(), file
    for file in table.path.glob("**/schema-*"):
        assert paimon.write_schema(paimon.read_schema(file)) == file.read_bytes(), file


@pytest.fixture(scope="module")
def entries() -> pa.Table:
    """Entries with a bit of everything."""
    tables = [
        read(file).to_arrow()
        for table in REAL_TABLES
        for file, read, _ in avro_files(table)
        if read is paimon.read_manifest
    ]
    if not tables:
        pytest.skip(f"{SHARED_DATA} is absent (LAKEBED_SHARED)")
    return pa.concat_tables(tables).combine_chunks()


@pytest.mark.parametrize("codec", CODECS)
def test_other_libraries_read_what_is_written(codec: str, entries: pa.Table) -> None:
    data = paimon.write_manifest(entries, layout="2.1", codec=codec, verify=True)
    assert data is not None
    rows: list[Any] = list(fastavro.reader(io.BytesIO(data)))
    assert [row["_FILE"]["_FILE_NAME"] for row in rows] == entries["file_name"].to_pylist()
    assert [row["_FILE"]["_VALUE_STATS"]["_MIN_VALUES"] for row in rows] == [
        stats["min_values"] for stats in entries["value_stats"].to_pylist()
    ]
    assert [row["_FILE"]["_WRITE_COLS"] for row in rows] == entries["write_cols"].to_pylist()
    assert {row["_VERSION"] for row in rows} == {2}


def test_the_same_marker_gives_the_same_bytes(entries: pa.Table, tmp_path: Path) -> None:
    marker = bytes(range(16))
    data = paimon.write_manifest(entries, sync=marker, layout="2.1")
    assert (
        data == paimon.write_manifest(entries.to_batches()[0], tmp_path / "a", sync=marker, layout="2.1")
        or (tmp_path / "a").read_bytes() == data
    )
    with (tmp_path / "b").open("wb") as file:
        paimon.write_manifest(entries, file, sync=marker, layout="2.1")
    assert (tmp_path / "b").read_bytes() == data
    with pytest.raises(FileExistsError):
        paimon.write_manifest(entries, tmp_path / "a")
    paimon.write_manifest(entries.slice(0, 1), tmp_path / "a", overwrite=True)
    assert paimon.read_manifest(tmp_path / "a").to_arrow().num_rows == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b"]


def test_blocks_end_where_java_ends_them(entries: pa.Table) -> None:
    many = pa.concat_tables([entries] * 5)
    data = paimon.write_manifest(many, layout="2.1", codec="null")
    sizes = avro.read_blocks(data)["size_in_bytes"].to_pylist()
    assert len(sizes) > 3
    assert all(size >= 64_000 for size in sizes[:-1])


SEQUENCES = pa.array([None, None, [1]], pa.list_(pa.int64()))


@pytest.mark.parametrize(
    ("change", "field", "record"),
    [
        (lambda t: t.drop_columns(["file_name"]), "file_name", None),
        (lambda t: t.append_column("nothing", t["bucket"]), "nothing", None),
        (lambda t: with_column(t, "file_size", t["file_name"]), "file_size", None),
        (lambda t: with_column(t, "file_name", pa.array(["a", None, "c"])), "file_name", 1),
        (lambda t: with_column(t, "kind", pa.array([0, 1, 2], pa.int8())), "kind", 2),
        (lambda t: with_column(t, "bucket", pa.array([0, 1 << 40, 0])), "bucket", 1),
        (lambda t: with_column(t, "write_cols_sequences", SEQUENCES), "write_cols_sequences", 2),
    ],
)
def test_what_does_not_fit_is_refused(
    change: Any, field: str, record: int | None, entries: pa.Table, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError) as refused:
        paimon.write_manifest(change(entries.slice(0, 3)), tmp_path / "m")
    assert (refused.value.field, refused.value.record) == (field, record)
    assert list(tmp_path.iterdir()) == []


def test_columns_that_may_be_null_may_be_absent(entries: pa.Table) -> None:
    optional = [field.name for field in entries.schema if field.nullable]
    data = paimon.write_manifest(entries.drop_columns(optional), layout="legacy")
    read = paimon.read_manifest(data).to_arrow()
    assert read.drop_columns(optional) == entries.drop_columns(optional)
    assert all(read[name].null_count == len(read) for name in optional)


def test_unknown_layouts_and_codecs_are_refused(entries: pa.Table) -> None:
    with pytest.raises(SchemaError, match="legacy"):
        paimon.write_manifest(entries, layout="0.7")
    with pytest.raises(UnsupportedError, match="zstandard"):
        paimon.write_manifest(entries, codec="lz4")
    with pytest.raises(ValueError, match="16 bytes"):
        paimon.write_manifest(entries, sync=b"short")


@pytest.mark.parametrize("missing", ["id", "baseManifestList", "commitKind", "timeMillis"])
def test_snapshots_that_no_one_reads_are_not_written(missing: str) -> None:
    snapshot = {
        "id": 1,
        "baseManifestList": "a",
        "deltaManifestList": "b",
        "commitUser": "u",
        "commitIdentifier": 1,
        "commitKind": "APPEND",
        "timeMillis": 0,
        "properties": None,
    }
    data = paimon.write_snapshot(snapshot)
    assert data is not None
    assert json.loads(data) == {key: value for key, value in snapshot.items() if value is not None}
    del snapshot[missing]
    with pytest.raises(LakebedError, match=missing):
        paimon.write_snapshot(snapshot)
