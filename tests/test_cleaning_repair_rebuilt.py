"""Lists that are gone are made anew of what is left, where that is known, and readers see the same rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
import small_tables
from covering import each_covering_paimon_table
from iceberg_commits import SCHEMA, files, metadata
from pypaimon_tables import paimon_append, paimon_orders
from test_cleaning_repair import cut, errors, ids, orders, outcomes, planned, said
from test_iceberg_commits_golden import TABLES, copied, live, plan

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from lakebed import Table
from lakebed.cleaning import looking, repairing
from lakebed.errors import CommitConflictError
from shared_data import GoldenTable, each

__all__ = ["orders"]

UNKNOWN = (None, None)
SAME = (0, 0)


def lists(table: Table) -> list[Path]:
    """The manifest lists of an Iceberg table's snapshots."""
    rows = table.snapshots(columns=["manifest_list"]).to_arrow()["manifest_list"].to_pylist()
    return [Path(path.removeprefix("file:")) for path in rows]


def effects(table: Table) -> list[tuple[int | None, int | None]]:
    return [one[2:] for one in said(planned(table, "lists"))]


def repaired(table: Table, log: Path) -> Table:
    done = lakebed.apply(planned(table, "lists"), table, log=log)
    assert outcomes(done) == [("lists", "repaired", None)]
    assert planned(done.table, "lists").num_rows == 0
    return done.table


def refused(table: Table, log: Path) -> None:
    """Nobody knows what the list had, and nothing is done, neither by a row that says otherwise."""
    assert effects(table) == [UNKNOWN]
    done = lakebed.apply(planned(table, "lists"), table, log=log)
    assert outcomes(done) == [("lists", "kept", repairing.UNKNOWN)]
    assert done.table.snapshot_id == table.snapshot_id
    with pytest.raises(CommitConflictError, match=r"what the lists? of snapshot \d+ had is not known"):
        repairing._relisted(table, table.snapshot_id or 0)


# Snapshots, by their places, whose lists nobody knows: the one before has expired or has no list, manifests
# that a caller appended leave the snapshot to the list, and rewritten or older manifests lack row ids.
NOT_KNOWN = {
    "append_manifest_v2": {2},
    "dv_v3": {3},
    "expired_v2": {0, 1},
    "inline_manifests_v1": {1},
    "row_lineage_v3": {2, 6},
    "upgrade_v1_v2_v3": {5},
}


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@each("golden", TABLES, [table.name for table in TABLES], "golden Iceberg tables")
def test_lists_of_javas_tables(golden: GoldenIcebergTable, tmp_path: Path) -> None:
    """Of each of their snapshots."""
    table = copied(golden, tmp_path / "source")
    for place, snapshot in enumerate(metadata(table)["snapshots"]):
        table = copied(golden, tmp_path / str(place))
        if table.snapshot_id != snapshot["snapshot-id"]:
            table = table.set_current_snapshot(snapshot["snapshot-id"])
        before, deletes = live(table).to_pylist(), plan(table)
        own = metadata(table)["snapshots"][place]
        if "manifest-list" not in own:
            continue
        Path(own["manifest-list"].removeprefix("file:")).unlink()
        table = table.refresh()
        if place in NOT_KNOWN.get(golden.name, ()):
            assert effects(table) == [UNKNOWN]
            continue
        after = repaired(table, tmp_path / f"log{place}")
        if snapshot.get("first-row-id") is None:
            # Files of older versions get row ids in the first snapshot of version 3.
            before = [row | {"first_row_id": None} for row in before]
            found = [row | {"first_row_id": None} for row in live(after).to_pylist()]
        else:
            found = live(after).to_pylist()
        assert repr(found) == repr(before)
        assert plan(after) == deletes


def appended(theirs: Any) -> None:
    theirs.append(pa.table({"id": pa.array([77], pa.int64())}))


def deleted(theirs: Any) -> None:
    theirs.delete("id = 15 or id < 10")


def overwritten(theirs: Any) -> None:
    theirs.overwrite(pa.table({"id": pa.array([5, 6], pa.int64())}), "id >= 10 and id < 30")


@pytest.mark.parametrize("break_", [cut, Path.unlink])
@pytest.mark.parametrize("change", [appended, deleted, overwritten])
def test_lists_of_pyiceberg(
    change: Callable[[Any], None],
    break_: Callable[[Path], None],
    orders: tuple[Any, Table],
    tmp_path: Path,
) -> None:
    catalog, table = orders
    change(catalog.load_table("db.orders"))
    table, before = table.refresh(), ids(catalog)
    break_(lists(table)[-1])
    with pytest.raises((FileNotFoundError, EOFError, ValueError)):
        ids(catalog)
    rows = planned(table, "lists", "rollback")
    assert said(rows)[0] == ("lists", lists(table)[-1].name, 0, 0)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    # No commit is lost for a list that is whole.
    kept = ("rollback", "kept", looking.NOT_NAMED)
    assert sorted(outcomes(done)) == [("lists", "repaired", None), kept]
    assert ids(catalog) == before
    last = done.table.snapshots().to_arrow().to_pylist()[-1]
    summary, old = dict(last["summary"]), dict(table.snapshots().to_arrow().to_pylist()[-1]["summary"])
    assert (last["operation"], summary["lakebed-repair"]) == ("replace", "lists 1")
    totals = [name for name in old if name.startswith("total-")]
    assert [summary[name] for name in totals] == [old[name] for name in totals]
    # The old metadata stays, as broken as it was.
    assert [Path(row["path"]).name for row in errors(done.table)] == [lists(table)[-1].name]
    appended(catalog.load_table("db.orders"))
    assert ids(catalog) == {*before, 77}


def again(manifest: Path, name: str, **entry: Any) -> Path:
    """A copy of a manifest beside it, in which keys of the first entry are others; those of its file too."""
    with manifest.open("rb") as content:
        reader = fastavro.reader(content)
        records: list[Any] = list(reader)
    of_file = {key: entry.pop(key) for key in list(entry) if key in records[0]["data_file"]}
    records[0] = records[0] | entry | {"data_file": records[0]["data_file"] | of_file}
    copy = manifest.with_name(name)
    with copy.open("wb") as out:
        fastavro.writer(out, reader.writer_schema, records, metadata=reader.metadata)
    return copy


def another(manifest: Path, **entry: Any) -> Path:
    """The same of the same commit."""
    return again(manifest, manifest.name.replace("-m0", "-m9"), **entry)


def moved(manifest: Path, **entry: Any) -> None:
    """The same under another name, instead of it."""
    again(manifest, "moved-m0.avro", **entry)
    manifest.unlink()


def newest_manifest(table: Table) -> Path:
    """The manifest that the table's snapshot added."""
    rows = table.manifests(columns=["path", "added_snapshot_id"]).to_arrow().to_pylist()
    (path,) = (row["path"] for row in rows if row["added_snapshot_id"] == table.snapshot_id)
    return Path(path)


def test_manifests_of_other_commits_are_left_out(tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet", "c.parquet")
    before, manifest = live(table).to_pylist(), newest_manifest(table)
    # Of a commit that failed, and of an attempt of this one. What is of it by its entries may have any name.
    again(manifest, "other-m0.avro", snapshot_id=99, file_path="other.parquet")
    moved(another(manifest))
    (manifest.parent / "noise.avro").write_bytes(b"Obj")
    lists(table)[-1].unlink()
    assert live(repaired(table, tmp_path / "log")).to_pylist() == before


def without(key: str) -> Callable[[Table, Path], object]:
    def change(table: Table, _: Path) -> None:
        small_tables.changed(table, lambda document: document["snapshots"][-1]["summary"].pop(key))

    return change


UNCLEAR: dict[str, Callable[[Table, Path], object]] = {
    "another attempt": lambda _, manifest: another(manifest, file_path="d.parquet"),
    "another number": lambda _, manifest: another(manifest, sequence_number=2),
    "no snapshot id": lambda _, manifest: moved(manifest, snapshot_id=None),
    "no manifest": lambda _, manifest: manifest.unlink(),
    "no parent": lambda table, _: lists(table)[1].unlink(),
    "a damaged manifest": lambda table, _: cut(newest_manifest(table.at(snapshot=_before(table)))),
    "no total": without("total-records"),
    "no total of deletes": without("total-equality-deletes"),
    "nothing added": without("added-data-files"),
}


def _before(table: Table) -> int:
    return int(table.snapshots().to_arrow()["snapshot_id"][1].as_py())


@pytest.mark.parametrize("why", UNCLEAR)
def test_a_list_that_nobody_knows(why: str, tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet", "c.parquet")
    UNCLEAR[why](table, newest_manifest(table))
    table = lakebed.open_table(table.location)
    lists(table)[-1].unlink()
    refused(table, tmp_path / "log")


def test_the_first_list(tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet")
    before = live(table).to_pylist()
    lists(table)[-1].unlink()
    assert live(repaired(table, tmp_path / "log")).to_pylist() == before


@pytest.mark.parametrize("manifests", [1, 2])
def test_row_ids_of_files_whose_list_is_gone(manifests: int, tmp_path: Path) -> None:
    """Of two manifests the list alone says which has the first ids."""
    properties = {} if manifests == 1 else {"commit.manifest.target-size-bytes": "1"}
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg", format_version=3, properties=properties)
    table = table.append_files(files("z")).append_files(files("a", "b"), merge=False)
    assert len({row["path"] for row in table.manifests().to_arrow().to_pylist()}) == 1 + manifests
    before = live(table).to_pylist()
    assert sorted(row["first_row_id"] for row in before) == [0, 7, 14]
    lists(table)[-1].unlink()
    if manifests == 2:
        refused(table, tmp_path / "log")
    else:
        assert live(repaired(table, tmp_path / "log")).to_pylist() == before


def test_a_list_of_which_another_commit_has_gone_back(tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet", "b.parquet", "c.parquet")
    lists(table)[-1].unlink()
    rows = planned(table, "lists")
    back = table.rollback_to(_before(table)).table
    assert table.snapshot_id is not None
    with pytest.raises(CommitConflictError, match="is not known"):
        repairing._relisted(table, table.snapshot_id)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("lists", "kept", looking.NOT_NAMED)]
    assert done.table.snapshot_id == back.snapshot_id


def broken(table: Table, *roles: str, break_: Callable[[Path], None] = Path.unlink) -> Table:
    """A Paimon table whose snapshot's lists of these roles are gone."""
    for role in roles:
        snapshot = Path(table.location, "snapshot", f"snapshot-{table.snapshot_id}")
        break_(Path(table.location, "manifest", json.loads(snapshot.read_text())[f"{role}ManifestList"]))
    return table


def found(table: Table) -> list[str]:
    return sorted(map(repr, table.files().to_arrow().to_pylist()))


# Where a branch went on from the snapshot, its lists have the manifests too; where the engine merged
# manifests, only the base list that is gone named what they became.
OF_DELTAS = {"fast_forward", "rolled_back"}
OTHERS = {
    ("delta",): OF_DELTAS,
    ("base", "delta"): OF_DELTAS | {"many_manifests", "pk_dangling", "pk_levels"},
}

ROLES = pytest.mark.parametrize("roles", [("base",), ("delta",), ("base", "delta")], ids="-".join)


@ROLES
@each_covering_paimon_table()
@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_lists_of_javas_paimon_tables(table: GoldenTable, roles: tuple[str, ...], tmp_path: Path) -> None:
    opened = lakebed.open_table(shutil.copytree(table.path, tmp_path / "t"))
    if opened.snapshot_id is None:
        pytest.skip("it has no snapshot")
    before = found(opened)
    operation = opened.snapshots(columns=["operation"]).to_arrow()["operation"].to_pylist()[-1]
    broken(opened, *roles)
    # Of what a compaction or an overwrite removed the numbers of rows may say nothing.
    is_known = roles == ("base",) or (operation == "APPEND" and table.name not in OTHERS[roles])
    assert effects(opened) == [SAME if is_known else UNKNOWN]
    if is_known:
        assert found(repaired(opened, tmp_path / "log")) == before
    else:
        refused(opened, tmp_path / "log")


@ROLES
def test_lists_of_pypaimon(roles: tuple[str, ...], tmp_path: Path) -> None:
    theirs = paimon_orders(tmp_path / "lake", commits=3)
    table = lakebed.open_table(tmp_path / "lake" / "db.db" / "orders")

    def rows() -> list[Any]:
        read = theirs.new_read_builder()
        splits = read.new_scan().plan().splits()
        return sorted(read.new_read().to_arrow(splits).to_pylist(), key=repr)

    before = rows()
    broken(table, *roles)
    with pytest.raises(FileNotFoundError):
        rows()
    after = repaired(table, tmp_path / "log")
    assert rows() == before
    snapshot = json.loads(Path(table.location, "snapshot", f"snapshot-{after.snapshot_id}").read_text())
    assert (snapshot["totalRecordCount"], snapshot["deltaRecordCount"]) == (9, 0)
    assert snapshot["properties"]["lakebed-repair"] == "lists 1"
    paimon_append(theirs)
    assert len(rows()) == len(before) + 3


UNCLEAR_OF_PAIMON: dict[str, tuple[tuple[str, ...], Callable[[Table, Path], object]]] = {
    "a failed commit": (("delta",), lambda _, one: shutil.copy(one, one.with_name("manifest-left-0"))),
    "a damaged one": (("delta",), lambda _, one: one.with_name("manifest-left-0").write_bytes(b"Obj")),
    "no manifest": (("delta",), lambda _, one: one.unlink()),
    "a branch": (("delta",), lambda table, _: _gone_on(table)),
    "no snapshot before": (("base",), lambda table, _: Path(table.location, "snapshot/snapshot-1").unlink()),
    "no lists before": (("base",), lambda table, _: broken(table.at(snapshot=1), "delta")),
    "no total": (("base",), lambda table, _: _without(table, "totalRecordCount")),
    "no delta": (("base",), lambda table, _: _without(table, "deltaRecordCount")),
}


def _gone_on(table: Table) -> None:
    table.create_tag("t")
    branch = table.create_branch("b", at="t")
    name = small_tables.data(Path(table.location), "bucket-0/c.parquet")
    branch.append_files(lakebed.describe_file(branch, name, small_tables.ROWS, columns={"bucket": 0}))


def _without(table: Table, key: str) -> None:
    file = Path(table.location, "snapshot/snapshot-2")
    file.write_text(
        json.dumps({name: one for name, one in json.loads(file.read_text()).items() if name != key})
    )


@pytest.mark.parametrize("why", UNCLEAR_OF_PAIMON)
def test_lists_of_paimon_that_nobody_knows(why: str, tmp_path: Path) -> None:
    table = small_tables.paimon(tmp_path / "p", "bucket-0/a.parquet", "bucket-0/b.parquet")
    rows = table.manifests(columns=["path", "role"]).to_arrow().to_pylist()
    (own,) = (Path(row["path"]) for row in rows if row["role"] == "delta")
    roles, change = UNCLEAR_OF_PAIMON[why]
    change(table, own)
    table = broken(lakebed.open_table(table.location), *roles)
    refused(table, tmp_path / "log")


def test_lists_of_a_snapshot_that_is_not_the_latest_any_more(tmp_path: Path) -> None:
    table = small_tables.paimon(tmp_path / "p", *(f"bucket-0/{name}.parquet" for name in "abc"))
    broken(table, "base")
    rows = planned(table, "lists")
    repairing._back(table, 2)
    with pytest.raises(CommitConflictError, match="is the latest by now"):
        repairing._relisted(table, 3)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert outcomes(done) == [("lists", "kept", looking.NOT_NAMED)]


@pytest.mark.parametrize("break_", [cut, Path.unlink])
def test_the_first_lists_of_paimon(break_: Callable[[Path], None], tmp_path: Path) -> None:
    table = small_tables.paimon(tmp_path / "p", "bucket-0/a.parquet")
    before = found(table)
    assert found(repaired(broken(table, "base", "delta", break_=break_), tmp_path / "log")) == before
