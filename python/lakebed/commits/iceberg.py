"""Commits to Iceberg tables: what they change, as the core takes it, and how they are made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _native
from lakebed._arguments import duration, integer, one_of
from lakebed._native import FileChangeKind, IcebergAction
from lakebed._native import Isolation as _Isolation
from lakebed.commits.staged import StagedCommit
from lakebed.version import place_of

if TYPE_CHECKING:
    from lakebed._native import Place
    from lakebed.scan import Scan
    from lakebed.table import Table
    from lakebed.version import AnyVersion

Isolation = Literal["serializable", "snapshot"] | None

_ISOLATIONS = {"serializable": _Isolation.SERIALIZABLE, "snapshot": _Isolation.SNAPSHOT}


@dataclass(frozen=True)
class FileChange:
    """Files that are added and removed, as the core takes them.

    Attributes: data and deletes, files to add, as `pa.RecordBatchReader`; removed and removed_deletes, paths
        of files to remove; filter, data files all of whose rows match are removed; data_sequence_number, of
        the added data files; since, the snapshot at which the change was begun; isolation and
        conflict_filter, what others may not have done since; merge, whether small manifests are merged;
        properties, more keys of the snapshot's summary.
    """

    kind: FileChangeKind
    data: Any = None
    deletes: Any = None
    removed: Sequence[str] = ()
    removed_deletes: Sequence[str] = ()
    filter: str | None = None
    data_sequence_number: int | None = None
    since: int | None = None
    isolation: _Isolation = _Isolation.NONE
    conflict_filter: str | None = None
    merge: bool = True
    properties: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ManifestRewrite:
    """How manifests are rewritten, as the core takes it."""

    target_bytes: int | None
    by: Sequence[str] | None
    filter: str | None
    memory_bytes: int | None
    codec: str | None
    block_bytes: int | None
    properties: Sequence[tuple[str, str]]


def isolation_of(name: Isolation) -> _Isolation:
    """What others may not have done. Raises: ValueError for a name that none has."""
    if name is None:
        return _Isolation.NONE
    return _ISOLATIONS[one_of("isolation", name, list(_ISOLATIONS))]


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

    before = _native.iceberg_commit(table.core, actions, os.urandom(24))
    opening = replace(table.opening, path=table.core.location)
    return table_of(opening.core("iceberg", table.branch), opening), before


def stage(table: Table, actions: Sequence[IcebergAction]) -> StagedCommit | None:
    """Writes the files of one commit, for a catalog to make it; None where there is nothing to do."""
    staged = _native.iceberg_stage(table.core, actions, os.urandom(24))
    if staged is None:
        return None
    files, *parts = staged
    metadata, requirements, updates = (json.loads(part) for part in parts)
    return StagedCommit(tuple(files), metadata, requirements, updates, table.opening.storage)
