"""Branches, tags, properties, versions and expiry of Iceberg tables: changes of the metadata alone, without a
catalog and through one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from iceberg_commits import SCHEMA, as_pyiceberg, empty, files, live, metadata, metadata_names, names, path

import lakebed
from lakebed import errors, iceberg

NONE = timedelta(0)

Open = Callable[[], lakebed.Table]


@pytest.fixture(params=["v1", "v2", "v3", "catalog"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> lakebed.Table:
    """A table of two commits, `a` and `b`; without a catalog, or in one of PyIceberg."""
    table = empty(tmp_path, request.param)
    return table.append_files(files("a")).append_files(files("b"))


def refs(table: lakebed.Table) -> dict[str, tuple[Any, ...]]:
    rows = table.refresh().refs().to_arrow().to_pylist()
    rules = ("min_snapshots_to_keep", "max_snapshot_age_in_ms", "max_reference_age_in_ms")
    return {row["name"]: (row["type"], row["snapshot_id"], *(row[rule] for rule in rules)) for row in rows}


def ids(table: lakebed.Table) -> list[int]:
    found: list[int] = table.refresh().snapshots().to_arrow()["snapshot_id"].to_pylist()
    return found


def test_commits_go_to_the_branch_that_the_table_stands_on(made: lakebed.Table):
    first, second = ids(made)
    dev = made.create_branch("dev", at=first)
    dev = dev.append_files(files("c"))
    assert (dev.branch, names(dev), names(made.refresh())) == ("dev", ["a", "c"], ["a", "b"])
    dev = dev.delete_files([path(dev, "a")]).rewrite_manifests()
    assert (names(dev), names(made.refresh())) == (["c"], ["a", "b"])
    main = made.at(snapshot=first).append_files(files("d"))
    assert (main.branch, names(main)) == ("main", ["a", "b", "d"])
    parents = _parents(main)
    assert [parents[id_] for id_ in ids(main)] == [None, first, first, *ids(main)[2:4], second]
    totals = metadata_of(main)["snapshots"][2]["summary"]
    assert (totals["total-data-files"], totals["total-records"]) == ("2", "14")


def _parents(table: lakebed.Table) -> dict[int, int | None]:
    rows = table.snapshots(columns=["snapshot_id", "parent_id"]).to_arrow().to_pylist()
    return {row["snapshot_id"]: row["parent_id"] for row in rows}


def metadata_of(table: lakebed.Table) -> dict[str, Any]:
    log = table.metadata_table("metadata_log_entries").to_arrow()["file"].to_pylist()
    return iceberg.read_metadata(log[-1].removeprefix("file://"))


def test_branches_and_tags_are_made_moved_and_removed(made: lakebed.Table):
    first, second = ids(made)
    tag = made.create_tag("t", at=first, max_age=timedelta(days=2))
    assert (tag.snapshot_id, names(tag)) == (first, ["a"])
    made.create_branch("b", min_snapshots_to_keep=3, max_snapshot_age=timedelta(hours=1))
    day = 24 * 60 * 60 * 1000
    assert refs(made) == {
        "main": ("branch", second, None, None, None),
        "t": ("tag", first, None, None, 2 * day),
        "b": ("branch", second, 3, day // 24, None),
    }
    made.create_tag("t", replace=True)
    made.create_branch("b", at=first, replace=True, min_snapshots_to_keep=4)
    made.set_retention("b", max_age=timedelta(days=1))
    made.set_retention("main", min_snapshots_to_keep=9)
    after = made.append_files(files("c"))
    assert refs(made) == {
        "main": ("branch", after.snapshot_id, 9, None, None),
        "t": ("tag", second, None, None, 2 * day),
        "b": ("branch", first, 4, day // 24, day),
    }
    dev = made.refresh().at(branch="b")
    gone, freed = dev.delete_branch("b")
    assert [(row["kind"], row["file_path"]) for row in freed.to_arrow().to_pylist()] == [("branch", None)]
    assert (gone.branch, names(gone)) == ("main", ["a", "b", "c"])
    with pytest.raises(errors.SnapshotNotFoundError):
        dev.append_files(files("d"))
    freed = made.delete_tag("t").files
    assert freed.to_arrow()["first_reached_by"].to_pylist() == ["tag t"]
    assert set(refs(made)) == {"main"}


def test_a_branch_moves_back_anywhere_and_forward(made: lakebed.Table):
    first, second = ids(made)
    back, freed = made.rollback_to(first)
    assert freed.to_arrow().num_rows == 0
    assert (back.snapshot_id, names(back)) == (first, ["a"])
    other = back.append_files(files("c"))
    assert names(other) == ["a", "c"]
    with pytest.raises(
        errors.SnapshotNotFoundError, match=r"does not descend from snapshot .*set_current_snapshot"
    ):
        other.rollback_to(second)
    assert names(other.set_current_snapshot(second)) == ["a", "b"]
    dev = made.create_branch("dev").append_files(files("d"))
    main, freed = made.fast_forward("main", "dev")
    assert freed.to_arrow().num_rows == 0
    assert (main.snapshot_id, main.branch) == (dev.snapshot_id, "main")
    aside = made.create_branch("aside", at=first)
    with pytest.raises(errors.SnapshotNotFoundError, match="not a descendant of the head"):
        main.fast_forward("main", "aside")
    assert names(aside.fast_forward("aside", "main").table) == ["a", "b", "d"]
    log = made.refresh().metadata_table("history").to_arrow()["snapshot_id"].to_pylist()
    assert log == [first, second, first, other.snapshot_id, second, dev.snapshot_id]


REFUSED: list[tuple[Callable[[lakebed.Table], object], type[Exception], str]] = [
    (lambda t: t.create_tag("tag"), FileExistsError, 'a tag "tag" exists already'),
    (lambda t: t.create_branch("main"), FileExistsError, "already"),
    (lambda t: t.create_branch("tag"), errors.SchemaError, "is a tag, not a branch"),
    (lambda t: t.create_tag("main"), errors.SchemaError, "main is a branch"),
    (lambda t: t.create_tag(""), errors.SchemaError, "needs a name"),
    (lambda t: t.create_tag("no", replace=True), errors.SnapshotNotFoundError, "no tag .*main"),
    (lambda t: t.create_tag("x", at=1), errors.SnapshotNotFoundError, "no snapshot 1; there"),
    (lambda t: t.create_branch("x", min_snapshots_to_keep=0), errors.SchemaError, "at least 1"),
    (lambda t: t.create_branch("x", max_snapshot_age=NONE), errors.SchemaError, "at least a milli"),
    (lambda t: t.create_tag("x", max_age=-timedelta(1)), errors.SchemaError, "at least a milli"),
    (lambda t: t.set_retention("tag", min_snapshots_to_keep=1), errors.SchemaError, "a tag keeps one"),
    (lambda t: t.set_retention("no", max_age=timedelta(1)), errors.SnapshotNotFoundError, "no branch"),
    (lambda t: t.delete_branch("main"), errors.SchemaError, "main cannot be removed"),
    (lambda t: t.delete_branch("tag"), errors.SchemaError, "is a tag"),
    (lambda t: t.delete_tag("no"), errors.SnapshotNotFoundError, "no tag"),
    (lambda t: t.fast_forward("main", "no"), errors.SnapshotNotFoundError, "no branch"),
    (lambda t: t.set_current_snapshot(1), errors.SnapshotNotFoundError, "no snapshot 1"),
    (lambda t: t.rollback_to(1), errors.SnapshotNotFoundError, "no snapshot 1"),
    (lambda t: t.update_properties({"uuid": "x"}), errors.SchemaError, "uuid is not a property"),
    (lambda t: t.update_properties({"a": "x"}, remove=["a"]), errors.SchemaError, "both set and removed"),
    (lambda t: t.upgrade(1), errors.UnsupportedError, "cannot be lowered"),
    (lambda t: t.upgrade(4), errors.UnsupportedError, "4 cannot be written"),
    (lambda t: t.expire_snapshots(retain_last=0), ValueError, "retain_last"),
]


def test_what_cannot_be_is_refused_and_changes_nothing(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    table.create_tag("tag")
    before = metadata_names(table)
    for change, error, message in REFUSED:
        with pytest.raises(error, match=message):
            change(table)
    assert metadata_names(table) == before
    empty = lakebed.create_table(tmp_path / "empty", SCHEMA, "iceberg")
    with pytest.raises(errors.SnapshotNotFoundError, match="no snapshot that a tag could name"):
        empty.create_tag("x")
    assert empty.expire_snapshots(NONE).files.to_arrow().num_rows == 0


def test_what_is_so_already_is_no_commit(made: lakebed.Table):
    made.create_tag("t")
    table = made.update_properties({"a": "1"})
    before = len(table.metadata_table("metadata_log_entries").to_arrow())
    table.create_tag("t", replace=True)
    table.set_retention("t")
    table.set_current_snapshot(ids(table)[-1])
    table.fast_forward("main", "t")
    table.update_properties({"a": "1"}, remove=["nothing"])
    table.upgrade(table.format_version or 0)
    assert len(table.refresh().metadata_table("metadata_log_entries").to_arrow()) == before


def test_properties_are_set_and_removed(made: lakebed.Table):
    before = made.properties
    table = made.update_properties({"x": "1", "y": "2"})
    assert table.properties == before | {"x": "1", "y": "2"}
    table = table.update_properties({"y": "3"}, remove=["x", "none"])
    assert table.properties == before | {"y": "3"}


def test_tables_are_upgraded(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=1).append_files(files("a"))
    # As a writer of long ago left it.
    file = Path(table.location, "metadata", "v2.metadata.json")
    stored = iceberg.read_metadata(file)
    later = ("table-uuid", "schemas", "current-schema-id", "partition-specs", "default-spec-id")
    for key in (*later, "last-partition-id", "sort-orders", "default-sort-order-id"):
        stored.pop(key)
    iceberg.write_metadata(stored, file, overwrite=True)
    table = lakebed.open_table(table.location).upgrade(2)
    now = metadata(table)
    assert {*later, "sort-orders", "last-sequence-number"} <= set(now)
    assert not {"schema", "partition-spec"} & set(now)
    table = table.append_files(files("b"))
    table = table.upgrade(3)
    table = table.append_files(files("c"))
    rows = {Path(row["file_path"]).stem: row for row in table.files().to_arrow().to_pylist()}
    assert {name: row["sequence_number"] for name, row in rows.items()} == {"a": 0, "b": 1, "c": 2}
    assert sorted(row["first_row_id"] for row in rows.values()) == [0, 7, 14]
    theirs = as_pyiceberg(table)
    assert (theirs.metadata.format_version, len(theirs.inspect.files())) == (3, 3)


def test_expiry_takes_snapshots_out_and_names_their_files(made: lakebed.Table):
    second = ids(made)[-1]
    table = made.delete_files([path(made, "a")])
    table.create_tag("kept", at=second)
    columns = table.reachable().schema.names
    planned = table.refresh().expire_plan(NONE, columns=columns).to_arrow().sort_by("file_path")
    table, gone = table.expire_snapshots(NONE)
    assert gone.to_arrow().sort_by("file_path").equals(planned)
    assert ids(table) == [second, table.snapshot_id]
    assert {row["kind"] for row in gone.to_arrow().to_pylist()} == {"snapshot", "manifest list"}
    table.delete_tag("kept")
    table, gone = table.expire_snapshots(datetime.now(timezone.utc) + timedelta(seconds=1))
    went = [row["file_path"] for row in gone.to_arrow().to_pylist() if row["kind"] == "data"]
    assert [Path(path).stem for path in went] == ["a"]
    assert (ids(table), names(table)) == ([table.snapshot_id], ["b"])
    log = table.metadata_table("history").to_arrow()["snapshot_id"].to_pylist()
    assert log == [table.snapshot_id]
    assert table.expire_snapshots(NONE).files.to_arrow().num_rows == 0
    assert names(table.append_files(files("c"))) == ["b", "c"]


def test_branches_that_are_overdue_expire(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    dev = table.create_branch("dev", max_age=timedelta(milliseconds=1))
    dev.append_files(files("b"))
    rules = {"history.expire.min-snapshots-to-keep": "5"}
    table = table.update_properties(rules)
    while table.expire_plan(NONE).to_arrow().num_rows == 0:
        pass
    table, gone = table.expire_snapshots(NONE)
    assert ("branch", "branch dev") in [
        (r["kind"], r["first_reached_by"]) for r in gone.to_arrow().to_pylist()
    ]
    assert (set(refs(table)), live(table)) == ({"main"}, ["data/a.parquet"])
    table = table.update_properties({"gc.enabled": "false"})
    with pytest.raises(errors.UnsupportedError, match=r"gc\.enabled"):
        table.expire_snapshots(NONE)


def test_a_change_whose_answer_is_lost_is_made(tables: Any, tmp_path: Path):
    catalog = tables.sqlite(tmp_path)
    there = catalog.create_table("db.t", SCHEMA)

    class Lost(tables.Between):  # type: ignore[misc]
        """A catalog whose answer does not arrive."""

        made = True

        def commit_table(self, *given: Any) -> Any:
            if self.made:
                super().commit_table(*given)
            raise TimeoutError("no answer")

    lost = Lost(catalog, lambda _: None)
    table = lakebed.open_table(lost.load_table("db.t"))
    assert table.update_properties({"a": "1"}).properties["a"] == "1"
    lost.made = False
    with pytest.raises(OSError, match="may have happened") as caught:
        table.update_properties({"a": "2"})
    assert not isinstance(caught.value, errors.LakebedError)
    # Without that it would be: nobody has answered in time.
    assert (caught.value.errno, errors.is_retryable(caught.value)) == (errno.ETIMEDOUT, False)
    assert there.refresh().properties["a"] == "1"


def test_what_an_expiry_has_freed_is_compared_with_what_is_newest_when_it_is_read(made: lakebed.Table):
    """Whatever was committed after the expiry keeps its files, with a catalog and without one."""
    table = made.delete_files([path(made, "a"), path(made, "b")])
    table, freed = table.expire_snapshots(NONE)
    data = {row["file_path"] for row in freed.to_arrow().to_pylist() if row["kind"] == "data"}
    assert sorted(Path(path).stem for path in data) == ["a", "b"]
    table = table.append_files(files("b"))
    data = {row["file_path"] for row in freed.to_arrow().to_pylist() if row["kind"] == "data"}
    assert [Path(path).stem for path in data] == ["a"]
    kept = {row["file_path"] for row in table.reachable().to_arrow().to_pylist()}
    assert not kept & set(freed.to_arrow()["file_path"].drop_null().to_pylist())
    assert freed.filter("kind = 'snapshot'").to_arrow().num_rows == 2


def test_what_came_back_is_not_freed(made: lakebed.Table):
    """A removed tag or branch of the same name that is made again is none that has gone."""
    made.create_tag("t")
    table, freed = made.delete_tag("t")
    assert freed.to_arrow()["first_reached_by"].to_pylist() == ["tag t"]
    table.create_tag("t")
    assert freed.to_arrow().num_rows == 0
    table.delete_tag("t")
    table.create_branch("t")
    assert freed.to_arrow()["first_reached_by"].to_pylist() == ["tag t"]


def test_what_a_table_freed_is_unknown_once_another_is_in_its_place(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    table = table.delete_files(["data/a.parquet"])
    _, freed = table.expire_snapshots(NONE)
    other = iceberg.read_metadata(tmp_path / "t" / "metadata" / "v4.metadata.json")
    other["table-uuid"] = "00000000-0000-4000-8000-000000000000"
    iceberg.write_metadata(other, tmp_path / "t" / "metadata" / "v5.metadata.json")
    with pytest.raises(errors.CorruptError, match="another table"):
        freed.to_arrow()


def test_nothing_is_freed_where_files_may_be_of_other_tables(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    table.create_tag("t")
    table = table.update_properties({"gc.enabled": "false"})
    table, freed = table.delete_tag("t")
    with pytest.raises(errors.UnsupportedError, match=r"gc\.enabled"):
        freed.to_arrow()
