"""Removing many files: one by one, side by side, where a storage has no request for several."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.storage.paths import local_path
from lakebed.storage.protocols import CopyingStorage, PublishingStorage, RemovingStorage, Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.storage.protocols import RemovalErrors

_AT_ONCE = 32
"""Requests that are under way at a time."""


def removed_each(
    remove: Callable[[str], object], paths: Sequence[str], at_once: int = _AT_ONCE
) -> RemovalErrors:
    """Calls `remove` with each path. Returns: of each the error; None also of a file that was not there.

    Cost: at most `at_once` threads, which end with the call; none for one at a time.
    """

    def attempt(path: str) -> OSError | None:
        try:
            remove(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error
        return None

    if at_once == 1 or len(paths) < 2:
        return [attempt(path) for path in paths]
    with ThreadPoolExecutor(min(at_once, len(paths))) as threads:
        return list(threads.map(attempt, paths))


def check_absent(storage: CopyingStorage, path: str) -> None:
    """Refuses to copy over a file, for storages that have no copy that does. Raises: FileExistsError."""
    if storage.size(path) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


class LocalFiles(Storage, PublishingStorage, RemovingStorage, CopyingStorage):
    """Files of this machine. Of a link that is removed or copied the link itself is meant."""

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`. Raises: FileNotFoundError."""
        return _local(path).read_bytes()[start:end]

    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory. Raises: FileNotFoundError where there is none."""
        return [one.name for one in _local(prefix).iterdir()]

    def write(self, path: str, data: bytes) -> None:
        """Writes a file that is not there yet; it is on the disk, whole, when this returns."""
        self.publish(path, data, False)

    def publish(self, path: str, data: bytes, replace: bool) -> None:
        """Writes a file that appears whole. Raises: FileExistsError."""
        there = _local(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=there.parent, prefix=".lakebed-") as folder:
            draft = Path(folder, "draft")
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                draft.replace(there)
            else:
                self.copy(str(draft), path)
        parent = os.open(there.parent, os.O_RDONLY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)

    def remove(self, path: str) -> None:
        """Deletes a file. Raises: FileNotFoundError."""
        _local(path).unlink()

    def remove_files(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes files, one after the other."""
        return removed_each(self.remove, paths, at_once=1)

    def size(self, path: str) -> int | None:
        """The size of a file [bytes]; None where there is none."""
        try:
            return _local(path).lstat().st_size
        except FileNotFoundError:
            return None

    def copy(self, path: str, target: str) -> None:
        """Copies a file, with its times; where both are on one disk it gets another name.

        Raises: FileExistsError, FileNotFoundError.
        """
        source, there = _local(path), _local(target)
        there.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, there, follow_symlinks=False)
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError:
            # Another disk, or one without second names of files.
            _copied(source, there)


def _copied(source: Path, target: Path) -> None:
    """Copies the bytes, which appear whole. Raises: FileExistsError."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".lakebed-") as folder:
        draft = Path(folder, "draft")
        shutil.copy2(source, draft, follow_symlinks=False)
        if not draft.is_symlink():
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        if target.exists() or target.is_symlink():
            raise FileExistsError(f"{target} is there already")
        draft.rename(target)


def _local(path: str) -> Path:
    return Path(local_path(path) or path)
