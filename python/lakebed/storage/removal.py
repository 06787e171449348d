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
from lakebed.storage.protocols import CopyingStorage, RemovingStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakebed.storage.protocols import RemovalErrors

_AT_ONCE = 32
"""Requests that are under way at a time."""


def removed_each(
    remove: Callable[[str], object], paths: Sequence[str], at_once: int = _AT_ONCE
) -> RemovalErrors:
    """Calls `remove` with each path. Returns: of each the error; None also of a file that was not there.

    Cost: at most `at_once` threads, which end with the call.
    """

    def attempt(path: str) -> OSError | None:
        try:
            remove(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error
        return None

    with ThreadPoolExecutor(min(at_once, max(1, len(paths)))) as threads:
        return list(threads.map(attempt, paths))


def check_absent(storage: CopyingStorage, path: str) -> None:
    """Refuses to copy over a file, for storages that have no copy that does. Raises: FileExistsError."""
    if storage.size(path) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


class LocalFiles(RemovingStorage, CopyingStorage):
    """Files of this machine. Of a link the link itself is meant."""

    def remove_files(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes files, one after the other."""
        return removed_each(lambda path: _local(path).unlink(), paths, at_once=1)

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
