"""Which paths are a table's own, and where what is done with its files is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lakebed._pyarrow import pa, pc
from lakebed.errors import LocationError, UnsupportedError
from lakebed.storage.adapter import Adapter
from lakebed.storage.paths import absolute, family_of, local_path, split
from lakebed.storage.protocols import CopyingStorage, RemovingStorage, WritableStorage
from lakebed.storage.removal import LocalFiles, removed_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.storage.protocols import RemovalErrors
    from lakebed.table import Table
    from lakebed.table.opening import Opening


class TableFiles(Protocol):
    """Where the files of a table are: a `Table`, or a `Folder`."""

    @property
    def location(self) -> str:
        """The folder by which the table was opened."""

    @property
    def opening(self) -> Opening:
        """How it was opened; the storage alone is asked."""


@dataclass(frozen=True)
class Folder:
    """The folder of a table, for processes that read no metadata of it."""

    location: str
    opening: Opening

    @staticmethod
    def of(table: Table) -> Folder:
        """That of a table, as every process means it."""
        return Folder(full(table, table.location), table.opening.for_workers())


class Place:
    """A folder, and what is below it, as its storage has it.

    Args: is_local, whether its storage has local files, where paths are compared without links.
    """

    def __init__(self, location: str, *, is_local: bool = True) -> None:
        self.location, self._has_links = location.rstrip("/"), is_local
        local = self._path(location)
        self._local = None if local is None else os.path.realpath(local)
        self._real: dict[str, str] = {}

    def _path(self, location: str) -> str | None:
        return local_path(location) if self._has_links else None

    def relative(self, path: str) -> str | None:
        """How a file is called below the folder; None where it is not below it."""
        local = self._path(path)
        if self._local is not None and local is not None:
            folder, name = os.path.split(local)
            if (real := self._real.get(folder)) is None:
                real = self._real[folder] = os.path.realpath(folder)
            file, inside = f"{real.rstrip('/')}/{name}", self._local.rstrip("/") + "/"
            return file[len(inside) :] if file.startswith(inside) and name not in ("", "..") else None
        if (self._local is None) != (local is None):
            return None
        here, there = (_parts(one) for one in (self.location, path))
        if here[:2] != there[:2] or not there[2].startswith(here[2] + "/" if here[2] else ""):
            return None
        relative = there[2][len(here[2]) :].lstrip("/")
        return relative if relative and ".." not in relative.split("/") else None

    def below(self, relative: str) -> str:
        """The path of what is called so below the folder."""
        return f"{self.location}/{relative}"


def _parts(uri: str) -> tuple[str, str, str]:
    authority, key = split(uri)
    return family_of(uri), authority, key.rstrip("/")


def is_local(table: TableFiles) -> bool:
    """Whether a table has local files; of storages of users' own that is so."""
    storage = table.opening.storage
    return not isinstance(storage, Adapter) or storage.is_local


def full(table: TableFiles, path: str) -> str:
    """A path of the table's storage as it is from every working directory."""
    return absolute(path) if is_local(table) else path


def place_of(table: TableFiles, path: str) -> Place:
    """A folder of the table's storage."""
    return Place(full(table, path), is_local=is_local(table))


def respelled(rows: pa.Table, table: TableFiles) -> pa.Table:
    """Rows with `file_path` large_utf8 as it is below the location that the table was opened by: plans and
    metadata may spell it in another way. Paths elsewhere stay.

    Cost: a look at each path, and a call for each that is spelled in another way.
    """
    paths, location = rows["file_path"].cast(pa.large_string()), table.location.rstrip("/")
    if not pc.all(pc.starts_with(paths, f"{location}/")).as_py():
        place = place_of(table, location)
        relatives = ((path, place.relative(path)) for path in paths.to_pylist())
        spelled = [path if name is None else f"{location}/{name}" for path, name in relatives]
        paths = pa.chunked_array([pa.array(spelled, pa.large_string())])
    return rows.set_column(rows.schema.get_field_index("file_path"), "file_path", paths)


def check_apart(own: Place, place: Place, what: str) -> None:
    """Refuses a folder or file within the table's folder, or a folder that the table is in.

    Raises: LocationError.
    """
    if own.relative(place.location) or place.relative(own.location) or own.location == place.location:
        message = f"{what} is in the table's folder, or the table in it: it has to be apart from the table"
        raise LocationError(message, kind="location", path=place.location)


class Remover:
    """Removes and copies the files of a table by its storage.

    Raises: UnsupportedError for a storage that does not remove files.
    """

    def __init__(self, table: TableFiles) -> None:
        self._table = table
        storage: object = table.opening.storage
        self._storage: object = LocalFiles() if storage is None else storage
        if not isinstance(self._storage, RemovingStorage | WritableStorage):
            raise self._lacks("removes no files")
        self._removing: RemovingStorage | WritableStorage = self._storage

    def remove(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes files. Returns: of each why it is there still; None for one that is gone."""
        if isinstance(self._removing, RemovingStorage):
            return self._removing.remove_files(paths)
        return removed_each(self._removing.remove, paths)

    def copying(self) -> CopyingStorage:
        """The storage, to copy files. Raises: UnsupportedError where it cannot."""
        if isinstance(self._storage, CopyingStorage):
            return self._storage
        raise self._lacks("copies no files")

    def _lacks(self, what: str) -> UnsupportedError:
        message = f"this storage {what}: open the table with storage='pyarrow', 'fsspec' or 'obstore'"
        return UnsupportedError(message, kind="unsupported", path=self._table.location)


def moved(copying: CopyingStorage, pairs: Sequence[tuple[str, str]], begun: frozenset[str]) -> RemovalErrors:
    """Copies each file to its target, where none is.

    Args: begun, targets of an earlier run, which may have been copied then.
    Returns: of each why it was not copied; None for one that was.
    """

    def move(source: str, target: str) -> None:
        size = copying.size(source)
        there = copying.size(target)
        if size is None and there is not None and target in begun:
            return  # all but its last line of the log was done
        if there is not None and not (target in begun and there in (size, None)):
            raise FileExistsError(f"{target} is there already")
        if there is None:
            copying.copy(source, target)
        if size is None or copying.size(target) != size:
            raise OSError(f"the copy at {target} has another size than the file")

    targets = dict(pairs)
    return removed_each(lambda source: move(source, targets[source]), list(targets))
