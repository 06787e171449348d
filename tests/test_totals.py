"""`totals`: files of each kind, and what reaches them, counted by other views."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_iceberg_table, each_layout_of_golden_paimon_tables
from test_jobs import LAYOUT, column, planted, rows

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from lakebed import Table
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE, GoldenTable

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

CONTENT = ("data", "position deletes", "equality deletes", "deletion vectors")


def by_kind(table: Table, **keywords: Any) -> dict[str, dict[str, Any]]:
    return {row["kind"]: row for row in rows(table.totals(**keywords))}


def check(table: Table) -> None:
    """All files are those that `reachable` names, those of the snapshot the ones that its own views name."""
    found = by_kind(table)
    reached = rows(table.reachable())
    assert {kind: row["file_count"] for kind, row in found.items()} == Counter(row["kind"] for row in reached)
    for kind, row in found.items():
        sizes = [one["file_size_in_bytes"] for one in reached if one["kind"] == kind]
        known = [size for size in sizes if size is not None]
        assert row["file_size_in_bytes"] == (sum(known) if known else None)
        assert row["file_count"] == row["current_file_count"] + row["older_file_count"]
        assert (row["orphan_file_count"], row["orphan_file_size_in_bytes"]) == (None, None)
    live = set(column(table.files(columns=["file_path"]), "file_path"))
    if table.format == "iceberg":
        live |= set(column(table.deletes(columns=["file_path"]), "file_path"))
    own = {row["file_path"] for row in reached if row["is_current"]}
    kinds = {row["file_path"]: row["kind"] for row in reached}
    assert {path for path in own if kinds[path] in CONTENT} == live
    manifests = set(column(table.manifests(columns=["path"]), "path"))
    assert manifests <= own
    changelogs = {path for path in own - manifests if kinds[path] == "manifest"}
    assert table.format == "paimon" or not changelogs
    assert sum(found[kind]["current_file_count"] for kind in CONTENT if kind in found) == len(live)


@each_covering_iceberg_table(*LAYOUT)
def test_of_iceberg(table: GoldenIcebergTable) -> None:
    opened = table.open()
    check(opened)
    for number in column(opened.snapshots(columns=["snapshot_id"]), "snapshot_id")[:1]:
        check(opened.at(snapshot=number))


@each_layout_of_golden_paimon_tables()
def test_of_paimon(table: GoldenTable) -> None:
    opened = lakebed.open_table(table.path)
    check(opened)
    for number in column(opened.snapshots(columns=["snapshot_id"]), "snapshot_id")[:1]:
        check(opened.at(snapshot=number))
    for branch in [row["name"] for row in rows(opened.refs()) if row["type"] == "branch"]:
        check(opened.at(branch=branch))


@pytest.mark.parametrize("sample", [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE], ids=["paimon", "iceberg"])
def test_what_nothing_reaches_is_counted_where_that_is_asked_for(sample: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sample, tmp_path / "t")
    moved = {old: str(folder) for old in SAMPLE_MOVED} if sample == SAMPLE_ICEBERG_TABLE else {}
    planted(folder, *(("data/lost", "metadata/lost.avro") if moved else ("manifest/lost", "statistics/lost")))
    table = lakebed.open_table(folder, relocate=moved)
    assert "unknown" not in by_kind(table)
    young = by_kind(table, orphans=True)
    assert "unknown" not in young
    assert {row["orphan_file_count"] for row in young.values()} == {0}
    found = by_kind(table, orphans=True, older_than=None)["unknown"]
    lost = [row["file_size_in_bytes"] for row in rows(table.orphans(older_than=None))]
    assert len(lost) >= 2
    sizes = {name: found[name] for name in found if name.endswith("_count") or "bytes" in name}
    assert sizes == {
        **dict.fromkeys(("file_count", "orphan_file_count"), len(lost)),
        **dict.fromkeys(("file_size_in_bytes", "orphan_file_size_in_bytes"), sum(lost)),
        **dict.fromkeys(("current_file_count", "older_file_count"), 0),
        **dict.fromkeys(("current_file_size_in_bytes", "older_file_size_in_bytes"), 0),
    }


def test_columns_filter_and_limit() -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    scan = table.totals(columns=["kind", "file_count"], filter="current_file_count > 0", limit=2)
    assert scan.schema.names == ["kind", "file_count"]
    every = [row for row in rows(table.totals()) if row["current_file_count"] > 0]
    assert rows(scan) == [{name: row[name] for name in ("kind", "file_count")} for row in every[:2]]
    with pytest.raises(TypeError, match="filter= tests the columns of the view"):
        table.totals(where="dt = '2026-01-02'")  # type: ignore[call-arg]
