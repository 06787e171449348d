"""What compactions write, files above level 0, of older schemas and of tables whose buckets are put off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from paimon_commits import FIRST, SECOND, files, metadata, names, snapshot
from raising import raises

import lakebed
from lakebed import CommitOptions, SchemaChange, Table, paimon
from lakebed.errors import CommitConflictError, SchemaError, UnsupportedError

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
KEY = pa.schema([("id", pa.int64())])


def keyed(name: str, low: int, high: int, level: int = 0, **columns: Any) -> pa.Table:
    """A file of rows with these keys."""
    given: dict[str, Any] = {"file_path": f"bucket-0/{name}", "bucket": 0, "record_count": high - low + 1}
    rows = paimon.encode_rows(pa.array([{"id": low}, {"id": high}], pa.struct(KEY)))
    given |= {"file_size_in_bytes": 100, "min_key": rows[0].as_py(), "max_key": rows[1].as_py()}
    given |= {"min_sequence_number": 0, "sequence_number": 9, "level": level, **columns}
    return pa.table({column: [value] for column, value in given.items()})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with keys whose bucket has two files at level 0."""
    made = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", primary_key=["id"], properties={"bucket": "1"}
    )
    return made.append_files(pa.concat_tables([keyed("a", 1, 5), keyed("b", 3, 9)]))


def levels(table: Table) -> dict[str, int]:
    found = table.files(columns=["file_name", "level"]).to_arrow().to_pylist()
    return {row["file_name"]: row["level"] for row in found}


def test_files_take_the_place_of_those_they_were_made_of(table: Table) -> None:
    change = keyed("changelog-1", 1, 9, record_count=4)
    one = table.replace_files(["bucket-0/a", "bucket-0/b"], keyed("c", 1, 9, 5), changelog=change)
    assert levels(one) == {"c": 5}
    said = snapshot(one)
    assert (said["commitKind"], said["deltaRecordCount"], said["changelogRecordCount"]) == ("COMPACT", -3, 4)
    path = Path(one.location, "manifest", said["changelogManifestList"])
    assert path.stat().st_size == said["changelogManifestListSize"]
    (listed,) = paimon.read_manifest_list(path).to_arrow()["file_name"].to_pylist()
    entries = paimon.read_manifest(path.with_name(listed)).to_arrow().to_pylist()
    assert [(row["file_name"], row["kind"], row["file_source"]) for row in entries] == [("changelog-1", 0, 0)]
    found = one.files(columns=["file_source"]).to_arrow()["file_source"].to_pylist()
    assert found == [1]
    # A snapshot after it has no changelog of its own.
    assert "changelogManifestList" not in snapshot(one.append_files(keyed("d", 1, 1)))
    assert one.replace_files([], keyed("d", 1, 1).slice(0, 0)).snapshot_id == 3


def test_a_file_moves_to_another_level(table: Table) -> None:
    moved = table.replace_files(["bucket-0/a"], keyed("a", 1, 5, 5))
    assert levels(moved) == {"a": 5, "b": 0}
    with pytest.raises(SchemaError, match="added unchanged"):
        moved.replace_files(["bucket-0/b"], keyed("b", 3, 9))
    with pytest.raises(SchemaError, match="was deleted"):
        moved.append_files(keyed("a", 1, 5))


def test_keys_of_a_level_do_not_overlap(table: Table) -> None:
    one = table.replace_files(["bucket-0/a"], keyed("c", 1, 5, 4))
    before = metadata(one)
    with raises(CommitConflictError, match="same bucket and level", field="file_path", record=0):
        table.replace_files(["bucket-0/b"], keyed("d", 5, 9, 4))
    both = pa.concat_tables([keyed("d", 6, 8, 4), keyed("e", 8, 9, 4)])
    with pytest.raises(SchemaError, match="has keys in the range of"):
        one.append_files(both)
    with pytest.raises(CommitConflictError, match='"c"'):
        one.append_files(keyed("d", 0, 1, 4))
    assert metadata(one) == before
    for fitting in (keyed("d", 6, 9, 4), keyed("e", 1, 9, 5), keyed("f", 1, 9)):
        one = one.append_files(fitting)
    assert levels(one) == {"b": 0, "c": 4, "d": 4, "e": 5, "f": 0}
    # All of it goes, so that nothing is in the way.
    assert levels(one.overwrite_partitions(keyed("g", 1, 9, 4), {})) == {"g": 4}


def test_what_another_commit_took_away_is_not_compacted(table: Table) -> None:
    table.delete_files(["bucket-0/a"])
    before = metadata(table)
    with raises(CommitConflictError, match="another commit has removed it", record=1):
        table.replace_files(["bucket-0/b", "bucket-0/a"], keyed("c", 1, 9, 5))
    assert metadata(table) == before


def test_a_numbered_compaction_is_made_once(table: Table) -> None:
    def again() -> Table:
        return table.replace_files(
            ["bucket-0/a"], keyed("c", 1, 5, 5), options=CommitOptions(user="u", identifier=1)
        )

    assert again().snapshot_id == again().snapshot_id == 2


def test_only_tables_with_keys_have_levels_and_changelogs(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", COLUMNS, "paimon")
    one = file_rows("bucket-0/a")
    with raises(SchemaError, match="no changelog", field="changelog"):
        table.append_files(one, changelog=one)
    with pytest.raises(SchemaError, match="level 0"):
        table.append_files(one.append_column("level", pa.array([1])))
    table = table.append_files(
        pa.concat_tables([one, one.set_column(0, "file_path", pa.array(["bucket-0/b"]))])
    )
    joined = one.set_column(0, "file_path", pa.array(["bucket-0/c"]))
    assert names(table.replace_files(table.files(), joined)) == ["c"]


def test_a_changelog_comes_with_appended_files(table: Table) -> None:
    one = table.append_files(keyed("c", 7, 8), changelog=keyed("changelog-1", 7, 8))
    assert (levels(one), snapshot(one)["changelogRecordCount"]) == ({"a": 0, "b": 0, "c": 0}, 2)
    with raises(SchemaError, field="changelog.bucket"):
        table.append_files(keyed("d", 7, 8), changelog=keyed("changelog-2", 7, 8, bucket=3))


def test_files_of_older_schemas_are_read_by_them(table: Table) -> None:
    table = table.update_schema(
        [SchemaChange.rename_column("name", "text"), SchemaChange.add_column("more", "INT", first=True)]
    )
    bounds = pa.struct(
        [("null_count", pa.int64()), ("lower_bound", pa.string()), ("upper_bound", pa.string())]
    )
    of_old = pa.array(
        [{"name": {"null_count": 0, "lower_bound": "x", "upper_bound": "y"}}], pa.struct([("name", bounds)])
    )
    old = keyed("c", 1, 2, schema_id=0).append_column("stats", of_old)
    now = table.append_files(old)
    rows = (
        now.files(columns=["file_name", "schema_id", "stats"], stats=["text", "more"]).to_arrow().to_pylist()
    )
    (row,) = [row for row in rows if row["file_name"] == "c"]
    assert (row["schema_id"], row["stats"]["text"]["lower_bound"]) == (0, "x")
    both = pa.concat_tables(
        [keyed("d", 1, 2, schema_id=1), keyed("e", 1, 2, schema_id=0), keyed("f", 1, 2, schema_id=1)]
    )
    now = now.append_files(both)
    entries = now.entries(columns=["file_name", "schema_id"]).to_arrow().to_pylist()[-3:]
    assert [tuple(row.values()) for row in entries] == [("d", 1), ("e", 0), ("f", 1)]
    wrong = pa.concat_tables([keyed("g", 1, 2, schema_id=1), keyed("h", 1, 2, schema_id=0, record_count=-1)])
    for file, field, record in [(wrong, "record_count", 1), (keyed("g", 1, 2, schema_id=7), "schema_id", 0)]:
        with raises(SchemaError, field=field, record=record):
            now.append_files(file)


def test_files_wait_for_their_bucket(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", COLUMNS, "paimon", primary_key=["id"], properties={"bucket": "-2"}
    )
    waiting = "data-u-me-s-0-w-1.parquet"

    def placed(path: str, **columns: Any) -> pa.Table:
        row = keyed("x", 1, 5, **columns).drop_columns(["bucket"] if "bucket" not in columns else [])
        return row.set_column(0, "file_path", pa.array([path]))

    table = table.append_files(placed(f"bucket-postpone/{waiting}"))
    entries = table.entries(columns=["bucket", "total_buckets"]).to_arrow().to_pylist()
    assert entries == [{"bucket": -2, "total_buckets": -2}]
    with pytest.raises(SchemaError, match="by which its rows are ordered"):
        table.append_files(placed("bucket-postpone/data-1.parquet"))
    with pytest.raises(SchemaError, match="bucket 1 does not exist where total_buckets is -2"):
        table.append_files(placed("bucket-1/data-1.parquet", bucket=1))
    settled = placed("bucket-1/data-1.parquet", bucket=1, total_buckets=2, level=5)
    table = table.replace_files([f"bucket-postpone/{waiting}"], settled)
    assert levels(table) == {"data-1.parquet": 5}


def test_only_the_partitions_of_the_files_are_overwritten(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", pa.schema([("id", pa.int64()), ("day", pa.date32())]), "paimon", partition_by=["day"]
    )
    table = table.append_files(pa.concat_tables([files(FIRST, "a", "b"), files(SECOND, "c")]))
    table = table.overwrite_partitions(files(FIRST, "d"), None)
    assert (names(table), snapshot(table)["commitKind"]) == (["c", "d"], "OVERWRITE")
    assert table.overwrite_partitions(files(FIRST), None).snapshot_id == table.snapshot_id
    table = table.overwrite_partitions(pa.concat_tables([files(FIRST, "e"), files(SECOND, "f")]), None)
    assert names(table) == ["e", "f"]


def test_dynamic_buckets_are_compacted_and_not_written(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", COLUMNS, "paimon", primary_key=["id"])
    with pytest.raises(UnsupportedError, match="write them with Paimon"):
        table.append_files(keyed("a", 1, 5))
    assert table.replace_files([], keyed("a", 1, 5)).snapshot_id == 1
    assert lakebed.open_table(table.location).snapshot_id == 1
