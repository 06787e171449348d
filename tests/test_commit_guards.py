"""Every commit reads as the table was opened, and returns a table that is opened in the same way."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from lakebed import Limits, Table, iceberg, open_table, paimon
from lakebed.errors import CorruptError, LimitError, LocationError

Commit = Callable[..., Any]
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32())])
FEW = Limits(max_rows=1)


def files(*names: str, **columns: Any) -> pa.Table:
    count = len(names)
    paths = [f"data/{name}.parquet" for name in names]
    return pa.table(
        {"file_path": paths, "record_count": [7] * count, "file_size_in_bytes": [1] * count} | columns
    )


def of_paimon(*names: str) -> pa.Table:
    return files(*names).set_column(0, "file_path", pa.array([f"bucket-0/{name}.orc" for name in names]))


def statistics(table: Table) -> dict[str, Any]:
    path = f"{table.location}/metadata/{table.snapshot_id}.stats"
    sizes = {"file-size-in-bytes": 1, "file-footer-size-in-bytes": 1}
    return {"snapshot-id": table.snapshot_id, "statistics-path": path, **sizes, "blob-metadata": []}


def first(table: Table) -> int:
    rows = table.snapshots().to_arrow().to_pylist()
    return int(min(rows, key=lambda row: row["committed_at"])["snapshot_id"])


def head(table: Table, branch: str) -> int:
    snapshot = table.at(branch=branch).snapshot_id
    assert snapshot is not None
    return snapshot


ICEBERG: dict[str, Commit] = {
    "append_files": lambda t, **k: iceberg.append_files(t, files("c"), **k),
    "cherry_pick": lambda t, **k: iceberg.cherry_pick(t, head(t, "side"), **k),
    "create_branch": lambda t, **k: iceberg.create_branch(t, "new", **k),
    "create_tag": lambda t, **k: iceberg.create_tag(t, "other", **k),
    "delete_branch": lambda t, **k: iceberg.delete_branch(t, "side", **k),
    "delete_files": lambda t, **k: iceberg.delete_files(t, ["data/a.parquet"], **k),
    "delete_tag": lambda t, **k: iceberg.delete_tag(t, "mark", **k),
    "expire_snapshots": lambda t, **k: iceberg.expire_snapshots(t, timedelta(0), 1, **k),
    "fast_forward": lambda t, **k: iceberg.fast_forward(t, "side", **k),
    "overwrite_files": lambda t, **k: iceberg.overwrite_files(t, removed=["data/a.parquet"], **k),
    "remove_statistics": lambda t, **k: iceberg.remove_statistics(t, t.snapshot_id, **k),
    "replace_files": lambda t, **k: iceberg.replace_files(t, ["data/a.parquet"], files("c"), **k),
    "rewrite_manifests": lambda t, **k: iceberg.rewrite_manifests(t, **k),
    "rollback_to": lambda t, **k: iceberg.rollback_to(t, first(t), **k),
    "row_delta": lambda t, **k: iceberg.row_delta(t, files=files("c"), **k),
    "set_current_snapshot": lambda t, **k: iceberg.set_current_snapshot(t, first(t), **k),
    "set_properties": lambda t, **k: iceberg.set_properties(t, {"a": "b"}, **k),
    "set_retention": lambda t, **k: iceberg.set_retention(t, "side", min_snapshots_to_keep=2, **k),
    "set_statistics": lambda t, **k: iceberg.set_statistics(
        t, statistics(t) | {"blob-metadata": [], "file-size-in-bytes": 2}, **k
    ),
    "update_schema": lambda t, **k: iceberg.update_schema(
        t, iceberg.SchemaChange.rename_column("day", "date"), **k
    ),
    "update_spec": lambda t, **k: iceberg.update_spec(t, add=["id"], **k),
    "upgrade": lambda t, **k: iceberg.upgrade(t, 3, **k),
}
PAIMON: dict[str, Commit] = {
    "alter_table": lambda t: paimon.alter_table(t, paimon.SchemaChange.set_option("a", "b")),
    "append_files": lambda t: paimon.append_files(t, of_paimon("c")),
    "compact_files": lambda t: paimon.compact_files(t, ["bucket-0/a.orc"], of_paimon("c")),
    "compact_manifests": lambda t: paimon.compact_manifests(t, sort=True),
    "create_branch": lambda t: paimon.create_branch(t, "new"),
    "create_tag": lambda t: paimon.create_tag(t, "new"),
    "delete_branch": lambda t: paimon.delete_branch(t, "side"),
    "delete_files": lambda t: paimon.delete_files(t, ["bucket-0/a.orc"]),
    "delete_tag": lambda t: paimon.delete_tag(t, "mark"),
    "expire_snapshots": lambda t: paimon.expire_snapshots(t, timedelta(0), retain_last=1),
    "fast_forward": lambda t: paimon.fast_forward(t, "side"),
    "overwrite_files": lambda t: paimon.overwrite_files(t, of_paimon("c"), removed=["bucket-0/a.orc"]),
    "overwrite_partition": lambda t: paimon.overwrite_partition(t, of_paimon("c"), {}),
    "replace_deletion_vectors": lambda t: paimon.replace_deletion_vectors(t, vectors("a.orc"), []),
    "rollback_to": lambda t: paimon.rollback_to(t, snapshot=1),
}
# These change metadata without a look at a manifest list; in an order in which each can be made.
WITHOUT_LISTS = [
    "set_properties",
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
PAIMON_WITHOUT_LISTS = {"alter_table", "create_branch", "create_tag"}


def vectors(name: str) -> pa.Table:
    ranges = pa.list_(
        pa.struct([("f0", pa.string()), ("f1", pa.int32()), ("f2", pa.int32()), ("f3", pa.int64())])
    )
    return pa.table(
        {
            "file_name": ["index-1"],
            "bucket": pa.array([0], pa.int32()),
            "file_size": [30],
            "row_count": [1],
            "deletions_vectors_ranges": pa.array([[{"f0": name, "f1": 1, "f2": 22, "f3": 1}]], ranges),
        }
    )


def committing(module: ModuleType) -> set[str]:
    """The functions that commit to a table."""
    found = {name: getattr(module, name) for name in module.__all__}
    functions = {name: one for name, one in found.items() if inspect.isfunction(one)}
    return {
        name for name, one in functions.items() if next(iter(inspect.signature(one).parameters)) == "table"
    }


def test_no_commit_is_left_out():
    assert committing(iceberg) == set(ICEBERG)
    assert committing(paimon) == set(PAIMON)


@pytest.fixture
def in_iceberg(tmp_path: Path) -> Path:
    table = iceberg.append_files(iceberg.create_table(tmp_path / "t", SCHEMA), files("a"))
    table = iceberg.append_files(table, files("b"), merge=False)
    table = iceberg.set_statistics(table, statistics(table))
    iceberg.create_tag(table, "mark")
    iceberg.append_files(iceberg.create_branch(table, "side"), files("s"))
    return tmp_path / "t"


@pytest.fixture
def in_paimon(tmp_path: Path) -> Path:
    options = {"deletion-vectors.enabled": "true", "bucket": "-1"}
    table = paimon.create_table(tmp_path / "t", SCHEMA, options=options)
    for name in ("a", "b"):
        table = paimon.append_files(table, of_paimon(name))
    paimon.create_tag(table, "mark")
    paimon.create_branch(table, "side", tag="mark")
    return tmp_path / "t"


def after(result: Any) -> Table:
    """The table that a commit returns."""
    table = result[0] if isinstance(result, tuple) else getattr(result, "table", result)
    assert isinstance(table, Table)
    return table


def same_opening(before: Table, behind: Table) -> None:
    assert before._opening is not None
    assert behind._opening == before._opening
    assert behind._storage is before._storage


@pytest.mark.parametrize("name", ICEBERG)
def test_an_iceberg_table_stays_opened_as_it_was(name: str, in_iceberg: Path):
    limits = Limits(max_rows=1000)
    elsewhere = str(in_iceberg.parent / "elsewhere")
    table = open_table(
        in_iceberg, format="iceberg", allowed_prefixes=[elsewhere], limits=limits, concurrent_reads=3
    )
    behind = after(ICEBERG[name](table))
    same_opening(table, behind)
    same_opening(table, after(iceberg.set_properties(behind, {"c": "d"}, limits=Limits())))


@pytest.mark.parametrize("name", PAIMON)
def test_a_paimon_table_stays_opened_as_it_was(name: str, in_paimon: Path):
    elsewhere = str(in_paimon.parent / "elsewhere")
    limits = Limits(max_rows=1000)
    table = open_table(in_paimon, allowed_prefixes=[elsewhere], limits=limits, concurrent_reads=3)
    same_opening(table, after(PAIMON[name](table)))


def test_a_table_that_was_opened_at_a_metadata_file_is_returned_at_its_newest(in_iceberg: Path):
    newest = max(
        in_iceberg.glob("metadata/v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0])
    )
    table = open_table(newest, allowed_prefixes=[])
    behind = iceberg.append_files(table, files("c"))
    assert behind.snapshot_id != table.snapshot_id
    assert behind.refresh().snapshot_id == behind.snapshot_id
    assert behind._opening is not None
    assert behind._opening.allowed == ()


def list_elsewhere(location: Path, written: Callable[[Path], str]) -> None:
    """Puts the manifest list of the current snapshot outside of the table, and names it there."""
    newest = max(
        location.glob("metadata/v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0])
    )
    metadata = json.loads(newest.read_text("utf-8"))
    current = metadata["current-snapshot-id"]
    (snapshot,) = (one for one in metadata["snapshots"] if one["snapshot-id"] == current)
    outside = location.parent / "outside" / "list.avro"
    outside.parent.mkdir()
    shutil.move(snapshot["manifest-list"], outside)
    snapshot["manifest-list"] = written(outside)
    newest.write_text(json.dumps(metadata), "utf-8")


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
    path = in_paimon / "snapshot/snapshot-2"
    snapshot = json.loads(path.read_text("utf-8"))
    (in_paimon.parent / "outside").mkdir()
    shutil.copy(in_paimon / "manifest" / snapshot["baseManifestList"], in_paimon.parent / "outside" / "list")
    snapshot["baseManifestList"] = "../../outside/list"
    table = open_table(in_paimon)
    path.write_text(json.dumps(snapshot), "utf-8")
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
    # Those of the call count before those of the table, in either direction.
    with pytest.raises(LimitError):
        ICEBERG[name](open_table(in_iceberg, format="iceberg"), limits=FEW)
    behind = after(ICEBERG[name](table, limits=Limits()))
    assert behind._opening is not None
    assert behind._opening.limits == FEW


@pytest.mark.parametrize("name", sorted(set(PAIMON) - PAIMON_WITHOUT_LISTS - {"expire_snapshots"}))
def test_the_limits_of_a_paimon_table_hold_in_its_commits(name: str, in_paimon: Path):
    with pytest.raises(LimitError):
        PAIMON[name](open_table(in_paimon, limits=Limits(max_rows=0)))


def test_a_table_of_a_catalog_stays_opened_as_it_was(tmp_path: Path):
    tables = pytest.importorskip("catalog_tables")
    limits = Limits(max_rows=1000)
    loaded = tables.sqlite(tmp_path).create_table("db.t", SCHEMA)
    table = open_table(loaded, allowed_prefixes=[], limits=limits, concurrent_reads=3)
    for name in ("append_files", "set_properties", "append_files"):
        table = after(ICEBERG[name](table))
        assert table._opening is not None
        opening = (table._opening.allowed, table._opening.limits, table._opening.reads)
        assert opening == ((), limits, 3)
    few = open_table(loaded, limits=FEW)
    with pytest.raises(LimitError):
        iceberg.append_files(few, files("e"), merge=False)
