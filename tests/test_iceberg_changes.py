"""What came and went between snapshots of Iceberg tables, against the Java engine's own answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from covering import each_covering_iceberg_table
from test_changes import assert_one_order

import lakebed
from iceberg_answers import Row, assert_same_multiset, canonical_rows
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED

# What tells a file from others: a deletion vector by its place in its file.
IDENTITY = ["content", "file_path", "content_offset"]
PLAIN = [*IDENTITY, "record_count", "spec_id", "referenced_data_file", "equality_ids", "sequence_number"]
# Snapshots of this operation hold the rows of those before: the engine's changelog passes them over.
REPLACE = "replace"


def snapshots(table: GoldenTable) -> list[int]:
    return [
        row["snapshot_id"] for row in table.open().snapshots(columns=["snapshot_id"]).to_arrow().to_pylist()
    ]


def pairs(table: GoldenTable) -> Iterator[tuple[int, int]]:
    """Snapshots one after the other, the other way round too, the first and the last, one and itself."""
    ids = snapshots(table)
    if not ids:
        pytest.skip(f"{table.name} has no snapshot")
    for one, other in [*pairwise(ids), (ids[0], ids[-1])]:
        yield from ((one, other), (other, one))
    yield ids[-1], ids[-1]


def engines_files(table: GoldenTable, snapshot: int) -> Counter[tuple[Any, ...]]:
    """The live files of a snapshot, as the engine reads their entries."""
    rows = [row for manifest in table.manifest_rows(snapshot) for row in table.raw_entries(manifest)]
    return Counter(identity(row) for row in rows if row["live"])


def identity(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in IDENTITY)


def changes(read: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter((row["change"], *identity(row)) for row in read.to_pylist())


def differing(before: Counter[tuple[Any, ...]], after: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    removed = {("removed", *file): count for file, count in (before - after).items()}
    return Counter(removed | {("added", *file): count for file, count in (after - before).items()})


@each_golden_iceberg_table()
def test_a_diff_is_what_the_engines_live_files_differ_in(table: GoldenTable):
    opened = table.open()
    for one, other in pairs(table):
        expected = differing(engines_files(table, one), engines_files(table, other))
        assert changes(opened.diff(one, other).to_arrow()) == expected, f"{one} to {other}"


@each_covering_iceberg_table()
def test_a_diff_shows_the_rows_of_files(table: GoldenTable):
    """Whole rows, in the words of the schema that the table stands with."""
    opened = table.open()
    for one, other in pairs(table):
        sides = {"removed": (one, other), "added": (other, one)}
        expected = []
        for change, (here, there) in sides.items():
            gone = engines_files(table, here) - engines_files(table, there)
            files = opened.at(snapshot=here).files(columns=PLAIN).to_arrow()
            expected += [
                {"change": change, **row} for row in canonical_rows(files) if gone[identity(row)] > 0
            ]
        read = opened.diff(one, other, columns=["change", *PLAIN], threads=1)
        assert_same_multiset(canonical_rows(read.to_arrow()), expected, f"{table.name}, {one} to {other}")


@each_golden_iceberg_table()
def test_the_rows_of_a_diff_are_in_one_order(table: GoldenTable):
    opened = table.open()
    ids = snapshots(table)
    if not ids:
        pytest.skip(f"{table.name} has no snapshot")
    assert_one_order(opened, ids[0], ids[-1], canonical_rows)


@each_golden_iceberg_table()
def test_appends_are_those_of_the_engines_incremental_scan(table: GoldenTable):
    for row in table.rows("incremental"):
        if row["kind"] != "append":
            continue
        to, after = row["to_inclusive"], row["from_exclusive"]
        if "error" in row:
            assert "is not a parent ancestor of end snapshot" in row["error"]
            with pytest.raises(lakebed.errors.SnapshotNotFoundError, match="not a descendant of"):
                table.open().at(snapshot=to).appends(after)
            continue
        read = table.open().at(snapshot=to).appends(after, columns=["file_path", "content"]).to_arrow()
        expected = sorted(task["file_path"] for task in row["tasks"])
        assert sorted(read["file_path"].to_pylist()) == expected, f"{after} to {to}"
        assert set(read["content"].to_pylist()) <= {0}


@each_golden_iceberg_table()
def test_diffs_of_commits_are_the_engines_changelog(table: GoldenTable):
    """A row of the changelog is a data file that its commit added or deleted."""
    opened = table.open()
    commits = {row["snapshot_id"]: row for row in opened.snapshots().to_arrow().to_pylist()}
    for row in table.rows("incremental"):
        if row["kind"] != "changelog":
            continue
        found: Counter[tuple[int, str, str]] = Counter()
        deletes = False
        for commit in ancestors(commits, row["to_inclusive"], row["from_exclusive"]):
            if commit["operation"] == REPLACE:
                continue
            for file in own_changes(opened, commit, commits):
                deletes |= file["content"] != 0
                found[commit["snapshot_id"], file["change"], file["file_path"]] += 1
        if "error" in row:
            assert "Delete files are currently not supported" in row["error"]
            continue
        words = {"INSERT": "added", "DELETE": "removed"}
        expected = Counter(
            (task["commit_snapshot_id"], words[task["operation"]], task["file_path"]) for task in row["tasks"]
        )
        assert (found, deletes) == (expected, False)


def own_changes(table: lakebed.Table, commit: Row, commits: dict[int, Row]) -> list[Row]:
    """What a commit changed; where it was made from none that is there, what its own entries say."""
    columns = ["change", "content", "file_path"]
    if commit["parent_id"] in commits:
        diff = table.diff(commit["parent_id"], commit["snapshot_id"], columns=columns)
        return list(diff.to_arrow().to_pylist())
    words = {1: "added", 2: "removed"}
    entries = table.at(snapshot=commit["snapshot_id"]).entries(
        columns=["status", "snapshot_id", *columns[1:]]
    )
    own = [row for row in entries.to_arrow().to_pylist() if row["snapshot_id"] == commit["snapshot_id"]]
    return [{**row, "change": words[row["status"]]} for row in own if row["status"] in words]


def ancestors(commits: dict[int, Row], last: int, before: int | None) -> Iterator[Row]:
    """The commits from `last` back to the one that was made from `before`."""
    at: int | None = last
    while at is not None and at != before and at in commits:
        yield commits[at]
        at = commits[at]["parent_id"]


@each_golden_iceberg_table()
def test_pyiceberg_finds_the_same_appends(table: GoldenTable):
    peers = pytest.importorskip("test_iceberg_peers")
    scans = pytest.importorskip("pyiceberg.table")
    other = peers.peer(str(table.path / table.info["metadata_file"]), table.file)
    opened = table.open()
    commits = {row["snapshot_id"]: row for row in opened.snapshots().to_arrow().to_pylist()}
    path = [commit["snapshot_id"] for commit in ancestors(commits, opened.snapshot_id or -1, None)]
    for after in [*path[1:], None]:
        scan = scans.IncrementalAppendScan(other.metadata, other.files, from_snapshot_id=after)
        try:
            expected = sorted(task.file.file_path for task in scan.plan_files())
        except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
            pytest.skip(f"PyIceberg cannot plan from {after}: {peers.first_line(error)}")
        read = opened.appends(after, columns=["file_path"]).to_arrow()
        assert sorted(read["file_path"].to_pylist()) == expected, f"after {after}"


@each_golden_iceberg_table()
def test_what_is_not_there_is_answered_by_what_is(table: GoldenTable):
    opened = table.open()
    there = opened.snapshot_id or 7
    for one, other in ((5, there), (there, 5), (there, "none")):
        with pytest.raises(lakebed.errors.SnapshotNotFoundError, match=r"^no (snapshot|tag)|; there "):
            opened.diff(one, other)
    with pytest.raises(lakebed.errors.SnapshotNotFoundError, match="5"):
        opened.appends(5)


@pytest.mark.parametrize("place", [1.5, True, None, b"main"])
def test_a_place_is_an_id_or_a_name(place: Any) -> None:
    with pytest.raises(
        TypeError, match="takes a snapshot's id, the name of a tag or branch, a time or a Ver"
    ):
        lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate=SAMPLE_MOVED).diff(place, "main")
