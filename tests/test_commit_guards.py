"""Every commit reads as the table was opened, and returns a table that is opened in the same way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import index_row
from iceberg_commits import files, statistics
from json_files import edited
from test_commit_parity import ONLY_ICEBERG

import lakebed
from lakebed import Limits, Table, open_table
from lakebed.commits import Changes
from lakebed.errors import CorruptError, LimitError, LocationError, UnsupportedError

Commit = Callable[..., Any]
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32())])
FEW = Limits(max_rows=1)


def of_paimon(*names: str) -> pa.Table:
    return files(*names).set_column(0, "file_path", pa.array([f"bucket-0/{name}.orc" for name in names]))


def of_head(table: Table) -> dict[str, Any]:
    return statistics(table, f"{table.location}/metadata/{table.snapshot_id}.stats")


def first(table: Table) -> int:
    rows = table.snapshots().to_arrow().to_pylist()
    return int(min(rows, key=lambda row: row["committed_at"])["snapshot_id"])


def head(table: Table, branch: str) -> int:
    snapshot = table.at(branch=branch).snapshot_id
    assert snapshot is not None
    return snapshot


def transacted(table: Table, added: pa.Table) -> Table:
    with table.transaction() as transaction:
        transaction.append_files(added)
    return transaction.table


ICEBERG: dict[str, Commit] = {
    "add_deletes": lambda t: t.add_deletes(files=files("c")),
    "append_files": lambda t: t.append_files(files("c")),
    "cherry_pick": lambda t: t.cherry_pick(head(t, "side")),
    "create_branch": lambda t: t.create_branch("new"),
    "create_tag": lambda t: t.create_tag("other"),
    "delete_branch": lambda t: t.delete_branch("side"),
    "delete_files": lambda t: t.delete_files(["data/a.parquet"]),
    "delete_tag": lambda t: t.delete_tag("mark"),
    "expire_snapshots": lambda t: t.expire_snapshots(timedelta(0), 1),
    "fast_forward": lambda t: t.fast_forward("main", "side"),
    "overwrite_files": lambda t: t.overwrite_files(removed=["data/a.parquet"]),
    "remove_statistics": lambda t: t.remove_statistics(t.snapshot_id),
    "replace_files": lambda t: t.replace_files(["data/a.parquet"], files("c")),
    "rewrite_manifests": lambda t: t.rewrite_manifests(),
    "rollback_to": lambda t: t.rollback_to(first(t)),
    "set_current_snapshot": lambda t: t.set_current_snapshot(first(t)),
    "set_retention": lambda t: t.set_retention("side", min_snapshots_to_keep=2),
    "set_statistics": lambda t: t.set_statistics(of_head(t) | {"file-size-in-bytes": 2}),
    "stage": lambda t: t.stage().append_files(files("c")),
    "transaction": lambda t: transacted(t, files("c")),
    "update_properties": lambda t: t.update_properties({"a": "b"}),
    "update_schema": lambda t: t.update_schema(lakebed.SchemaChange.rename_column("day", "date")),
    "update_spec": lambda t: t.update_spec(add=["id"]),
    "upgrade": lambda t: t.upgrade(3),
}
PAIMON: dict[str, Commit] = {
    "add_deletes": lambda t: t.add_deletes(index_row("index-1", ("a.orc", 1, 22, 1)), removed_deletes=[]),
    "append_files": lambda t: t.append_files(of_paimon("c")),
    "create_branch": lambda t: t.create_branch("new"),
    "create_tag": lambda t: t.create_tag("new"),
    "delete_branch": lambda t: t.delete_branch("side"),
    "delete_files": lambda t: t.delete_files(["bucket-0/a.orc"]),
    "delete_tag": lambda t: t.delete_tag("mark"),
    "expire_snapshots": lambda t: t.expire_snapshots(timedelta(0), retain_last=1),
    "fast_forward": lambda t: t.fast_forward("main", "side"),
    "overwrite_files": lambda t: t.overwrite_files(of_paimon("c"), removed=["bucket-0/a.orc"]),
    "overwrite_partitions": lambda t: t.overwrite_partitions(of_paimon("c"), {}),
    "replace_files": lambda t: t.replace_files(["bucket-0/a.orc"], of_paimon("c")),
    "rewrite_manifests": lambda t: t.rewrite_manifests(sort=True),
    "rollback_to": lambda t: t.rollback_to(1),
    "transaction": lambda t: transacted(t, of_paimon("c")),
    "update_properties": lambda t: t.update_properties({"a": "b"}),
    "update_schema": lambda t: t.update_schema(lakebed.SchemaChange.rename_column("day", "date")),
}
# These change metadata without a look at a manifest list; in an order in which each can be made.
WITHOUT_LISTS = [
    "update_properties",
    "set_retention",
    "set_statistics",
    "remove_statistics",
    "create_branch",
    "create_tag",
    "update_schema",
    "update_spec",
    "cherry_pick",
    "fast_forward",
    "rollback_to",
    "set_current_snapshot",
    "expire_snapshots",
    "delete_branch",
    "delete_tag",
    "upgrade",
]
WITH_LISTS = sorted(set(ICEBERG) - set(WITHOUT_LISTS))
PAIMON_WITHOUT_LISTS = {"update_properties", "update_schema", "create_branch", "create_tag"}
OF_ICEBERG = set(ONLY_ICEBERG)


def test_no_commit_is_left_out():
    changes = {name for name in vars(Changes) if not name.startswith("_")}
    assert changes | {"stage", "transaction"} == set(ICEBERG) | {"overwrite_partitions"}
    assert changes | {"transaction"} == set(PAIMON) | OF_ICEBERG
    assert not OF_ICEBERG & set(PAIMON)


@pytest.fixture
def in_iceberg(tmp_path: Path) -> Path:
    table = lakebed.create_table(tmp_path / "iceberg" / "t", SCHEMA, "iceberg").append_files(files("a"))
    table = table.append_files(files("b"), merge=False)
    table = table.set_statistics(of_head(table))
    table.create_tag("mark")
    table.create_branch("side").append_files(files("s"))
    return tmp_path / "iceberg" / "t"


@pytest.fixture
def in_paimon(tmp_path: Path) -> Path:
    options = {"deletion-vectors.enabled": "true", "bucket": "-1"}
    table = lakebed.create_table(tmp_path / "paimon" / "t", SCHEMA, "paimon", properties=options)
    for name in ("a", "b"):
        table = table.append_files(of_paimon(name))
    table.create_tag("mark")
    table.create_branch("side", at="mark")
    return tmp_path / "paimon" / "t"


def test_what_one_format_has_is_refused_by_the_other(in_iceberg: Path, in_paimon: Path):
    table = open_table(in_paimon)
    for name in OF_ICEBERG:
        with pytest.raises(UnsupportedError, match=rf"^{name} is of Iceberg's tables"):
            ICEBERG[name](table)
    with pytest.raises(UnsupportedError, match="is not staged"):
        ICEBERG["stage"](table)
    assert table.refresh().snapshot_id == table.snapshot_id
    table = open_table(in_iceberg, format="iceberg")
    with pytest.raises(UnsupportedError, match=r"^overwrite_partitions is of Paimon's tables"):
        PAIMON["overwrite_partitions"](table)
    assert table.refresh().snapshot_id == table.snapshot_id


def after(result: Any) -> Table:
    """The table that a commit returns."""
    table = result[0] if isinstance(result, tuple) else getattr(result, "table", result)
    assert isinstance(table, Table)
    return table


def same_opening(before: Table, behind: Table) -> None:
    assert behind.opening == before.opening
    assert behind.opening.storage is before.opening.storage


@pytest.mark.parametrize("name", sorted(set(ICEBERG) - {"stage"}))
def test_an_iceberg_table_stays_opened_as_it_was(name: str, in_iceberg: Path):
    limits = Limits(max_rows=1000)
    elsewhere = str(in_iceberg.parent / "elsewhere")
    table = open_table(
        in_iceberg, format="iceberg", allowed_prefixes=[elsewhere], limits=limits, concurrent_reads=3
    )
    behind = after(ICEBERG[name](table))
    same_opening(table, behind)
    same_opening(table, after(behind.update_properties({"c": "d"})))


@pytest.mark.parametrize("name", PAIMON)
def test_a_paimon_table_stays_opened_as_it_was(name: str, in_paimon: Path):
    elsewhere = str(in_paimon.parent / "elsewhere")
    limits = Limits(max_rows=1000)
    table = open_table(in_paimon, allowed_prefixes=[elsewhere], limits=limits, concurrent_reads=3)
    same_opening(table, after(PAIMON[name](table)))


def test_a_table_that_was_opened_at_a_metadata_file_is_returned_at_its_newest(in_iceberg: Path):
    table = open_table(newest(in_iceberg), allowed_prefixes=[])
    behind = table.append_files(files("c"))
    assert behind.snapshot_id != table.snapshot_id
    assert behind.refresh().snapshot_id == behind.snapshot_id
    assert behind.opening.allowed == ()


def newest(location: Path) -> Path:
    files = location.glob("metadata/v*.metadata.json")
    return max(files, key=lambda path: int(path.name[1:].split(".")[0]))


def list_elsewhere(location: Path, written: Callable[[Path], str]) -> None:
    """Puts the manifest list of the current snapshot outside of the table, and names it there."""
    outside = location.parent / "outside" / "list.avro"
    outside.parent.mkdir()
    with edited(newest(location)) as metadata:
        current = metadata["current-snapshot-id"]
        (snapshot,) = (one for one in metadata["snapshots"] if one["snapshot-id"] == current)
        shutil.move(snapshot["manifest-list"], outside)
        snapshot["manifest-list"] = written(outside)


@pytest.mark.parametrize("climbs", [False, True])
def test_an_iceberg_commit_opens_nothing_outside(climbs: bool, in_iceberg: Path):
    climbing = f"{in_iceberg}/metadata/../../outside/list.avro"
    list_elsewhere(in_iceberg, lambda outside: climbing if climbs else str(outside))
    table = open_table(in_iceberg, format="iceberg", allowed_prefixes=None if climbs else [])
    before = sorted(path.name for path in in_iceberg.glob("metadata/*"))
    for name in WITH_LISTS:
        with pytest.raises(LocationError, match="outside"):
            ICEBERG[name](table)
    assert sorted(path.name for path in in_iceberg.glob("metadata/*")) == before
    if not climbs:
        allowed = [in_iceberg.parent / "outside"]
        behind = ICEBERG["append_files"](open_table(in_iceberg, format="iceberg", allowed_prefixes=allowed))
        assert behind.snapshot_id != table.snapshot_id


def test_an_iceberg_commit_of_metadata_opens_no_list(in_iceberg: Path):
    list_elsewhere(in_iceberg, str)
    for name in WITHOUT_LISTS:
        ICEBERG[name](open_table(in_iceberg, format="iceberg", allowed_prefixes=[]))


@pytest.mark.parametrize("name", PAIMON)
def test_a_paimon_commit_opens_nothing_outside(name: str, in_paimon: Path):
    table, outside = open_table(in_paimon), in_paimon.parent / "outside"
    outside.mkdir()
    with edited(in_paimon / "snapshot/snapshot-2") as snapshot:
        shutil.copy(in_paimon / "manifest" / snapshot["baseManifestList"], outside / "list")
        snapshot["baseManifestList"] = "../../outside/list"
    if name == "create_tag":
        # It copies the snapshot that the table stands at.
        assert after(PAIMON[name](table)).tag == "new"
        return
    # Names in Paimon's metadata lead to no other folder, whatever commits need of them.
    with pytest.raises(CorruptError, match=r"not a file name.*outside"):
        PAIMON[name](table)


@pytest.mark.parametrize("name", WITH_LISTS)
def test_the_limits_of_a_table_hold_in_its_commits(name: str, in_iceberg: Path):
    table = open_table(in_iceberg, format="iceberg", limits=FEW)
    with pytest.raises(LimitError):
        ICEBERG[name](table)


@pytest.mark.parametrize("name", sorted(set(PAIMON) - PAIMON_WITHOUT_LISTS - {"expire_snapshots"}))
def test_the_limits_of_a_paimon_table_hold_in_its_commits(name: str, in_paimon: Path):
    with pytest.raises(LimitError):
        PAIMON[name](open_table(in_paimon, limits=Limits(max_rows=0)))


def test_a_table_of_a_catalog_stays_opened_as_it_was(tables: Any, tmp_path: Path):
    limits = Limits(max_rows=1000)
    loaded = tables.sqlite(tmp_path).create_table("db.t", SCHEMA)
    table = open_table(loaded, allowed_prefixes=[], limits=limits, concurrent_reads=3)
    for name in ("append_files", "update_properties", "append_files"):
        table = after(ICEBERG[name](table))
        opening = (table.opening.allowed, table.opening.limits, table.opening.reads)
        assert opening == ((), limits, 3)
    few = open_table(loaded, limits=FEW)
    with pytest.raises(LimitError):
        few.append_files(files("e"), merge=False)
