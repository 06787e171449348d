"""Files that are replaced by path, by partition and by condition, and several changes in one snapshot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from paimon_commits import FIRST, SCHEMA, SECOND, files, folder, metadata, names, snapshot
from raising import raises

import lakebed
from lakebed import CommitOptions, Table, Transaction, col
from lakebed.errors import PredicateError, SchemaError, UnsupportedError

THIRD = date(2024, 1, 3)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two files of the first day, one of the second, one of no day."""
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])
    no_day = files(FIRST, "n").set_column(0, "file_path", pa.array(["day=__DEFAULT_PARTITION__/bucket-0/n"]))
    no_day = no_day.set_column(3, "partition", pa.array([{"day": None}], no_day["partition"].type))
    return table.append_files(pa.concat_tables([files(FIRST, "a", "b"), files(SECOND, "c"), no_day]))


def test_files_are_replaced_by_their_paths(table: Table) -> None:
    after = table.overwrite_files(
        files(SECOND, "d"),
        removed=[f"{folder(FIRST)}/a"],
        options=CommitOptions(properties={"k": "v"}, watermark=3),
    )
    assert names(after) == ["b", "c", "d", "n"]
    said = snapshot(after)
    assert (said["id"], said["commitKind"], said["deltaRecordCount"]) == (2, "OVERWRITE", 0)
    assert (said["properties"], said["watermark"]) == ({"k": "v"}, 3)
    # Only additions are an append.
    assert snapshot(after.overwrite_files(files(SECOND, "e")))["commitKind"] == "APPEND"
    nothing = after.overwrite_files()
    assert nothing.snapshot_id == 3


@pytest.mark.parametrize(
    ("arguments", "words", "field"),
    [
        ({"files": files(SECOND, "d"), "removed": ["nowhere"]}, "not the path of a live file", "file_path"),
        ({"files": files(FIRST, "a"), "removed": [f"{folder(FIRST)}/a"]}, "unchanged", "file_path"),
        ({"files": files(FIRST, "a"), "where": "day = DATE '2024-01-01'"}, "in the table", "file_path"),
        ({"files": files(FIRST, "b"), "removed": [f"{folder(FIRST)}/a"]}, "in the table", "file_path"),
    ],
)
def test_what_cannot_be_replaced_is_refused(
    table: Table, arguments: dict[str, Any], words: str, field: str
) -> None:
    before = metadata(table)
    with raises(SchemaError, match=words, field=field, record=0):
        table.overwrite_files(**arguments)
    assert metadata(table) == before


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("day = DATE '2024-01-01'", "cn"),
        (col("day") == FIRST, "cn"),
        ("day <> DATE '2024-01-01'", "abn"),
        ("NOT (day = DATE '2024-01-01')", "abn"),
        ("day IS NULL", "abc"),
        ("day <=> NULL", "abc"),
        ("day IN (DATE '2024-01-01', NULL)", "cn"),
        ("day NOT IN (DATE '2024-01-01', NULL)", "abcn"),
        ("day > DATE '2024-01-05'", "abcn"),
        ("TRUE", ""),
    ],
)
def test_whole_partitions_are_removed_by_a_condition(table: Table, where: Any, left: str) -> None:
    after = table.delete_files(where=where)
    assert "".join(names(after)) == left
    assert after.snapshot_id == (1 if left == "abcn" else 2)
    if left != "abcn":
        assert snapshot(after)["commitKind"] == "OVERWRITE"
    assert lakebed.open_table(table.location).verify().filter("severity = 'error'").to_arrow().num_rows == 0


def test_a_condition_and_paths_are_both_removed(table: Table) -> None:
    after = table.delete_files([f"{folder(FIRST)}/a"], where="day IS NULL")
    assert (names(after), after.snapshot_id) == (["b", "c"], 2)
    after = after.overwrite_files(files(THIRD, "d"), where=f"day <= DATE '{SECOND}'")
    assert (names(after), snapshot(after)["commitKind"]) == (["d"], "OVERWRITE")


@pytest.mark.parametrize(
    ("where", "error", "field"),
    [
        ("id = 1", UnsupportedError, "id"),
        ("day = DATE '2024-01-01' AND name = 'x'", UnsupportedError, "name"),
        ("day = DATE '2024-01-01' OR bucket = 0", UnsupportedError, "bucket"),
        ("nothing = 1", PredicateError, "nothing"),
        ("day =", PredicateError, None),
    ],
)
def test_other_conditions_are_refused(table: Table, where: str, error: Any, field: str | None) -> None:
    before = metadata(table)
    for refuse in (
        lambda: table.delete_files(where=where),
        lambda: table.overwrite_files(files(FIRST, "d"), where=where),
    ):
        with raises(error, field=field):
            refuse()
    assert metadata(table) == before
    with pytest.raises(TypeError, match="files, where, or both"):
        table.delete_files()
    with pytest.raises(PredicateError):
        table.delete_files(f"{folder(FIRST)}/a")
    with pytest.raises(TypeError, match="a list of paths"):
        table.overwrite_files(removed=f"{folder(FIRST)}/a")


def test_conditions_are_asked_of_the_latest_snapshot(table: Table) -> None:
    table.append_files(files(FIRST, "later"))
    assert names(table.delete_files(where="day = DATE '2024-01-01'")) == ["c", "n"]


def test_an_unpartitioned_table_has_no_condition_but_all(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "u", SCHEMA, "paimon")
    table = table.append_files(file_rows("bucket-0/a"))
    with raises(UnsupportedError, match="the table has none", field="day"):
        table.delete_files(where="day IS NULL")
    assert names(table.delete_files(where="TRUE")) == []


def test_single_files_of_data_evolution_stay_but_partitions_go(tmp_path: Path) -> None:
    rows = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = lakebed.create_table(tmp_path / "e", SCHEMA, "paimon", partition_by=["day"], properties=rows)
    table = table.append_files(pa.concat_tables([files(FIRST, "a"), files(SECOND, "b")]))
    with pytest.raises(UnsupportedError, match="data evolution"):
        table.overwrite_files(files(FIRST, "c"), removed=[f"{folder(FIRST)}/a"])
    assert names(table.delete_files(where="day = DATE '2024-01-01'")) == ["b"]


def test_several_changes_are_one_snapshot(table: Table) -> None:
    who = CommitOptions({"k": "v"}, user="u", identifier=5, watermark=9)

    def changed(table: Table) -> Table:
        with table.transaction() as tx:
            tx.append_files(files(THIRD, "d", "e"), options=who)
            tx.delete_files([f"{folder(FIRST)}/a"], options=who)
            tx.overwrite_partitions(files(SECOND, "f"))
            tx.delete_files(where="day IS NULL")
        return tx.table

    after = changed(table)
    assert (names(after), after.snapshot_id) == (["b", "d", "e", "f"], 2)
    said = snapshot(after)
    assert (said["commitKind"], said["deltaRecordCount"], said["totalRecordCount"]) == ("OVERWRITE", 0, 40)
    assert (said["commitUser"], said["commitIdentifier"], said["watermark"]) == ("u", 5, 9)
    # It is not made again.
    assert changed(after).snapshot_id == 2
    entries = after.entries(columns=["kind", "file_name"]).to_arrow().to_pylist()
    assert sorted(row["file_name"] for row in entries if row["kind"] == 1) == ["a", "c", "n"]
    assert after.verify().filter("severity = 'error'").to_arrow().num_rows == 0


def test_a_snapshot_says_one_thing_of_itself(table: Table) -> None:
    before = metadata(table)
    tx = table.transaction()
    tx.append_files(files(THIRD, "d"), options=CommitOptions(user="u"))
    tx.append_files(files(THIRD, "e"), options=CommitOptions(user="v"))
    with pytest.raises(UnsupportedError, match="options of its changes differ"):
        tx.commit()
    assert metadata(table) == before


def test_rows_of_errors_are_those_of_their_own_change(table: Table) -> None:
    tx = table.transaction()
    tx.append_files(files(THIRD, "d", "e"))
    tx.append_files(files(FIRST, "x", "a"))
    with raises(SchemaError, match="in the table already", field="file_path", record=1):
        tx.commit()
    tx = table.transaction()
    tx.append_files(files(THIRD, "d", "e"))
    tx.append_files(files(THIRD, "e"))
    with raises(SchemaError, match="appears twice", record=0):
        tx.commit()
    tx = table.transaction()
    tx.delete_files([f"{folder(FIRST)}/a"])
    tx.delete_files([f"{folder(FIRST)}/x"])
    with raises(SchemaError, match="live file", record=0):
        tx.commit()


def files_and_schema(tx: Transaction) -> None:
    tx.append_files(files(THIRD, "d"))
    tx.update_properties({"k": "v"})


def schema_and_tag(tx: Transaction) -> None:
    tx.update_properties({"k": "v"})
    tx.create_tag("t")


def tag_and_branch(tx: Transaction) -> None:
    tx.delete_tag("t")
    tx.create_branch("b")


def files_that_the_next_change_replaces(tx: Transaction) -> None:
    tx.append_files(files(FIRST, "d"))
    tx.delete_files(where="TRUE")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (files_and_schema, "added files and a change of the schema cannot be one commit"),
        (schema_and_tag, "a change of the schema and a new tag"),
        (tag_and_branch, "a removed tag and a new branch"),
        (files_that_the_next_change_replaces, "the later change replaces"),
    ],
)
def test_what_is_no_one_commit_is_named(
    table: Table, changes: Callable[[Transaction], None], words: str
) -> None:
    before = metadata(table)
    tx = table.transaction()
    changes(tx)
    with pytest.raises(UnsupportedError, match=words):
        tx.commit()
    assert metadata(table) == before


def test_changes_of_a_schema_are_one_schema(table: Table) -> None:
    with table.transaction() as tx:
        tx.update_properties({"k": "v"})
        tx.update_properties({"l": "w"})
    both = tx.table
    assert ((both.properties["k"], both.properties["l"]), both.snapshot_id) == (("v", "w"), 1)
    assert (Path(table.location) / "schema" / "schema-1").is_file()
    assert not (Path(table.location) / "schema" / "schema-2").exists()
