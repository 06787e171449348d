"""What commits did: `growth` beside the files of each snapshot, `file_history` beside `diff`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_line import printed
from counting_storage import CountingStorage
from covering import EitherGolden, each_covering_iceberg_table, each_covering_table
from iceberg_made import ADDED, DELETED, EXISTING, MadeTable, entry
from paimon_made import ADD, DELETE
from paimon_made import MadeTable as MadePaimonTable
from paimon_made import entry as paimon_entry

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from lakebed.errors import PredicateError, SchemaError
from shared_data import SAMPLE_TABLE, sample_of

DATA = ("file_count", "record_count", "file_size_in_bytes")
DELETES = ("delete_file_count", "delete_record_count")
IDENTITY = ["change", "content", "file_path", "level", "record_count", "file_size_in_bytes"]

Row = dict[str, Any]


def growth(table: lakebed.Table, **keywords: Any) -> list[Row]:
    rows: list[Row] = table.growth(**keywords).to_arrow().to_pylist()
    return rows


def live(table: lakebed.Table) -> dict[str, int]:
    """What the files of a snapshot come to, one by one, and its deletes by partition."""
    files = table.files(columns=["content", "record_count", "file_size_in_bytes"]).to_arrow().to_pylist()
    data = [file for file in files if file["content"] == 0]
    sums = [sum(file[name] for file in data) for name in DATA[1:]]
    parts = table.partitions(columns=list(DELETES)).to_arrow().to_pylist()
    deletes = {name: sum(part[name] for part in parts) for name in DELETES}
    return dict(zip(DATA, [len(data), *sums], strict=True)) | deletes


def assert_grown(opened: lakebed.Table) -> None:
    """Every row is what the snapshot has, and its changes lead there from the row before."""
    rows, before = growth(opened), None
    for row in rows:
        assert {name: row[name] for name in DATA + DELETES} == live(opened.at(snapshot=row["snapshot_id"]))
        if before is not None and row["parent_id"] == before["snapshot_id"]:
            for name in DATA + DELETES:
                led = before[name] + row[f"added_{name}"] - row[f"removed_{name}"]
                assert row[name] == led, (name, row)
        before = row
    known = opened.snapshots().to_arrow().to_pylist()
    times = {row["snapshot_id"]: (row["committed_at"], row["operation"]) for row in known}
    assert {
        row["snapshot_id"]: (row["committed_at"], row["operation"]) for row in rows
    }.items() <= times.items()


def changes(rows: list[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in IDENTITY) for row in rows)


def assert_reported(opened: lakebed.Table) -> None:
    """What `file_history` says of each snapshot is what it differs in from the one before."""
    told = opened.file_history(columns=["snapshot_id", *IDENTITY]).to_arrow().to_pylist()
    rows = growth(opened)
    assert [row["snapshot_id"] for row in told] == sorted(
        (row["snapshot_id"] for row in told), key=[row["snapshot_id"] for row in rows].index
    )
    for before, row in pairwise(rows):
        own = [one for one in told if one["snapshot_id"] == row["snapshot_id"]]
        if row["parent_id"] == before["snapshot_id"]:
            read = opened.diff(before["snapshot_id"], row["snapshot_id"], columns=IDENTITY)
            assert changes(own) == changes(read.to_arrow().to_pylist())


@each_covering_table()
def test_the_history_of_every_table(table: EitherGolden) -> None:
    assert_grown(table.open())
    assert_reported(table.open())


@each_covering_iceberg_table()
def test_growth_is_what_the_engine_counts(table: GoldenIcebergTable) -> None:
    """Its entries of each snapshot, one by one."""
    for row in growth(table.open()):
        manifests = table.manifest_rows(row["snapshot_id"])
        entries = [one for manifest in manifests for one in table.raw_entries(manifest) if one["live"]]
        data = [one for one in entries if one["content"] == 0]
        assert row["file_count"] == len(data)
        assert row["record_count"] == sum(int(one["record_count"]) for one in data)
        assert row["delete_file_count"] == len(entries) - len(data)


def test_growth_is_of_the_line_that_led_to_where_the_table_stands(sample: lakebed.Table) -> None:
    rows = growth(sample)
    ids = [row["snapshot_id"] for row in rows]
    assert ids[-1] == sample.snapshot_id
    earlier = growth(sample.at(snapshot=ids[0]))
    assert [row["snapshot_id"] for row in earlier] == ids[:1]
    assert earlier[0] == rows[0]


def test_columns_filters_and_limits(sample: lakebed.Table) -> None:
    whole = sample.growth().to_arrow()
    few = sample.growth(columns=["file_count", "snapshot_id"], filter="added_file_count > 0", limit=1)
    grown = [row for row in whole.to_pylist() if row["added_file_count"] > 0]
    assert few.to_arrow().to_pylist() == [{key: grown[0][key] for key in ("file_count", "snapshot_id")}]
    assert few.schema == few.to_arrow().schema
    told = sample.file_history().to_arrow()
    assert told.schema == sample.file_history().schema
    names = [one for one in sample.files().schema.names if one != "snapshot_id"]
    assert told.schema.names == ["change", "snapshot_id", "committed_at", "operation", *names]
    path = told["file_path"][0].as_py()
    one = sample.file_history(filter=f"file_path = '{path}'", columns=["change", "snapshot_id"]).to_arrow()
    expected = [row for row in told.to_pylist() if row["file_path"] == path]
    assert one.to_pylist() == [{key: row[key] for key in ("change", "snapshot_id")} for row in expected]
    assert sample.file_history(limit=2).to_arrow().equals(told.slice(0, 2))
    with pytest.raises(SchemaError):
        sample.growth(columns=["nowhere"])
    with pytest.raises(SchemaError):
        sample.file_history(columns=["nowhere"])


def test_a_filter_on_partitions_leaves_out_manifests(sample: lakebed.Table) -> None:
    told = sample.file_history().to_arrow().to_pylist()
    kept = sample.file_history(where="region = 'emea'", filter="change = 'added'").to_arrow().to_pylist()
    assert kept == [row for row in told if row["change"] == "added" and row["partition"]["region"] == "emea"]
    assert 0 < len(kept) < len(told)
    for given, meant in (
        ({"where": "change = 'added'"}, 'where: no column "change".*; the view has .* filter tests it'),
        ({"filter": "region = 'emea'"}, 'filter: no column "region".*; the table has .* where tests it'),
        ({"where": "nowhere = 1"}, "^where: "),
        ({"filter": "record_count = 'x'"}, "^filter: "),
    ):
        with pytest.raises(PredicateError, match=meant):
            sample.file_history(**given)  # type: ignore[arg-type]


def test_statistics_come_with_the_files(sample: lakebed.Table) -> None:
    stats = sample.file_history(stats=["amount"], columns=["file_path", "change"]).to_arrow()
    assert stats.schema.names == ["file_path", "change", "stats"]
    files = sample.files(stats=["amount"], columns=["file_path"]).to_arrow().to_pylist()
    known = {row["file_path"]: row["stats"] for row in files}
    found = {row["file_path"]: row["stats"] for row in stats.to_pylist() if row["change"] == "added"}
    assert {path: found[path] for path in known} == known


@pytest.mark.parametrize("name", ["paimon", "iceberg"])
def test_every_manifest_is_read_once(name: str) -> None:
    storage = CountingStorage()
    table = sample_of(name, storage)
    for view in (table.file_history(), table.growth()):
        storage.forget()
        assert len(view.to_arrow()) > 0
        assert len(storage.manifests()) == len(set(storage.manifests()))


def odd_summaries() -> Iterator[tuple[str, Row | None]]:
    yield "none", None
    yield "incomplete", {"operation": "append", "total-records": "1"}
    wrong = dict.fromkeys(("total-data-files", "total-records", "total-files-size"), "7")
    yield "wrong", {"operation": "append", **wrong, "added-data-files": "99", "added-files-size": "-1"}


@pytest.mark.parametrize(
    "summary", [one for _, one in odd_summaries()], ids=[name for name, _ in odd_summaries()]
)
def test_summaries_decide_nothing(summary: Row | None, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    first = made.manifest(entry(path="a", file_size_in_bytes=5), name="m1.avro")
    made.commit(first, summary=summary)
    second = made.manifest(entry(path="b", record_count=3), name="m2.avro") | {"added_snapshot_id": 2}
    made.commit(first, second, summary=summary, parent_snapshot_id=1)
    assert_grown(made.open())
    assert [row["file_size_in_bytes"] for row in growth(made.open())] == [5, 105]


def test_a_commit_that_drops_a_manifest_without_a_word_is_compared(tmp_path: Path) -> None:
    """Its own manifests say that it adds one file; that two are gone, only the snapshots tell."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    first = made.manifest(entry(path="a"), entry(path="b", record_count=5), name="m1.avro")
    made.commit(first)
    made.commit(
        made.manifest(entry(path="c"), name="m2.avro") | {"added_snapshot_id": 2}, parent_snapshot_id=1
    )
    assert_grown(made.open())
    assert_reported(made.open())
    told = made.open().file_history(filter="snapshot_id = 2", columns=["change", "file_path"])
    assert told.to_arrow().to_pylist() == [
        {"change": "removed", "file_path": "a"},
        {"change": "removed", "file_path": "b"},
        {"change": "added", "file_path": "c"},
    ]
    snapshots, _ = made.open().file_history().explain().to_dict()["steps"]
    assert (snapshots["kept"], snapshots["total"]) == (1, 2)


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_counts_of_a_list_that_are_too_small_make_no_wrong_sum(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    first = made.manifest(entry(path="a"), name="m1.avro")
    made.commit(first)
    more = made.manifest(entry(path="b"), entry(path="c"), name="m2.avro")
    few = {"added_snapshot_id": 2, "added_files_count": 1, "added_rows_count": 1}
    made.commit(first, more | few, parent_snapshot_id=1)
    assert_grown(made.open())


def test_rewritten_manifests_change_nothing(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(path="a"), entry(path="b"), name="m1.avro"))
    kept = [entry(EXISTING, "a", snapshot_id=1), entry(DELETED, "b", snapshot_id=2), entry(ADDED, "c")]
    made.commit(made.manifest(*kept, name="m2.avro") | {"added_snapshot_id": 2}, parent_snapshot_id=1)
    again = [entry(EXISTING, "a", snapshot_id=1), entry(EXISTING, "c", snapshot_id=2)]
    rewritten = made.manifest(*again, name="m3.avro") | {"added_snapshot_id": 3}
    made.commit(rewritten, parent_snapshot_id=2, summary={"operation": "replace"})
    told = made.open().file_history(columns=["snapshot_id", "change", "file_path"]).to_arrow()
    found = [tuple(row.values()) for row in told.to_pylist()]
    assert found == [(1, "added", "a"), (1, "added", "b"), (2, "removed", "b"), (2, "added", "c")]
    assert_grown(made.open())


def test_a_paimon_snapshot_whose_parent_expired(tmp_path: Path) -> None:
    made = MadePaimonTable(tmp_path / "t", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a"))
    made.commit(paimon_entry(ADD, "b", row_count=4))
    made.commit(paimon_entry(DELETE, "a"), paimon_entry(ADD, "c"))
    (made.root / "snapshot" / "snapshot-1").unlink()
    rows = growth(lakebed.open_table(made.root))
    found = [(row["snapshot_id"], row["file_count"], row["record_count"]) for row in rows]
    assert found == [(2, 2, 5), (3, 2, 5)]
    assert [(row["added_file_count"], row["removed_file_count"]) for row in rows] == [(1, 0), (1, 1)]
    assert [row["added_delete_file_count"] for row in rows] == [None, 0]
    (made.root / "snapshot" / "snapshot-2").unlink()
    assert_grown(lakebed.open_table(made.root))


def test_a_table_without_a_snapshot_has_no_history(tmp_path: Path) -> None:
    paimon = MadePaimonTable(tmp_path / "p", ("id", "INT")).root
    iceberg = MadeTable(tmp_path / "i", (1, "id", "long"))
    iceberg.set()
    for root in (paimon, iceberg.root):
        table = lakebed.open_table(root)
        assert (len(table.growth().to_arrow()), len(table.file_history().to_arrow())) == (0, 0)


def test_the_command_line() -> None:
    table = sample_of("paimon")
    shown = [row["file_count"] for row in printed("growth", SAMPLE_TABLE)]
    assert shown == table.growth().to_arrow()["file_count"].to_pylist()
    shown = [row["file_path"] for row in printed("file-history", SAMPLE_TABLE)]
    assert shown == table.file_history().to_arrow()["file_path"].to_pylist()
    steps = printed("file-history", SAMPLE_TABLE, "--explain")
    assert [step["step"] for step in steps] == ["snapshots", "manifests"]
