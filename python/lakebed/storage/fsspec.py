"""Filesystems of fsspec."""

from __future__ import annotations

import errno
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lakebed._arguments import milliseconds
from lakebed.storage.adapter import Adapter
from lakebed.storage.failures import of_a_range, reported
from lakebed.storage.paths import scheme_of
from lakebed.storage.removal import check_absent, removed_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.storage.protocols import Contents, RemovalErrors

Listing = list[tuple[str, bool, str, dict[str, Any]]]


class FsspecStorage(Adapter):
    """An fsspec filesystem as a `Storage`.

    Args: filesystem; location, the table's or file's; root, how the filesystem calls that.
    """

    def _elsewhere(self, path: str) -> str:
        # Under the scheme that this filesystem was opened by: it may not know the others of its family.
        scheme, uri = scheme_of(self._location), scheme_of(path)
        return cast(
            "str", self._filesystem._strip_protocol(scheme + path[len(uri) :] if scheme and uri else path)
        )

    @reported
    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`."""
        inner = self._opened(path)
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

    @reported
    def folders(self, prefix: str) -> list[str]:
        """The names of folders directly below a directory. Raises: FileNotFoundError where there is none."""
        return [name for name, is_folder, _, _ in self._contents(prefix) if is_folder]

    @reported
    def contents(self, prefix: str) -> Contents:
        """The entries of a directory. Raises: FileNotFoundError where there is none."""
        return [
            (name, is_folder, None if is_folder else info.get("size"), _time_of(info))
            for name, is_folder, kind, info in self._contents(prefix)
            if is_folder or kind in ("file", "link")
        ]

    def _contents(self, prefix: str) -> Listing:
        """Name, whether it is a folder and not a link, type and details. Raises: as `folders`."""
        directory = self._inner(prefix)
        self._filesystem.invalidate_cache(directory)
        listed = self._filesystem.ls(directory, detail=True)
        found = {info["name"].lstrip("/"): info for info in listed}
        # Of a file its own path is listed, of a directory its marker, with a slash after it.
        if {name: info["type"] for name, info in found.items()} == {directory.strip("/"): "file"}:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), prefix)
        paths = ((path.rstrip("/"), info) for path, info in found.items())
        infos = {path.rpartition("/")[2]: info for path, info in paths if path != directory.strip("/")}
        # Local links have a type of their own.
        folders = [
            name
            for name, info in infos.items()
            if info["type"] == "directory" or (self._is_local and Path(directory, name).is_dir())
        ]
        open_ones = set(self._without_links(prefix, directory, folders))
        return [
            (name, name in open_ones, info["type"], info)
            for name, info in infos.items()
            if name in open_ones or name not in folders
        ]

    @reported
    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory. Raises: FileNotFoundError where there is none."""
        directory = self._inner(prefix)
        # Many filesystems cache listings; a table's snapshots must be those of now.
        self._filesystem.invalidate_cache(directory)
        paths = (path.rstrip("/") for path in self._filesystem.ls(directory, detail=False))
        # Object stores may list the marker of the directory itself.
        return [path.rpartition("/")[2] for path in paths if path.strip("/") != directory.strip("/")]

    @reported
    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""
        inner = self._inner(path)
        try:
            return milliseconds(self._filesystem.modified(inner))
        except (NotImplementedError, FileNotFoundError, IsADirectoryError):
            # How filesystems say that they keep no such time, of anything or of folders.
            return None

    def remove_files(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes files: of s3fs by the request for many, of others some at a time.

        Never `rm`, to which `*`, `?` and `[` in a path are patterns.
        """
        ask = getattr(self._filesystem, "call_s3", None)
        errors = None if ask is None else self._removed_by_s3(paths, ask)
        return removed_each(self._remove, paths) if errors is None else errors

    def _removed_by_s3(self, paths: Sequence[str], ask: Callable[..., Any]) -> RemovalErrors | None:
        """The errors of a request for all; None where some have to be asked for one by one."""
        buckets, keys = set(), []
        for path in paths:
            bucket, _, key = self._inner(path).partition("/")
            buckets.add(bucket)
            keys.append(key)
        if len(buckets) != 1:
            return None
        try:
            objects = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
            answer = ask("delete_objects", Bucket=buckets.pop(), Delete=objects)
        except Exception:  # noqa: BLE001 - a server without the request, or one that fails: each is asked for alone
            return None
        return None if answer.get("Errors") else [None] * len(paths)

    @reported
    def _remove(self, path: str) -> None:
        self._filesystem.rm_file(self._inner(path))

    @reported
    def size(self, path: str) -> int | None:
        """The size of a file [bytes]; None where there is none."""
        inner = self._inner(path)
        self._filesystem.invalidate_cache(inner.rpartition("/")[0])
        try:
            info = self._filesystem.info(inner)
        except FileNotFoundError:
            return None
        return cast("int", info["size"]) if info["type"] in ("file", "link") else None

    @reported
    def copy(self, path: str, target: str) -> None:
        """Copies a file. Raises: FileExistsError, FileNotFoundError."""
        check_absent(self, target)
        inner = self._inner(target)
        if self._is_local:
            self._filesystem.makedirs(inner.rpartition("/")[0], exist_ok=True)
        self._filesystem.cp_file(self._inner(path), inner)


def _time_of(info: dict[str, Any]) -> int | None:
    """When a file was modified [ms since 1970 UTC], by whichever name a filesystem has for it."""
    names = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")
    time = next((info[name] for name in names if info.get(name) is not None), None)
    if isinstance(time, str):
        time = datetime.fromisoformat(time.replace("Z", "+00:00"))
    if isinstance(time, datetime):
        return milliseconds(time if time.tzinfo else time.replace(tzinfo=timezone.utc))
    return None if time is None else int(time * 1000)
