"""Tables of every shape: index files, row ids, fixed buckets and keys; and what pypaimon reads of ours."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from arrow_values import assert_rows
from paimon_peers import peer_row, typed_rows

import lakebed
from lakebed import Table, paimon
from lakebed.errors import LakebedError, SchemaError, UnsupportedError
from paimon_answers import Schemas
from shared_data import GoldenTable, each_golden_paimon_table

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])


def one_file(name: str, rows: int = 10, **columns: Any) -> pa.Table:
    given = {"file_path": name, "record_count": rows, "file_size_in_bytes": 100, **columns}
    return pa.table(
        {name: value if isinstance(value, pa.Array) else [value] for name, value in given.items()}
    )


def copy_of(table: GoldenTable, tmp_path: Path) -> Table:
    return lakebed.open_table(shutil.copytree(table.path, tmp_path / "t"))


def rows_of(table: Table, view: str, *columns: str) -> set[tuple[Any, ...]]:
    rows = getattr(table, view)(columns=list(columns)).to_arrow().to_pylist()
    return {tuple(str(row[name]) for name in columns) for row in rows}


@each_golden_paimon_table(
    "append_dv", "append_dv64", "append_dv_bucketed", "pk_dv", "pk_dv64", "external_pk_dv"
)
def test_deletion_vectors_go_with_their_files(table: GoldenTable, tmp_path: Path) -> None:
    copy = copy_of(table, tmp_path)
    before = rows_of(copy, "deletes", "referenced_data_file", "content_offset", "file_path")
    if not before:
        pytest.skip("no row of its latest snapshot is deleted")
    gone = sorted(before)[0][0]
    after = copy.delete_files([gone])
    assert rows_of(after, "deletes", "referenced_data_file", "content_offset", "file_path") == {
        row for row in before if row[0] != gone
    }
    assert rows_of(after, "files", "file_path") == rows_of(copy, "files", "file_path") - {(gone,)}
    emptied = after.overwrite_partitions(after.files().to_arrow().slice(0, 0), {})
    assert rows_of(emptied, "deletes", "referenced_data_file") == set()
    assert rows_of(emptied, "files", "file_path") == set()
    assert (
        paimon.read_snapshot(tmp_path / "t" / "snapshot" / f"snapshot-{emptied.snapshot_id}")[
            "totalRecordCount"
        ]
        == 0
    )


@each_golden_paimon_table()
def test_tables_of_the_engine_are_committed_to(table: GoldenTable, tmp_path: Path) -> None:
    copy = copy_of(table, tmp_path)
    if copy.snapshot_id is None:
        pytest.skip("nothing is committed to it")
    before, index = (
        rows_of(copy, "entries", "file_name", "level"),
        rows_of(copy, "deletes", "referenced_data_file"),
    )
    files = rows_of(copy, "files", "file_path", "level", "record_count")
    compacted = copy.rewrite_manifests(sort=True)
    assert rows_of(compacted, "files", "file_path", "level", "record_count") == files
    assert rows_of(compacted, "deletes", "referenced_data_file") == index
    assert before >= rows_of(compacted, "entries", "file_name", "level")
    assert 1 not in compacted.entries(columns=["kind"]).to_arrow()["kind"].to_pylist()
    paths = compacted.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    if copy.properties.get("data-evolution.enabled") == "true":
        with pytest.raises(UnsupportedError, match="data evolution"):
            compacted.delete_files(paths[:1])
        return
    fewer = compacted.delete_files(paths[: len(paths) // 2])
    assert rows_of(fewer, "files", "file_path") == {(path,) for path in paths[len(paths) // 2 :]}
    assert fewer.at(snapshot=copy.snapshot_id).files().to_arrow().num_rows == len(paths)


def test_row_ids_are_given(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", properties={"row-tracking.enabled": "true"}
    )
    table = table.append_files(one_file("bucket-0/a", 7))
    two = pa.concat_tables(
        [one_file("bucket-0/b", 3), one_file("bucket-0/c", 2, min_sequence_number=5)],
        promote_options="default",
    )
    table = table.append_files(two)
    columns = ["file_name", "first_row_id", "min_sequence_number", "sequence_number"]
    found = table.files(columns=columns).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 0, 1, 1), ("b", 7, 2, 2), ("c", 10, 5, 6)]
    assert paimon.read_snapshot(tmp_path / "t/snapshot/snapshot-2")["nextRowId"] == 12
    manifests = table.manifests(columns=["min_row_id", "max_row_id"]).to_arrow().to_pylist()
    assert [(row["min_row_id"], row["max_row_id"]) for row in manifests] == [(0, 6), (7, 11)]
    # Ids are never given twice.
    table = table.delete_files(["bucket-0/c"]).append_files(one_file("bucket-0/d", 1))
    assert table.files(columns=["first_row_id"]).to_arrow()["first_row_id"].to_pylist() == [0, 7, 12]


def test_blobs_are_rows_of_the_file_before(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", properties={"row-tracking.enabled": "true"}
    )
    cols = pa.array([["name"]], pa.list_(pa.string()))
    files = [one_file("bucket-0/a.parquet", 10), one_file("bucket-0/b.blob", 4, write_cols=cols)]
    files += [one_file("bucket-0/c.blob", 6, write_cols=cols), one_file("bucket-0/d.parquet", 1)]
    table = table.append_files(pa.concat_tables(files, promote_options="default"))
    assert table.files(columns=["first_row_id"]).to_arrow()["first_row_id"].to_pylist() == [0, 0, 4, 10]


def test_buckets_are_those_of_their_partition(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", properties={"bucket": "4", "bucket-key": "id"}
    )
    table = table.append_files(one_file("bucket-3/a", bucket=3))
    assert table.buckets().to_arrow()["bucket"].to_pylist() == [3]
    for file, field, words in [
        (one_file("bucket-3/b"), "bucket", "bucket"),
        (one_file("bucket-4/b", bucket=4), "bucket", "one of the 4"),
        (one_file("bucket-1/b", bucket=1, total_buckets=2), "total_buckets", "has 4 buckets"),
        (one_file("bucket-2/b", bucket=1), "file_path", "bucket-1"),
    ]:
        with pytest.raises(SchemaError, match=words) as refused:
            table.append_files(file)
        assert refused.value.field == field


def test_files_of_tables_with_keys_have_them(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", primary_key=["id"], properties={"bucket": "1"}
    )
    types = pa.schema([("id", pa.int64())])
    low, high = (paimon.encode_rows(pa.array([{"id": value}], pa.struct(types)), types) for value in (1, 9))
    keys = {"min_key": low, "max_key": high, "min_sequence_number": 0, "sequence_number": 8}
    table = table.append_files(one_file("bucket-0/a", bucket=0, **keys))
    assert paimon.decode_rows(table.files().to_arrow()["max_key"].combine_chunks(), types).to_pylist() == [
        {"id": 9}
    ]
    for name in keys:
        with pytest.raises(SchemaError, match=name):
            table.append_files(
                one_file("bucket-0/b", bucket=0, **{k: v for k, v in keys.items() if k != name})
            )
    with pytest.raises(LakebedError, match="min_key"):
        table.append_files(one_file("bucket-0/b", bucket=0, **{**keys, "min_key": b"no row"}))


@each_golden_paimon_table()
def test_pypaimon_reads_what_is_written_anew(table: GoldenTable, tmp_path: Path) -> None:
    tables = pytest.importorskip("pypaimon.table.file_store_table")
    managers = pytest.importorskip("pypaimon.manifest.manifest_file_manager")
    copy = copy_of(table, tmp_path)
    if copy.properties.get("manifest.format", "avro") != "avro":
        pytest.skip("pypaimon reads manifests in Avro alone")
    if copy.properties.get("manifest.compression") == "zstandard":
        pytest.skip("pypaimon knows the codec as zstd only")
    copy = copy.rewrite_manifests(sort=True)
    peer = managers.ManifestFileManager(tables.FileStoreTable.from_path(copy.location))
    for path in copy.manifests(columns=["path"]).to_arrow()["path"].to_pylist():
        expected = [peer_row(entry) for entry in peer.read(Path(path).name, drop_stats=False)]
        read = paimon.read_manifest(path).to_arrow()
        assert_rows(typed_rows(read, Schemas(Path(copy.location))), expected, path)


def test_pypaimon_reads_what_is_committed(tmp_path: Path) -> None:
    tables = pytest.importorskip("pypaimon.table.file_store_table")
    table = lakebed.create_table(tmp_path / "t", COLUMNS, "paimon")
    table = table.append_files(one_file("bucket-0/a.parquet"))
    table = table.append_files(one_file("bucket-0/b.parquet", 5), options=lakebed.CommitOptions(watermark=3))
    table = table.delete_files(["bucket-0/a.parquet"])
    peer = tables.FileStoreTable.from_path(table.location)
    snapshot = peer.snapshot_manager().get_latest_snapshot()
    assert (snapshot.id, snapshot.total_record_count, snapshot.commit_kind) == (3, 5, "OVERWRITE")
    splits = peer.new_read_builder().new_scan().plan().splits()
    assert [file.file_name for split in splits for file in split.files] == ["b.parquet"]
