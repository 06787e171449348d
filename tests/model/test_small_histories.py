"""Small histories in which something that lives was named, or could be: one for each way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

import lakebed
from lakebed.errors import CorruptError, LakebedError, LocationError, UnsupportedError
from model.alive import all_files, real
from model.histories import History, outcome
from model.iceberg_table import IcebergTable
from model.paimon_table import PaimonTable
from model.situations import SITUATIONS, World, iceberg_of_catalog
from model.watched import Event, WatchedStorage
from model.written import Written, aged

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

NOW = timedelta(0)
AnyTable = TypeVar("AnyTable", bound=Written)


def paths(scan: lakebed.Scan) -> set[str]:
    found = scan.to_arrow()["file_path"].drop_null().to_pylist()
    return {real(path) for path in found}


Job = Callable[[lakebed.Table], set[str]]


def orphans(table: lakebed.Table) -> set[str]:
    return paths(table.orphans(threads=1))


def plan(table: lakebed.Table) -> set[str]:
    return paths(table.expire_plan(NOW, 1, threads=1))


def lives(table: Written) -> frozenset[str]:
    return all_files(table.roots())


def unless_refused(job: Callable[[], set[str]], *errors: type[LakebedError]) -> set[str]:
    """What a job finds: nothing where it refuses to look."""
    try:
        return job()
    except errors:
        return set()


def live(table: Written) -> list[str]:
    """The data files of the table as it is."""
    return table.live(table.now())


def at(name: str) -> int:
    """A situation by its name."""
    known = [situation.__name__ for situation in SITUATIONS[name.partition("_")[0]]]
    return known.index(name)


def filled(table: AnyTable) -> AnyTable:
    """Three files, each of a commit of its own."""
    for _ in range(3):
        table.append(0, 0)
    return table


@pytest.fixture
def paimon(tmp_path: Path) -> PaimonTable:
    return filled(PaimonTable("t", tmp_path / "p"))


@pytest.fixture
def iceberg(tmp_path: Path) -> IcebergTable:
    return filled(IcebergTable("t", tmp_path / "t"))


# While the table is looked at


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("folder", ["tag", "branch", "snapshot", "changelog", "schema", "manifest"])
@pytest.mark.parametrize("job", [orphans, plan])
def test_a_branch_takes_the_place_of_a_tag_while_the_table_is_looked_at(
    paimon: PaimonTable, job: Job, folder: str, after: bool
):
    """Whatever the order in which branches and tags are listed."""
    paimon.tag(0, 0)
    (paimon.forget if job is orphans else paimon.delete)(0, 0)
    aged(paimon.folder)
    storage = WatchedStorage()
    table = lakebed.open_table(paimon.folder, storage=storage)
    happened = []
    storage.events = [Event(1, folder, after, lambda _: happened.append(paimon.leave(0, 0)))]
    found = unless_refused(lambda: job(table), LakebedError)
    # A plan lists no manifests.
    assert happened == ([] if (job, folder) == (plan, "manifest") else ["v0 for branch b0"])
    kept = [root.files for root in paimon.roots() if root.name in ("tag v0", "snapshot 1 of branch b0")]
    assert len(kept) == 1
    assert found & kept[0] == set()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("folder", ["tag", "branch", "snapshot", "changelog", "schema", "manifest"])
def test_all_snapshots_go_but_a_new_one_while_the_table_is_looked_at(
    paimon: PaimonTable, folder: str, after: bool
):
    aged(paimon.folder)
    storage = WatchedStorage()
    table = lakebed.open_table(paimon.folder, storage=storage)
    storage.events = [Event(1, folder, after, lambda _: paimon.renew(0, 0))]
    found = unless_refused(lambda: orphans(table), LakebedError)
    assert paimon.snapshots() == [4]
    assert found & lives(paimon) == set()


@pytest.mark.parametrize("folder", ["tag", "branch", "snapshot", "changelog"])
def test_snapshots_become_changelogs_while_the_table_is_looked_at(tmp_path: Path, folder: str):
    table = filled(PaimonTable("t", tmp_path / "t", "changelogs"))
    table.delete(0, 0)
    aged(table.folder)
    storage = WatchedStorage()
    opened = lakebed.open_table(table.folder, storage=storage)
    storage.events = [Event(1, folder, True, lambda _: table.expire(0, 1))]
    found = unless_refused(lambda: orphans(opened), LakebedError)
    assert len(list((table.folder / "changelog").glob("changelog-*"))) == 3
    assert found & lives(table) == set()


# A listing that lags behind


@pytest.mark.parametrize("shown", [0, 1, 2])
def test_a_listing_without_the_newest_snapshots_is_noticed(paimon: PaimonTable, shown: int):
    aged(paimon.folder)
    storage = WatchedStorage()
    folder = paimon.folder / "snapshot"
    storage.lagging[str(folder)] = ["EARLIEST", "LATEST", "snapshot-1", "snapshot-2"][: 2 + shown]
    found = unless_refused(lambda: orphans(lakebed.open_table(paimon.folder, storage=storage)), LakebedError)
    assert found & lives(paimon) == set()


# After the table was opened


@pytest.mark.parametrize("at", ["opened", "asked for"])
def test_a_deleted_file_is_back_when_the_plan_is_read(iceberg: IcebergTable, at: str):
    iceberg.delete(0, 0)
    table = lakebed.open_table(iceberg.folder)
    scan = table.expire_plan(NOW, 1) if at == "asked for" else None
    assert iceberg.set_current(2, 0) == "snapshot 3"
    found = paths(scan or table.expire_plan(NOW, 1))
    assert found & set(live(iceberg)) == set()
    assert found, "the snapshots before go"


@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
def test_a_tag_is_made_before_the_plan_is_read(request: pytest.FixtureRequest, kind: str):
    table: Written = request.getfixturevalue(kind)
    table.delete(0, 0)
    scan = table.now().expire_plan(NOW, 1)
    table.tag(0, 0)
    (kept,) = (root for root in table.roots() if root.name == "tag v0")
    assert paths(scan) & kept.files == set()


def test_snapshots_have_gone_before_the_plan_is_read(paimon: PaimonTable, iceberg: IcebergTable):
    for table in (paimon, iceberg):
        table.delete(0, 0)
        scan = table.now().expire_plan(NOW, 1)
        table.expire(0, 0)
        assert paths(scan) == set()


def test_a_catalog_is_asked_when_the_rows_are_read(tmp_path: Path):
    pytest.importorskip("pyiceberg.catalog.sql")
    world = World(tmp_path)
    iceberg_of_catalog(world, 0)
    table = filled(world.main)
    asked = [table.now().orphans(threads=1), table.now().expire_plan(NOW, 1, threads=1)]
    table.delete(0, 0)
    table.tag(0, 0)
    table.abort(1, 0)
    aged(table.folder)
    found, freed = map(paths, asked)
    assert found == {path for path in table.strays if path in found}
    assert len(found) == 1
    kept = [root.files for root in table.roots() if root.name in ("tag v0", "the current snapshot")]
    assert len(kept) == 2
    assert freed & frozenset().union(*kept) == set()


@pytest.mark.parametrize("job", ["orphans", "expire_plan"])
def test_files_are_others_by_the_time_when_the_rows_are_read(iceberg: IcebergTable, job: str):
    scan = getattr(iceberg.now(), job)()
    iceberg.now().update_properties({"gc.enabled": "false"})
    with pytest.raises(UnsupportedError, match=r"gc\.enabled"):
        paths(scan)


# Where tables lie


@pytest.mark.parametrize("job", [orphans, plan])
def test_a_copy_does_not_speak_for_the_original(iceberg: IcebergTable, tmp_path: Path, job: Job):
    iceberg.delete(0, 0)
    copy = tmp_path / "copy"
    shutil.copytree(iceberg.folder, copy)
    iceberg.append(0, 0)
    iceberg.set_current(2, 0)
    aged(tmp_path)
    found = unless_refused(lambda: job(lakebed.open_table(copy)), LocationError)
    assert found & lives(iceberg) == set()
    stray = iceberg.write(copy / "data", "stray.parquet")
    aged(tmp_path)
    found = job(lakebed.open_table(copy, relocate={str(iceberg.folder): str(copy)}))
    assert found & lives(iceberg) == set()
    assert (str(stray) in found) == (job is orphans)


@pytest.mark.parametrize("inner", ["t/inner", "t/data/inner", "t/a/b"])
@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
def test_a_table_in_the_folder_of_another_is_not_its_orphan(tmp_path: Path, kind: str, inner: str):
    outer = filled(IcebergTable("t", tmp_path / "t"))
    make = IcebergTable if kind == "iceberg" else PaimonTable
    nested = filled(make("inner", tmp_path / inner))
    aged(tmp_path)
    assert (
        unless_refused(lambda: orphans(outer.now()), LocationError, UnsupportedError) & lives(nested) == set()
    )
    nested.abort(1, 0)
    aged(tmp_path)
    assert orphans(nested.now()) == nested.strays


def test_a_table_among_the_partitions_of_another_is_not_its_orphan(tmp_path: Path):
    outer = filled(PaimonTable("t", tmp_path / "t", "partitioned"))
    nested = filled(PaimonTable("inner", tmp_path / "t" / "k=2"))
    aged(tmp_path)
    assert (
        unless_refused(lambda: orphans(outer.now()), LocationError, UnsupportedError) & lives(nested) == set()
    )


def test_two_tables_share_a_folder_for_data(tmp_path: Path):
    tables = [
        filled(PaimonTable(name, tmp_path / name, external=tmp_path / "external")) for name in ("t", "other")
    ]
    aged(tmp_path)
    for one, others in (tables, tables[::-1]):
        found = unless_refused(partial(orphans, one.now()), LocationError, UnsupportedError)
        assert found & lives(others) == set()


@pytest.mark.parametrize("number", [0, 1])
def test_a_table_that_was_moved_twice_has_two_places(tmp_path: Path, number: int):
    """Told both places, its files are known; told one, nothing is an orphan for want of the other."""
    history = History("iceberg", at("iceberg_moved"), number, None, (), ())
    came = outcome(history, tmp_path)
    assert came.wrong == []
    assert (came.rows, came.strays) == (2, 2) if number == 0 else came.rows in (None, 2)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("retain", [None, 1])
@pytest.mark.parametrize("kind", ["iceberg", "paimon"])
def test_a_link_leads_to_the_same_files(tmp_path: Path, kind: str, retain: int | None, number: int):
    """The table is opened through a link, was made through one, or its data lie behind one."""
    came = outcome(History(kind, at(f"{kind}_linked"), number, retain, (), ()), tmp_path)
    assert came.wrong == []


@pytest.mark.parametrize("job", [orphans, plan])
def test_main_that_is_not_current_frees_nothing_of_the_current_snapshot(iceberg: IcebergTable, job: Job):
    iceberg.delete(0, 0)
    iceberg.bend(0)
    aged(iceberg.folder)
    found = unless_refused(lambda: job(lakebed.open_table(iceberg.folder)), CorruptError, UnsupportedError)
    heads = [root.files for root in iceberg.roots() if root.name in ("branch main", "the current snapshot")]
    assert len(set(heads)) == 2
    assert found & frozenset().union(*heads) == set()
