"""What the adapters of other libraries have in common: which paths they open, and what they raise."""

from __future__ import annotations

import errno
import os
from abc import abstractmethod
from pathlib import Path
from typing import Any

from lakebed import _native
from lakebed._notes import warn
from lakebed.errors import LocationError, UnsupportedError
from lakebed.storage.paths import shares_filesystem
from lakebed.storage.protocols import (
    ConcurrentStorage,
    CopyingStorage,
    DetailListingStorage,
    FolderListingStorage,
    RemovingStorage,
    Storage,
    TimedStorage,
)
from lakebed.storage.secrets import wrapped

LOCAL_READS = 4
"""How many local files are read at once: that takes a processor, not time."""


class Adapter(
    Storage,
    FolderListingStorage,
    DetailListingStorage,
    TimedStorage,
    RemovingStorage,
    CopyingStorage,
    ConcurrentStorage,
):
    """A filesystem of another library, and how paths below `location` are called there.

    Its methods that ask the library are `failures.reported`: what the library raises on a path becomes an
    `OSError` with it, FileNotFoundError where nothing is there, without secrets.

    Attributes: of_uri, whether it was opened by a URI, with what is found of credentials where that is done;
        given, the location as it was given, which may have credentials.
    """

    of_uri = False
    given = ""

    def __init__(self, filesystem: Any, location: str, root: str, *, local: bool | None = None) -> None:
        """Args: root, how the filesystem calls the location; local, whether it reads local files, None to
        find out.
        """
        self._filesystem = filesystem
        self._location = location
        self._root = root.rstrip("/")
        self._is_local = _is_local(filesystem) if local is None else local
        self.concurrent_reads = LOCAL_READS if self._is_local else None

    @property
    def is_local(self) -> bool:
        """Whether its files are local ones, which links may lead to."""
        return self._is_local

    @property
    def location(self) -> str:
        """Where the table or file is, without credentials."""
        return self._location

    @property
    def holders(self) -> tuple[Any, ...]:
        """What holds secrets: the options of the library, and the URI."""
        return self._filesystem, self.given

    def _opened(self, path: str) -> str:
        """What the filesystem calls a path that is to be read.

        Raises: LocationError where a pipe or a device is there, UnsupportedError for a path on another
            filesystem.
        """
        inner = self._inner(path)
        # Looked up only where files are local: a device never ends, and a pipe without a writer never begins.
        if self._is_local and self._is_irregular(inner):
            shown = _native.without_credentials(path)
            message = f"not a regular file: pipes and devices are not read ({shown})"
            raise LocationError(message, kind="location", path=shown)
        return inner

    def _without_links(self, prefix: str, inner: str, names: list[str]) -> list[str]:
        """Of the names of folders in a directory those of no local links, which are warned of."""
        links = [name for name in names if self._is_local and self._is_link(f"{inner}/{name}")]
        shown = _native.without_credentials(prefix)
        warn([f'the folder "{name}" in "{shown}" is not looked into: it is a link' for name in links])
        return [name for name in names if name not in links]

    def _is_link(self, inner: str) -> bool:
        return Path(inner).is_symlink()

    @abstractmethod
    def _is_irregular(self, inner: str) -> bool:
        """Whether something is there that is neither a file nor a folder."""

    def _inner(self, path: str) -> str:
        """What the filesystem calls a path: one below the location, or one that metadata names in full."""
        if path == self._location or path.startswith(self._location + "/"):
            return self._root + path[len(self._location) :]
        if not shares_filesystem(self._location, path):
            shown = _native.without_credentials(path)
            raise UnsupportedError(
                f"{shown!r} is on another filesystem than {self._location!r}, give relocate=",
                kind="unsupported",
                path=shown,
            )
        return self._elsewhere(path)

    @abstractmethod
    def _elsewhere(self, path: str) -> str:
        """What the filesystem calls a path that is not below the location."""

    def __repr__(self) -> str:
        return f"<lakebed storage {self._location!r} on {type(self._filesystem).__name__}>"


def read_stream(stream: Any, start: int | None, end: int | None) -> bytes:
    """The bytes of an open file, all or from `start` up to `end`.

    Raises: OSError where there are fewer than its size says.

    pyarrow takes a range that S3 gives short as whole, with what its memory held before behind it: at times
    the same file, as it was read last. What is not given is 0xFF here, which no format has in that place.
    """

    def copied(room: memoryview) -> int:
        given = stream.read(len(room))
        room[: len(given)] = given
        return len(given)

    # Room for all that is asked for might be made, however much less there is.
    stream.seek(0, os.SEEK_END)
    size = int(stream.tell())
    first, last = start or 0, size if end is None else min(end, size)
    room = bytearray(b"\xff") * (last - first)
    if room:
        stream.seek(first)
    into, done = getattr(stream, "readinto", copied), 0
    while done < len(room) and (given := into(memoryview(room)[done:])):
        done += given
    if done < len(room):
        raise OSError(errno.EIO, f"the storage gave {done} bytes of {len(room)}")
    return bytes(room)


def _is_local(filesystem: object) -> bool:
    """Whether a filesystem of pyarrow or fsspec reads local files, itself or through others that it wraps."""
    from pyarrow.fs import LocalFileSystem

    for one in wrapped(filesystem):
        protocol = getattr(one, "protocol", ())
        protocols = (protocol,) if isinstance(protocol, str) else protocol
        if isinstance(one, LocalFileSystem) or "file" in protocols or "local" in protocols:
            return True
    return False
