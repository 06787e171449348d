"""Tags, branches, rollbacks and expiry, on disks and on object stores: what goes is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from paimon_commits import FIRST, SCHEMA, SECOND, files, folder, names
from test_paimon_commits_stores import LOCATION, Store

import lakebed
from lakebed import Table, paimon
from lakebed.errors import (
    CommitConflictError,
    CorruptError,
    SchemaError,
    SnapshotNotFoundError,
    UnsupportedError,
)
from lakebed.paimon import Freed, SchemaChange


@pytest.fixture(params=["disk", "store"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Three snapshots, the first of which has a tag; the second takes away what the first added."""
    storage = Store() if request.param == "store" else None
    made = paimon.create_table(
        LOCATION if storage else tmp_path / "t", SCHEMA, partition_by=["day"], storage=storage
    )
    made = paimon.append_files(made, files(FIRST, "a"))
    paimon.create_tag(made, "one")
    made = paimon.delete_files(made, [f"{folder(FIRST)}/a"])
    return paimon.append_files(made, files(SECOND, "c"))


def paths(table: Table) -> set[str]:
    """Every file of metadata, from the table on."""
    storage = table.opening.storage
    if isinstance(storage, Store):
        return {path.split("orders/", 1)[1] for path in storage.paths()}
    root = Path(table.location)
    return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


def told(freed: Freed) -> dict[str, list[str]]:
    """What went, by kind: names of data files, and how many of others."""
    found: dict[str, list[str]] = {}
    for row in freed.files.to_arrow().to_pylist():
        found.setdefault(row["kind"], []).append(row["file_path"].rpartition("/")[2])
    return found


def test_what_only_a_tag_reached_is_reported_once_its_snapshot_expired(table: Table) -> None:
    assert paimon.delete_tag(paimon.create_tag(table, "two"), "two").files.to_arrow().num_rows == 0
    expired = paimon.expire_snapshots(table, timedelta(0), 1)
    # The tag keeps its file.
    assert "data" not in told(expired)
    assert [row for row in paths(table) if row.startswith("snapshot/snapshot-")] == ["snapshot/snapshot-3"]
    before = paths(table)
    freed = paimon.delete_tag(expired.table.at(tag="one"), "one")
    assert before - paths(table) == {"tag/tag-one"}
    assert told(freed)["data"] == ["a"]
    assert freed.files.schema.names == table.reachable().schema.names
    assert (freed.table.tag, freed.table.snapshot_id) == (None, 3)
    with pytest.raises(SnapshotNotFoundError):
        paimon.delete_tag(table, "one")


def test_tags_are_kept_as_long_as_the_table_says(table: Table) -> None:
    table = paimon.alter_table(table, SchemaChange.set_option("tag.default-time-retained", "36 h"))
    paimon.create_tag(table, "kept")
    refs = {row["name"]: row for row in table.refs().to_arrow().to_pylist()}
    assert timedelta(milliseconds=refs["kept"]["max_reference_age_in_ms"]) == timedelta(hours=36)
    assert refs["one"]["max_reference_age_in_ms"] is None


def test_any_snapshot_can_have_a_tag_and_a_tag_another(table: Table) -> None:
    two = paimon.create_tag(table, "two", snapshot=2)
    assert (two.tag, two.snapshot_id, names(two)) == ("two", 2, [])
    paimon.expire_snapshots(table, timedelta(0), 1)
    # The first snapshot has expired, and another tag has it.
    again = paimon.create_tag(table, "again", snapshot=1)
    assert (again.snapshot_id, names(again)) == (1, ["a"])
    assert names(paimon.delete_tag(table, "one").table.at(tag="again")) == ["a"]
    moved = paimon.create_tag(table, "again", replace=True, time_retained=timedelta(days=1))
    assert (moved.tag, moved.snapshot_id, names(moved)) == ("again", 3, ["c"])
    refs = {row["name"]: row for row in table.refs().to_arrow().to_pylist()}
    assert (refs["again"]["snapshot_id"], refs["again"]["max_reference_age_in_ms"]) == (3, 86_400_000)
    for name, arguments, error in [
        ("new", {"snapshot": 7}, SnapshotNotFoundError),
        ("new", {"snapshot": 1 << 64}, SnapshotNotFoundError),
        ("none", {"replace": True}, SnapshotNotFoundError),
        ("again", {"snapshot": 3}, FileExistsError),
    ]:
        with pytest.raises(error):
            paimon.create_tag(table, name, **arguments)  # type: ignore[arg-type]


def test_freed_files_are_read_again_and_again(table: Table) -> None:
    freed = paimon.rollback_to(table, snapshot=2)
    assert isinstance(freed.files, lakebed.Scan)
    assert freed.files.schema.equals(table.reachable().schema)
    assert (freed.files.head(1).num_rows, "no longer reaches" in repr(freed.files)) == (1, True)
    assert freed.files.filter("kind = 'data'").to_arrow()["file_path"].to_pylist()[0].endswith("/c")
    assert freed.files.to_arrow() == freed.files.to_arrow()
    # What is reached again afterwards does not change them.
    rows = freed.files.to_arrow()
    paimon.append_files(freed.table, files(SECOND, "c2"))
    assert freed.files.to_arrow() == rows


def test_a_branch_starts_from_a_snapshot_that_has_a_tag(table: Table) -> None:
    branch = paimon.create_branch(table, "b", snapshot=1)
    assert (branch.branch, names(branch), branch.snapshot_id) == ("b", ["a"], 1)
    assert branch.at(tag="one").snapshot_id == 1
    with pytest.raises(UnsupportedError, match="snapshot 2 has none"):
        paimon.create_branch(table, "c", snapshot=2)
    with pytest.raises(SnapshotNotFoundError):
        paimon.create_branch(table, "c", snapshot=7)
    with pytest.raises(TypeError, match="a tag or a snapshot"):
        paimon.create_branch(table, "c", snapshot=1, tag="one")


def test_a_branch_has_its_own_commits(table: Table) -> None:
    branch = paimon.create_branch(table, "b", tag="one")
    assert (branch.branch, names(branch), branch.snapshot_id) == ("b", ["a"], 1)
    branch = paimon.append_files(branch, files(SECOND, "d"))
    assert (names(branch), names(table.refresh())) == (["a", "d"], ["c"])
    empty = paimon.create_branch(table, "empty")
    assert (empty.snapshot_id, names(paimon.append_files(empty, files(FIRST, "e")))) == (None, ["e"])
    for name, error in [
        ("b", FileExistsError),
        ("main", SchemaError),
        ("12", SchemaError),
        ("a/b", SchemaError),
    ]:
        with pytest.raises(error):
            paimon.create_branch(table, name, tag="one")
    with pytest.raises(SnapshotNotFoundError, match="no tag"):
        paimon.create_branch(table, "other", tag="none")
    for name, error in [("main", SchemaError), ("none", SnapshotNotFoundError)]:
        with pytest.raises(error):
            paimon.delete_branch(table, name)
    with pytest.raises(SchemaError, match="cannot be deleted"):
        paimon.delete_branch(branch, "b")
    freed = paimon.delete_branch(table, "b")
    assert told(freed)["data"] == ["d"]
    assert not [path for path in paths(table) if path.startswith("branch/branch-b")]
    assert paimon.delete_branch(table, "empty").files.to_arrow()["kind"].to_pylist().count("data") == 1
    with pytest.raises(SnapshotNotFoundError):
        table.at(branch="b")


def test_a_branch_that_an_option_names_stays(table: Table) -> None:
    paimon.create_branch(table, "b", tag="one")
    table = paimon.alter_table(table, SchemaChange.set_option("scan.fallback-branch", "b"))
    with pytest.raises(SchemaError, match="fallback"):
        paimon.delete_branch(table, "b")


def test_a_branch_becomes_the_table(table: Table) -> None:
    branch = paimon.append_files(paimon.create_branch(table, "b", tag="one"), files(SECOND, "d"))
    branch = paimon.alter_table(branch, SchemaChange.add_column("more", "INT"))
    branch = paimon.append_files(branch, files(SECOND, "e"))
    paimon.append_files(table, files(FIRST, "f"))
    paimon.create_tag(table.refresh(), "late")
    freed = paimon.fast_forward(table, "b")
    assert (freed.table.branch, freed.table.snapshot_id, names(freed.table)) == ("main", 3, ["a", "d", "e"])
    assert "more" in [field.name for field in freed.table.schema]
    assert sorted(told(freed)["data"]) == ["c", "f"]
    assert {path for path in paths(table) if path.startswith(("snapshot/", "tag/", "schema/"))} == {
        *(f"snapshot/snapshot-{number}" for number in (1, 2, 3)),
        *("snapshot/LATEST", "snapshot/EARLIEST", "tag/tag-one", "schema/schema-0", "schema/schema-1"),
    }
    assert names(table.refresh().at(branch="b")) == ["a", "d", "e"]
    for name, error in [("main", SchemaError), ("none", SnapshotNotFoundError)]:
        with pytest.raises(error):
            paimon.fast_forward(table, name)
    with pytest.raises(SnapshotNotFoundError, match="no snapshot"):
        paimon.fast_forward(paimon.create_branch(table, "empty").at(branch="main"), "empty")


def test_a_rollback_takes_later_snapshots_and_tags_away(table: Table) -> None:
    paimon.create_tag(table, "three")
    freed = paimon.rollback_to(table, tag="one")
    assert (freed.table.snapshot_id, names(freed.table), told(freed)["data"]) == (1, ["a"], ["c"])
    assert {path for path in paths(table) if path.startswith(("snapshot/s", "tag/"))} == {
        "snapshot/snapshot-1",
        "tag/tag-one",
    }
    assert paimon.rollback_to(freed.table, snapshot=1).files.to_arrow().num_rows == 0
    # The number is given again.
    assert paimon.append_files(freed.table, files(SECOND, "n")).snapshot_id == 2
    for target, error in [({"snapshot": 7}, SnapshotNotFoundError), ({"tag": "no"}, SnapshotNotFoundError)]:
        with pytest.raises(error):
            paimon.rollback_to(table, **target)  # type: ignore[arg-type]
    for wrong in ({}, {"snapshot": 1, "tag": "one"}):
        with pytest.raises(TypeError, match="a snapshot or a tag"):
            paimon.rollback_to(table, **wrong)  # type: ignore[arg-type]


def test_expiry_keeps_what_the_rules_keep(table: Table) -> None:
    assert paimon.expire_snapshots(table).files.to_arrow().num_rows == 0
    plan = table.expire_plan(timedelta(0), 1).to_arrow()
    freed = paimon.expire_snapshots(table, timedelta(0), 1)
    expected = {
        path
        for path, kind in zip(plan["file_path"].to_pylist(), plan["kind"].to_pylist(), strict=True)
        if kind != "snapshot"
    }
    assert set(freed.files.to_arrow()["file_path"].to_pylist()) == expected
    assert names(lakebed.open_table(table.location, storage=table.opening.storage)) == ["c"]
    assert names(freed.table.at(tag="one")) == ["a"]
    with pytest.raises(ValueError, match="retain_last"):
        paimon.expire_snapshots(table, retain_last=0)
    with pytest.raises(SchemaError, match="retained"):
        paimon.alter_table(table, SchemaChange.set_option("snapshot.time-retained", "a while"))
    with pytest.raises(SchemaError, match="kept at least"):
        paimon.expire_snapshots(
            paimon.alter_table(table, SchemaChange.set_option("snapshot.num-retained.max", "10")),
            retain_last=11,
        )


def test_what_cannot_be_read_lets_nothing_go(tmp_path: Path) -> None:
    table = paimon.create_table(tmp_path / "t", SCHEMA, partition_by=["day"])
    for name in "ab":
        table = paimon.append_files(table, files(FIRST, name))
    paimon.create_tag(table, "two")
    paimon.create_branch(table, "b", tag="two")
    (tmp_path / "t" / "manifest" / Path(table.manifests().to_arrow()["path"][0].as_py()).name).write_bytes(
        b"no"
    )
    before = paths(table)
    works: list[Callable[[], Any]] = [
        lambda: paimon.rollback_to(table, snapshot=1),
        lambda: paimon.delete_tag(table, "two"),
        lambda: paimon.delete_branch(table, "b"),
        lambda: paimon.fast_forward(table, "b"),
        lambda: paimon.expire_snapshots(table, timedelta(0), 1),
    ]
    for work in works:
        with pytest.raises(CorruptError):
            work()
    assert paths(table) == before


class Busy(Store):
    """A store in which another writer commits while the hint of the latest snapshot is written."""

    def publish(self, path: str, data: bytes, replace: bool) -> None:
        super().publish(path, data, replace)
        if path.endswith("snapshot/LATEST") and self.breaks == "busy":
            self.breaks = ""
            table = lakebed.open_table(LOCATION, storage=self)
            paimon.append_files(table, files(SECOND, "theirs"))


@pytest.mark.parametrize("work", ["rollback", "forward"])
def test_a_commit_meanwhile_is_reported(work: str) -> None:
    store = Busy()
    table = paimon.create_table(LOCATION, SCHEMA, partition_by=["day"], storage=store)
    for name in "ab":
        table = paimon.append_files(table, files(FIRST, name))
    paimon.create_tag(table.at(snapshot=1), "one")
    branch = paimon.append_files(paimon.create_branch(table, "b", tag="one"), files(FIRST, "c"))
    assert branch.snapshot_id == 2
    store.breaks = "busy"
    with pytest.raises(CommitConflictError, match="snapshot 3 is the latest"):
        paimon.rollback_to(table, snapshot=1) if work == "rollback" else paimon.fast_forward(table, "b")


def test_a_schema_is_not_changed_where_two_could_be_first() -> None:
    store = Store()
    table = paimon.create_table(LOCATION, SCHEMA, storage=store)
    store.breaks = "ignores the condition"
    with pytest.raises(UnsupportedError, match="two writers would lose commits"):
        paimon.alter_table(table, SchemaChange.update_comment("new"))
    store.breaks = ""
    assert store.paths() == ["wh/shop.db/orders/schema/schema-0"]
    assert lakebed.open_table(LOCATION, storage=store).schema == table.schema
    store.breaks, store.of = "an answer that is lost", "/schema-"
    assert paimon.alter_table(table, SchemaChange.add_column("more", "INT")).schema.names[-1] == "more"
