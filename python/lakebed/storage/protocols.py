"""What lakebed asks of a storage: one protocol an ability, of which every storage reads and lists.

Paths are the table's location, `/` and what is below it, and those that metadata names in full, as written
or as `relocate` has them. Times are milliseconds since 1970 UTC. Methods are called from several threads at
once, and raise `OSError`s, which are passed on as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from lakebed._arguments import positive

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ConcurrentStorage",
    "Contents",
    "CopyingStorage",
    "DetailListingStorage",
    "FolderListingStorage",
    "IdentifiedStorage",
    "ListableStorage",
    "PublishingStorage",
    "ReadableStorage",
    "RemovalErrors",
    "RemovingStorage",
    "SizedStorage",
    "Storage",
    "TimedStorage",
    "WritableStorage",
]

Contents: TypeAlias = list[tuple[str, bool, int | None, int | None]]
"""What a directory holds: each name, whether it is a folder, and of a file its bytes and when it was
modified, each None where that is not known."""

RemovalErrors: TypeAlias = list[OSError | None]
"""Of each file that was to be removed why it is there still; None for one that is gone."""


@runtime_checkable
class ReadableStorage(Protocol):
    """A storage whose files can be read."""

    @abstractmethod
    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes | memoryview:
        """The bytes of a file, all or from `start` up to `end`, fewer where it ends before.

        More than that is an error. A file is read in one range, as long as is recorded and a byte. Anything
        with the buffer protocol will do; what is read-only is decoded where it is.
        Raises: FileNotFoundError or an OSError; MemoryError becomes a LimitError.
        """


@runtime_checkable
class ListableStorage(Protocol):
    """A storage whose directories can be listed."""

    @abstractmethod
    def list(self, prefix: str) -> list[str]:
        """The names (not paths) directly below a directory; where there is none, [] or FileNotFoundError."""


@runtime_checkable
class Storage(ReadableStorage, ListableStorage, Protocol):
    """What every storage has: it reads and lists. It may have the abilities of the other protocols too, which
    are found out once, when a table is opened.
    """


@runtime_checkable
class FolderListingStorage(Protocol):
    """A storage that lists folders alone; of others `find_tables` lists files too."""

    @abstractmethod
    def folders(self, prefix: str) -> list[str]:
        """The names of folders directly below a directory. Raises: FileNotFoundError where there is none."""


@runtime_checkable
class DetailListingStorage(Protocol):
    """A storage whose listings say what files are; `Table.orphans` without a listing needs it."""

    @abstractmethod
    def contents(self, prefix: str) -> Contents:
        """The entries of a directory. Raises: FileNotFoundError where there is none."""


@runtime_checkable
class TimedStorage(Protocol):
    """A storage that knows times; of others the branches of Paimon's tables have no creation times."""

    @abstractmethod
    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""


@runtime_checkable
class WritableStorage(Protocol):
    """A storage that takes the files of commits through a catalog."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Writes a file that is not there yet."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Deletes a file. Raises: FileNotFoundError where there is none."""


@runtime_checkable
class PublishingStorage(WritableStorage, Protocol):
    """A storage that decides which of two writers was first: it takes commits without a catalog."""

    @abstractmethod
    def publish(self, path: str, data: bytes, replace: bool) -> None:
        """Writes a file that appears whole, in one step, whoever else writes there.

        Raises: FileExistsError where one is that is not to be replaced; an OSError, after which the file may
            be there all the same.
        """


@runtime_checkable
class RemovingStorage(Protocol):
    """A storage that removes many files; `lakebed.apply` needs it, or the `remove` of `WritableStorage`."""

    @abstractmethod
    def remove_files(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes some thousand files at most, in as few requests as the storage has; of none that is there
        no more an error. What keeps one file does not keep the others.
        """


@runtime_checkable
class SizedStorage(Protocol):
    """A storage that knows the sizes of files; of others `describe_files` reads them whole."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """The size of a file [bytes]; None where there is none."""


@runtime_checkable
class CopyingStorage(SizedStorage, Protocol):
    """A storage that copies files within itself; a quarantine needs it."""

    @abstractmethod
    def copy(self, path: str, target: str) -> None:
        """Copies a file to a path that has none.

        Raises: FileExistsError where one is, as far as the storage can tell; FileNotFoundError.
        """


@runtime_checkable
class ConcurrentStorage(Protocol):
    """A storage that says how many reads it serves at once, from as many threads: 64 of others, or for None.

    One that says 1 is called by the thread that asks, as long as that reads with `threads=1`.
    """

    concurrent_reads: int | None


@runtime_checkable
class IdentifiedStorage(Protocol):
    """A storage that says what tells it from others, for caches: of two that say the same, in whichever
    process, a path is the same file. What is read of others a cache has for that object alone, in memory.

    No secrets: the identity is in the files of the cache's folder.
    """

    identity: str | None


def abilities(storage: object) -> SimpleNamespace:
    """Which protocols a storage fulfils, for the compiled core, which reads the attributes.

    Raises: TypeError, ValueError for `concurrent_reads` that are no count.
    """
    return SimpleNamespace(
        folders=_is(storage, FolderListingStorage, "folders"),
        contents=_is(storage, DetailListingStorage, "contents"),
        modified=_is(storage, TimedStorage, "modified"),
        write=_is(storage, WritableStorage, "write", "remove"),
        publish=_is(storage, PublishingStorage, "write", "remove", "publish"),
        concurrent_reads=positive("concurrent_reads", getattr(storage, "concurrent_reads", None)),
        says_reads=_is(storage, ConcurrentStorage, "concurrent_reads"),
    )


def _is(storage: object, protocol: type, *members: str) -> bool:
    # From Python 3.12 on the first passes over what a wrapper hands on by `__getattr__`.
    return isinstance(storage, protocol) or all(getattr(storage, name, None) is not None for name in members)
