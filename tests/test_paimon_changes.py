"""What came and went between snapshots of Paimon tables, against the Java engine's own answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from covering import each_covering_paimon_table
from test_changes import assert_one_order

import lakebed
from lakebed import paimon
from paimon_answers import Row, Schemas, by_file, canonical_rows, is_avro
from shared_data import GoldenTable, each_golden_paimon_table

IDENTITY = ["partition", "bucket", "level", "file_name"]
PLAIN = [*IDENTITY, "file_path", "record_count", "file_size_in_bytes", "schema_id", "total_buckets"]
# What entries of the kind DELETE may have otherwise than those that add the file.
OF_ADDITIONS = ["sequence_number", "min_sequence_number", "first_row_id"]


def places(table: GoldenTable) -> dict[str, tuple[Any, Row]]:
    """What to call each snapshot and tag of `main`, and the engine's answer of what is live there."""
    found = {}
    for live in table.rows("live"):
        kind, _, name = live["at"].partition("-")
        if live["branch"] is None:
            found[live["at"]] = (int(name) if kind == "snapshot" else name, live)
    return found


def pairs(table: GoldenTable) -> Iterator[tuple[tuple[Any, Row], tuple[Any, Row]]]:
    """Snapshots one after the other, the other way round too, the first and the last, tags and the last."""
    found = places(table)
    if not found:
        pytest.skip(f"{table.name} has no snapshot")
    ids = sorted((place for place in found.values() if isinstance(place[0], int)), key=lambda place: place[0])
    tags = [place for place in found.values() if isinstance(place[0], str)]
    for one, other in [*pairwise(ids), (ids[0], ids[-1]), *((tag, ids[-1]) for tag in tags)]:
        yield from ((one, other), (other, one))


def identities(table: GoldenTable, at: lakebed.Table, read: pa.Table) -> list[str]:
    """`<partition row hex without its arity>/<bucket>/<level>/<file name>` of each row."""
    (schema,) = at.snapshots(filter=f"snapshot_id = {at.snapshot_id}").to_arrow()["schema_id"].to_pylist()
    types = Schemas(table).partition(schema)
    stored = read["partition"].combine_chunks().cast(pa.struct(types))  # views have no milliseconds
    partitions = [row.hex()[8:] for row in paimon.encode_rows(stored, types).to_pylist()]
    rest = [read[name].to_pylist() for name in IDENTITY[1:]]
    return ["/".join(map(str, row)) for row in zip(partitions, *rest, strict=True)]


@each_golden_paimon_table()
def test_a_diff_is_what_the_engines_live_files_differ_in(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    for (one, before), (other, after) in pairs(table):
        read = opened.diff(one, other, columns=["change", *IDENTITY]).to_arrow()
        found = list(zip(read["change"].to_pylist(), identities(table, opened, read), strict=True))
        old, new = (set(side["live_files"]) for side in (before, after))
        expected = [("removed", file) for file in old - new] + [("added", file) for file in new - old]
        assert sorted(found) == sorted(expected), f"{table.name}, {one} to {other}"


@each_covering_paimon_table()
def test_a_diff_shows_the_rows_of_files(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    for (one, _), (other, _) in pairs(table):
        sides = {"removed": files(opened, one), "added": files(opened, other)}
        shared = sides["removed"].keys() & sides["added"].keys()
        rows = opened.diff(one, other).to_arrow().select(["change", *PLAIN, *OF_ADDITIONS]).to_pylist()
        assert len(rows) == sum(len(side.keys() - shared) for side in sides.values())
        for row in rows:
            change, key = row.pop("change"), repr([row[name] for name in IDENTITY])
            expected = sides[change][key]
            assert key not in shared, f"{table.name}, {one} to {other}"
            assert {name: row[name] for name in PLAIN} == {name: expected[name] for name in PLAIN}
            if change == "added" and not backwards(one, other):
                assert row == expected


def backwards(one: Any, other: Any) -> bool:
    """Whether the second place may be older, so that what it adds is what an entry of the first deletes."""
    return not (isinstance(one, int) and isinstance(other, int) and one < other)


def files(table: lakebed.Table, place: Any) -> dict[str, Row]:
    at = table.at(snapshot=place) if isinstance(place, int) else table.at(tag=place)
    rows = at.files(columns=[*PLAIN, *OF_ADDITIONS]).to_arrow().to_pylist()
    return {repr([row[name] for name in IDENTITY]): row for row in rows}


@each_golden_paimon_table()
def test_the_rows_of_a_diff_are_in_one_order(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    ids = sorted(place for place, _ in places(table).values() if isinstance(place, int))
    if not ids:
        pytest.skip(f"{table.name} has no snapshot")
    assert_one_order(opened, ids[0], ids[-1], canonical_rows)


@each_golden_paimon_table()
def test_appends_are_the_additions_of_append_snapshots(table: GoldenTable):
    """The engine's own entries of the delta lists of the snapshots that its own view calls APPEND."""
    opened = lakebed.open_table(table.path)
    kinds = {int(row["snapshot_id"]): row["commit_kind"] for row in table.rows("sys/snapshots")}
    if not kinds:
        pytest.skip(f"{table.name} has no snapshot")
    lists = dict(by_file(table.rows("lists"), "list"))
    entries = dict(by_file(table.rows("entries"), "manifest"))
    listed = opened.snapshots(columns=["snapshot_id", "delta_manifest_list"]).to_arrow().to_pylist()
    added: dict[int, list[str]] = {}
    for row in listed:
        deltas = [one["file_name"] for one in lists[row["delta_manifest_list"]] if one["pos"] is not None]
        rows = [entry for manifest in deltas for entry in entries[manifest]]
        names = [entry["file_name"] for entry in rows if entry["kind"] == "ADD"]
        added[row["snapshot_id"]] = names if kinds[row["snapshot_id"]] == "APPEND" else []
    for after in [min(kinds) - 1, *kinds, None]:
        read = opened.appends(after, columns=["file_name"]).to_arrow()
        expected = [name for number in sorted(added) if number > (after or 0) for name in added[number]]
        assert read["file_name"].to_pylist() == expected, f"{table.name}, after {after}"


@each_golden_paimon_table()
def test_pypaimon_finds_the_same_additions(table: GoldenTable):
    """It takes no notice of levels: a file that moved is none that was added."""
    tables = pytest.importorskip("pypaimon.table.file_store_table")
    scanners = pytest.importorskip("pypaimon.read.scanner.incremental_diff_scanner")
    if not all(is_avro(file) for file in (table.path / "manifest").glob("*")):
        pytest.skip("pypaimon reads manifests in Avro only")
    opened = lakebed.open_table(table.path)
    try:
        peer = tables.FileStoreTable.from_path(str(table.path))
        scanner, snapshots = scanners.IncrementalDiffScanner(peer), peer.snapshot_manager()
    except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
        pytest.skip(f"pypaimon cannot open {table.name}: {error}")
    ids = sorted(place for place, _ in places(table).values() if isinstance(place, int))
    for one, other in [*pairwise(ids), (ids[0], ids[-1])] if ids else []:
        try:
            entries = scanner.compute_diff(*map(snapshots.get_snapshot_by_id, (one, other)))
        except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
            pytest.skip(f"pypaimon cannot compare {one} and {other}: {error}")
        read = opened.diff(one, other, columns=["change", "file_name"]).to_arrow()
        names = Counter(zip(read["change"].to_pylist(), read["file_name"].to_pylist(), strict=True))
        added = [name for change, name in names if change == "added" and not names["removed", name]]
        assert sorted(added) == sorted(entry.file.file_name for entry in entries), f"{one} to {other}"


@each_golden_paimon_table()
def test_what_is_not_there_is_answered_by_what_is(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    there = opened.snapshot_id or 7
    for one, other in ((99, there), (there, 99), (there, "none")):
        with pytest.raises(lakebed.errors.SnapshotNotFoundError, match=r"^no (snapshot|tag)"):
            opened.diff(one, other)
    for after in (99, -3):
        with pytest.raises(lakebed.errors.SnapshotNotFoundError, match=str(after)):
            opened.appends(after)


@each_golden_paimon_table("expired", "changelog_decoupled")
def test_expired_snapshots_are_missed(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    first = min(place for place, _ in places(table).values() if isinstance(place, int))
    assert first > 1
    with pytest.raises(lakebed.errors.SnapshotNotFoundError, match=f"no snapshot {first - 1}"):
        opened.diff(first - 1, first)
    assert opened.appends(first - 1).to_arrow().equals(opened.appends().to_arrow())
    if first > 2:
        with pytest.raises(lakebed.errors.SnapshotNotFoundError, match=f"no snapshot {first - 1}, which"):
            opened.appends(first - 2)


def test_a_manifest_that_is_gone_is_missing(sample_table: Any) -> None:
    """Of those that both snapshots have it is not missed."""

    table = lakebed.open_table(sample_table)
    one, other = 3, 4
    shared, alone = (
        {row["path"] for row in table.at(snapshot=number).manifests().to_arrow().to_pylist()}
        for number in (one, other)
    )
    both = shared & alone
    expected = table.diff(one, other).to_arrow()
    for path in both:
        (sample_table / "manifest" / path.rsplit("/", 1)[-1]).unlink()
    assert table.diff(one, other).to_arrow().equals(expected)
    for path in alone - both:
        (sample_table / "manifest" / path.rsplit("/", 1)[-1]).unlink()
    with pytest.raises(lakebed.errors.MissingFileError):
        table.diff(one, other).to_arrow()
