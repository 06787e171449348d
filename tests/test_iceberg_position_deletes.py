"""The metadata table `position_deletes`, beside the engine's own rows of it and files made by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from iceberg_made import MadeTable, Record, entry, entry_schema, field, optional
from pyarrow import orc, parquet

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import CorruptError, LakebedError, MissingFileError
from shared_data import OWN_DATA

TABLES = sorted(path.parent for path in (OWN_DATA / "iceberg_position_deletes").glob("*/expected"))
PATH_ID, POS_ID, ROW_ID = 2147483546, 2147483545, 2147483544
# Spark's words for types that the table has.
SPARK = {"string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "double": pa.float64()}


def plain(value: Any) -> Any:
    """A value as the engine's rows are written down."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, (float, Decimal)) else value


def arrow_type(kind: Any) -> pa.DataType:
    """The Arrow type of a type in Spark's JSON."""
    if isinstance(kind, dict):
        return pa.struct([arrow_field(child) for child in kind["fields"]])
    if kind.startswith("decimal"):
        return pa.decimal128(*map(int, kind[8:-1].split(",")))
    return SPARK[kind]


def arrow_field(field: Any) -> pa.Field:
    return pa.field(field["name"], arrow_type(field["type"]), field["nullable"])


def key(row: Record) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("delete_file_path", "file_path", "pos"))


@pytest.mark.parametrize("folder", TABLES, ids=[folder.name for folder in TABLES])
def test_the_rows_are_the_engines(folder: Path):
    answer = json.loads((folder / "expected" / "position_deletes.json").read_text("utf-8"))
    table = lakebed.open_table(folder, relocate={answer["location"]: folder})
    scan = table.metadata_table("position_deletes")
    # Spark calls everything nullable.
    expected = [arrow_field(field) for field in answer["schema"]["fields"]]
    assert scan.schema.names == [field.name for field in expected]
    for found, wanted in zip(scan.schema, expected, strict=True):
        assert nullable(found.type) == nullable(wanted.type), found.name
    rows = [plain(row) for row in scan.to_arrow().to_pylist()]
    assert sorted(rows, key=key) == sorted(answer["rows"], key=key)
    few = table.metadata_table("position_deletes", columns=["pos", "spec_id"], filter="pos = 1", limit=1)
    assert (
        few.to_arrow().to_pylist()
        == [{"pos": row["pos"], "spec_id": row["spec_id"]} for row in rows if row["pos"] == 1][:1]
    )


def nullable(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_struct(kind):
        return kind
    return pa.struct([pa.field(child.name, nullable(child.type)) for child in kind])


@each_golden_iceberg_table()
def test_vectors_are_spread_out_and_files_that_are_gone_are_named(table: GoldenTable):
    opened = table.open()
    scan = opened.metadata_table("position_deletes")
    assert scan.schema.names[:2] == ["file_path", "pos"]
    assert ("content_offset" in scan.schema.names) == (table.info["format_version"] >= 3)
    deletes = opened.deletes(columns=["content", "file_path", "content_offset"]).to_arrow().to_pylist()
    gone = {row["file_path"] for row in deletes if row["content"] == 1 and row["content_offset"] is None}
    if gone:
        with pytest.raises(MissingFileError) as caught:
            scan.to_arrow()
        assert caught.value.path in {str(table.file(path)) for path in gone}
        return
    names = ["referenced_data_file", "positions", "file_path", "spec_id"]
    vectors = opened.deletes(columns=names).to_arrow().to_pylist()
    expected = [
        (row["referenced_data_file"], position, row["file_path"], row["spec_id"])
        for row in vectors
        for position in row["positions"] or ()
    ]
    rows = scan.to_arrow().select(["file_path", "pos", "delete_file_path", "spec_id"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == sorted(expected)


def numbered(number: int, name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number), "iceberg.id": str(number)})


# What the writer called `id` is called so no more; `gone` is no column of the table any more.
WRITTEN = pa.struct([numbered(1, "key", pa.int32()), numbered(9, "gone", pa.string())])
SCHEMA = pa.schema(
    [
        numbered(PATH_ID, "file_path", pa.string()),
        numbered(POS_ID, "pos", pa.int64()),
        numbered(ROW_ID, "row", WRITTEN),
    ]
)
ROWS = [
    {"file_path": "a.parquet", "pos": 0, "row": {"key": 7, "gone": "x"}},
    {"file_path": "b.parquet", "pos": 5_000_000_000, "row": {"key": None, "gone": None}},
]
EXPECTED = [{"id": 7, "city": None}, {"id": None, "city": None}]


def as_parquet(path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist(ROWS, SCHEMA), path)


def as_orc(path: Path) -> None:
    # pyarrow writes no ids: the names are then those of the table.
    names = pa.schema([SCHEMA.field(0), SCHEMA.field(1), ("row", pa.struct([("id", pa.int32())]))])
    rows = [{**row, "row": {"id": row["row"]["key"]}} for row in ROWS]  # type: ignore[index]
    orc.write_table(pa.Table.from_pylist(rows, names), path)


def as_avro(path: Path) -> None:
    row = {
        "type": "record",
        "name": "r",
        "fields": [field(1, "key", optional("int")), field(9, "gone", optional("string"))],
    }
    fields = [
        field(PATH_ID, "file_path", "string"),
        field(POS_ID, "pos", "long"),
        field(ROW_ID, "row", optional(row)),
    ]
    with path.open("wb") as sink:
        fastavro.writer(sink, {"type": "record", "name": "p", "fields": fields}, ROWS)


def with_deletes(root: Path, *entries: Record, version: int = 2) -> MadeTable:
    table = MadeTable(root / "t", (1, "id", "long"), (2, "city", "string"), version=version)
    table.commit({**table.manifest(*entries, schema=entry_schema(version)), "content": 1})
    return table


@pytest.mark.parametrize("write", [as_parquet, as_orc, as_avro])
def test_deleted_rows_are_those_of_the_table_now(tmp_path: Path, write: Any):
    file = tmp_path / "deletes"
    write(file)
    table = with_deletes(tmp_path, entry(path=str(file), content=1, record_count=2))
    rows = table.open().metadata_table("position_deletes").to_arrow().to_pylist()
    assert [row["row"] for row in rows] == EXPECTED
    assert [(row["file_path"], row["pos"]) for row in rows] == [(r["file_path"], r["pos"]) for r in ROWS]
    assert {(row["spec_id"], row["delete_file_path"]) for row in rows} == {(0, str(file))}


def test_other_content_and_deleted_entries_are_left_out(tmp_path: Path):
    file = tmp_path / "deletes"
    as_parquet(file)
    live = entry(path=str(file), content=1, record_count=2)
    equality = entry(path="e.parquet", content=2, equality_ids=[1])
    table = with_deletes(tmp_path, live, equality, entry(2, "d.parquet", content=1))
    assert table.open().metadata_table("position_deletes").to_arrow().num_rows == 2


def broken_path(path: Path) -> None:
    parquet.write_table(pa.table({"file_path": pa.array([None], pa.string()), "pos": [1]}), path)


def without_pos(path: Path) -> None:
    parquet.write_table(pa.table({"file_path": ["a"]}), path)


def of_nothing(path: Path) -> None:
    path.write_bytes(b"")


def other_row(path: Path) -> None:
    row = pa.array([{"id": "seven"}])
    parquet.write_table(pa.table({"file_path": ["a"], "pos": [1], "row": row}), path)


def cut(path: Path) -> None:
    as_parquet(path)
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("write", "kind", "named"),
    [
        (broken_path, "required", "file_path"),
        (without_pos, "required", "pos"),
        (of_nothing, "truncated", None),
        (cut, "truncated", None),
        (other_row, "schema", "row.id"),
    ],
)
def test_delete_files_that_are_none(tmp_path: Path, write: Any, kind: str, named: str | None):
    file = tmp_path / "deletes"
    write(file)
    table = with_deletes(tmp_path, entry(path=str(file), content=1))
    with pytest.raises(LakebedError) as caught:
        table.open().metadata_table("position_deletes").to_arrow()
    assert (caught.value.kind, caught.value.path, caught.value.field) == (kind, str(file), named)


def test_a_vector_that_names_no_data_file(tmp_path: Path):
    file = tmp_path / "v.puffin"
    file.write_bytes(bytes.fromhex("0000000cd1d339640000000000000000bf18480c"))
    vector = {"content_offset": 0, "content_size_in_bytes": 20, "record_count": 0}
    table = with_deletes(tmp_path, entry(path=str(file), content=1, **vector), version=3)
    with pytest.raises(CorruptError, match="names no data file"):
        table.open().metadata_table("position_deletes").to_arrow()


def test_batches_are_bounded(tmp_path: Path):
    file = tmp_path / "deletes"
    count = 200_000
    parquet.write_table(pa.table({"file_path": ["a"] * count, "pos": range(count)}), file)
    table = with_deletes(tmp_path, entry(path=str(file), content=1, record_count=count))
    batches = list(table.open().metadata_table("position_deletes"))
    assert max(batch.num_rows for batch in batches) <= 1 << 16
    assert sum(batch.num_rows for batch in batches) == count
