"""What is often said wrongly of versions 1 and 2 of Iceberg's specification, or left out: a test a point,
which holds what the specification says.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import (
    ADDED,
    DELETED,
    EXISTING,
    UUID,
    MadeTable,
    Record,
    entry,
    entry_schema,
    field,
    list_schema,
    optional,
)

import lakebed

UTC = dt.timezone.utc
COLUMNS = [(1, "id", "long"), (2, "city", "string")]


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    return MadeTable(tmp_path / "t", *COLUMNS)


def v3(folder: Path) -> MadeTable:
    return MadeTable(folder / "t", *COLUMNS, version=3)


def entries(table: MadeTable) -> list[Record]:
    rows: list[Record] = table.open().entries().to_arrow().to_pylist()
    return rows


def old(status: int, path: str, **values: Any) -> Record:
    """An entry of an earlier commit."""
    known = {"snapshot_id": 1, "sequence_number": 1, "file_sequence_number": 1}
    return entry(status, path, **{**known, **values})


def test_delete_files_are_read_before_any_data_manifest(table: MadeTable):
    data = table.manifest(entry(path="a"), name="data.avro")
    deletes = table.manifest(entry(path="d", content=1), name="deletes.avro")
    table.commit(data, {**deletes, "content": 1})
    Path(data["manifest_path"]).unlink()
    assert table.open().deletes(columns=["file_path"]).to_arrow()["file_path"].to_pylist() == ["d"]
    with pytest.raises(lakebed.errors.MissingFileError, match=r"data\.avro"):
        table.open().files().to_arrow()


def test_status_says_what_changed_and_content_of_what(table: MadeTable):
    data = table.manifest(entry(path="added"), old(DELETED, "deleted"), name="data.avro")
    deletes = table.manifest(entry(path="delete file", content=1), name="deletes.avro")
    table.commit(data, {**deletes, "content": 1})
    rows = {row["file_path"]: (row["status"], row["content"]) for row in entries(table)}
    assert rows == {"added": (ADDED, 0), "deleted": (DELETED, 0), "delete file": (ADDED, 1)}
    assert table.open().deletes().to_arrow()["file_path"].to_pylist() == ["delete file"]


def test_a_deleted_entry_names_the_snapshot_that_deleted(table: MadeTable):
    table.commit(table.manifest(entry(path="a"), name="1.avro"))
    record = table.manifest(
        old(DELETED, "a", snapshot_id=2), old(EXISTING, "b"), entry(path="c"), name="2.avro"
    )
    table.commit({**record, "added_snapshot_id": 2})
    found = [(row["status"], row["snapshot_id"]) for row in entries(table)]
    assert found == [(DELETED, 2), (EXISTING, 1), (ADDED, 2)]


def test_delete_files_have_sequence_numbers_and_files_have_two(table: MadeTable):
    deletes = table.manifest(entry(path="d", content=2, equality_ids=[1]), name="d.avro")
    data = table.manifest(entry(path="rewritten", sequence_number=1), name="m.avro")
    table.commit({**data, "sequence_number": 5}, {**deletes, "content": 1, "sequence_number": 5})
    rows = {row["file_path"]: (row["sequence_number"], row["file_sequence_number"]) for row in entries(table)}
    assert rows == {"rewritten": (1, 5), "d": (5, 5)}


@pytest.mark.parametrize("stored", ["parquet", "PARQUET", "orc", "AVRO", "puffin", "PUFFIN"])
def test_formats_in_any_case_and_puffin(tmp_path: Path, stored: str):
    table = v3(tmp_path)
    table.commit(table.manifest(entry(file_format=stored)))
    (row,) = table.open().files().to_arrow().to_pylist()
    assert row["file_format"].lower() == stored.lower()


def test_rows_of_a_deletion_vector_are_those_it_deletes(tmp_path: Path):
    table = v3(tmp_path)
    vector = entry(
        path="dv.puffin",
        content=1,
        file_format="PUFFIN",
        record_count=17,
        referenced_data_file="a.parquet",
        content_offset=4,
        content_size_in_bytes=42,
    )
    row = table.manifest(vector, name="d.avro")
    table.commit(table.manifest(entry(), name="m.avro"), {**row, "content": 1})
    (read,) = table.open().deletes().to_arrow().to_pylist()
    assert (read["record_count"], read["content_offset"], read["content_size_in_bytes"]) == (17, 4, 42)


def test_block_sizes_of_version_1_are_passed_over(tmp_path: Path):
    table = MadeTable(tmp_path / "t", *COLUMNS, version=1)
    table.commit(table.manifest(entry(block_size_in_bytes=7, snapshot_id=1)))
    (row,) = entries(table)
    assert (row["file_path"], row["file_size_in_bytes"]) == ("a.parquet", 100)


def test_distinct_counts_are_passed_over(table: MadeTable):
    schema = entry_schema()
    file = schema["fields"][-1]["type"]
    pair = {
        "type": "record",
        "name": "k123_v124",
        "fields": [field(123, "key", "int"), field(124, "value", "long")],
    }
    counts = {"type": "array", "logicalType": "map", "items": pair}
    file["fields"].insert(0, field(111, "distinct_counts", optional(counts)))
    table.commit(table.manifest(entry(distinct_counts={1: 9}, value_counts={1: 3}), schema=schema))
    (row,) = entries(table)
    assert row["value_counts"] == [(1, 3)]


def test_bounds_are_bounds_and_not_extremes(table: MadeTable):
    bounds: dict[str, Any] = {
        "lower_bounds": {2: b"iceberg-table-na"},
        "upper_bounds": {2: b"iceberg-table-nb"},
    }
    counts: dict[str, Any] = {"value_counts": {2: 10}, "null_value_counts": {2: 10}}
    table.commit(table.manifest(entry(**bounds), entry(path="all null", **counts)))
    first, second = (
        row["city"] for row in table.open().files(stats=["city"]).to_arrow()["stats"].to_pylist()
    )
    assert (first["lower_bound"], first["upper_bound"]) == ("iceberg-table-na", "iceberg-table-nb")
    assert (second["lower_bound"], second["upper_bound"], second["null_count"]) == (None, None, 10)


def test_fields_of_later_versions_and_ids_in_any_order(tmp_path: Path):
    table = v3(tmp_path)
    schema = entry_schema(3)
    schema["fields"][-1]["type"]["fields"] += [
        field(141, "spec_id", optional("int")),
        field(146, "of_tomorrow", optional("string")),
    ]
    record = entry(
        content=2, equality_ids=[2, 1], sort_order_id=None, first_row_id=None, of_tomorrow="x", spec_id=7
    )
    table.commit({**table.manifest(record, schema=schema), "content": 1})
    (row,) = entries(table)
    assert (row["equality_ids"], row["sort_order_id"], row["spec_id"]) == ([2, 1], None, 0)
    assert row["first_row_id"] is row["referenced_data_file"] is row["content_offset"] is None


@pytest.mark.filterwarnings("ignore:opened by its folder:lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("name", ["00012-{}.metadata.json", "v3.metadata.json", "100000-{}.metadata.json"])
def test_metadata_files_as_catalogs_name_them(table: MadeTable, name: str):
    changed = {**table.metadata, "properties": {"here": "yes"}}
    (table.root / "metadata" / "v1.metadata.json").unlink()
    table.write(f"00002-{UUID}.metadata.json", json.dumps(table.metadata).encode())
    table.write(name.format(UUID), json.dumps(changed).encode())
    assert table.open().properties == {"here": "yes"}


def test_snapshots_of_before_an_upgrade(tmp_path: Path):
    table = v3(tmp_path)
    table.commit(sequence_number=None)
    table.commit(first_row_id=0, added_rows=5)
    rows = table.open().snapshots().to_arrow().to_pylist()
    assert [row["sequence_number"] for row in rows] == [0, 2]
    assert [(row["first_row_id"], row["added_rows"]) for row in rows] == [(None, None), (0, 5)]


def test_times_are_milliseconds(table: MadeTable):
    table.commit(timestamp_ms=1_500_000_000_123)
    (row,) = table.open().snapshots().to_arrow().to_pylist()
    assert row["committed_at"] == dt.datetime(2017, 7, 14, 2, 40, 0, 123_000, UTC)


@pytest.mark.parametrize("operation", ["append", "replace", "overwrite", "delete"])
def test_an_operation_tells_nothing_of_its_files(table: MadeTable, operation: str):
    """Every operation may remove data files, and all but `append` may add files of every kind."""
    data = table.manifest(old(DELETED, "gone", snapshot_id=1), entry(path="new"), name="m.avro")
    deletes = table.manifest(entry(path="d", content=1), name="d.avro")
    table.commit(data, {**deletes, "content": 1}, summary={"operation": operation})
    opened = table.open()
    assert opened.snapshots().to_arrow()["operation"].to_pylist() == [operation]
    assert sorted(opened.files().to_arrow()["file_path"].to_pylist()) == ["d", "new"]


def test_the_least_sequence_number_is_as_recorded(table: MadeTable):
    row = table.manifest(old(EXISTING, "a", sequence_number=3), old(DELETED, "b"))
    table.commit({**row, "sequence_number": 5, "min_sequence_number": 3})
    (manifest,) = table.open().manifests().to_arrow().to_pylist()
    assert (manifest["sequence_number"], manifest["min_sequence_number"]) == (5, 3)


def test_a_manifest_names_the_snapshot_that_added_it(table: MadeTable):
    row = table.manifest(entry())
    table.commit(row)
    table.commit(row)
    opened = table.open()
    assert opened.snapshot_id == 2
    assert opened.manifests().to_arrow()["added_snapshot_id"].to_pylist() == [1]


def test_counts_are_of_entries_by_status_whatever_the_files(table: MadeTable):
    records = [
        entry(path="a", content=1, record_count=3),
        entry(path="b", content=2, record_count=4, equality_ids=[1]),
        old(EXISTING, "c", content=1, record_count=5),
        old(DELETED, "d", content=1, record_count=6),
    ]
    table.commit({**table.manifest(*records), "content": 1})
    opened = table.open()
    (row,) = opened.manifests().to_arrow().to_pylist()
    statuses = ("added", "existing", "deleted")
    assert [row[f"{status}_files_count"] for status in statuses] == [2, 1, 1]
    assert [row[f"{status}_rows_count"] for status in statuses] == [7, 5, 6]
    (engine,) = opened.metadata_table("manifests").to_arrow().to_pylist()
    assert [engine[f"{status}_delete_files_count"] for status in statuses] == [2, 1, 1]
    assert [engine[f"{status}_data_files_count"] for status in statuses] == [0, 0, 0]


def test_lists_of_old_and_new_writers(tmp_path: Path):
    table = v3(tmp_path)
    schema = list_schema(3)
    names = {504: "added_data_files_count", 505: "existing_data_files_count", 506: "deleted_data_files_count"}
    for part in schema["fields"]:
        part["name"] = names.get(part["field-id"], part["name"])
    row = table.manifest(entry())
    counts = {"added_data_files_count": 1, "existing_data_files_count": 0, "deleted_data_files_count": 0}
    table.commit({**row, **counts, "first_row_id": 40}, schema=schema)
    (manifest,) = table.open().manifests().to_arrow().to_pylist()
    assert (manifest["added_files_count"], manifest["first_row_id"]) == (1, 40)


def test_a_tag_labels_a_snapshot_and_a_branch_points_to_one(table: MadeTable):
    for _ in range(3):
        table.commit()
    refs = {
        "main": {"snapshot-id": 3, "type": "branch"},
        "dev": {"snapshot-id": 2, "type": "branch"},
        "v1": {"snapshot-id": 1, "type": "tag"},
    }
    table.set(refs=refs)
    opened = table.open()
    rows = opened.refs(columns=["name", "type", "snapshot_id"]).to_arrow().to_pylist()
    found = {(row["name"], row["type"], row["snapshot_id"]) for row in rows}
    assert found == {("main", "branch", 3), ("dev", "branch", 2), ("v1", "tag", 1)}
    assert (opened.at(branch="dev").snapshot_id, opened.at(tag="v1").snapshot_id) == (2, 1)


def test_what_is_past_its_age_is_there_until_a_writer_expires_it(table: MadeTable):
    for _ in range(3):
        table.commit()
    over = {"min-snapshots-to-keep": 1, "max-snapshot-age-ms": 1}
    refs = {
        "main": {"snapshot-id": 3, "type": "branch", **over},
        "dev": {"snapshot-id": 2, "type": "branch", "max-ref-age-ms": 1, **over},
        "v1": {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 1},
    }
    table.set(refs=refs)
    opened = table.open()
    assert opened.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist() == [1, 2, 3]
    assert set(opened.refs(columns=["name"]).to_arrow()["name"].to_pylist()) == set(refs)
    assert (opened.at(branch="dev").snapshot_id, opened.at(tag="v1").snapshot_id) == (2, 1)


def test_retention_of_branches_and_tags(table: MadeTable):
    table.commit()
    kept = {"min-snapshots-to-keep": 7, "max-snapshot-age-ms": 8, "max-ref-age-ms": 9}
    refs = {
        "main": {"snapshot-id": 1, "type": "branch"},
        "dev": {"snapshot-id": 1, "type": "branch", **kept},
        "v1": {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 10},
    }
    table.set(refs=refs)
    columns = ["min_snapshots_to_keep", "max_snapshot_age_in_ms", "max_reference_age_in_ms"]
    rows = {row["name"]: row for row in table.open().refs().to_arrow().to_pylist()}
    got = {name: [row[column] for column in columns] for name, row in rows.items()}
    assert got == {"main": [None] * 3, "dev": [7, 8, 9], "v1": [None, None, 10]}


def test_refs_are_an_object_by_name(table: MadeTable):
    table.commit()
    table.set(refs=[{"key": "main", "snapshot-id": 1, "type": "branch"}])
    with pytest.raises(lakebed.errors.CorruptError, match="refs"):
        table.open()


def test_format_version_3_is_read(tmp_path: Path):
    assert v3(tmp_path).open().format == "iceberg"


@pytest.mark.parametrize(
    "location", ["s3://bucket/a b/%20", "hdfs://h:1/t", "/plain", "relative/t", "abfss://c@a/t/"]
)
def test_a_location_is_any_place(table: MadeTable, location: str):
    table.set(location=location)
    table.commit(table.manifest(entry(path=f"{location}/data/a.parquet")))
    assert table.open().files().to_arrow()["file_path"].to_pylist() == [f"{location}/data/a.parquet"]


def test_singular_keys_are_ignored_beside_the_plural(tmp_path: Path):
    table = MadeTable(tmp_path / "t", *COLUMNS, version=1)
    other = {"type": "struct", "schema-id": 9, "fields": []}
    table.set(
        schema=other,
        partition_spec=[{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}],
    )
    opened = table.open()
    assert opened.schemas().to_arrow()["schema_id"].to_pylist() == [0]
    assert opened.files().schema.field("partition").type.num_fields == 0


def test_the_log_after_expiry(table: MadeTable):
    for _ in range(3):
        table.commit()
    table.set(snapshots=table.metadata["snapshots"][1:], snapshot_log=table.metadata["snapshot-log"][1:])
    opened = table.open()
    history = opened.metadata_table("history").to_arrow().to_pylist()
    assert [row["snapshot_id"] for row in history] == [2, 3]
    assert history[0]["made_current_at"] == dt.datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    with pytest.raises(lakebed.errors.SnapshotNotFoundError):
        opened.at(timestamp=1999)


def test_the_metadata_log_has_files_of_any_name(table: MadeTable):
    log = [{"timestamp-ms": 5, "metadata-file": "s3://x/00000-y.gz.metadata.json"}]
    table.set(metadata_log=log)
    rows = table.open().metadata_table("metadata_log_entries").to_arrow().to_pylist()
    found = [row["file"].rpartition("/")[2] for row in rows]
    assert found == ["00000-y.gz.metadata.json", "v1.metadata.json"]
    assert rows[0]["timestamp"] == dt.datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)


def test_version_1_may_have_refs(tmp_path: Path):
    table = MadeTable(tmp_path / "t", *COLUMNS, version=1)
    table.commit()
    table.set(refs={"main": {"snapshot-id": 1, "type": "branch"}, "v1": {"snapshot-id": 1, "type": "tag"}})
    assert table.open().at(tag="v1").snapshot_id == 1


def test_what_came_with_later_versions(tmp_path: Path):
    table = v3(tmp_path)
    table.commit()
    statistics = [
        {
            "snapshot-id": 1,
            "statistics-path": "s",
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
    ]
    partition_statistics = [{"snapshot-id": 1, "statistics-path": "p", "file-size-in-bytes": 1}]
    keys = [{"key-id": "k", "encrypted-key-metadata": "AAAA"}]
    mapping = json.dumps([{"field-id": 1, "names": ["id", "identity"]}])
    table.set(
        statistics=statistics,
        partition_statistics=partition_statistics,
        encryption_keys=keys,
        next_row_id=10,
        properties={"schema.name-mapping.default": mapping},
    )
    read = lakebed.iceberg.read_metadata(table.root / "metadata" / "v1.metadata.json")
    assert read["statistics"] == statistics
    assert read["partition-statistics"] == partition_statistics
    assert read["encryption-keys"] == keys
    assert read["next-row-id"] == 10
    assert table.open().properties["schema.name-mapping.default"] == mapping
