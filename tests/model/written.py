"""Tables that a history writes: what can happen to one, whatever its format."""

from __future__ import annotations

import itertools
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from file_rows import file_rows

import lakebed
from lakebed.errors import CommitConflictError, SchemaError, SnapshotNotFoundError, UnsupportedError
from model.alive import Root, all_files, local, real

SCHEMA = pa.schema([("id", pa.int64())])
CONTENT = b"file of a table"
REFUSED = (CommitConflictError, SchemaError, SnapshotNotFoundError, UnsupportedError, FileExistsError)
"""What operations refuse that do not apply as the table is."""

AnItem = TypeVar("AnItem", str, int)
Operation = Callable[[int, int], str | None]
"""Does something, which two numbers decide; says what it was. Where there was nothing to do, it gives None or
raises `NothingToDoError`.
"""


class FreedError(AssertionError):
    """An operation said that a file is free which lives."""


class NothingToDoError(Exception):
    """There is none of what an operation takes one of."""


class Written(ABC):
    """A table on the disk, and what can happen to it."""

    finds_freed = True
    """Whether what an expiry frees is an orphan at once, even if a manifest says that it is deleted."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.numbers = itertools.count()
        self.places: list[tuple[Path, str]] = []
        """Folders that new data files are written to, and as what their paths are committed."""
        self.keeps_strays = False
        """Whether new ones do not lie where a job looks: they are of the original of a copy."""
        self.store: Path | None = None
        """Where files lie to which links lead from where they are written."""
        self.foreign: tuple[str, ...] = ()
        """How names of files begin that other tables write to the same folders."""
        self.is_over = False
        """Whether nobody commits any more."""
        self.strays: set[str] = set()
        """Files that no commit names, and that a job finds which looks at the table's folder."""

    @abstractmethod
    def operations(self) -> list[Operation]:
        """What can happen, the likely ones several times. The first are the simplest."""

    @abstractmethod
    def racing(self) -> list[Operation]:
        """What may happen while the table is looked at. What is dead may be deleted at any time then: nobody
        can make it live again.
        """

    @abstractmethod
    def now(self) -> lakebed.Table:
        """The table as writers open it."""

    @abstractmethod
    def roots(self) -> list[Root]:
        """What keeps its files, by brute force."""

    @abstractmethod
    def append(self, a: int, b: int) -> str:
        """Commits a new file; the numbers say where it lies, and how."""

    @abstractmethod
    def tag(self, a: int, b: int) -> str | None:
        """Tags snapshot `a` as `v<b>`."""

    @abstractmethod
    def expire(self, a: int, b: int) -> str:
        """Lets all snapshots but `1 + a` go; with a `b` of 0 the files that are free are removed."""

    @abstractmethod
    def abort(self, a: int, b: int) -> str:
        """A writer dies before its commit."""

    @abstractmethod
    def snapshots(self) -> list[int]:
        """The snapshots of the table, or of its main branch."""

    def rows(self, *paths: str, **columns: object) -> pa.Table:
        """Rows of data files for a commit."""
        return files(*paths, **columns)

    def short(self, path: str) -> str:
        """A path as messages have it."""
        return path

    def said(self, snapshot: int | None) -> str:
        """A snapshot as messages have it."""
        return f"snapshot {snapshot}"

    def delete(self, a: int, b: int) -> str:
        """Commits that a file is deleted."""
        path = picked(self.live(table := self.now()), a)
        return f"{self.short(path)} as {self.said(table.delete_files([path]).snapshot_id)}"

    @abstractmethod
    def forget(self, a: int, b: int) -> str | None:
        """Deletes a file, and all snapshots before go."""

    def hold(self, a: int, b: int) -> str:
        """Tags a snapshot and deletes a file, which only the tag keeps then."""
        return f"{self.tag(a if b % 2 else len(self.snapshots()) - 1, b)}, and forget {self.forget(a, b)}"

    def compact(self, a: int, b: int) -> str:
        """Writes the manifests again, or two files as one."""
        table = self.now()
        if a % 2 or len(live := self.live(table)) < 2:
            table.rewrite_manifests()
            return "manifests"
        new = self.data_file(b)
        table.replace_files(live[:2], self.rows(new, record_count=2))
        return f"{self.short(live[0])} and {self.short(live[1])} into {new}"

    def undelete(self, a: int, b: int) -> str:
        """A file that was deleted, or never committed, is appended as it lies there."""
        folder, prefix = self.places[a % len(self.places)]
        name = picked(self.dead(folder), b)
        table = self.now().append_files(self.rows(f"{prefix}/{name}"))
        self.strays.discard(real(str(folder / name)))
        return f"{prefix}/{name} as {self.said(table.snapshot_id)}"

    def commit_on_branch(self, a: int, b: int) -> str:
        """Appends a file to a branch."""
        name, path = picked(self.branches(table := self.now()), b), self.data_file(a)
        table = table.at(branch=name).append_files(self.rows(path))
        return f"{name} appends {path} as {self.said(table.snapshot_id)}"

    def drop_tag(self, a: int, b: int) -> str:
        name = picked(self.branches(table := self.now(), "tag"), a)
        return f"{name}, {self.freed(table.delete_tag(name).files, b)}"

    def drop_branch(self, a: int, b: int) -> str:
        name = picked(self.branches(table := self.now()), a)
        return f"{name}, {self.freed(table.delete_branch(name).files, b)}"

    def fast_forward(self, a: int, b: int) -> str:
        name = picked(self.branches(table := self.now()), a)
        return f"to {name}, {self.freed(table.fast_forward('main', to=name).files, b)}"

    def happen(self, operation: int, a: int, b: int, during: bool = False) -> str:
        """Does one of the operations, and says what it was."""
        known = self.racing() if during else self.operations()
        return self.tried(known[operation % len(known)], a, b)

    def tried(self, operation: Operation, a: int, b: int) -> str:
        """Does an operation if it applies, and says what it was."""
        if self.is_over:
            return f"{self.name}: nothing can happen any more"
        name = operation.__name__.replace("_", " ")
        try:
            said = operation(a, b)
        except REFUSED as error:
            said = f"is refused ({type(error).__name__})"
        except NothingToDoError:
            said = None
        except FreedError as error:
            raise FreedError(f"{self.name}: {name} ({a}, {b}) {error}") from None
        return f"{self.name}: {name} {said}" if said else f"{self.name}: {name} has nothing to do"

    def renew(self, a: int, b: int) -> str:
        """A commit, after which all snapshots before go."""
        return f"by {self.append(a, b)}, and expire {self.expire(0, 1)}"

    def write(self, folder: Path, name: str) -> Path:
        """A file of some bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        if self.store is not None and path.suffix == ".parquet":
            self.store.mkdir(parents=True, exist_ok=True)
            (self.store / f"stored-{name}").write_bytes(CONTENT)
            path.symlink_to(os.path.relpath(self.store / f"stored-{name}", folder))
        else:
            path.write_bytes(CONTENT)
        return path

    def data_file(self, a: int) -> str:
        """Writes a data file; its path as it is committed."""
        folder, prefix = self.places[a % len(self.places)]
        name = f"{self.name}-{next(self.numbers)}.parquet"
        self.write(folder, name)
        return f"{prefix}/{name}"

    def dead(self, folder: Path) -> list[str]:
        """The names of data files in a folder that it does not name, and no other table may."""
        live = all_files(self.roots())
        names = (path.name for path in folder.glob("*.parquet") if real(str(path)) not in live)
        return sorted(name for name in names if not name.startswith(self.foreign))

    def stray(self, paths: Iterable[str]) -> None:
        """Notes files that no commit names."""
        if not self.keeps_strays:
            self.strays |= {real(path) for path in paths}

    def live(self, table: lakebed.Table) -> list[str]:
        """Paths of live data files, as the table names them."""
        return sorted(table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist())

    def branches(self, table: lakebed.Table, kind: str = "branch") -> list[str]:
        """Names of branches beside main, or of tags."""
        rows = table.refs(columns=["name", "type"]).to_arrow().to_pylist()
        return sorted(row["name"] for row in rows if row["type"] == kind and row["name"] != "main")

    def freed(self, files: lakebed.Scan, b: int) -> str:
        """As `free` what a change of the table has freed, which every third removes."""
        return self.free(files.to_arrow()["file_path"].drop_null().to_pylist(), remove=b % 3 == 0)

    def free(self, paths: Iterable[str], remove: bool) -> str:
        """What an expiry says is free does not live, and is removed as its users do it."""
        paths = list(paths)
        found = {real(path) for path in paths}
        if wrong := found & all_files(self.roots()):
            raise FreedError(f"what is said to be free lives: {sorted(wrong)}")
        if not remove:
            if self.finds_freed:
                self.stray(path for path in found if Path(path).exists())
            return f"and leaves {len(found)} free files"
        for path in [*found, *map(local, paths)]:
            if os.path.lexists(path):
                os.remove(path)  # noqa: PTH107 - a text
        return f"and removes {len(found)} free files"


_OLD = int(time.time()) - 30 * 24 * 60 * 60


def aged(folder: Path) -> None:
    """Makes all files old, as no commit under way has them, and each as old as it was."""
    for root, _, names in os.walk(folder):
        for name in names:
            os.utime(f"{root}/{name}", (_OLD, _OLD))


def files(*paths: str, **columns: object) -> pa.Table:
    """Rows of files for a commit."""
    return file_rows(*paths, **{"file_size_in_bytes": 15, **columns})


def picked(items: list[AnItem], number: int) -> AnItem:
    """One of some things.

    Raises: NothingToDoError without any.
    """
    if not items:
        raise NothingToDoError
    return items[number % len(items)]
