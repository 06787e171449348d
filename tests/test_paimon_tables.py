"""Every real Paimon table there is: each snapshot decodes, and its numbers agree with one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from arrow_values import assert_rows
from paimon_peers import peer_row, typed_rows

import lakebed
from lakebed import paimon
from paimon_answers import Row, Schemas, is_avro
from shared_data import SHARED_DATA

IDENTITY = [
    "partition",
    "bucket",
    "level",
    "file_name",
    "extra_files",
    "embedded_file_index",
    "external_path",
]
Live = dict[tuple[Any, ...], Row]


@dataclass(frozen=True)
class Root:
    """A folder with snapshots: a table, or a branch of one, whose manifests are the table's."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(SHARED_DATA / "paimon"))

    @property
    def table(self) -> Path:
        return self.path.parent.parent if self.path.parent.name == "branch" else self.path

    def snapshots(self) -> dict[int, Row]:
        """Snapshot files by id, ascending."""
        numbers = (file.name.removeprefix("snapshot-") for file in (self.path / "snapshot").iterdir())
        ids = sorted(int(number) for number in numbers if number.isdecimal())
        return {number: paimon.read_snapshot(self.path / "snapshot" / f"snapshot-{number}") for number in ids}

    def manifest_list(self, name: str) -> list[Row]:
        return _rows(self.table / "manifest" / name, paimon.read_manifest_list)

    def manifests(self, snapshot: Row, *lists: str) -> list[Path]:
        """The manifests of some lists of a snapshot, in order."""
        rows = (row for name in lists for row in self.manifest_list(snapshot[name]))
        return [self.table / "manifest" / row["file_name"] for row in rows]


def _roots() -> list[Root]:
    return [Root(folder.parent) for folder in sorted((SHARED_DATA / "paimon").glob("**/snapshot"))]


def each_root() -> pytest.MarkDecorator:
    """Parametrises `root` over every folder with snapshots."""
    if roots := _roots():
        return pytest.mark.parametrize("root", roots, ids=[root.name for root in roots])
    skip = pytest.mark.skip(reason=f"no Paimon tables: {SHARED_DATA} is absent (LAKEBED_SHARED)")
    return pytest.mark.parametrize("root", [pytest.param(None, marks=skip)], ids=["absent"])


@cache
def _read(file: Path, read: Any) -> pa.Table:
    return read(file).to_arrow()


def _rows(file: Path, read: Any) -> list[Row]:
    rows: list[Row] = _read(file, read).to_pylist()
    return rows


def _entries(manifests: Iterable[Path]) -> Iterator[Row]:
    for manifest in manifests:
        yield from _rows(manifest, paimon.read_manifest)


def _identity(entry: Row) -> tuple[Any, ...]:
    return tuple(tuple(part) if isinstance(part, list) else part for part in map(entry.get, IDENTITY))


def merged(entries: Iterable[Row]) -> Live:
    """Files that are added and not deleted, as Paimon's `FileEntry.mergeEntries` has them."""
    live: Live = {}
    for entry in entries:
        if entry["kind"] == 0:
            assert _identity(entry) not in live
            live[_identity(entry)] = entry
        else:
            del live[_identity(entry)]
    return live


@each_root()
def test_55_live_rows_and_delta_rows_are_those_recorded(root: Root):
    for number, snapshot in root.snapshots().items():
        where = f"{root.name}, snapshot {number}"
        live = merged(_entries(root.manifests(snapshot, "baseManifestList", "deltaManifestList")))
        assert sum(entry["row_count"] for entry in live.values()) == snapshot["totalRecordCount"], where
        delta = _entries(root.manifests(snapshot, "deltaManifestList"))
        rows = sum(entry["row_count"] * (1 - 2 * entry["kind"]) for entry in delta)
        assert rows == snapshot["deltaRecordCount"], where


@each_root()
def test_55_the_view_files_has_the_live_files(root: Root):
    if root.path != root.table:
        pytest.skip("a branch is reached through its table")
    opened = lakebed.open_table(root.path)
    for number, snapshot in root.snapshots().items():
        live = merged(_entries(root.manifests(snapshot, "baseManifestList", "deltaManifestList")))
        files = opened.at(snapshot=number).files().to_arrow()
        assert sorted(files["file_name"].to_pylist()) == sorted(row["file_name"] for row in live.values())
        assert sum(files["record_count"].to_pylist()) == snapshot["totalRecordCount"]


@each_root()
def test_56_a_base_list_is_the_previous_base_and_delta(root: Root):
    snapshots = root.snapshots()
    for number, snapshot in snapshots.items():
        if (previous := snapshots.get(number - 1)) is None:
            continue
        before = merged(_entries(root.manifests(previous, "baseManifestList", "deltaManifestList")))
        base = merged(_entries(root.manifests(snapshot, "baseManifestList")))
        assert base.keys() == before.keys(), f"{root.name}, snapshot {number}"


@each_root()
def test_sizes_and_counts_are_those_recorded(root: Root):
    for snapshot in root.snapshots().values():
        for name in ("baseManifestList", "deltaManifestList", "changelogManifestList"):
            if snapshot.get(name) is None:
                continue
            file = root.table / "manifest" / snapshot[name]
            recorded = snapshot.get(f"{name}Size")
            assert recorded in (None, file.stat().st_size), file
            for row in root.manifest_list(snapshot[name]):
                manifest = root.table / "manifest" / row["file_name"]
                assert manifest.stat().st_size == row["file_size"]
                kinds = [entry["kind"] for entry in _rows(manifest, paimon.read_manifest)]
                counts = (kinds.count(0), kinds.count(1))
                assert counts == (row["num_added_files"], row["num_deleted_files"]), manifest


@each_root()
def test_schemas_parse(root: Root):
    files = sorted((root.path / "schema").glob("schema-*"))
    assert files
    for file in files:
        assert paimon.read_schema(file)["id"] == int(file.name.removeprefix("schema-"))
    if root.path == root.table:
        ids = lakebed.open_table(root.path).schemas(columns=["schema_id"]).to_arrow()
        assert len(ids) == len(files)


@each_root()
def test_pypaimon_reads_the_same_entries(root: Root):
    manager = pytest.importorskip("pypaimon.manifest.manifest_file_manager").ManifestFileManager
    table = pytest.importorskip("pypaimon.table.file_store_table").FileStoreTable.from_path(str(root.table))
    manifests = _manifests_in_use(root)
    if reason := _why_pypaimon_cannot(manifests):
        pytest.skip(f"pypaimon cannot read {root.name}: {reason}")
    for manifest in manifests:
        expected = [peer_row(entry) for entry in manager(table).read(manifest.name, drop_stats=False)]
        rows = typed_rows(_read(manifest, paimon.read_manifest), Schemas(root.table))
        assert_rows(rows, expected, f"{root.name}, {manifest.name}")


@each_root()
def test_pypaimon_rust_plans_the_same_files(root: Root, tmp_path: Path):
    datafusion = pytest.importorskip("pypaimon_rust.datafusion")
    if root.path != root.table:
        pytest.skip("a branch is reached through its table")
    (tmp_path / "d.db").mkdir()
    (tmp_path / "d.db" / "t").symlink_to(root.path.resolve())
    live = lakebed.open_table(root.path).files(columns=["file_name"]).to_arrow()["file_name"].to_pylist()
    context = datafusion.SQLContext()
    context.register_catalog("paimon", {"warehouse": str(tmp_path)})
    try:
        batches = context.sql("SELECT file_path FROM paimon.d.`t$files`")
        rows = pa.Table.from_batches(batches).to_pylist()
    except Exception as error:  # noqa: BLE001 - it raises classes of its own and Python's; the text is listed
        pytest.skip(f"pypaimon-rust cannot read {root.name}: {str(error).splitlines()[0][:200]}")
    assert sorted(row["file_path"].rpartition("/")[2] for row in rows) == sorted(live)


def _manifests_in_use(root: Root) -> list[Path]:
    lists = ("baseManifestList", "deltaManifestList")
    return sorted({file for row in root.snapshots().values() for file in root.manifests(row, *lists)})


def _why_pypaimon_cannot(manifests: list[Path]) -> str | None:
    """What pypaimon 2.1 does not take, if it is there."""
    if not all(map(is_avro, manifests)):
        return "its manifests are not Avro"
    for manifest in manifests:
        if "_VALUE_STATS_COLS" not in _file_fields(lakebed.avro.read_schema(manifest)):
            return "its manifests come from before _VALUE_STATS_COLS"
    return None


def _file_fields(schema: Any) -> set[str]:
    record = schema[1] if isinstance(schema, list) else schema
    (file,) = (field["type"] for field in record["fields"] if field["name"] == "_FILE")
    file = file[1] if isinstance(file, list) else file
    return {field["name"] for field in file["fields"]}
