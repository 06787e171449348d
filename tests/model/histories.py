"""Histories of tables, and whether a job over one names what lives.

A history is numbers alone: each operation takes three of them and makes of them what is possible then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import lakebed
from lakebed.errors import InternalError, LakebedError, UnsupportedError
from model import alive
from model.situations import SITUATIONS, World
from model.watched import Event, WatchedStorage
from model.written import FreedError, aged

Step = tuple[int, int, int, int]
"""A table, an operation, and two numbers for it."""
Rows = list[dict[str, Any]]
Job = Callable[[lakebed.Table, int | None, pa.Table | None], Callable[[], Rows]]
"""Makes a scan: of a table, by how many snapshots an expiry keeps (None: of orphans), and by what lies there,
where that is known. What it gives reads the scan.
"""


@dataclass(frozen=True)
class During:
    """What happens during the read: before or after a call, or a listing of folders of a name."""

    at: int
    folder: str | None
    after: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class History:
    """What happens, and what is asked about it."""

    format: str
    situation: int
    number: int
    """What the situation leaves open."""
    retain: int | None
    """Snapshots that `expire_plan` is to keep; None for `orphans`."""
    first: tuple[Step, ...]
    second: tuple[Step, ...]
    """After half-time, when tables are copied, or a listing begins to lag."""
    opened: tuple[Step, ...] = ()
    """After the table was opened."""
    asked: tuple[Step, ...] = ()
    """After the scan was made."""
    during: tuple[During, ...] = ()
    lags: bool = False
    has_inventory: bool = False
    """Whether the job is told what lies there, when it is asked for."""
    at: int = 0
    """Where the table stands."""
    holds: bool = False
    """Whether a tag alone keeps a file when the table is opened."""
    acts: bool = False
    """Whether the rows are acted on."""
    between: tuple[Step, ...] = ()
    """Before they are."""


@dataclass
class Outcome:
    """What came of a history."""

    log: list[str]
    situation: str
    rows: int | None = None
    """None where an error was the answer."""
    strays: int = 0
    """Files of dead writers that were to be found, and were."""
    removed: int = 0
    """Files that were removed by the rows."""
    is_calm: bool = True
    """Whether nothing happened during the read, and no listing lagged."""
    wrong: list[str] = field(default_factory=list)


MOST_LISTINGS = 20
"""Of branches, in one read."""
_FOLDERS = {
    "iceberg": ["metadata", "data"],
    "paimon": [*(["tag", "branch", "snapshot", "changelog"] * 3), "schema", "manifest", "bucket-0"],
}


def random_history(kind: str, seed: int, on_storage: bool = True) -> History:
    """A history of a format; without a storage of the test's own nothing happens during a read."""
    drawn = Random(seed)

    def steps(least: int, most: int) -> tuple[Step, ...]:
        numbers = (1, 119, 11, 11)
        return tuple(
            tuple(drawn.randint(0, end) for end in numbers)  # type: ignore[misc]
            for _ in range(drawn.randint(least, most))
        )

    def sometimes(share: float) -> bool:
        return drawn.random() < share

    def during() -> During:
        if sometimes(0.3):
            return During(drawn.randint(1, 40), None, False, steps(1, 2))
        return During(drawn.randint(1, 2), drawn.choice(_FOLDERS[kind]), sometimes(0.5), steps(1, 2))

    return History(
        format=kind,
        situation=drawn.randrange(len(SITUATIONS[kind])),
        number=drawn.randint(0, 11),
        retain=drawn.choice([None, None, None, 1, 2]),
        first=steps(2, 8),
        second=steps(0, 4),
        opened=steps(1, 2) if sometimes(0.4) else (),
        asked=steps(1, 3) if sometimes(0.4) else (),
        during=tuple(during() for _ in range(drawn.randint(1, 2))) if on_storage and sometimes(0.4) else (),
        lags=on_storage and sometimes(0.2),
        has_inventory=sometimes(0.2),
        at=drawn.randint(1, 3) if sometimes(0.3) else 0,
        holds=sometimes(0.5),
        acts=sometimes(0.5),
        between=steps(1, 2) if sometimes(0.5) else (),
    )


def locally(table: lakebed.Table, retain: int | None, listing: pa.Table | None) -> Callable[[], Rows]:
    """The job of a process alone."""
    if retain is None:
        scan: lakebed.Scan = table.orphans(listing=listing, threads=1)
    else:
        scan = table.expire_plan(timedelta(0), retain, threads=1)
    return lambda: scan.to_arrow().to_pylist()


def outcome(history: History, folder: Path, job: Job = locally, walks_when_asked: bool = False) -> Outcome:
    """Lets a history happen, and asks.

    Args: walks_when_asked, whether the job reads what the table keeps when it is asked for, not when its rows
        are read: then files that are free since need not be found, and one that is gone since is an error.
    """
    alive.forget()
    return _Run(history, folder, job, walks_when_asked).run()


class _Run:
    def __init__(self, history: History, folder: Path, job: Job, walks_when_asked: bool) -> None:
        self.history, self.job, self.walks_when_asked = history, job, walks_when_asked
        self.world = World(folder)
        situation = SITUATIONS[history.format][history.situation]
        self.strays: set[str] = set()
        """Files that nothing named when the read began."""
        self.listed: set[str] | None = None
        """The files of the inventory, where there is one."""
        self.looks: list[tuple[list[alive.Root], list[alive.Root]]] = []
        """What kept files when branches were listed, which is the first thing that a look does in Paimon."""
        self.outcome = Outcome(self.world.log, situation.__name__)
        asks = "orphans" if history.retain is None else f"expire_plan of all but {history.retain}"
        self.world.say(f"{situation.__name__} ({history.number}): {asks}")
        situation(self.world, history.number)

    def run(self) -> Outcome:
        try:
            self.go_on()
        except FreedError as wrong:
            self.outcome.wrong.append(str(wrong))
        return self.outcome

    def go_on(self) -> None:
        history, world = self.history, self.world
        for table in world.tables:
            for number in range(3):
                world.say(table.happen(0, number, 0))
        for number in (1, 2):
            world.say(world.main.tried(world.main.abort, number, 0))
        self.happen(history.first)
        world.midway()
        storage = WatchedStorage() if history.during or history.lags else None
        lagging = self.lag(storage) if storage is not None and history.lags else []
        self.happen(history.second)
        if history.holds:
            world.say(world.main.tried(world.main.hold, 0, 1))
        world.at_last()
        aged(self.world.root)
        start = None
        self.outcome.is_calm = storage is None and not (self.walks_when_asked and history.asked)
        try:
            world.say("the table is opened")
            opened = self.at(world.opened(storage))
            self.happen(history.opened)
            world.say("the job is asked for")
            read = self.job(opened, history.retain, self.inventory() if history.has_inventory else None)
            walked = set(world.main.strays)
            self.happen(history.asked)
            aged(self.world.root)
            if storage is not None:
                self.set_off(storage, lagging)
                start = world.roots()
            inside = f"{alive.real(str(world.folder))}/"
            shown = {} if storage is None else storage.lagging
            self.strays = {
                path
                for path in world.main.strays
                if path.startswith(inside) and Path(path).name in shown.get(str(Path(path).parent), path)
            }
            if self.walks_when_asked:
                self.strays &= walked
            if self.listed is not None:
                # What is made later is in no inventory.
                self.strays &= self.listed
            world.say("its rows are read")
            rows = read()
        except LakebedError as error:
            self.refused(error)
        else:
            if history.acts:
                self.act(opened, rows)
            else:
                self.judge(rows, start)
        if storage is not None and storage.failed:
            raise storage.failed[0]

    def at(self, table: lakebed.Table) -> lakebed.Table:
        """The table at some snapshot, tag or branch: what its files are does not depend on it."""
        if not self.history.at or self.history.retain is not None:
            return table
        kind = ("snapshot", "tag", "branch")[self.history.at - 1]
        if kind == "snapshot":
            known = table.snapshots(columns=["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist()
        else:
            known = self.world.main.branches(table, kind)
        if not known:
            return table
        self.world.say(f"at a {kind}")
        # It may be gone by the time when the rows are read.
        self.world.may_refuse |= bool(self.history.opened or self.history.asked)
        return table.at(**{kind: known[0]})

    def inventory(self) -> pa.Table:
        """What lies in the folder that the table was opened at."""
        self.world.say("with an inventory")
        paths = [f"{root}/{name}" for root, _, names in os.walk(self.world.folder) for name in names]
        self.listed = set(map(alive.real, paths))
        times = pa.array([0] * len(paths), pa.timestamp("us", "UTC"))
        return pa.table({"path": pa.array(paths, pa.string()), "modified": times})

    def happen(self, steps: Sequence[Step], during: bool = False) -> None:
        for table, operation, a, b in steps:
            written = self.world.tables[table % len(self.world.tables)]
            self.world.say(f"{'   ' * during}{written.happen(operation, a, b, during)}")

    def lag(self, storage: WatchedStorage) -> list[str]:
        """From now on listings of what names the newest state show what is there now."""
        if self.history.format == "iceberg":
            folders = [self.world.main.folder / "metadata"]
        else:
            root = self.world.main.folder
            folders = [root / "snapshot", *sorted(root.glob("branch/branch-*/snapshot"))]
        for folder in folders:
            storage.lag(folder)
        self.world.say(f"listings of {', '.join(map(str, folders))} lag from now on")
        return list(storage.lagging)

    def set_off(self, storage: WatchedStorage, lagging: list[str]) -> None:
        for folder in lagging:
            # Without a hint nobody can know of what a listing does not show.
            if self.history.format == "paimon" and not Path(folder, "LATEST").exists():
                del storage.lagging[folder]
        for one in self.history.during:

            def happen(where: str, steps: tuple[Step, ...]) -> None:
                self.world.say(f"   {where}:")
                self.happen(steps, during=True)

            storage.events.append(Event(one.at, one.folder, one.after, partial(happen, steps=one.steps)))
        if self.history.format == "paimon" and self.history.retain is not None:
            looks = (Event(at, "branch", False, self.look) for at in range(1, MOST_LISTINGS))
            storage.events += looks

    def look(self, _: str) -> None:
        self.looks.append(self.world.roots())

    def refused(self, error: LakebedError) -> None:
        self.world.say(f"{type(error).__name__}: {error}")
        expected = self.world.may_refuse or not self.outcome.is_calm
        if self.world.must_refuse:
            expected = isinstance(error, UnsupportedError)
        if not expected or isinstance(error, InternalError):
            self.outcome.wrong.append(f"an error instead of rows: {type(error).__name__}: {error}")

    def judge(self, rows: Rows, start: tuple[list[alive.Root], list[alive.Root]] | None) -> None:
        self.outcome.rows = len(rows)
        if self.world.must_refuse:
            self.outcome.wrong.append("rows of a table whose files may be others'")
        found = {alive.real(row["file_path"]) for row in rows if row["file_path"] is not None}
        end = self.world.roots()
        if self.history.retain is None:
            lives = alive.all_files([*end[0], *end[1]])
            wrong = found & lives
            self.outcome.strays = len(found & self.strays)
            if not self.world.may_refuse:
                missed = self.strays - lives - found
                self.outcome.wrong += [f"is not found: {path}" for path in sorted(missed)]
        else:
            wrong = found & self.survivors(rows, *end)
            if start is not None:
                # It is a plan of the table as it was at one moment of the read, but what the last two looks
                # could have seen is kept.
                for state in self.looks[-2:] or [start]:
                    wrong &= self.survivors(rows, *state)
            else:
                wrong |= self.applied(found)
        self.outcome.wrong += [f"lives: {path}" for path in sorted(wrong)]

    def act(self, table: lakebed.Table, rows: Rows) -> None:
        """Removes what the rows name, as far as a fresh look leaves it, and compares what is there."""
        self.outcome.rows = len(rows)
        self.happen(self.history.between)
        aged(self.world.root)
        before = self.world.files()
        self.world.say("its rows are acted on")
        try:
            done = lakebed.apply(
                pa.Table.from_pylist(rows), table, log=self.world.root / "log", younger=timedelta(0)
            )
            self.world.say(str(done))
        except LakebedError as error:
            self.world.say(f"{type(error).__name__}: {error}")
            if isinstance(error, InternalError):
                self.outcome.wrong.append(f"an error of lakebed's own: {error}")
        gone = before - self.world.files()
        self.outcome.removed = len(gone)
        found = {alive.real(row["file_path"]) for row in rows if row["file_path"] is not None}
        lives = alive.all_files([root for roots in self.world.roots() for root in roots])
        if not self.history.during:
            self.outcome.wrong += [f"was no row: {path}" for path in sorted(gone - found)]
        self.outcome.wrong += [f"lives, and is gone: {path}" for path in sorted(gone & lives)]

    def survivors(self, rows: Rows, own: list[alive.Root], others: list[alive.Root]) -> frozenset[str]:
        """What is kept by what does not go, by the plan's own words, and by what never goes."""
        named = {row["first_reached_by"] for row in rows if row["file_path"] is None}
        paths = {alive.real(row["file_path"]) for row in rows if row["file_path"] is not None}
        stays = {"the current snapshot", "branch main"}
        if self.history.format == "paimon":
            own_snapshots = [root.name for root in own if re.fullmatch(r"snapshot \d+", root.name)]
            stays = set(sorted(own_snapshots, key=lambda name: int(name[9:]))[-1:])
        kept = [*others]
        for root in own:
            may_go = root.name not in stays
            if self.history.format == "paimon":
                may_go &= root.name.startswith(("snapshot", "changelog")) and " of branch " not in root.name
                goes = root.file in paths
            else:
                goes = root.name in named
            if not (may_go and goes):
                kept.append(root)
        return alive.all_files(kept)

    def applied(self, found: set[str]) -> frozenset[str]:
        """What of the rows still lives once the expiry has been made."""
        if self.world.main.is_over or self.world.copies:
            return frozenset()
        try:
            self.world.main.now().expire_snapshots(timedelta(0), self.history.retain)
        except LakebedError as error:
            self.world.say(f"the expiry is refused: {error}")
            return frozenset()
        return frozenset(found) & alive.all_files([root for roots in self.world.roots() for root in roots])
