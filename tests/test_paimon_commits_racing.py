"""Writers that race, and writers that are killed: nothing is lost, nothing is half."""

from __future__ import annotations

import random
import time
from dataclasses import asdict
from pathlib import Path

import paimon_operations
import pyarrow as pa
import pytest
from file_rows import file_rows
from paimon_commits import every_commit
from paimon_operations import every_operation, observed, seen
from trust import long_or
from writers import Writer, killed, left, race

import lakebed
from lakebed import Table, paimon


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "paimon")


def live(table: Table) -> list[str]:
    names: list[str] = table.files(columns=["file_name"]).to_arrow()["file_name"].to_pylist()
    return names


def check_history(location: str) -> None:
    """Every snapshot is there and can be read; rows add up; what one shows is what its lists say."""
    table = lakebed.open_table(location)
    snapshots = table.snapshots().to_arrow().sort_by("snapshot_id").to_pylist()
    assert [row["snapshot_id"] for row in snapshots] == list(range(1, (table.snapshot_id or 0) + 1))
    before: set[str] = set()
    for row in snapshots:
        said = paimon.read_snapshot(Path(location, f"snapshot/snapshot-{row['snapshot_id']}"))
        there = live(table.at(snapshot=row["snapshot_id"]))
        assert len(there) == len(set(there)) == said["totalRecordCount"]
        assert len(there) - len(before) == said["deltaRecordCount"]
        before = set(there)


def leftovers(table: Table) -> tuple[set[str], set[str]]:
    """Files that no snapshot names: manifests and lists, and others."""
    root = Path(table.location)
    named = {"LATEST", "EARLIEST", "schema-0"}
    for file in (root / "snapshot").glob("snapshot-*"):
        said = paimon.read_snapshot(file)
        named.add(file.name)
        for kind in ("base", "delta"):
            name = said[f"{kind}ManifestList"]
            named |= {
                name,
                *paimon.read_manifest_list(root / "manifest" / name).to_arrow()["file_name"].to_pylist(),
            }
    found = {file.name for file in root.rglob("*") if file.is_file()} - named
    manifests = {name for name in found if name.startswith(("manifest-", "manifest-list-"))}
    return manifests, found - manifests


def test_two_writers_lose_nothing(table: Table) -> None:
    commits = long_or(10, 50)
    race(*(Writer(every_commit, table.location, name, commits) for name in ("a", "b")), commits=commits)
    check_history(table.location)
    now = lakebed.open_table(table.location)
    assert set(live(now)) == {*left("a", commits), *left("b", commits)}
    kinds = [row["operation"] for row in now.snapshots().to_arrow().to_pylist()]
    assert kinds.count("APPEND") == 2 * commits
    assert leftovers(table) == (set(), set())


def test_a_killed_writer_breaks_nothing(table: Table) -> None:
    kills = long_or(6, 200)
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for kill in range(kills):
        done = killed(Writer(every_commit, table.location, str(kill), 1000), chance, 0.3)
        acknowledged |= set(left(str(kill), done))
        assert acknowledged <= set(live(lakebed.open_table(table.location)))
    check_history(table.location)
    _, others = leftovers(table)
    # What was being written when the writer died is told by its name.
    assert all(name.startswith(".") and name.endswith(".lakebed-tmp") for name in others)
    after = lakebed.open_table(table.location).append_files(file_rows("bucket-0/last"))
    assert set(live(after)) >= acknowledged | {"last"}


@pytest.mark.parametrize("manifests", ["avro", "orc", "parquet"])
def test_a_killed_operation_is_made_or_not(manifests: str, tmp_path: Path) -> None:
    """Every operation, killed within: what the table shows is what it showed before or shows behind it."""
    location = paimon_operations.created(tmp_path / "t", manifests).location
    chance = random.Random(11)
    before, whole = observed(location), Writer(every_operation, location, "whole")
    begun = time.monotonic()
    race(whole, commits=len(paimon_operations.steps("whole")))
    seconds = time.monotonic() - begun
    assert observed(location) == seen(before, "whole", len(paimon_operations.steps("whole")))[-1]
    for kill in range(long_or(6, 200)):
        before = observed(location)
        done = killed(Writer(every_operation, location, str(kill)), chance, seconds)
        now, possible = asdict(observed(location)), [asdict(state) for state in seen(before, str(kill), done)]
        for part, found in now.items():
            assert found in [state[part] for state in possible], (part, done)
        table = lakebed.open_table(location)
        assert table.verify(filter="severity = 'error'").to_arrow().to_pylist() == []
        for row in table.refs(filter="type = 'branch' AND name <> 'main'").to_arrow().to_pylist():
            assert row["name"] == f"{kill}-branch"
            table = table.delete_branch(row["name"]).table
        table.append_files(paimon_operations.one_file(f"last-{kill}"))
