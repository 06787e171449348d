"""Files that are replaced by path, by partition and by condition, and several changes in one snapshot."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from paimon_commits import FIRST, SCHEMA, SECOND, files, folder, metadata, names, snapshot

import lakebed
from lakebed import Table, col
from lakebed._native import PaimonChange
from lakebed.errors import PredicateError, SchemaError, UnsupportedError
from lakebed.paimon._commit import commit, options

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
        options=lakebed.CommitOptions(properties={"k": "v"}, watermark=3),
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
    with pytest.raises(SchemaError, match=words) as refused:
        table.overwrite_files(**arguments)
    assert (refused.value.field, refused.value.record) == (field, 0)
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
        with pytest.raises(error) as refused:
            refuse()
        assert refused.value.field == field
    assert metadata(table) == before
    with pytest.raises(TypeError, match="files, where, or both"):
        table.delete_files()
    with pytest.raises(TypeError, match="a list of paths"):
        table.delete_files(f"{folder(FIRST)}/a")


def test_conditions_are_asked_of_the_latest_snapshot(table: Table) -> None:
    table.append_files(files(FIRST, "later"))
    assert names(table.delete_files(where="day = DATE '2024-01-01'")) == ["c", "n"]


def test_an_unpartitioned_table_has_no_condition_but_all(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "u", SCHEMA, "paimon")
    file = {"file_path": ["bucket-0/a"], "record_count": [1], "file_size_in_bytes": [1]}
    table = table.append_files(pa.table(file))
    with pytest.raises(UnsupportedError, match="the table has none") as refused:
        table.delete_files(where="day IS NULL")
    assert refused.value.field == "day"
    assert names(table.delete_files(where="TRUE")) == []


def test_single_files_of_data_evolution_stay_but_partitions_go(tmp_path: Path) -> None:
    rows = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = lakebed.create_table(tmp_path / "e", SCHEMA, "paimon", partition_by=["day"], properties=rows)
    table = table.append_files(pa.concat_tables([files(FIRST, "a"), files(SECOND, "b")]))
    with pytest.raises(UnsupportedError, match="data evolution"):
        table.overwrite_files(files(FIRST, "c"), removed=[f"{folder(FIRST)}/a"])
    assert names(table.delete_files(where="day = DATE '2024-01-01'")) == ["b"]


def added(*rows: pa.Table) -> PaimonChange:
    return PaimonChange.append_files(pa.concat_tables(rows), None, True)


def test_several_changes_are_one_snapshot(table: Table) -> None:
    changes = [
        added(files(THIRD, "d", "e")),
        PaimonChange.overwrite_files(None, pa.array([f"{folder(FIRST)}/a"]), None),
        PaimonChange.overwrite_partition(files(SECOND, "f"), None),
        PaimonChange.overwrite_files(None, None, "day IS NULL"),
    ]
    who = options("u", 5, {"k": "v"}, 9)
    after = commit(table, *changes, made_by=who)
    assert (names(after), after.snapshot_id) == (["b", "d", "e", "f"], 2)
    said = snapshot(after)
    assert (said["commitKind"], said["deltaRecordCount"], said["totalRecordCount"]) == ("OVERWRITE", 0, 40)
    assert (said["commitUser"], said["commitIdentifier"], said["watermark"]) == ("u", 5, 9)
    # It is not made again.
    assert commit(after, *changes, made_by=who).snapshot_id == 2
    entries = after.entries(columns=["kind", "file_name"]).to_arrow().to_pylist()
    assert sorted(row["file_name"] for row in entries if row["kind"] == 1) == ["a", "c", "n"]
    assert after.verify().filter("severity = 'error'").to_arrow().num_rows == 0


def test_rows_of_errors_are_those_of_their_own_change(table: Table) -> None:
    changes = [added(files(THIRD, "d", "e")), added(files(FIRST, "x", "a"))]
    with pytest.raises(SchemaError, match="in the table already") as refused:
        commit(table, *changes)
    assert (refused.value.field, refused.value.record) == ("file_path", 1)
    with pytest.raises(SchemaError, match="appears twice") as refused:
        commit(table, added(files(THIRD, "d", "e")), added(files(THIRD, "e")))
    assert refused.value.record == 0
    gone = [PaimonChange.overwrite_files(None, pa.array([f"{folder(FIRST)}/{name}"]), None) for name in "ax"]
    with pytest.raises(SchemaError, match="live file") as refused:
        commit(table, *gone)
    assert refused.value.record == 0


def test_what_is_no_one_commit_is_named(table: Table) -> None:
    before = metadata(table)
    schema = PaimonChange.alter_table(f"[{lakebed.SchemaChange.set_option('k', 'v').json}]")
    for changes, words in [
        ([added(files(THIRD, "d")), schema], "added files and a change of the schema cannot be one commit"),
        ([schema, PaimonChange.create_tag("t", None, None, False)], "a change of the schema and a new tag"),
        (
            [PaimonChange.delete_tag("t"), PaimonChange.create_branch("b", None)],
            "a removed tag and a new branch",
        ),
        (
            [added(files(FIRST, "d")), PaimonChange.overwrite_files(None, None, "TRUE")],
            "the later change replaces",
        ),
    ]:
        with pytest.raises(UnsupportedError, match=words):
            commit(table, *changes)
    assert metadata(table) == before
    both = commit(
        table, schema, PaimonChange.alter_table(f"[{lakebed.SchemaChange.set_option('l', 'w').json}]")
    )
    assert ((both.properties["k"], both.properties["l"]), both.snapshot_id) == (("v", "w"), 1)
    assert (Path(table.location) / "schema" / "schema-1").is_file()
    assert not (Path(table.location) / "schema" / "schema-2").exists()
