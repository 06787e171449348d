"""Small histories, each with what it would show if something that lives were named: of those that were found."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from model.alive import all_files, real
from model.histories import During, History, outcome
from model.iceberg_table import IcebergTable
from model.paimon_table import PaimonTable
from model.situations import SITUATIONS, World, iceberg_of_catalog
from model.watched import Event, WatchedStorage
from model.written import Written, aged

import lakebed
from lakebed.errors import CorruptError, LakebedError, LocationError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

NOW = timedelta(0)


def paths(scan: lakebed.Scan) -> set[str]:
    found = scan.to_arrow()["file_path"].drop_null().to_pylist()
    return {real(path) for path in found}


def orphans(table: lakebed.Table) -> set[str]:
    return paths(table.orphans(threads=1))


def plan(table: lakebed.Table) -> set[str]:
    return paths(table.expire_plan(NOW, 1, threads=1))


def lives(table: Written) -> frozenset[str]:
    return all_files(table.roots())


def filled(table: Written) -> Written:
    """Three files, each of a commit of its own."""
    for _ in range(3):
        table.append(0, 0)
    return table


@pytest.fixture
def paimon(tmp_path: Path) -> PaimonTable:
    table = PaimonTable("t", tmp_path / "t")
    filled(table)
    return table


@pytest.fixture
def iceberg(tmp_path: Path) -> IcebergTable:
    table = IcebergTable("t", tmp_path / "t")
    filled(table)
    return table


# While the table is looked at


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("folder", ["tag", "branch", "snapshot", "changelog", "schema", "manifest"])
def test_a_branch_takes_the_place_of_a_tag_while_the_table_is_looked_at(
    paimon: PaimonTable, folder: str, after: bool
):
    paimon.tag(0, 0)
    paimon.forget(0, 0)
    aged(paimon.folder)
    storage = WatchedStorage()
    table = lakebed.open_table(paimon.folder, storage=storage)
    happened = []
    storage.events = [Event(1, folder, after, lambda where: happened.append(paimon.leave(0, 0)))]
    found = orphans(table)
    assert happened == ["v0 for branch b0"]
    assert found & lives(paimon) == set()


@pytest.mark.parametrize("folder", ["tag", "branch", "snapshot", "changelog"])
def test_a_snapshot_becomes_a_changelog_while_the_table_is_looked_at(tmp_path: Path, folder: str):
    table = PaimonTable("t", tmp_path / "t", "changelogs")
    filled(table)
    table.delete(0, 0)
    aged(table.folder)
    storage = WatchedStorage()
    opened = lakebed.open_table(table.folder, storage=storage)
    storage.events = [Event(1, folder, True, lambda where: print(table.expire(0, 1)))]  # noqa: T201
    try:
        found = orphans(opened)
    except LakebedError:
        found = set()
    assert len(list((table.folder / "changelog").glob("changelog-*"))) > 1
    assert found & lives(table) == set()
