"""Filesystems of fsspec."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, cast

from lakebed._arguments import milliseconds
from lakebed.storage.adapter import Adapter
from lakebed.storage.failures import of_a_range
from lakebed.storage.local import is_local
from lakebed.storage.paths import scheme_of


class FsspecStorage(Adapter):
    """An fsspec filesystem as a `Storage`.

    Args: filesystem; location, the table's or file's; root, how the filesystem calls that.
    """

    def __init__(self, filesystem: Any, location: str, root: str) -> None:
        super().__init__(filesystem, location, root, local=is_local(filesystem))

    def _elsewhere(self, path: str) -> str:
        # Under the scheme that this filesystem was opened by: it may not know the others of its family.
        scheme, uri = scheme_of(self._location), scheme_of(path)
        return cast(
            "str", self._filesystem._strip_protocol(scheme + path[len(uri) :] if scheme and uri else path)
        )

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`."""
        with self._opening(path) as inner:
            try:
                return cast("bytes", self._filesystem.cat_file(inner, start=start, end=end))
            except Exception as error:
                # Object stores have no range of a file without bytes.
                if start == 0 and of_a_range(error) and self._filesystem.size(inner) == 0:
                    return b""
                raise

    def _is_irregular(self, inner: str) -> bool:
        try:
            return self._filesystem.info(inner)["type"] not in ("file", "directory")
        except FileNotFoundError:
            return False

    def folders(self, prefix: str) -> list[str]:
        """The names of folders directly below a directory. Raises: FileNotFoundError where there is none."""
        with self._asking(prefix) as directory:
            self._filesystem.invalidate_cache(directory)
            listed = self._filesystem.ls(directory, detail=True)
            found = {info["name"].lstrip("/"): info["type"] for info in listed}
            # Of a file its own path is listed, of a directory its marker, with a slash behind it.
            if found == {directory.strip("/"): "file"}:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), prefix)
            paths = ((path.rstrip("/"), kind) for path, kind in found.items())
            kinds = {path.rpartition("/")[2]: kind for path, kind in paths if path != directory.strip("/")}
            # Local links have a type of their own.
            names = [
                name
                for name, kind in kinds.items()
                if kind == "directory" or (self._is_local and Path(directory, name).is_dir())
            ]
        return self._without_links(prefix, directory, names)

    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory. Raises: FileNotFoundError where there is none."""
        with self._asking(prefix) as directory:
            # Many filesystems cache listings; a table's snapshots must be those of now.
            self._filesystem.invalidate_cache(directory)
            paths = (path.rstrip("/") for path in self._filesystem.ls(directory, detail=False))
            # Object stores may list the marker of the directory itself.
            return [path.rpartition("/")[2] for path in paths if path.strip("/") != directory.strip("/")]

    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""
        with self._asking(path) as inner:
            try:
                return milliseconds(self._filesystem.modified(inner))
            except (NotImplementedError, FileNotFoundError, IsADirectoryError):
                # How filesystems say that they keep no such time, of anything or of folders.
                return None
