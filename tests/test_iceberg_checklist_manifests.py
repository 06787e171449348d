"""What readers of Iceberg must do, a test a rule: manifests and their lists."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import (
    ADDED,
    DELETED,
    EXISTING,
    MadeTable,
    Record,
    Schema,
    avro,
    entry,
    entry_schema,
    field,
    list_schema,
    optional,
)
from iceberg_peers import metadata
from iceberg_shared import shared_table
from json_files import changed, without
from paimon_files import container

import lakebed
from lakebed.errors import CorruptError

# Some writers record lengths that their manifests do not have.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
SPEC = [{"name": "city", "transform": "identity", "source-id": 2, "field-id": 1000}]
CITY = [field(1000, "city", optional("string"))]


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    return made(tmp_path)


def made(folder: Path, version: int = 2) -> MadeTable:
    return MadeTable(folder / "t", (1, "id", "long"), (2, "city", "string"), version=version, spec=SPEC)


def entries_of(table: MadeTable) -> list[Record]:
    rows: list[Record] = table.open().entries().to_arrow().to_pylist()
    return rows


def schema_of(table: MadeTable) -> Schema:
    return entry_schema(table.version, CITY)


def reverse(schema: Any) -> Any:
    """A schema with the fields of every record in the opposite order, but for keys and values of maps."""

    def change(parts: Schema) -> Schema:
        is_turned = parts.get("type") == "record" and not parts["name"].startswith("k1")
        return {**parts, "fields": parts["fields"][::-1]} if is_turned else parts

    return changed(schema, change)


def rename(schema: Any) -> Any:
    """A schema with other names for every field, but for keys and values of maps."""

    def change(parts: Schema) -> Schema:
        is_named = "field-id" in parts and parts["name"] not in ("key", "value")
        return {**parts, "name": f"x{parts['field-id']}"} if is_named else parts

    return changed(schema, change)


def nullable(schema: Any) -> Any:
    """A schema of which every field may be null."""

    def change(parts: Schema) -> Schema:
        is_required = "field-id" in parts and not isinstance(parts["type"], list)
        return {**parts, "type": ["null", parts["type"]]} if is_required else parts

    return changed(schema, change)


def null_second(schema: Any) -> Any:
    """A schema with null after the other branch, not before it."""

    def second(value: Any) -> Any:
        return value[::-1] if isinstance(value, list) and "null" in value else value

    return changed(
        schema, lambda parts: {key: second(value) for key, value in parts.items() if key != "default"}
    )


def _renamed(value: Any, schema: Any) -> Any:
    """A value under the names of a renamed schema."""
    if isinstance(schema, list):
        return None if value is None else _renamed(value, next(part for part in schema if part != "null"))
    if isinstance(schema, dict) and schema.get("type") == "record" and isinstance(value, dict):
        return {
            f"x{part['field-id']}": _renamed(value.get(part["name"]), part["type"])
            for part in schema["fields"]
        }
    return value


ENTRIES = [
    entry(
        path="a",
        partition={"city": "é"},
        record_count=3,
        column_sizes={1: 10, 2: 20},
        value_counts={1: 3},
        null_value_counts={1: 0, 2: 3},
        nan_value_counts={},
        lower_bounds={1: b"\1\0\0\0\0\0\0\0"},
        upper_bounds={1: b"\7\0\0\0\0\0\0\0"},
        split_offsets=[4, 100],
        sort_order_id=0,
    ),
    entry(EXISTING, "b", partition={"city": None}, snapshot_id=7, sequence_number=1, file_sequence_number=1),
    entry(DELETED, "c", partition={"city": ""}, snapshot_id=1, sequence_number=1, file_sequence_number=1),
]


def plain(table: MadeTable) -> list[Record]:
    """The entries as they are read from a manifest of the engine's form."""
    table.commit(table.manifest(*ENTRIES, schema=schema_of(table), name="plain.avro"))
    rows = entries_of(table)
    table.set(snapshots=[])
    return rows


@pytest.mark.parametrize("form", [reverse, nullable, null_second, lambda s: reverse(nullable(s))])
def test_fields_go_by_id_in_other_forms(table: MadeTable, form: Any):
    expected = plain(table)
    table.commit(table.manifest(*ENTRIES, schema=form(schema_of(table)), name="plain.avro"))
    assert entries_of(table) == expected


def test_names_do_not_count_where_ids_are(table: MadeTable):
    expected = plain(table)
    schema = schema_of(table)
    records = [_renamed(record, schema) for record in ENTRIES]
    row = table.manifest(*ENTRIES, schema=schema)
    table.write("plain.avro", avro(rename(schema), records))
    table.commit({**row, "manifest_path": str(table.root / "metadata" / "plain.avro")})
    assert entries_of(table) == expected


def test_without_ids_names_count(table: MadeTable):
    expected = plain(table)
    schema = without(schema_of(table), "field-id", "element-id", "key-id", "value-id")
    table.commit(table.manifest(*ENTRIES, schema=schema, name="plain.avro"))
    assert entries_of(table) == expected


def test_maps_go_by_position(table: MadeTable):
    """Keys and values of maps have no ids in files of one writer, and other names in others."""
    expected = plain(table)
    schema = copy.deepcopy(schema_of(table))
    table.commit(table.manifest(*ENTRIES, schema=without(schema, "logicalType"), name="plain.avro"))
    assert entries_of(table) == expected


def test_a_real_file_with_shuffled_columns():
    opened = shared_table("bigquery_v2_no_header_props").open()
    (row,) = opened.entries().to_arrow().to_pylist()
    assert (row["status"], row["content"]) == (ADDED, 0)
    assert row["file_path"].endswith(".parquet")
    assert row["snapshot_id"] is not None
    assert row["record_count"] > 0


@pytest.mark.parametrize("name", ["bigquery_v2_no_header_props", "v1_identity_all_types_no_hint"])
def test_no_header_keys(name: str):
    table = shared_table(name)
    opened = table.open()
    paths = opened.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
    for path in paths:
        keys = set(lakebed.avro.read_metadata(table.file(path)))
        assert {key for key in keys if not key.startswith("avro.")} == set()
    assert len(opened.entries().to_arrow()) > 0


LEGACY = {
    "added_files_count": "added_data_files_count",
    "existing_files_count": "existing_data_files_count",
    "deleted_files_count": "deleted_data_files_count",
}


@pytest.mark.parametrize("ids", [True, False])
def test_counts_under_their_older_names(table: MadeTable, ids: bool):
    schema = list_schema()
    for part in schema["fields"]:
        part["name"] = LEGACY.get(part["name"], part["name"])
    schema = schema if ids else without(schema, "field-id", "element-id")
    row = table.manifest(*ENTRIES, schema=schema_of(table))
    table.commit({LEGACY.get(name, name): value for name, value in row.items()}, schema=schema)
    (manifest,) = table.open().manifests().to_arrow().to_pylist()
    assert [manifest[name] for name in LEGACY] == [1, 1, 1]
    assert len(entries_of(table)) == 3


def test_counts_that_are_unknown():
    table = shared_table("pyiceberg_v1_to_v3_null_counts")
    opened = table.open()
    counts = opened.manifests().to_arrow()["added_files_count"].to_pylist()
    assert None in counts
    assert len(opened.files().to_arrow()) > 0
    assert len(opened.entries().to_arrow()) >= len(opened.files().to_arrow())


def test_unknown_counts_leave_no_manifest_out(tmp_path: Path):
    table = made(tmp_path, version=1)
    row = table.manifest(entry(partition={"city": "x"}, snapshot_id=1), schema=schema_of(table))
    unknown = {name: None for name in row if name.endswith("_count")}
    table.commit({**row, **unknown})
    assert [file["file_path"] for file in table.open().files().to_arrow().to_pylist()] == ["a.parquet"]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
@pytest.mark.parametrize("interval", [1, 64_000], ids=["many blocks", "one block"])
def test_every_codec(table: MadeTable, codec: str, interval: int):
    expected = plain(table)
    options = {"codec": codec, "sync_interval": interval}
    table.commit(table.manifest(*ENTRIES, schema=schema_of(table), name="plain.avro", **options), codec=codec)
    assert entries_of(table) == expected


def test_zero_blocks(table: MadeTable):
    table.commit(table.manifest(schema=schema_of(table)))
    assert entries_of(table) == []
    table.commit()
    assert entries_of(table) == []


def test_negative_counts_of_items(table: MadeTable):
    expected = plain(table)
    schema = schema_of(table)
    row = table.manifest(*ENTRIES, schema=schema)
    content = container(schema, [ENTRIES_WITH_ALL], negative_counts=True)
    path = table.write("plain.avro", content)
    table.commit({**row, "manifest_path": str(path), "manifest_length": len(content)})
    assert entries_of(table) == expected


def complete(record: Any, schema: Any) -> Any:
    """A record with null for every field that it does not give."""
    kind = schema[1] if isinstance(schema, list) else schema
    if isinstance(record, dict) and isinstance(kind, dict) and kind.get("type") == "record":
        return {part["name"]: complete(record.get(part["name"]), part["type"]) for part in kind["fields"]}
    return record


ENTRIES_WITH_ALL = [complete(record, entry_schema(2, CITY)) for record in ENTRIES]


def test_a_partition_without_fields(tmp_path: Path):
    table = MadeTable(tmp_path / "t", (1, "id", "long"))
    table.commit(table.manifest(entry(path="a"), entry(path="b")))
    read = table.open().entries().to_arrow()
    assert read["partition"].type.num_fields == 0
    assert read["file_path"].to_pylist() == ["a", "b"]


def test_a_null_partition_of_an_unpartitioned_table(tmp_path: Path):
    table = MadeTable(tmp_path / "t", (1, "id", "long"))
    record = entry(path="a")
    record["data_file"]["partition"] = None
    table.commit(table.manifest(record, schema=nullable(entry_schema())))
    assert [row["file_path"] for row in entries_of(table)] == ["a"]


def test_statuses_and_whose_snapshot_they_name(table: MadeTable):
    table.commit(table.manifest(*ENTRIES, schema=schema_of(table)))
    rows = [(row["status"], row["file_path"], row["snapshot_id"]) for row in entries_of(table)]
    assert rows == [(ADDED, "a", 1), (EXISTING, "b", 7), (DELETED, "c", 1)]
    assert table.open().files().to_arrow()["file_path"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("status", [-1, 3])
def test_other_statuses_are_errors(table: MadeTable, status: int):
    record = entry(status, partition={"city": "x"}, snapshot_id=1)
    row = table.manifest(ENTRIES[0], schema=schema_of(table))
    table.manifest(record, schema=schema_of(table))
    table.commit(row)
    with pytest.raises(CorruptError):
        entries_of(table)


def test_snapshot_ids_are_inherited(table: MadeTable):
    records = [
        entry(status, partition={"city": "x"}, sequence_number=1, file_sequence_number=1)
        for status in range(3)
    ]
    row = table.manifest(*records, schema=schema_of(table))
    table.commit({**row, "added_snapshot_id": 77})
    assert [record["snapshot_id"] for record in entries_of(table)] == [77, 77, 77]


def test_sequence_numbers_are_inherited_by_added_entries(table: MadeTable):
    records = [
        entry(path="new", partition={"city": "x"}),
        entry(path="rewritten", partition={"city": "x"}, sequence_number=3),
        entry(
            EXISTING, "old", partition={"city": "x"}, snapshot_id=2, sequence_number=2, file_sequence_number=1
        ),
    ]
    row = table.manifest(*records, schema=schema_of(table))
    table.commit({**row, "sequence_number": 4})
    numbers = [(row["sequence_number"], row["file_sequence_number"]) for row in entries_of(table)]
    assert numbers == [(4, 4), (3, 4), (2, 1)]


def test_a_real_rewrite():
    rows = shared_table("v2_compaction_dangling_delete").open().entries().to_arrow().to_pylist()
    added = [(row["sequence_number"], row["file_sequence_number"]) for row in rows if row["status"] == ADDED]
    assert (3, 4) in added


@pytest.mark.parametrize("status", [EXISTING, DELETED])
def test_what_others_leave_out_stays_unknown(table: MadeTable, status: int):
    record = entry(status, partition={"city": "x"}, snapshot_id=2)
    table.commit({**table.manifest(record, schema=schema_of(table)), "sequence_number": 4})
    (row,) = entries_of(table)
    assert (row["sequence_number"], row["file_sequence_number"]) == (None, None)


@pytest.mark.parametrize("status", [EXISTING, ADDED, DELETED])
def test_entries_of_version_1_have_sequence_number_0(tmp_path: Path, status: int):
    table = made(tmp_path, version=1)
    table.commit(
        table.manifest(entry(status, partition={"city": "x"}, snapshot_id=9), schema=schema_of(table))
    )
    (record,) = entries_of(table)
    assert (record["sequence_number"], record["file_sequence_number"]) == (0, 0)
    assert (record["content"], record["snapshot_id"]) == (0, 9)


def row_ids(tmp_path: Path, first_row_id: int | None, content: int = 0) -> list[int | None]:
    table = made(tmp_path, version=3)
    records = [
        entry(path="a", partition={"city": "x"}, record_count=10),
        entry(DELETED, "b", partition={"city": "x"}, record_count=100, snapshot_id=1),
        entry(EXISTING, "c", partition={"city": "x"}, record_count=7, first_row_id=500, snapshot_id=1),
        entry(path="d", partition={"city": "x"}, record_count=5),
        entry(EXISTING, "e", partition={"city": "x"}, record_count=1, snapshot_id=1),
    ]
    for record in records:
        record["data_file"]["content"] = content
    row = table.manifest(*records, schema=schema_of(table))
    table.commit({**row, "content": content, "first_row_id": first_row_id})
    return [row["first_row_id"] for row in entries_of(table)]


def test_row_ids_are_assigned_in_file_order(tmp_path: Path):
    assert row_ids(tmp_path, 1000) == [1000, None, 500, 1010, 1015]


def test_without_a_first_row_id_there_are_none(tmp_path: Path):
    assert row_ids(tmp_path, None) == [None] * 5


def test_delete_manifests_have_none(tmp_path: Path):
    assert row_ids(tmp_path, 1000, content=1) == [None] * 5


def test_files_that_are_left_out_count(tmp_path: Path):
    table = made(tmp_path, version=3)
    records = [entry(path=city, partition={"city": city}, record_count=10) for city in "abc"]
    table.commit({**table.manifest(*records, schema=schema_of(table)), "first_row_id": 1000})
    opened = table.open()
    assert opened.files(columns=["first_row_id"], where="city = 'c'").to_arrow()[
        "first_row_id"
    ].to_pylist() == [1020]
    found = opened.entries(columns=["first_row_id"], limit=2).to_arrow()["first_row_id"].to_pylist()
    assert found == [1000, 1010]


def test_a_real_chain_of_row_ids():
    table = shared_table("spark_v3_row_lineage")
    opened = table.open()
    rows = opened.entries().to_arrow().to_pylist()
    assert {row["first_row_id"] for row in rows if row["status"] == DELETED} <= {None, 0, 1, 2}
    added = [row["first_row_id"] for row in rows if row["status"] == ADDED]
    assert added == [3]
    assert metadata(table.current_file(opened))["next-row-id"] == 6


def test_equality_deletes_of_one_partition():
    table = shared_table("v2_eq_delete_partition_evolution")
    rows = table.open().deletes().to_arrow().to_pylist()
    assert rows
    assert {row["content"] for row in rows} == {2}
    for row in rows:
        assert row["equality_ids"]
    assert {row["spec_id"] for row in rows} <= {0, 1}


def test_equality_deletes_of_nulls():
    rows = shared_table("v2_eq_delete_nulls").open().deletes().to_arrow().to_pylist()
    assert rows
    assert all(row["content"] == 2 and row["equality_ids"] for row in rows)


def test_two_deletion_vectors_in_one_file():
    rows = shared_table("spark_v3_deletion_vectors").open().deletes().to_arrow().to_pylist()
    assert sorted(row["content_offset"] for row in rows) == [4, 46]
    assert len({row["file_path"] for row in rows}) == 1
    assert len({row["referenced_data_file"] for row in rows}) == 2
    assert all(row["content"] == 1 and row["content_size_in_bytes"] for row in rows)


def test_a_bare_blob():
    rows = shared_table("v3_bare_dv_blob").open().deletes().to_arrow().to_pylist()
    assert [(row["content_offset"], row["content_size_in_bytes"]) for row in rows] == [(0, 42)]
