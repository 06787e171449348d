"""The `FileIO` of PyIceberg and that of pypaimon as a storage."""

from __future__ import annotations

import contextlib
import os
import stat
from abc import abstractmethod
from datetime import datetime
from typing import Any

from lakebed import _native
from lakebed._arguments import milliseconds
from lakebed.errors import LocationError, UnsupportedError
from lakebed.storage.adapter import LOCAL_READS, read_stream
from lakebed.storage.failures import reported
from lakebed.storage.paths import local_path
from lakebed.storage.protocols import (
    ConcurrentStorage,
    Contents,
    DetailListingStorage,
    SizedStorage,
    Storage,
    TimedStorage,
    WritableStorage,
)


class FileIOStorage(Storage, ConcurrentStorage, SizedStorage):
    """The `FileIO` of a catalog's table as a `Storage`, which is pickled with the credentials it has.

    Args: io, the `FileIO`; location, the table's.
    """

    def __init__(self, io: Any, location: str) -> None:
        self._io = io
        self._location = location
        self._is_local = local_path(location) is not None
        self.concurrent_reads = LOCAL_READS if self._is_local else None

    def renew(self, other: FileIOStorage) -> None:
        """Uses the credentials of another from now on, which the catalog issued later."""
        self._io = other._io

    @reported
    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`.

        Raises: FileNotFoundError; LocationError for a pipe or a device; OSError, with the path and without
            what the credentials say.
        """
        self._check(path)
        with contextlib.closing(self._input(path)) as stream:
            return read_stream(stream, start, end)

    @abstractmethod
    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory; [] where there is none."""

    @reported
    def size(self, path: str) -> int | None:
        """The size of a file [bytes]. Raises: FileNotFoundError; OSError as `read`."""
        self._check(path)
        return self._size(path)

    @abstractmethod
    def _size(self, path: str) -> int:
        """The size of a file [bytes]."""

    @abstractmethod
    def _input(self, path: str) -> Any:
        """The stream of a file's bytes."""

    def _check(self, path: str) -> None:
        """Raises: LocationError for what would never end, or never begin."""
        local = local_path(path) if self._is_local else None
        if local is None:
            return
        try:
            mode = os.stat(local).st_mode  # noqa: PTH116 - a path of metadata, not to be normalised
        except (OSError, ValueError):
            # What is there, and whether, is for the library to say.
            return
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            message = f"not a regular file: pipes and devices are not read ({path})"
            raise LocationError(message, kind="location", path=path)

    @property
    def is_local(self) -> bool:
        """Whether its files are local ones."""
        return self._is_local

    @property
    def location(self) -> str:
        """Where the table is."""
        return self._location

    @property
    def holders(self) -> tuple[Any, ...]:
        """What holds secrets: the properties of the library."""
        return (self._io,)

    def __repr__(self) -> str:
        return (
            f"<lakebed storage {_native.without_credentials(self._location)!r} on {type(self._io).__name__}>"
        )


class IcebergFiles(FileIOStorage, WritableStorage):
    """A `FileIO` of PyIceberg as a storage, which writes and cannot list."""

    def _input(self, path: str) -> Any:
        return self._io.new_input(path).open()

    def _size(self, path: str) -> int:
        return len(self._io.new_input(path))

    @reported
    def write(self, path: str, data: bytes) -> None:
        """Writes a file, which must not be there, or nothing. Raises: OSError as `read`."""
        stream = self._io.new_output(path).create(overwrite=False)
        try:
            with contextlib.closing(stream):
                stream.write(data)
        except BaseException:
            # Closing may publish what was written until then.
            with contextlib.suppress(Exception):
                self._io.delete(path)
            raise

    @reported
    def remove(self, path: str) -> None:
        """Removes a file. Raises: FileNotFoundError; OSError as `read`."""
        self._io.delete(path)

    def list(self, prefix: str) -> list[str]:
        """Raises: UnsupportedError; a `FileIO` of PyIceberg does not list."""
        shown = _native.without_credentials(prefix)
        message = (
            f"PyIceberg's {type(self._io).__name__} has no list(), as a lakebed.ListableStorage has: it "
            f"lists no folders, give storage= ({shown})"
        )
        raise UnsupportedError(message, kind="unsupported", path=shown)


class PaimonFiles(FileIOStorage, DetailListingStorage, TimedStorage):
    """A `FileIO` of pypaimon as a storage, which only reads and lists."""

    def _input(self, path: str) -> Any:
        return self._io.new_input_stream(path)

    def _size(self, path: str) -> int:
        return int(self._io.get_file_size(path))

    @reported
    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory; [] where there is none. Raises: OSError as `read`."""
        found = self._io.list_status(prefix)
        return [str(status.path).rstrip("/").rpartition("/")[2] for status in found or ()]

    @reported
    def contents(self, prefix: str) -> Contents:
        """The entries of a directory; nothing where it does not exist. Raises: OSError as `read`."""
        found = self._io.list_status(prefix)
        return [
            (
                str(status.path).rstrip("/").rpartition("/")[2],
                is_folder := getattr(status.type, "name", "") == "Directory",
                None if is_folder else status.size,
                _millis(getattr(status, "mtime", None)),
            )
            for status in found or ()
        ]

    @reported
    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""
        return _millis(getattr(self._io.get_file_status(path), "mtime", None))


def _millis(time: Any) -> int | None:
    """Milliseconds since 1970 UTC of an instant or of seconds."""
    if isinstance(time, datetime):
        return milliseconds(time)
    return None if time is None else int(time * 1000)
