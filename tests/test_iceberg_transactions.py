"""Several changes of an Iceberg table in one commit, without a catalog and through one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_commits import SCHEMA, as_pyiceberg, empty, files, metadata, metadata_names, names, path

import lakebed
from lakebed import avro, errors, iceberg


@pytest.fixture(params=["v1", "v2", "v3", "catalog"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> lakebed.Table:
    """A table of one commit, `a`; without a catalog, or in one of PyIceberg."""
    table = empty(tmp_path, request.param)
    return table.append_files(files("a", stats=ids(1, 2)))


@pytest.fixture
def local(tmp_path: Path) -> lakebed.Table:
    """The same, of version 2 and without a catalog."""
    return lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a", stats=ids(1, 2)))


def ids(least: int, most: int, count: int = 1) -> pa.Array:
    """Metrics of files whose ids are between these."""
    return pa.array([{"id": {"lower_bound": least, "upper_bound": most, "null_count": 0}}] * count)


Change = Callable[[lakebed.Transaction], None]


def appends(*names: str) -> list[Change]:
    """Changes that add a file each."""
    return [lambda tx, name=name: tx.append_files(files(name)) for name in names]  # type: ignore[misc]


def commit(table: lakebed.Table, *changes: Change) -> lakebed.Table:
    """The table after a commit of several changes."""
    with table.transaction() as transaction:
        for change in changes:
            change(transaction)
    return transaction.table


def stage(table: lakebed.Table, *changes: Change) -> lakebed.StagedCommit | None:
    """The same changes, for a catalog to make."""
    transaction = table.transaction()
    for change in changes:
        change(transaction)
    return transaction.stage()


def written(table: lakebed.Table) -> int:
    """How many metadata files the table has had."""
    return len(table.refresh().metadata_table("metadata_log_entries").to_arrow())


def test_files_of_a_new_schema_and_spec_come_with_them(made: lakebed.Table):
    before, first = written(made), made.snapshot_id
    bounds = pa.array([{"note": {"upper_bound": "x"}}])
    with made.transaction() as transaction:
        transaction.update_schema(lakebed.SchemaChange.add_column("note", pa.string()))
        transaction.append_files(files("b", stats=bounds))
        transaction.update_spec(add=["note"])
        transaction.append_files(files("c", partition=pa.array([{"note": "n"}])))
    table = transaction.table
    assert written(table) == before + 1
    assert names(table) == ["a", "b", "c"]
    rows = {Path(row["file_path"]).stem: row for row in table.files(stats=["note"]).to_arrow().to_pylist()}
    assert rows["b"]["stats"]["note"]["upper_bound"] == "x"
    assert [rows[name]["partition"] for name in "abc"] == [{"note": None}, {"note": None}, {"note": "n"}]
    assert [rows[name]["spec_id"] for name in "abc"] == [0, 0, 1]
    snapshots = table.snapshots().to_arrow().to_pylist()
    assert [one["parent_id"] for one in snapshots] == [None, *(one["snapshot_id"] for one in snapshots[:-1])]
    assert table.schemas().to_arrow().num_rows == 2
    # Snapshots that nobody saw as the current one are not logged, as in Java.
    log = table.metadata_table("history").to_arrow()["snapshot_id"].to_pylist()
    assert (log[0], log[-1]) == (first, table.snapshot_id)
    if made.format_version != 1:
        assert [rows[name]["sequence_number"] for name in "abc"] == [1, 2, 3]
    if made.format_version == 3:
        assert [rows[name]["first_row_id"] for name in "abc"] == [0, 7, 14]
    assert table.verify().to_arrow().num_rows == 0


def test_the_log_has_what_was_current(local: lakebed.Table):
    first = local.snapshot_id
    with local.transaction() as transaction:
        for name in "bcd":
            transaction.append_files(files(name))
    table = transaction.table
    assert [entry["snapshot-id"] for entry in metadata(table)["snapshot-log"]] == [first, table.snapshot_id]
    assert len(metadata(table)["snapshots"]) == 4


def test_a_file_may_be_removed_that_an_earlier_change_adds(made: lakebed.Table):
    with made.transaction() as transaction:
        transaction.append_files(files("b", "c", stats=ids(8, 9, 2)))
        transaction.delete_files(["data/b.parquet"])
        transaction.rewrite_manifests()
        transaction.overwrite_files(files("d"), where="id > 5")
        transaction.replace_files(["data/d.parquet"], files("e"))
    table = transaction.table
    assert names(table) == ["a", "e"]
    assert table.verify().to_arrow().num_rows == 0
    # The next commit reads what this one has written.
    assert names(table.append_files(files("f"))) == ["a", "e", "f"]


def test_refs_move_with_what_the_changes_make(made: lakebed.Table):
    first = made.snapshot_id
    assert first is not None
    with made.transaction() as transaction:
        transaction.create_branch("before")
        transaction.append_files(files("b"))
        transaction.set_retention("before", min_snapshots_to_keep=3)
        transaction.create_tag("tag")
        transaction.rollback_to(first)
        transaction.append_files(files("c"))
        transaction.delete_tag("tag")
    table = transaction.table
    assert names(table) == ["a", "c"]
    refs = {row["name"]: row for row in table.refs().to_arrow().to_pylist()}
    found = {name: row["snapshot_id"] for name, row in refs.items()}
    assert found == {"before": first, "main": table.snapshot_id}
    assert len(table.snapshots().to_arrow()) == 3
    assert table.verify().to_arrow().num_rows == 0


def test_each_change_has_its_own_properties_and_encoding(local: lakebed.Table):
    first, second = (lakebed.CommitOptions(properties={"job": job}) for job in "12")
    with local.transaction() as transaction:
        transaction.update_properties({"write.manifest.compression-codec": "zstd"})
        transaction.append_files(files("b"), merge=False, options=first)
        transaction.rewrite_manifests(codec="snappy", options=second)
        transaction.append_files(files("c"), merge=False)
    table = transaction.table
    summaries = [one["summary"].get("job") for one in metadata(table)["snapshots"]]
    assert summaries == [None, "1", "2", None]
    manifests = table.manifests(columns=["path", "added_snapshot_id"]).to_arrow().to_pylist()
    order = {one["snapshot-id"]: place for place, one in enumerate(metadata(table)["snapshots"])}
    codecs = {
        order[row["added_snapshot_id"]]: avro.read_metadata(row["path"])["avro.codec"] for row in manifests
    }
    assert codecs == {2: b"snappy", 3: b"zstandard"}


def test_tables_are_upgraded_before_files_come(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=1).append_files(files("a"))
    with table.transaction() as transaction:
        transaction.upgrade(2)
        transaction.append_files(files("b"))
        transaction.upgrade(3)
        transaction.append_files(files("c"))
    table = transaction.table
    assert (table.format_version, names(table)) == (3, ["a", "b", "c"])
    rows = {Path(row["file_path"]).stem: row for row in table.files().to_arrow().to_pylist()}
    assert [rows[name]["sequence_number"] for name in "abc"] == [0, 1, 2]
    assert sorted(row["first_row_id"] for row in rows.values()) == [0, 7, 14]
    assert len(as_pyiceberg(table).inspect.files()) == 3


REFUSED: list[tuple[Change, type[Exception], str]] = [
    (lambda tx: tx.delete_files(["data/none.parquet"]), errors.SchemaError, "is not a live file"),
    (lambda tx: tx.append_files(files("x", spec_id=[9])), errors.SchemaError, "no partition spec 9"),
    (lambda tx: tx.update_schema(lakebed.SchemaChange.drop_column("none")), errors.SchemaError, "no column"),
    (lambda tx: tx.update_spec(remove=["none"]), errors.SchemaError, "no partition field"),
    (lambda tx: tx.create_tag("main"), errors.SchemaError, "main is a branch"),
    (lambda tx: tx.rollback_to(5), errors.SnapshotNotFoundError, "no snapshot 5"),
    (lambda tx: tx.cherry_pick(5), errors.SnapshotNotFoundError, "no snapshot 5"),
    (lambda tx: tx.update_properties({"uuid": "x"}), errors.SchemaError, "is not a property"),
    (lambda tx: tx.upgrade(9), errors.UnsupportedError, "version"),
    (lambda tx: tx.rewrite_manifests(by=["none"]), errors.SchemaError, "neither a partition field"),
]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_refused_change_says_which_and_leaves_nothing(local: lakebed.Table, place: int):
    before = metadata_names(local)
    for change, error, message in REFUSED:
        changes = appends("b", "c")
        changes.insert(place, change)
        with pytest.raises(error, match=rf"^change {place + 1} of 3: .*{message}"):
            commit(local, *changes)
        with pytest.raises(error) as alone:
            commit(local, change)
        assert "change 1 of" not in str(alone.value)
    assert metadata_names(local) == before
    assert local.refresh().snapshot_id == local.snapshot_id


def test_a_refused_change_is_not_staged(made: lakebed.Table):
    before = metadata_names(made)
    change, error, message = REFUSED[0]
    changes = [*appends("b"), change]
    with pytest.raises(error, match=rf"^change 2 of 2: .*{message}"):
        stage(made, *changes)
    with pytest.raises(error, match=rf"^change 2 of 2: .*{message}"):
        commit(made, *changes)
    assert metadata_names(made) == before


def test_changes_with_nothing_to_do_keep_no_other_from_being_made(made: lakebed.Table):
    table = made.update_properties({"a": "1"})
    before, there = written(table), metadata_names(table)
    version, head = table.format_version or 0, table.snapshot_id or 0
    nothing: list[Change] = [
        lambda tx: tx.update_properties({"a": "1"}),
        lambda tx: tx.upgrade(version),
        lambda tx: tx.set_current_snapshot(head),
    ]
    assert commit(table, *nothing).snapshot_id == table.snapshot_id
    assert stage(table, *nothing) is None
    assert (written(table), metadata_names(table)) == (before, there)
    table = commit(table, nothing[0], *appends("b"), *nothing)
    assert (names(table), written(table)) == (["a"], before + 1)
    assert names(table.at(snapshot=table.snapshots().to_arrow()["snapshot_id"][-1].as_py())) == ["a", "b"]
    table = commit(table, *appends("c"), *nothing[:2])
    assert names(table) == ["a", "c"]


def test_what_an_earlier_change_does_is_no_conflict(local: lakebed.Table):
    with local.transaction() as transaction:
        transaction.append_files(files("b", stats=ids(3, 4)))
        transaction.overwrite_files(files("c", stats=ids(7, 8)), where="id < 5")
        transaction.add_deletes(files=files("d", stats=ids(9, 9)))
    table = transaction.table
    assert names(table) == ["c", "d"]
    # What others have done since is one still.
    table.append_files(files("e", stats=ids(1, 4)))
    changes: list[Change] = [
        lambda tx: tx.append_files(files("f", stats=ids(7, 8))),
        lambda tx: tx.overwrite_files(files("g"), where="id < 5"),
    ]
    with pytest.raises(errors.CommitConflictError, match=r"^change 2 of 2: .*e\.parquet"):
        commit(table, *changes)
    assert commit(table.refresh(), changes[0]).snapshot_id != table.snapshot_id


def equality_deletes(name: str) -> pa.Table:
    ids = pa.array([[1]], pa.list_(pa.int32()))
    return files(name, content=[2], equality_ids=ids)


def vector(name: str, of: str, rows: int) -> pa.Table:
    more = {"content": [1], "file_format": ["PUFFIN"], "referenced_data_file": [of]}
    given = files(name, content_offset=[4], content_size_in_bytes=[10], **more)
    return given.set_column(1, "record_count", pa.array([rows], pa.int64()))


def test_files_that_an_earlier_change_gives_deletes_cannot_go(tmp_path: Path):
    """Whoever replaced them did not know of the deletes: their rows would come back."""
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=3).append_files(
        files("a", "b")
    )

    def deletes(tx: lakebed.Transaction) -> None:
        tx.add_deletes(equality_deletes("d"))

    def first(tx: lakebed.Transaction) -> None:
        tx.add_deletes(vector("v", path(table, "a"), 1))

    replacing: list[Change] = [
        lambda tx: tx.replace_files(["data/a.parquet"], files("c")),
        lambda tx: tx.overwrite_files(files("c"), removed=["data/a.parquet"]),
    ]
    for change in replacing:
        with pytest.raises(errors.UnsupportedError, match=r"^change 2 of 2: .*deletes of an earlier change"):
            commit(table, deletes, change)
    with pytest.raises(errors.UnsupportedError, match=r"^change 2 of 2: .*deletes of an earlier change"):
        commit(table, first, lambda tx: tx.add_deletes(vector("w", path(table, "a"), 2)))
    with pytest.raises(errors.SchemaError, match=r"^change 2 of 2: .*is not a live file"):
        commit(table, lambda tx: tx.delete_files(["data/a.parquet"]), first)
    after = commit(table, deletes, *appends("e"))
    assert names(after) == ["a", "b", "d", "e"]


def test_a_staged_transaction_requires_the_state_before_it(made: lakebed.Table):
    if made.format_version == 3:
        pytest.skip("PyIceberg 0.12 writes no version 3")
    before = iceberg.read_metadata(
        made.metadata_table("metadata_log_entries").to_arrow()["file"][-1].as_py().removeprefix("file://")
    )
    transaction = made.transaction()
    transaction.update_schema(lakebed.SchemaChange.add_column("x", pa.int64()))
    transaction.append_files(files("b"))
    transaction.update_schema(lakebed.SchemaChange.add_column("y", pa.int64()))
    transaction.update_spec(add=["x"])
    transaction.append_files(files("c", partition=pa.array([{"x": 1}])))
    transaction.create_tag("tag")
    staged = transaction.stage()
    assert staged is not None
    assert {one["type"]: one for one in staged.requirements} == {
        "assert-table-uuid": {"type": "assert-table-uuid", "uuid": before["table-uuid"]},
        "assert-last-assigned-field-id": {
            "type": "assert-last-assigned-field-id",
            "last-assigned-field-id": 1,
        },
        "assert-current-schema-id": {"type": "assert-current-schema-id", "current-schema-id": 0},
        "assert-last-assigned-partition-id": {
            "type": "assert-last-assigned-partition-id",
            "last-assigned-partition-id": before["last-partition-id"],
        },
        "assert-default-spec-id": {"type": "assert-default-spec-id", "default-spec-id": 0},
        "assert-ref-snapshot-id": {"type": "assert-ref-snapshot-id", "ref": "tag", "snapshot-id": None},
    }
    of_main = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": made.snapshot_id}
    assert staged.requirements.count(of_main) == 1
    assert len(staged.requirements) == 7
    added = [one["snapshot"] for one in staged.updates if one["action"] == "add-snapshot"]
    assert [one["schema-id"] for one in added] == [1, 2]
    assert staged.snapshot_id == added[-1]["snapshot-id"] == staged.metadata["current-snapshot-id"]
    assert added[1]["parent-snapshot-id"] == added[0]["snapshot-id"]
    staged.discard()
    assert names(made.append_files(files("d"))) == ["a", "d"]


def test_a_transaction_does_not_remove_the_branch_that_it_is_on(local: lakebed.Table):
    side = local.create_branch("side")
    with pytest.raises(errors.UnsupportedError, match=r"removes no branch that it is on.*\bside\b"):
        commit(side, lambda tx: tx.delete_branch("side"), *appends("b"))
    assert names(side.append_files(files("b"))) == ["a", "b"]


def test_what_a_change_makes_an_expiry_keeps(made: lakebed.Table):
    first = made.snapshot_id
    soon = datetime.now(timezone.utc) + timedelta(minutes=1)
    with made.transaction() as transaction:
        transaction.append_files(files("b"))
        transaction.expire_snapshots(soon, retain_last=1)
    table = transaction.table
    assert names(table) == ["a", "b"]
    assert table.snapshots().to_arrow()["snapshot_id"].to_pylist() == [table.snapshot_id]
    with pytest.raises(errors.SnapshotNotFoundError):
        table.at(snapshot=first)
    assert table.verify().to_arrow().num_rows == 0


def test_a_lost_race_makes_all_changes_again(tables: Any, tmp_path: Path):
    catalog = tables.sqlite(tmp_path)
    there = catalog.create_table("db.t", SCHEMA)

    def other(attempt: int) -> None:
        """Another commits first, twice."""
        if attempt < 3:
            lakebed.open_table(catalog.load_table("db.t")).append_files(files(f"other-{attempt}"))

    overtaken = tables.Between(catalog, other)
    with lakebed.open_table(overtaken.load_table("db.t")).transaction() as transaction:
        transaction.append_files(files("a"))
        transaction.update_schema(lakebed.SchemaChange.add_column("x", pa.int64()))
        transaction.append_files(files("b"))
    table = transaction.table
    assert (overtaken.commits, names(table)) == (3, ["a", "b", "other-1", "other-2"])
    numbers = table.snapshots().to_arrow()["snapshot_id"]
    assert len(numbers) == 4
    folder = Path(there.location().removeprefix("file://"), "metadata")
    used = {Path(row["file_path"]).name for row in table.reachable().to_arrow().to_pylist()}
    assert {path.name for path in folder.glob("*.avro")} <= used


def test_what_a_storage_raises_is_the_error_of_a_transaction_too(
    local: lakebed.Table, monkeypatch: pytest.MonkeyPatch
):
    before = metadata_names(local)
    Path(local.location, "metadata").chmod(0o500)
    try:
        probe = Path(local.location, "metadata", "probe")
        probe.touch()
        probe.unlink()
        pytest.skip("root may write everywhere")
    except PermissionError:
        with pytest.raises(PermissionError) as caught:
            commit(local, *appends("b", "c"))
        assert not isinstance(caught.value, errors.LakebedError)
    finally:
        Path(local.location, "metadata").chmod(0o700)
    assert metadata_names(local) == before
