"""Orphans and expiries of tables that change while these are computed: a row never names what the table
keeps.

Each change is made at every call of the storage in turn, so also between two calls that only together show
what the table keeps.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import RLock, Thread
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from catalog_tables import ROWS, lake
from file_rows import file_rows
from local_storage import LocalStorage, WritableLocalStorage
from trust import long_or

import lakebed
from lakebed import Table

Change = Callable[[Table], object]
Job = Callable[[Table], lakebed.Scan]

NOW = timedelta(0)
# What a look reads first: which version is the newest, and which branches there are.
FIRST_OF_LOOKS = ("/version-hint.text", "/branch")
SCHEMA = pa.schema([("id", pa.int64())])


class RacingStorage(LocalStorage):
    """The local disk, where changes are made, each just before one of the calls."""

    concurrent_reads = 1

    def __init__(
        self, at: int, change: Callable[[], object], later: dict[int, Callable[[], object]] | None = None
    ) -> None:
        self.at, self.lock = at, RLock()
        self.changes = {at: change, **(later or {})}
        self.calls: list[str] = []

    def turn(self, path: str) -> None:
        with self.lock:
            self.calls.append(path)
            change = self.changes.get(len(self.calls) - 1)
        if change is not None:
            writer = Thread(target=change)
            writer.start()
            writer.join()

    @property
    def changed(self) -> bool:
        return self.at < len(self.calls)

    @property
    def looks(self) -> list[int]:
        """The first call of each look."""
        return [at for at, path in enumerate(self.calls) if path.endswith(FIRST_OF_LOOKS)]

    @property
    def looked_after(self) -> bool:
        """Whether a look began after the change: of a later one nothing can be known."""
        return self.at <= self.looks[-1]

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        self.turn(path)
        return super().read(path, start, end)

    def list(self, prefix: str) -> list[str]:
        self.turn(prefix)
        return super().list(prefix)

    def contents(self, prefix: str) -> Sequence[tuple[str, bool, int, int]]:
        self.turn(prefix)
        found = [(entry, entry.stat()) for entry in os.scandir(prefix)]
        return [(one.name, one.is_dir(), about.st_size, int(about.st_mtime * 1000)) for one, about in found]


def kept(table: Table) -> set[str]:
    return set(table.reachable(columns=["file_path"]).to_arrow()[0].to_pylist())


def named(scan: lakebed.Scan) -> set[str]:
    return {path for path in scan.to_arrow()["file_path"].to_pylist() if path is not None}


def added(table: Table, *names: str) -> Table:
    """The table after a commit that adds files, which lie there without content."""
    folder = "data" if table.format == "iceberg" else "bucket-0"
    paths = [f"{table.location}/{folder}/{name}.parquet" for name in names]
    for path in paths:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).touch()
    return table.append_files(file_rows(*paths))


def aged(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))


@pytest.fixture
def paimon_table(tmp_path: Path) -> Path:
    """Three snapshots; file b is live in the second alone, c in a branch and d in a tag alone; x is in
    none."""
    folder = tmp_path / "paimon"
    options = {"bucket": "-1", "changelog.num-retained.max": "100", "changelog.time-retained": "1000 d"}
    table = added(added(lakebed.create_table(folder, SCHEMA, "paimon", properties=options), "a"), "b")
    table = table.delete_files(["bucket-0/b.parquet"])
    tagged = added(table, "d").create_tag("v").at(branch="main")
    table.create_tag("base")
    branch = table.create_branch("b", at="base")
    added(branch, "c")
    tagged.rollback_to(3)
    restored = folder / "tag"
    assert not (restored / "tag-v").exists()
    table = added(lakebed.open_table(folder), "d")
    table.create_tag("v")
    (folder / "bucket-0" / "x.parquet").touch()
    aged(folder)
    return folder


def tag_becomes_branch(table: Table) -> None:
    table.create_branch("of_tag", at="v")
    table.delete_tag("v")


def branch_becomes_main(table: Table) -> None:
    table.fast_forward("main", to="b")
    lakebed.open_table(table.location).delete_branch("b")


def snapshots_become_changelogs(table: Table) -> None:
    table.expire_snapshots(NOW, retain_last=1)


def snapshot_is_tagged(table: Table) -> None:
    table.at(snapshot=2).create_tag("second")


def everything_in_turn(table: Table) -> None:
    for change in (snapshot_is_tagged, tag_becomes_branch, snapshots_become_changelogs, branch_becomes_main):
        change(lakebed.open_table(table.location))


PAIMON = [
    tag_becomes_branch,
    branch_becomes_main,
    snapshots_become_changelogs,
    snapshot_is_tagged,
    everything_in_turn,
]
JOBS: dict[str, Job] = {
    "orphans": lambda table: table.orphans(),
    "expire_plan": lambda table: table.expire_plan(NOW, retain_last=1),
}


def kept_after(job: str, folder: Path) -> set[str]:
    """What the table keeps, of an expiry after it was made."""
    table = lakebed.open_table(folder)
    if job == "expire_plan":
        table.expire_snapshots(NOW, retain_last=1)
    return kept(lakebed.open_table(folder))


def at_calls(folder: Path, job: str, change: Change, step: int) -> None:
    """Makes the change at some calls of the storage, the last after all of them, and checks the rows."""
    source = folder.rename(folder.with_name("source"))
    for at in count(crc32(change.__name__.encode()) % step, step):
        shutil.copytree(source, folder, symlinks=True)
        storage = RacingStorage(at, lambda: change(lakebed.open_table(folder)))
        rows = named(JOBS[job](lakebed.open_table(folder, storage=storage)))
        if not storage.changed:
            assert rows
            assert at > 20
            return
        if storage.looked_after:
            assert not rows & kept_after(job, folder), f"call {at}"
        shutil.rmtree(folder)


def test_a_tag_becomes_a_branch_within_a_look(tmp_path: Path):
    """A tag is made of a snapshot that is to expire when the last looks begin. At one of their calls a branch
    takes its place: whichever folders were read before, the branch keeps what the tag kept.
    """
    source, folder = tmp_path / "source", tmp_path / "t"
    table = added(
        added(lakebed.create_table(folder, SCHEMA, "paimon", properties={"bucket": "-1"}), "a"), "b"
    )
    added(table.delete_files(["bucket-0/b.parquet"]), "c")
    folder.rename(source)

    def moved() -> None:
        lakebed.open_table(folder).create_branch("kept", at="second")
        lakebed.open_table(folder).delete_tag("second")

    def rows(storage: RacingStorage) -> set[str]:
        shutil.copytree(source, folder, symlinks=True)
        return named(JOBS["expire_plan"](lakebed.open_table(folder, storage=storage)))

    calm = RacingStorage(-1, lambda: None)
    assert f"{folder}/bucket-0/b.parquet" in rows(calm)
    begin = calm.looks[-2]
    for at in range(begin + 1, len(calm.calls), long_or(3, 1)):
        shutil.rmtree(folder)
        storage = RacingStorage(begin, lambda: snapshot_is_tagged(lakebed.open_table(folder)), {at: moved})
        assert not rows(storage) & kept_after("expire_plan", folder), f"call {at}"
        assert "kept" in lakebed.open_table(folder).refs().to_arrow()["name"].to_pylist()


@pytest.fixture
def iceberg_table(tmp_path: Path) -> Path:
    """Three snapshots: file a is live in the first, b in the second, c in the third; x is in none."""
    folder = tmp_path / "iceberg"
    table = added(lakebed.create_table(folder, SCHEMA, "iceberg"), "a")
    for before, name in (("a", "b"), ("b", "c")):
        table = added(table.delete_files([f"data/{before}.parquet"]), name)
    (folder / "data" / "x.parquet").touch()
    aged(folder)
    return folder


def first(table: Table) -> int:
    number: int = table.snapshots(columns=["snapshot_id"]).to_arrow()[0][0].as_py()
    return number


def old_snapshot_is_current(table: Table) -> None:
    table.set_current_snapshot(first(table))


def old_snapshot_is_tagged(table: Table) -> None:
    table.create_tag("first", at=first(table))


def old_snapshot_is_a_branch(table: Table) -> None:
    table.create_branch("first", at=first(table))


def file_is_added(table: Table) -> None:
    table.append_files(file_rows(f"{table.location}/data/x.parquet"))


ICEBERG = [old_snapshot_is_current, old_snapshot_is_tagged, old_snapshot_is_a_branch, file_is_added]


CHANGES = [(change, "paimon") for change in PAIMON] + [(change, "iceberg") for change in ICEBERG]
each_change = pytest.mark.parametrize(
    ("change", "made"), CHANGES, ids=lambda value: getattr(value, "__name__", None)
)


@pytest.mark.parametrize("job", JOBS)
@each_change
def test_tables_that_change_at_any_moment(
    job: str, change: Change, made: str, request: pytest.FixtureRequest
):
    step = long_or({"paimon": 29, "iceberg": 7}[made], 1)
    at_calls(request.getfixturevalue(f"{made}_table"), job, change, step)


@pytest.mark.parametrize("job", JOBS)
@each_change
def test_rows_are_of_when_they_are_read(job: str, change: Change, made: str, request: pytest.FixtureRequest):
    """Not of when the table was opened, nor of when the view was asked for."""
    folder = request.getfixturevalue(f"{made}_table")
    table = lakebed.open_table(folder)
    scan = JOBS[job](table)
    change(lakebed.open_table(folder))
    rows = named(scan) | named(JOBS[job](table))
    assert not rows & kept_after(job, folder)


@pytest.mark.parametrize("job", JOBS)
def test_a_catalog_is_asked_when_rows_are_read(job: str, tmp_path: Path):
    catalog, table = lake(tmp_path)
    opened = lakebed.open_table(table)
    scan = JOBS[job](opened)
    before = kept(opened)
    table.append(ROWS)
    aged(tmp_path)
    after = kept(lakebed.open_table(catalog.load_table(table.name())))
    assert after - before
    files = set(
        lakebed.open_table(catalog.load_table(table.name())).files().to_arrow()["file_path"].to_pylist()
    )
    for asked in (scan, JOBS[job](opened)):
        assert not named(asked) & (after if job == "orphans" else files)


def test_snapshots_that_a_listing_lacks_are_reached(paimon_table: Path):
    class Stale(RacingStorage):
        """Lists nothing in the folder of snapshots, although all of them can be read."""

        def list(self, prefix: str) -> list[str]:
            return [] if prefix.endswith("/snapshot") else super().list(prefix)

    table = lakebed.open_table(paimon_table, storage=Stale(-1, lambda: None))
    assert kept(table) >= {f"{paimon_table}/bucket-0/{name}.parquet" for name in "abcd"}
    orphans = named(lakebed.open_table(paimon_table).orphans())
    assert f"{paimon_table}/bucket-0/x.parquet" in orphans
    assert named(table.orphans()) == orphans
    (paimon_table / "snapshot" / "EARLIEST").unlink()
    assert named(table.orphans()) == orphans


REMOVALS: dict[str, Change] = {
    "delete_tag": lambda table: table.delete_tag("v"),
    "delete_branch": lambda table: table.delete_branch("b"),
    "expire_snapshots": lambda table: table.expire_snapshots(NOW, retain_last=1),
    "rollback_to": lambda table: table.rollback_to(1),
}


class RacingWriter(RacingStorage, WritableLocalStorage):
    """The same, which can be written to; a change is made before one of the removals."""

    def turn(self, path: str) -> None:
        pass

    def modified(self, path: str) -> int:
        return int(Path(path).stat().st_mtime * 1000)

    def remove(self, path: str) -> None:
        super().turn(path)
        super().remove(path)


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize(
    "change", [snapshot_is_tagged, tag_becomes_branch], ids=lambda change: change.__name__
)
def test_what_is_tagged_while_it_is_removed_is_not_free(paimon_table: Path, removal: str, change: Change):
    """A tag or branch is made when the files that a removal frees are known, and the removal begins."""

    def made() -> None:
        # After a rollback there may be nothing left that could be tagged.
        with suppress(lakebed.LakebedError):
            change(lakebed.open_table(paimon_table))

    storage = RacingWriter(0, made)
    freed: Any = REMOVALS[removal](lakebed.open_table(paimon_table, storage=storage))
    rows = set(freed.files.to_arrow()["file_path"].to_pylist())
    assert storage.changed
    assert not rows & kept(lakebed.open_table(paimon_table))
