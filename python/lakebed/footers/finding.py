"""Which data files are meant: those in a folder, or in a list."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, cast

from lakebed import _native
from lakebed._arguments import encodable
from lakebed._pyarrow import pa
from lakebed._threads import in_order
from lakebed.commits.inputs import paths_of
from lakebed.errors import UnsupportedError
from lakebed.footers.reading import DataFile, reads_of, storage_of
from lakebed.storage.paths import SCHEME
from lakebed.storage.protocols import DetailListingStorage, SizedStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakebed.storage import Storage
    from lakebed.table import Table

_SIZES = ("file_size_in_bytes", "size")


def found_files(paths: Any, table: Table | None, storage: object | None) -> tuple[list[DataFile], Storage]:
    """The files that are meant, and what reads them. Raises: as `lakebed.describe_files`."""
    if isinstance(paths, str | os.PathLike):
        folder = encodable("paths", os.fspath(paths)).rstrip("/")
        location = _location(folder, table)
        reader = reader_of(location, table, storage)
        size = _size(location, reader)
        if size is not None:
            return [DataFile(folder, location, size)], reader
        return _below(folder, location, reader), reader
    sizes: Sequence[int | None] = ()
    if hasattr(paths, "__arrow_c_stream__"):
        given = pa.table(paths)
        known = [name for name in _SIZES if name in given.schema.names]
        sizes = given[known[0]].to_pylist() if known else ()
        paths = given
    names = cast("Any", paths_of(paths)).to_pylist()
    sizes = sizes or [None] * len(names)
    files = [DataFile(name, _location(name, table), size) for name, size in zip(names, sizes, strict=True)]
    return files, reader_of(files[0].location if files else ".", table, storage)


def _location(path: str, table: Table | None) -> str:
    """Where a file is: in full."""
    if table is None or path.startswith("/") or SCHEME.match(path):
        return path
    return f"{table.core.location}/{path}"


def reader_of(location: str, table: Table | None, storage: object | None) -> Storage:
    """What reads a file for a table. Raises: as `open_table`."""
    if storage is None and table is not None and table.opening.storage is not None:
        return table.opening.storage
    return storage_of(location, storage)


def _size(location: str, storage: Storage) -> int | None:
    """The size of what is at a path if that is a file; None for a folder."""
    if not isinstance(storage, SizedStorage):
        return None
    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
        return storage.size(location)
    return None


def _below(folder: str, location: str, storage: Storage) -> list[DataFile]:
    """The files in a folder, and in folders within it, sorted by path.

    Raises: UnsupportedError for a storage that does not tell files from folders; FileNotFoundError.
    """
    if not isinstance(storage, DetailListingStorage):
        shown = _native.without_credentials(folder)
        message = f"a storage without contents() lists no folders: give the files in a list ({shown})"
        raise UnsupportedError(message, kind="unsupported", path=shown)
    found: list[DataFile] = []
    folders = [""]
    while folders:
        listed = in_order(folders, lambda below: storage.contents(location + below), reads_of(storage))
        folders = []
        for below, names in _shown(listed):
            for name, is_folder, size, _ in names:
                path = f"{below}/{name}"
                if is_folder:
                    folders.append(path)
                else:
                    found.append(DataFile(folder + path, location + path, size))
    return sorted(found, key=lambda file: file.path)


def _shown(listed: Iterable[tuple[str, Any]]) -> Iterable[tuple[str, list[Any]]]:
    """Without what writers and engines hide: `_SUCCESS`, `_temporary`, `.part-0.parquet.crc`."""
    for folder, entries in listed:
        # Not folders of a column that begins so.
        yield (
            folder,
            [one for one in entries if not one[0].startswith(("_", ".")) or (one[1] and "=" in one[0])],
        )
