"""Filesystems of pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lakebed.storage.adapter import Adapter, read_stream
from lakebed.storage.failures import reported
from lakebed.storage.paths import literal_path
from lakebed.storage.removal import check_absent, removed_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.storage.protocols import Contents, RemovalErrors


class ArrowStorage(Adapter):
    """A `pyarrow.fs.FileSystem` as a `Storage`.

    Args: filesystem; location, the table's or file's; root, how the filesystem calls that.
    """

    def _elsewhere(self, path: str) -> str:
        return literal_path(path)

    @reported
    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`."""
        # Not `open_input_stream`: that decompresses what has a suffix such as .gz.
        with self._filesystem.open_input_file(self._opened(path)) as file:
            return read_stream(file, start, end)

    def _is_irregular(self, inner: str) -> bool:
        from pyarrow.fs import FileType

        return cast("bool", self._filesystem.get_file_info(inner).type == FileType.Unknown)

    @reported
    def folders(self, prefix: str) -> list[str]:
        """The names of folders directly below a directory. Raises: FileNotFoundError where there is none."""
        return [name for name, is_folder, _, _ in self._contents(prefix) if is_folder]

    @reported
    def contents(self, prefix: str) -> Contents:
        """The entries of a directory. Raises: FileNotFoundError where there is none."""
        return self._contents(prefix)

    def _contents(self, prefix: str) -> Contents:
        # What is reported twice loses the code of a server's answer.
        from pyarrow.fs import FileSelector, FileType

        inner = self._inner(prefix)
        found = self._filesystem.get_file_info(FileSelector(inner))
        folders = [info.base_name for info in found if info.type == FileType.Directory]
        files = [info for info in found if info.type == FileType.File]
        return [
            *((name, True, None, None) for name in self._without_links(prefix, inner, folders)),
            *((info.base_name, False, info.size, _millis(info.mtime_ns)) for info in files),
        ]

    @reported
    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory; [] where there is none."""
        from pyarrow.fs import FileSelector

        inner = self._inner(prefix)
        selector = FileSelector(inner, allow_not_found=True)
        return [info.base_name for info in self._filesystem.get_file_info(selector)]

    @reported
    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""
        inner = self._inner(path)
        return _millis(self._filesystem.get_file_info(inner).mtime_ns)

    def remove_files(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes files, some at a time: pyarrow has no request for several."""
        return removed_each(self._remove, paths)

    @reported
    def _remove(self, path: str) -> None:
        self._filesystem.delete_file(self._inner(path))

    @reported
    def size(self, path: str) -> int | None:
        """The size of a file [bytes]; None where there is none."""
        from pyarrow.fs import FileType

        info = self._filesystem.get_file_info(self._inner(path))
        return cast("int", info.size) if info.type == FileType.File else None

    @reported
    def copy(self, path: str, target: str) -> None:
        """Copies a file. Raises: FileExistsError, FileNotFoundError."""
        check_absent(self, target)
        inner = self._inner(target)
        if self._is_local:
            self._filesystem.create_dir(inner.rpartition("/")[0])
        self._filesystem.copy_file(self._inner(path), inner)


def _millis(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // 1_000_000
