"""What all commits have in common: who makes them, and how the compiled core takes them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from lakebed import _arrow, _display, _native
from lakebed.errors import SchemaError, UnsupportedError
from lakebed.scan import Scan
from lakebed.table import Table, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class CommitOptions:
    """What a snapshot keeps of its commit, whose attributes the compiled core reads.

    `uuid`: a random number, which is part of the names of the commit's files. `zone_offset_millis`: the local
    time, in which Paimon writes when a file or tag was made.
    """

    user: str
    identifier: int | None
    properties: dict[str, str]
    watermark: int | None
    uuid: int
    zone_offset_millis: int


def options(
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> CommitOptions:
    """The options that commits take, and what only Python knows: randomness, and the local time."""
    offset = datetime.now(timezone.utc).astimezone().utcoffset() or timedelta(0)
    millis = offset // timedelta(milliseconds=1)
    user = commit_user or str(uuid.uuid4())
    return CommitOptions(user, identifier, dict(properties or {}), watermark, uuid.uuid4().int, millis)


class Freed(NamedTuple):
    """A table after a removal, and the files that it no longer reaches."""

    table: Table
    """The table, at the latest snapshot of its branch."""
    files: Scan
    """The freed files, in the columns of `Table.reachable`. They were found before anything was removed, and
    can be read again and again. They still exist: delete them, or leave them to `Table.orphans`."""


def commit(table: Table, *changes: _native.PaimonChange, made_by: CommitOptions | None = None) -> Table:
    """The table after one commit of all these changes.

    Raises: UnsupportedError for changes that are not one commit, and where a catalog makes the commits.
    """
    return _committed(table, changes, made_by)[0]


def freed(table: Table, change: _native.PaimonChange) -> Freed:
    """The table after a removal, and what it freed. Raises: UnsupportedError where a catalog commits."""
    left, files = _committed(table, (change,), None)
    name = f"files that {_native.location_of(left.location)!r} no longer reaches"
    return Freed(left, Scan(files, name, "reachable", _display.FIRST["reachable"]))


def _committed(
    table: Table, changes: tuple[_native.PaimonChange, ...], made_by: CommitOptions | None
) -> tuple[Table, _native.FreedFiles]:
    if table.opening.entry is not None and table.opening.entry.commits:
        message = (
            f"the table's catalog makes its commits: a snapshot beside it would be ignored ({table.location})"
        )
        raise UnsupportedError(message, kind="unsupported", path=table.location)
    after, files = _native.paimon_commit(table.core, list(changes), made_by or options())
    # Opened as it was before.
    return table_of(after, table.opening), files


def paths_of(files: Any) -> Any:
    """Paths as an array of texts. Raises: SchemaError (no column `file_path`), TypeError (a single path)."""
    import pyarrow as pa

    if not hasattr(files, "__arrow_c_stream__"):
        if isinstance(files, str):
            raise TypeError(f"files takes a list of paths, not {files!r}")
        return pa.array(list(files), pa.string())
    reader = _arrow.writable(files)
    if "file_path" not in reader.schema.names:
        raise SchemaError("files need a column 'file_path'", kind="unknown-column", field="file_path")
    column = reader.read_all()["file_path"].cast(pa.string())
    return column.combine_chunks() if column.num_chunks else pa.array([], pa.string())


def rows_of(files: Any) -> Any:
    """A stream of Arrow data that may be absent."""
    return None if files is None else _arrow.writable(files)
