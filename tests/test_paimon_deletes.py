"""The views `deletes` and `indexes`, against the engine's index entries and plans at every snapshot."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from arrow_values import assert_rows
from command_line import printed
from counting_storage import CountingStorage

import lakebed
from lakebed.errors import CorruptError, SchemaError
from paimon_answers import Row, canonical, stand
from shared_data import GoldenTable, each_golden_paimon_table, each_shared_file, golden_paimon_tables

# The columns that are there without being asked for, in their order, and their types.
COLUMNS = {
    "content": pa.int32(),
    "file_path": pa.string(),
    "file_format": pa.string(),
    "partition": None,
    "spec_id": pa.int32(),
    "bucket": pa.int32(),
    "level": pa.int32(),
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    "schema_id": pa.int64(),
    "sequence_number": pa.int64(),
    "created_at": pa.timestamp("us"),
    "referenced_data_file": pa.string(),
    "referenced_file_name": pa.string(),
    "content_offset": pa.int64(),
    "content_size_in_bytes": pa.int64(),
    "cardinality": pa.int64(),
    "file_name": pa.string(),
}


def _snapshots(table: GoldenTable) -> Iterator[tuple[lakebed.Table, list[Row]]]:
    """The table at every snapshot that is there, with the engine's entries of its index manifest."""
    opened = lakebed.open_table(table.path)
    answers = table.rows("index_entries")
    for snapshot in opened.snapshots(columns=["snapshot_id", "index_manifest"]).to_arrow().to_pylist():
        entries = [row for row in answers if row["index_manifest"] == snapshot["index_manifest"]]
        yield opened.at(snapshot=snapshot["snapshot_id"]), entries


@each_golden_paimon_table()
def test_deletes_at_every_snapshot(table: GoldenTable):
    for at, entries in _snapshots(table):
        where = f"{table.name}, snapshot {at.snapshot_id}"
        columns = [name for name in COLUMNS if name != "record_count"]
        rows = at.deletes(columns=[*columns, "record_count", "positions"]).to_arrow()
        expected = [
            {
                "content": "1",
                "file_format": "deletion-vector",
                "partition": entry["partition"],
                "bucket": entry["bucket"],
                "file_name": entry["file_name"],
                "file_size_in_bytes": entry["file_size"],
                "referenced_file_name": vector["data_file"],
                "content_offset": vector["offset"],
                "content_size_in_bytes": vector["length"],
                "cardinality": vector["cardinality"],
                "record_count": str(len(entry["deleted_positions"][vector["data_file"]])),
                "positions": [str(at) for at in entry["deleted_positions"][vector["data_file"]]],
                **dict.fromkeys(["spec_id", "level", "schema_id", "sequence_number", "created_at"]),
            }
            for entry in entries
            for vector in entry["dv_ranges"] or []
        ]
        assert_rows(_canonical_rows(rows), expected, where)


@each_golden_paimon_table()
def test_deletes_apply_to_live_files(table: GoldenTable):
    """Data files outside the table are named by the path they have there."""
    for at, _ in _snapshots(table):
        live = set(at.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist())
        deletes = at.deletes(columns=["referenced_data_file"]).to_arrow()
        assert set(deletes["referenced_data_file"].to_pylist()) <= live, f"{table.name}, {at.snapshot_id}"


@each_golden_paimon_table()
def test_deletes_are_those_of_the_engines_plan(table: GoldenTable):
    for file in sorted(table.expected.glob("**/plans.json")):
        at = file.parent.relative_to(table.expected).as_posix()
        plan: Row = json.loads(file.read_text("utf-8"))[0]
        assert plan["sql"] is None
        opened = stand(lakebed.open_table(table.path), "" if at == "." else at)
        rows = opened.deletes().to_arrow().to_pylist()
        found = {
            row["referenced_file_name"]: {
                "path": row["file_path"].replace(str(table.path), "${TABLE}"),
                "offset": str(row["content_offset"]),
                "length": str(row["content_size_in_bytes"]),
                "cardinality": None if row["cardinality"] is None else str(row["cardinality"]),
            }
            for row in rows
        }
        assert found == plan["deletion_files"], f"{table.name}, {at}"


@each_golden_paimon_table()
def test_indexes_at_every_snapshot(table: GoldenTable):
    for at, entries in _snapshots(table):
        rows = _canonical_rows(at.indexes().to_arrow())
        names = ("index_type", "partition", "bucket", "row_count", "file_name", "external_path")
        expected = [
            {name: entry[name] for name in names} | {"file_size_in_bytes": entry["file_size"]}
            for entry in entries
        ]
        assert_rows(rows, expected, f"{table.name}, snapshot {at.snapshot_id}")
        for row in rows:
            assert Path(row["file_path"]).stat().st_size == int(row["file_size_in_bytes"])


@each_shared_file("paimon/*/schema/schema-0")
def test_other_tables(file: Path):
    """Vectors, paths and ranges agree with what the rest of the table says."""
    table = lakebed.open_table(file.parent.parent)
    live = set(table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist())
    without_counts = [name for name in COLUMNS if name != "record_count"]
    deletes = table.deletes(columns=without_counts).to_arrow().to_pylist()
    assert {row["referenced_data_file"] for row in deletes} <= live
    if deletes and all(Path(row["file_path"]).is_file() for row in deletes):
        read = table.deletes(columns=["record_count", "positions"]).to_arrow().to_pylist()
        assert [row["record_count"] for row in read] == [len(row["positions"]) for row in read]
    for row in table.indexes().to_arrow().to_pylist():
        assert row["external_path"] in (None, row["file_path"])
        if row["row_range_start"] is not None:
            assert row["row_range_end"] - row["row_range_start"] + 1 == row["row_count"]
            assert row["index_field_name"] is not None
        else:
            assert row["index_type"] in ("HASH", "DELETION_VECTORS")


def test_columns_and_filters():
    table = _with_deletes()
    scan = table.deletes()
    assert scan.schema.names == list(COLUMNS)
    types = {name: kind for name, kind in COLUMNS.items() if kind is not None}
    assert {name: scan.schema.field(name).type for name in types} == types
    rows = scan.to_arrow()
    assert rows.schema == scan.schema
    assert table.deletes(limit=1).to_arrow().num_rows == 1
    for bucket in set(rows["bucket"].to_pylist()):
        kept = table.deletes(where=f"bucket = {bucket}", columns=["file_name", "positions"]).to_arrow()
        assert kept.schema.names == ["file_name", "positions"]
        assert kept.num_rows == rows["bucket"].to_pylist().count(bucket)
    assert table.deletes(where="bucket = -7").to_arrow().num_rows == 0
    assert table.indexes(where="bucket = -7").to_arrow().num_rows == 0
    for view in (table.deletes, table.indexes):
        with pytest.raises(SchemaError, match="nothing"):
            view(columns=["nothing"])


def test_the_commands_print_the_views():
    table = _with_deletes()
    for view, column in (("deletes", "referenced_file_name"), ("indexes", "file_path")):
        rows = getattr(table, view)(columns=[column]).to_arrow().to_pylist()
        assert printed(view, table.location, "--columns", column) == rows


def test_a_damaged_vector_is_refused(tmp_path: Path):
    row = _with_deletes().deletes().to_arrow().to_pylist()[0]
    location = _with_deletes().location
    shutil.copytree(location, tmp_path / "t")
    index = tmp_path / "t" / Path(row["file_path"]).relative_to(location)
    content = bytearray(index.read_bytes())
    content[row["content_offset"] + 9] ^= 1
    index.write_bytes(content)
    damaged = lakebed.open_table(tmp_path / "t")
    with pytest.raises(CorruptError) as refused:
        damaged.deletes(columns=["positions"]).to_arrow()
    assert (refused.value.kind, refused.value.path) == ("checksum", str(index))
    index.write_bytes(b"\x02" + content[1:])
    with pytest.raises(lakebed.errors.UnsupportedError, match="version"):
        damaged.deletes(columns=["positions"]).to_arrow()


def test_a_storage_is_asked_for_ranges():
    table = _with_deletes()
    storage = CountingStorage()
    recorded = lakebed.open_table(table.location, storage=storage)
    rows = recorded.deletes(columns=["file_path", "positions"]).to_arrow()
    assert rows.equals(table.deletes(columns=["file_path", "positions"]).to_arrow())
    files = set(rows["file_path"].to_pylist())
    ranges = [(path, start) for path, start, end in storage.reads if end is not None and path in files]
    # Side by side, so in no order.
    assert sorted(ranges) == [(path, 0) for path in sorted(files)]


def _with_deletes() -> lakebed.Table:
    """The first golden table that has deletion vectors."""
    for table in golden_paimon_tables():
        opened = lakebed.open_table(table.path)
        if opened.deletes(columns=["bucket"]).to_arrow().num_rows > 1:
            return opened
    pytest.skip("no golden table has deletion vectors")


def _canonical_rows(rows: pa.Table) -> list[dict[str, Any]]:
    columns = [canonical(column) for column in rows.columns]
    return [dict(zip(rows.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
