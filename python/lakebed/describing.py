"""Data files that are there already, as commits take them: from their footers, without their rows."""

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
from lakebed.footers.rows import described
from lakebed.storage.paths import SCHEME
from lakebed.storage.protocols import DetailListingStorage, SizedStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakebed.storage import Storage
    from lakebed.table import Table

_SIZES = ("file_size_in_bytes", "size")


def describe_files(paths: Any, table: Table | None = None, *, storage: object | None = None) -> pa.Table:
    """Rows for `append_files` of Parquet, ORC and Avro files, from their footers alone, read side by side.

    `describe_file` is for the file's writer, who has the rows. A table is partitioned by what all rows of a
    file have in common: that is told by the bounds of its columns, where the lower and the upper one are of
    one partition, or by its folders, `region=emea/day=2026-01-01/` (also by names of partition fields,
    `ts_day=2026-01-01/`); where both tell, they must agree.

    Args:
        paths: a folder, whose files are found, also in folders within (none whose names begin with `_` or
            `.`), or one file; or paths of files in a list; or Arrow data with the column `file_path` utf8,
            such as an inventory, and where it is known `file_size_in_bytes` or `size` int64, which saves a
            request a file. Relative ones are below the table, without one below the working directory.
        table: where the files will belong. Metrics are kept as its properties want them (as of
            `describe_file`), and columns are found as its readers do: by field ids where a file has them,
            else by the table's name mapping, else by their names. None for rows with the columns of the first
            file, and bounds of the length that both formats keep unless told otherwise.
        storage: what reads the files, as of `open_table`; None for what reads the table, or the URI.
    Returns: a row for each file, in order (of a folder sorted by path): `content` int32 0, `file_path` utf8
        as given, `file_format` utf8 by what the file is, `record_count` [rows], `file_size_in_bytes` int64,
        of Iceberg `split_offsets` list<int64> (starts of row groups or stripes), of Paimon `bucket` int32;
        with a table `partition` and `spec_id`; and `stats`, a struct per column of `value_count`,
        `null_count`, `nan_count` (always null: footers do not say), `column_size` int64 [bytes], and
        `lower_bound` and `upper_bound` in the column's type. What a footer does not say is null. Avro files
        have no statistics. Bounds are null where those of one row group are missing or of an order that is
        not the type's (of texts and bytes in files of old writers); of floats they say nothing of NaN, and of
        Paimon's tables there are none, whose engines compare NaN.
    Raises: SchemaError with the file as `.path` and the column as `.field`: a column that the table does not
        have, a type that its readers do not take, a required column that is absent, may be null or is; rows
        of two partitions; a file whose partition nothing tells. CorruptError and its kin, with `.path` and
        `.offset` (a damaged footer, a file without one), EncryptionError (an encrypted footer or column),
        UnsupportedError (another format; rows of buckets that no folder tells), LimitError (a footer over
        `LIMITS.max_header_bytes`), FileNotFoundError and other OSErrors. Nothing is skipped in silence.
    Cost: one request for the last 64 KiB of a file, and one for its size where that is not known; a second
        for a longer footer. Avro has no footer: such files are read whole. As many files at once as the
        storage serves; memory of as many footers, and of the rows.
    Source: Iceberg's `ParquetMetrics.java`, `OrcMetrics.java`, `TableMigrationUtil.java`; Paimon's
        `FileMetaUtils.java`, `ParquetSimpleStatsExtractor.java`.

    >>> table = table.append_files(lakebed.describe_files("s3://bucket/days/", table))
    """
    files, reader = found_files(paths, table, storage)
    rows = list(described(table, files, reader)) if files else []
    if not rows:
        names = ("file_path", "record_count", "file_size_in_bytes")
        return pa.table(
            {name: pa.array([], pa.string() if name == names[0] else pa.int64()) for name in names}
        )
    return pa.Table.from_batches(rows)


def found_files(paths: Any, table: Table | None, storage: object | None) -> tuple[list[DataFile], Storage]:
    """The files that are meant, and what reads them. Raises: as `describe_files`."""
    if isinstance(paths, str | os.PathLike):
        folder = encodable("paths", os.fspath(paths)).rstrip("/")
        location = _location(folder, table)
        reader = _reader(location, table, storage)
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
    return files, _reader(files[0].location if files else ".", table, storage)


def _location(path: str, table: Table | None) -> str:
    """Where a file is: in full."""
    if table is None or path.startswith("/") or SCHEME.match(path):
        return path
    return f"{table.core.location}/{path}"


def _reader(location: str, table: Table | None, storage: object | None) -> Storage:
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
