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
from lakebed import Freed, SchemaChange, Table, errors


@pytest.fixture(params=["disk", "store"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Three snapshots, the first of which has a tag; the second takes away what the first added."""
    storage = Store() if request.param == "store" else None
    made = lakebed.create_table(
        LOCATION if storage else tmp_path / "t", SCHEMA, "paimon", partition_by=["day"], storage=storage
    )
    made = made.append_files(files(FIRST, "a"))
    made.create_tag("one")
    made = made.delete_files([f"{folder(FIRST)}/a"])
    return made.append_files(files(SECOND, "c"))


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
    assert table.create_tag("two").delete_tag("two").files.to_arrow().num_rows == 0
    expired = table.expire_snapshots(timedelta(0), 1)
    # The tag keeps its file.
    assert "data" not in told(expired)
    assert [row for row in paths(table) if row.startswith("snapshot/snapshot-")] == ["snapshot/snapshot-3"]
    before = paths(table)
    freed = expired.table.at(tag="one").delete_tag("one")
    assert before - paths(table) == {"tag/tag-one"}
    assert told(freed)["data"] == ["a"]
    assert freed.files.schema.names == table.reachable().schema.names
    assert (freed.table.tag, freed.table.snapshot_id) == (None, 3)
    with pytest.raises(errors.SnapshotNotFoundError):
        table.delete_tag("one")


def test_tags_are_kept_as_long_as_the_table_says(table: Table) -> None:
    table = table.update_properties({"tag.default-time-retained": "36 h"})
    table.create_tag("kept")
    refs = {row["name"]: row for row in table.refs().to_arrow().to_pylist()}
    assert timedelta(milliseconds=refs["kept"]["max_reference_age_in_ms"]) == timedelta(hours=36)
    assert refs["one"]["max_reference_age_in_ms"] is None


def test_any_snapshot_can_have_a_tag_and_a_tag_another(table: Table) -> None:
    two = table.create_tag("two", at=2)
    assert (two.tag, two.snapshot_id, names(two)) == ("two", 2, [])
    table.expire_snapshots(timedelta(0), 1)
    # The first snapshot has expired, and another tag has it.
    again = table.create_tag("again", at=1)
    assert (again.snapshot_id, names(again)) == (1, ["a"])
    assert names(table.delete_tag("one").table.at(tag="again")) == ["a"]
    moved = table.create_tag("again", replace=True, max_age=timedelta(days=1))
    assert (moved.tag, moved.snapshot_id, names(moved)) == ("again", 3, ["c"])
    refs = {row["name"]: row for row in table.refs().to_arrow().to_pylist()}
    assert (refs["again"]["snapshot_id"], refs["again"]["max_reference_age_in_ms"]) == (3, 86_400_000)
    for name, arguments, error in [
        ("new", {"at": 7}, errors.SnapshotNotFoundError),
        ("new", {"at": 1 << 64}, errors.SnapshotNotFoundError),
        ("none", {"replace": True}, errors.SnapshotNotFoundError),
        ("again", {"at": 3}, FileExistsError),
    ]:
        with pytest.raises(error):
            table.create_tag(name, **arguments)  # type: ignore[arg-type]


def test_freed_files_are_read_again_and_again(table: Table) -> None:
    freed = table.rollback_to(2)
    assert isinstance(freed.files, lakebed.Scan)
    assert freed.files.schema.equals(table.reachable().schema)
    assert (freed.files.head(1).num_rows, "no longer reaches" in repr(freed.files)) == (1, True)
    assert freed.files.filter("kind = 'data'").to_arrow()["file_path"].to_pylist()[0].endswith("/c")
    assert freed.files.to_arrow() == freed.files.to_arrow()
    # What is reached again afterwards does not change them.
    rows = freed.files.to_arrow()
    freed.table.append_files(files(SECOND, "c2"))
    assert freed.files.to_arrow() == rows


def test_a_branch_starts_from_a_snapshot_that_has_a_tag(table: Table) -> None:
    branch = table.create_branch("b", at=1)
    assert (branch.branch, names(branch), branch.snapshot_id) == ("b", ["a"], 1)
    assert branch.at(tag="one").snapshot_id == 1
    with pytest.raises(errors.UnsupportedError, match="snapshot 2 has none"):
        table.create_branch("c", at=2)
    with pytest.raises(errors.SnapshotNotFoundError):
        table.create_branch("c", at=7)


def test_a_branch_has_its_own_commits(table: Table) -> None:
    branch = table.create_branch("b", at="one")
    assert (branch.branch, names(branch), branch.snapshot_id) == ("b", ["a"], 1)
    branch = branch.append_files(files(SECOND, "d"))
    assert (names(branch), names(table.refresh())) == (["a", "d"], ["c"])
    empty = table.create_branch("empty")
    assert (empty.snapshot_id, names(empty.append_files(files(FIRST, "e")))) == (None, ["e"])
    for name, error in [
        ("b", FileExistsError),
        ("main", errors.SchemaError),
        ("12", errors.SchemaError),
        ("a/b", errors.SchemaError),
    ]:
        with pytest.raises(error):
            table.create_branch(name, at="one")
    with pytest.raises(errors.SnapshotNotFoundError, match="no tag"):
        table.create_branch("other", at="none")
    for name, error in [("main", errors.SchemaError), ("none", errors.SnapshotNotFoundError)]:
        with pytest.raises(error):
            table.delete_branch(name)
    with pytest.raises(errors.SchemaError, match="cannot be deleted"):
        branch.delete_branch("b")
    freed = table.delete_branch("b")
    assert told(freed)["data"] == ["d"]
    assert not [path for path in paths(table) if path.startswith("branch/branch-b")]
    assert table.delete_branch("empty").files.to_arrow()["kind"].to_pylist().count("data") == 1
    with pytest.raises(errors.SnapshotNotFoundError):
        table.at(branch="b")


def test_a_branch_that_an_option_names_stays(table: Table) -> None:
    table.create_branch("b", at="one")
    table = table.update_properties({"scan.fallback-branch": "b"})
    with pytest.raises(errors.SchemaError, match="fallback"):
        table.delete_branch("b")


def test_a_branch_becomes_the_table(table: Table) -> None:
    branch = table.create_branch("b", at="one").append_files(files(SECOND, "d"))
    branch = branch.update_schema(SchemaChange.add_column("more", "INT"))
    branch = branch.append_files(files(SECOND, "e"))
    table.append_files(files(FIRST, "f"))
    table.refresh().create_tag("late")
    freed = table.fast_forward("main", to="b")
    assert (freed.table.branch, freed.table.snapshot_id, names(freed.table)) == ("main", 3, ["a", "d", "e"])
    assert "more" in [field.name for field in freed.table.schema]
    assert sorted(told(freed)["data"]) == ["c", "f"]
    assert {path for path in paths(table) if path.startswith(("snapshot/", "tag/", "schema/"))} == {
        *(f"snapshot/snapshot-{number}" for number in (1, 2, 3)),
        *("snapshot/LATEST", "snapshot/EARLIEST", "tag/tag-one", "schema/schema-0", "schema/schema-1"),
    }
    assert names(table.refresh().at(branch="b")) == ["a", "d", "e"]
    for name, error in [("main", errors.SchemaError), ("none", errors.SnapshotNotFoundError)]:
        with pytest.raises(error):
            table.fast_forward("main", to=name)
    with pytest.raises(errors.SnapshotNotFoundError, match="no snapshot"):
        table.create_branch("empty").at(branch="main").fast_forward("main", to="empty")


def test_a_rollback_takes_later_snapshots_and_tags_away(table: Table) -> None:
    table.create_tag("three")
    freed = table.rollback_to("one")
    assert (freed.table.snapshot_id, names(freed.table), told(freed)["data"]) == (1, ["a"], ["c"])
    found = {path for path in paths(table) if path.startswith(("snapshot/s", "tag/"))}
    assert found == {"snapshot/snapshot-1", "tag/tag-one"}
    assert freed.table.rollback_to(1).files.to_arrow().num_rows == 0
    # The number is given again.
    assert freed.table.append_files(files(SECOND, "n")).snapshot_id == 2
    for target in ({"snapshot": 7}, {"tag": "no"}):
        with pytest.raises(errors.SnapshotNotFoundError):
            table.rollback_to(target)
    for number in (7, 1 << 64):
        with pytest.raises(errors.SnapshotNotFoundError):
            table.rollback_to(number)
    with pytest.raises(errors.SnapshotNotFoundError):
        table.rollback_to("no")
    with pytest.raises(TypeError, match="exactly one of"):
        table.rollback_to({"snapshot": 1, "tag": "one"})


def test_what_is_named_is_of_the_tables_branch(table: Table) -> None:
    """A tag is found before a branch of its name; another branch has snapshots of its own."""
    dev = table.create_branch("dev", at="one").append_files(files(SECOND, "d"))
    before = paths(table)
    for name in ("dev", {"branch": "dev"}):
        with pytest.raises(errors.UnsupportedError, match="snapshots of its own"):
            table.create_tag("theirs", at=name)
        with pytest.raises(errors.UnsupportedError, match="snapshots of its own"):
            table.rollback_to(name)
    with pytest.raises(errors.UnsupportedError, match="'dev'"):
        dev.create_tag("theirs", at={"branch": "main"})
    with pytest.raises(TypeError, match="integer"):
        table.rollback_to({"snapshot": "one"})
    assert paths(table) == before
    assert dev.create_tag("own", at="dev").snapshot_id == 2
    assert table.create_tag("latest", at="main").snapshot_id == 3
    table.create_tag("1", at=3)
    assert table.create_tag("as tag", at={"tag": "1"}).snapshot_id == 3
    assert table.create_tag("as number", at=1).snapshot_id == 1
    assert names(table.create_branch("digits", at={"tag": "1"})) == ["c"]
    assert table.create_tag("dev", at=1).snapshot_id == 1
    assert table.create_tag("of tag", at="dev").snapshot_id == 1


def test_expiry_keeps_what_the_rules_keep(table: Table) -> None:
    assert table.expire_snapshots().files.to_arrow().num_rows == 0
    plan = table.expire_plan(timedelta(0), 1).to_arrow()
    freed = table.expire_snapshots(timedelta(0), 1)
    expected = {
        path
        for path, kind in zip(plan["file_path"].to_pylist(), plan["kind"].to_pylist(), strict=True)
        if kind != "snapshot"
    }
    assert set(freed.files.to_arrow()["file_path"].to_pylist()) == expected
    assert names(lakebed.open_table(table.location, storage=table.opening.storage)) == ["c"]
    assert names(freed.table.at(tag="one")) == ["a"]
    with pytest.raises(ValueError, match="retain_last"):
        table.expire_snapshots(retain_last=0)
    with pytest.raises(errors.SchemaError, match="retained"):
        table.update_properties({"snapshot.time-retained": "a while"})
    with pytest.raises(errors.SchemaError, match="kept at least"):
        table.update_properties({"snapshot.num-retained.max": "10"}).expire_snapshots(retain_last=11)


def test_what_cannot_be_read_lets_nothing_go(tmp_path: Path) -> None:
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])
    for name in "ab":
        table = table.append_files(files(FIRST, name))
    table.create_tag("two")
    table.create_branch("b", at="two")
    (tmp_path / "t" / "manifest" / Path(table.manifests().to_arrow()["path"][0].as_py()).name).write_bytes(
        b"no"
    )
    before = paths(table)
    works: list[Callable[[], Any]] = [
        lambda: table.rollback_to(1),
        lambda: table.delete_tag("two"),
        lambda: table.delete_branch("b"),
        lambda: table.fast_forward("main", to="b"),
        lambda: table.expire_snapshots(timedelta(0), 1),
    ]
    for work in works:
        with pytest.raises(errors.CorruptError):
            work()
    assert paths(table) == before


class Busy(Store):
    """A store in which another writer commits while the hint of the latest snapshot is written."""

    def publish(self, path: str, data: bytes, replace: bool) -> None:
        super().publish(path, data, replace)
        if path.endswith("snapshot/LATEST") and self.breaks == "busy":
            self.breaks = ""
            table = lakebed.open_table(LOCATION, storage=self)
            table.append_files(files(SECOND, "theirs"))


@pytest.mark.parametrize("work", ["rollback", "forward"])
def test_a_commit_meanwhile_is_reported(work: str) -> None:
    store = Busy()
    table = lakebed.create_table(LOCATION, SCHEMA, "paimon", partition_by=["day"], storage=store)
    for name in "ab":
        table = table.append_files(files(FIRST, name))
    table.at(snapshot=1).create_tag("one")
    branch = table.create_branch("b", at="one").append_files(files(FIRST, "c"))
    assert branch.snapshot_id == 2
    store.breaks = "busy"
    with pytest.raises(errors.CommitConflictError, match="snapshot 3 is the latest"):
        table.rollback_to(1) if work == "rollback" else table.fast_forward("main", to="b")


def test_a_schema_is_not_changed_where_two_could_be_first() -> None:
    store = Store()
    table = lakebed.create_table(LOCATION, SCHEMA, "paimon", storage=store)
    store.breaks = "ignores the condition"
    with pytest.raises(errors.UnsupportedError, match="two writers would lose commits"):
        table.update_schema(SchemaChange.update_comment("new"))
    store.breaks = ""
    assert store.paths() == ["wh/shop.db/orders/schema/schema-0"]
    assert lakebed.open_table(LOCATION, storage=store).schema == table.schema
    store.breaks, store.of = "an answer that is lost", "/schema-"
    assert table.update_schema(SchemaChange.add_column("more", "INT")).schema.names[-1] == "more"
