"""Commits to Iceberg tables: what they change, as the core takes it, and how they are made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _native
from lakebed._arguments import duration, integer, one_of
from lakebed._native import IcebergAction
from lakebed.commits.change import StagedCommit
from lakebed.commits.inputs import deletes_of, listed, pairs_of, rows_of
from lakebed.predicates import to_sql
from lakebed.version import place_of

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed._native import FileChangeKind, Place
    from lakebed.commits.change import CommitOptions
    from lakebed.predicates import Predicate
    from lakebed.scan import Scan
    from lakebed.table import Table
    from lakebed.version import AnyVersion

Isolation = Literal["serializable", "snapshot"] | None

FileName = tuple[str, int | None]
"""The path of a file, and of a deletion vector in it the offset."""


@dataclass
class Repairs:
    """What is wrong in an Iceberg table's manifests, and is repaired."""

    restores_rows: bool = False
    """Whether rows may be read again that removed vectors delete."""
    left_out: list[str] = field(default_factory=list)
    """Manifests that cannot be read, which the list names no more."""
    duplicates: list[FileName] = field(default_factory=list)
    """Files that are listed more than once, which are listed once."""
    moved: list[FileName] = field(default_factory=list)
    """Deletes that are listed in another partition than their data file, which are listed in its."""
    merged: list[str] = field(default_factory=list)
    """Data files with more than one deletion vector, which get one."""
    described: pa.Table | None = None
    """What live data files say of themselves, in place of what is recorded of them."""


_ISOLATIONS = {
    "serializable": _native.Isolation.SERIALIZABLE,
    "snapshot": _native.Isolation.SNAPSHOT,
    None: _native.Isolation.NONE,
}
_ISOLATION_NAMES = ("serializable", "snapshot")


def file_change(
    kind: FileChangeKind,
    options: CommitOptions,
    *,
    data: Any = None,
    deletes: Any = None,
    removed: Any = None,
    removed_deletes: Any = None,
    repairs: Repairs | None = None,
    where: str | Predicate | None = None,
    data_sequence_number: int | None = None,
    since: int | None = None,
    isolation: Isolation = None,
    conflict_where: str | Predicate | None = None,
    merge: bool = True,
) -> IcebergAction:
    """Adds and removes files.

    Args: data and deletes, files to add; removed and removed_deletes, files to remove; repairs, of manifests;
        where, data files all of whose rows match are removed; data_sequence_number, of the added data files;
        since, the snapshot at which the change was begun; isolation and conflict_where, what others may not
        have done since; merge, whether small manifests are merged.
    Raises: SchemaError, TypeError, ValueError for an isolation that is none.
    """
    delete_files, vectors = deletes_of(removed_deletes)
    allowed = None if isolation is None else one_of("isolation", isolation, _ISOLATION_NAMES)
    change = SimpleNamespace(
        kind=kind,
        data=rows_of(data),
        deletes=rows_of(deletes),
        removed=listed(removed),
        removed_deletes=delete_files,
        removed_vectors=vectors,
        repairs=repairs or Repairs(),
        filter=to_sql(where),
        data_sequence_number=data_sequence_number,
        since=since,
        isolation=_ISOLATIONS[allowed],
        conflict_filter=to_sql(conflict_where),
        merge=merge,
        properties=pairs_of(options.properties),
    )
    return IcebergAction.files(change)


def chosen(table: Table, at: AnyVersion | None) -> tuple[Place | None, int | None]:
    """Which snapshot is meant, as the core takes it: None is that of the table."""
    return None if at is None else place_of("at", at), table.snapshot_id


def kept(
    least: int | None, snapshot: timedelta | None, ref: timedelta | None
) -> tuple[int | None, int | None, int | None]:
    """The rules of retention as the core takes them, ages in milliseconds. Raises: TypeError, ValueError."""
    least = None if least is None else integer("min_snapshots_to_keep", least, bits=32)
    return least, milliseconds_of("max_snapshot_age", snapshot), milliseconds_of("max_age", ref)


def milliseconds_of(argument: str, value: timedelta | None) -> int | None:
    """A time in milliseconds. Raises: TypeError."""
    return None if value is None else duration(argument, value) // timedelta(milliseconds=1)


def commit(table: Table, actions: Sequence[IcebergAction]) -> tuple[Table, Callable[[], Scan]]:
    """Makes changes, in order, in one commit, on the local file system or through the table's catalog.

    Returns: the table after it, opened as it was, on its branch, as it is now where nothing is to be done;
        and what gives the files that the commit has freed.
    """
    from lakebed.table.jobs import freed

    after, before = _committed(table, actions)
    return after, lambda: freed(after, before)


def _committed(table: Table, actions: Sequence[IcebergAction]) -> tuple[Table, str | None]:
    """The table after a commit, and the metadata file before it; None where nothing was to be done."""
    if table.opening.pointer is not None:
        # Another process has the catalog's entry.
        table = table.refresh()
    if table.opening.entry is not None:
        from lakebed.commits.catalogs import commit_through

        return commit_through(table, lambda now: stage(now, actions))
    from lakebed.table import table_of

    opening = replace(table.opening, path=table.core.location)
    made = _native.iceberg_commit(table.core, actions, os.urandom(24))
    core, before = (opening.core("iceberg", table.branch), None) if made is None else made
    return table_of(core, opening), before


def stage(table: Table, actions: Sequence[IcebergAction]) -> StagedCommit | None:
    """Writes the files of one commit, for a catalog to make it; None where there is nothing to do."""
    staged = _native.iceberg_stage(table.core, actions, os.urandom(24))
    if staged is None:
        return None
    files, *parts = staged
    metadata, requirements, updates = (json.loads(part) for part in parts)
    return StagedCommit(tuple(files), metadata, requirements, updates, table.opening.storage)
