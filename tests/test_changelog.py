"""The files by which commits added and removed rows lead from each snapshot to the next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import printed
from covering import each_covering_table
from iceberg_made import MadeTable
from raising import raises

import lakebed
from lakebed import Table
from lakebed.errors import LakebedError, SchemaError, SnapshotNotFoundError

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

COLUMNS = ["change", "change_ordinal", "snapshot_id", "file_path", "delete_files", "delete_files_before"]
Deletes = frozenset[tuple[str, int | None]]


def deletes(listed: list[dict[str, Any]] | None) -> Deletes | None:
    if listed is None:
        return None
    return frozenset((one["file_path"], one["content_offset"]) for one in listed)


def planned(table: Table) -> dict[str, Deletes]:
    rows = table.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
    return {row["file_path"]: deletes(row["delete_files"]) or frozenset() for row in rows}


def changes(table: Table, *versions: Any, **given: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.changes(*versions, columns=COLUMNS, **given).to_arrow().to_pylist()
    return rows


def commits(table: Table) -> Iterator[tuple[Table, Table, str]]:
    """Neighbours among the snapshots that led to the table's, with what made the second of each."""
    line = table.growth(columns=["snapshot_id", "parent_id", "operation"]).to_arrow().to_pylist()
    for before, after in pairwise(line):
        if after["parent_id"] == before["snapshot_id"]:
            states = (table.at(snapshot=one["snapshot_id"]) for one in (before, after))
            yield *states, after["operation"]


@each_covering_table()
def test_changes_lead_from_each_plan_to_the_next(table: Any) -> None:
    opened = table.open()
    try:
        steps = list(commits(opened))
    except LakebedError:
        pytest.skip("its history is not all there")
    for before, after, operation in steps:
        files, expected = planned(before), planned(after)
        found = changes(after, before.snapshot_id)
        if operation in ("replace", "COMPACT", "ANALYZE"):
            assert found == []
            continue
        for row in found:
            path, now, then = (
                row["file_path"],
                deletes(row["delete_files"]),
                deletes(row["delete_files_before"]),
            )
            assert (row["change_ordinal"], row["snapshot_id"]) == (0, after.snapshot_id)
            match row["change"]:
                case "removed":
                    assert (now, then) == (None, files.pop(path))
                case "added":
                    assert then is None
                    assert path not in files
                    files[path] = now or frozenset()
                case _:
                    assert then == files[path] != now
                    files[path] = now or frozenset()
        assert files == expected
    if steps:
        oldest = steps[0][0].snapshot_id
        alone = [row for before, after, _ in steps for row in changes(after, before.snapshot_id)]
        at_once = changes(opened, oldest)
        assert [{**row, "change_ordinal": 0} for row in at_once] == alone
        ordinals = [row["change_ordinal"] for row in at_once]
        assert ordinals == sorted(ordinals)
        assert changes(opened, oldest, steps[0][1].snapshot_id) == alone[: len(changes(steps[0][1], oldest))]


def orders(folder: Path, **given: Any) -> Table:
    """A table of three commits: two files, one more, and one of the first two replaced."""
    table = lakebed.create_table(folder / "t", pa.schema([("id", pa.int64())]), "iceberg", **given)
    for number in range(4):
        pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), folder / f"{number}.parquet")
    rows = [lakebed.describe_files([str(folder / f"{number}.parquet")], table) for number in range(4)]
    table = table.append_files(pa.concat_tables(rows[:2])).append_files(rows[2])
    return table.overwrite_files(rows[3], removed=[str(folder / "0.parquet")])


def named(rows: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(row["change"], row["change_ordinal"], Path(row["file_path"]).stem) for row in rows]


def test_all_that_is_known(tmp_path: Path) -> None:
    table = orders(tmp_path)
    first, second, third = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
    of_first = [("added", 0, "0"), ("added", 0, "1")]
    assert named(changes(table)) == [*of_first, ("added", 1, "2"), ("removed", 2, "0"), ("added", 2, "3")]
    assert named(changes(table, None, first)) == of_first
    assert named(changes(table, second)) == [("removed", 0, "0"), ("added", 0, "3")]
    assert changes(table, third) == []
    # By tags, and by times.
    tagged = table.create_tag("v1", at=first)
    assert named(changes(tagged, "v1", second)) == [("added", 0, "2")]
    assert named(changes(table, where="id = 3")) == [("added", 2, "3")]
    assert named(changes(table, filter="change = 'removed'")) == [("removed", 2, "0")]
    assert named(changes(table, limit=2)) == of_first
    whole = table.changes(first, stats=["id"])
    assert whole.schema.names[:6] == [
        *("change", "snapshot_id", "committed_at", "operation", "change_ordinal", "content"),
    ]
    assert whole.schema.names[-3:] == ["stats", "delete_files", "delete_files_before"]
    row = whole.to_arrow().to_pylist()[0]
    assert (row["operation"], row["stats"]["id"]["upper_bound"], row["delete_files"]) == ("append", 2, [])


def test_what_the_table_was_not_made_from(tmp_path: Path) -> None:
    table = orders(tmp_path)
    first, second, third = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
    with raises(SnapshotNotFoundError, "is not a descendant of"):
        changes(table, third, second)
    with raises(SnapshotNotFoundError, "snapshot 7"):
        changes(table, 7)
    with raises(SchemaError, "no_such"):
        table.changes(columns=["no_such"])
    expired = table.expire_snapshots(timedelta(0), retain_last=2).table
    assert named(changes(expired, second)) == [("removed", 0, "0"), ("added", 0, "3")]
    # What the oldest one that is left has changed is not known any more.
    assert named(changes(expired)) == [("removed", 0, "0"), ("added", 0, "3")]
    with raises(SnapshotNotFoundError, f"snapshot {first}"):
        changes(expired, first)


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    assert changes(table) == []
    assert changes(MadeTable(tmp_path / "m", (1, "id", "long")).open()) == []


def test_rows_of_both_snapshots(tmp_path: Path) -> None:
    """What PyIceberg reads at one snapshot, and what changes say of the next, make what it reads then."""
    from catalog_tables import sqlite

    catalog = sqlite(tmp_path)
    theirs = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), properties={"format-version": "2"})
    for number in range(3):
        theirs.append(pa.table({"id": pa.array(range(10 * number, 10 * number + 10), pa.int64())}))
    table = lakebed.open_table(theirs)
    data = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    schema = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])
    marked = {data[0]: [0, 1], data[1]: [3]}
    for number, (path, positions) in enumerate([*marked.items(), (data[0], [1, 5])]):
        file = tmp_path / f"deletes-{number}.parquet"
        pq.write_table(pa.table([[path] * len(positions), positions], schema=schema), file)
        rows = pa.table(
            {
                "content": pa.array([1], pa.int32()),
                "file_path": [str(file)],
                "record_count": [len(positions)],
                "file_size_in_bytes": [file.stat().st_size],
                "referenced_data_file": [path],
            }
        )
        table = table.add_deletes(rows)
    table = table.delete_files([data[1]])

    def rows_of_file(path: str, listed: list[dict[str, Any]] | None) -> set[int]:
        gone = set()
        for one in listed or ():
            found = pq.read_table(one["file_path"].removeprefix("file://")).to_pylist()
            gone |= {row["pos"] for row in found if row["file_path"] == path}
        ids = pq.read_table(path.removeprefix("file://"))["id"].to_pylist()
        return {id_ for place, id_ in enumerate(ids) if place not in gone}

    at: dict[int | None, set[int]] = {None: set()}
    snapshots = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
    for snapshot in snapshots:
        read = catalog.load_table("db.t").scan(snapshot_id=snapshot).to_arrow()
        at[snapshot] = set(read["id"].to_pylist())
    for before, after in pairwise([None, *snapshots]):
        ids = set(at[before])
        for row in changes(table, before, after):
            path = row["file_path"]
            now, then = (rows_of_file(path, row[name]) for name in COLUMNS[-2:])
            ids -= then if row["change"] != "added" else set()
            ids |= now if row["change"] != "removed" else set()
        assert ids == at[after]


def test_the_command(tmp_path: Path) -> None:
    table = orders(tmp_path)
    first = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"][0].as_py()
    rows = printed("changes", str(tmp_path / "t"), str(first), "--columns", "change,change_ordinal,file_path")
    assert named(rows) == [("added", 0, "2"), ("removed", 1, "0"), ("added", 1, "3")]
