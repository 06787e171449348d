"""Files, paths and properties that users give to changes, as the core takes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lakebed import _arrow
from lakebed._arguments import encodable, mapping
from lakebed._pyarrow import pa
from lakebed.errors import SchemaError


def rows_of(files: Any) -> Any:
    """A stream of Arrow data, None for None. Raises: TypeError."""
    return None if files is None else _arrow.writable(files)


def paths_of(files: Any) -> Any:
    """Paths as an array of texts, None for None.

    Args: files, paths, or Arrow data with the column `file_path`.
    Raises: SchemaError (no such column, a null or no text in it), TypeError (a single path).
    """
    if files is None:
        return None
    if not hasattr(files, "__arrow_c_stream__"):
        if isinstance(files, str | os.PathLike) or not isinstance(files, Iterable):
            raise TypeError(f"a list of paths is expected, or Arrow data, not {files!r}")
        return pa.array([encodable("file_path", os.fspath(path)) for path in files], pa.string())
    reader = _arrow.writable(files)
    if (count := reader.schema.names.count("file_path")) != 1:
        words = "no column" if count == 0 else f"{count} columns"
        message = f"{words} 'file_path' among {', '.join(reader.schema.names)}"
        raise SchemaError(message, kind="unknown-column", field="file_path")
    column = reader.read_all()["file_path"]
    if column.null_count:
        record = column.to_pylist().index(None)
        raise SchemaError("file_path is null", kind="required", field="file_path", record=record)
    if column.type not in (pa.string(), pa.large_string()):
        raise SchemaError(
            f"file_path is no text but {column.type}", kind="required", field="file_path", record=0
        )
    return pa.array([], pa.string()) if not column.num_chunks else column.cast(pa.string()).combine_chunks()


def listed(files: Any) -> list[str]:
    """Paths as a list, without any for None. Raises: as `paths_of`."""
    return [] if files is None else paths_of(files).to_pylist()


def deletes_of(files: Any) -> tuple[list[str], list[tuple[str, int]]]:
    """Paths of delete files, and paths with offsets of the deletion vectors among them.

    Args: files, as `paths_of` takes them; vectors are rows whose column `content_offset` int64 is not null.
    Raises: as `paths_of`.
    """
    if not hasattr(files, "__arrow_c_stream__"):
        return listed(files), []
    table = _arrow.writable(files).read_all()
    paths = listed(table)
    has_offsets = "content_offset" in table.schema.names
    offsets = table["content_offset"].to_pylist() if has_offsets else [None] * len(paths)
    pairs = list(zip(paths, offsets, strict=True))
    return [path for path, at in pairs if at is None], [(path, at) for path, at in pairs if at is not None]


def named_deletes(keys: Sequence[tuple[str, int | None]]) -> pa.Table:
    """Delete files and vectors by path and offset, as `deletes_of` takes them."""
    paths, offsets = zip(*keys, strict=True) if keys else ((), ())
    arrays = [pa.array(paths, pa.string()), pa.array(offsets, pa.int64())]
    return pa.table(arrays, names=["file_path", "content_offset"])


def pairs_of(properties: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Keys and values as texts; numbers and truth values as engines write them.

    Raises: TypeError, SchemaError for lone surrogates.
    """
    pairs = mapping("properties", properties or {}).items()
    return [(encodable("properties", key), encodable("properties", _text(value))) for key, value in pairs]


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
