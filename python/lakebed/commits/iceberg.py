"""Commits to Iceberg tables: what they change, as the core takes it, and how they are made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _arrow, _native
from lakebed._arguments import encodable, names, one_of, positive
from lakebed._arguments import snapshot_id as known_id
from lakebed._native import FileChangeKind, IcebergAction
from lakebed._native import Isolation as _Isolation
from lakebed.commits.staged import StagedCommit
from lakebed.errors import SchemaError, SnapshotNotFoundError
from lakebed.predicates import to_sql
from lakebed.version import Version

if TYPE_CHECKING:
    from lakebed.predicates import Predicate
    from lakebed.scan import Scan
    from lakebed.table import Table
    from lakebed.version import AnyVersion

    Properties = Mapping[str, str] | None
    Filter = str | Predicate | None

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


def append_files(files: Any, *, merge: bool = True, properties: Properties = None) -> IcebergAction:
    """Adds data files."""
    kind, data = FileChangeKind.APPEND, _arrow.writable(files)
    return IcebergAction.files(FileChange(kind, data, merge=merge, properties=_pairs(properties)))


def delete_files(files: Any, *, properties: Properties = None) -> IcebergAction:
    """Removes whole data files, by their paths."""
    change = FileChange(FileChangeKind.DELETE, removed=_paths(files), properties=_pairs(properties))
    return IcebergAction.files(change)


def overwrite_files(
    table: Table,
    files: Any = None,
    *,
    removed: Any = (),
    where: Filter = None,
    isolation: Isolation = "serializable",
    conflict_where: Filter = None,
    properties: Properties = None,
) -> IcebergAction:
    """Removes data files and adds others; `table` is as the change was begun."""
    return IcebergAction.files(
        FileChange(
            FileChangeKind.OVERWRITE,
            _added(files),
            removed=_paths(removed),
            filter=None if where is None else to_sql(where),
            since=table.snapshot_id,
            isolation=_isolation(isolation),
            conflict_filter=None if conflict_where is None else to_sql(conflict_where),
            properties=_pairs(properties),
        )
    )


def row_delta(
    table: Table,
    *,
    files: Any = None,
    delete_files: Any = None,
    removed: Any = (),
    removed_deletes: Any = (),
    isolation: Isolation = "serializable",
    conflict_where: Filter = None,
    properties: Properties = None,
) -> IcebergAction:
    """Deletes rows and adds others; `table` is as the change was begun."""
    return IcebergAction.files(
        FileChange(
            FileChangeKind.ROW_DELTA,
            _added(files),
            _added(delete_files),
            _paths(removed),
            _paths(removed_deletes),
            since=table.snapshot_id,
            isolation=_isolation(isolation),
            conflict_filter=None if conflict_where is None else to_sql(conflict_where),
            properties=_pairs(properties),
        )
    )


def replace_files(
    table: Table,
    removed: Any,
    files: Any = None,
    *,
    removed_deletes: Any = (),
    data_sequence_number: int | None = None,
    properties: Properties = None,
) -> IcebergAction:
    """Puts the same rows into other data files; `table` is as the change was begun."""
    return IcebergAction.files(
        FileChange(
            FileChangeKind.REPLACE,
            _added(files),
            removed=_paths(removed),
            removed_deletes=_paths(removed_deletes),
            data_sequence_number=data_sequence_number,
            since=table.snapshot_id,
            properties=_pairs(properties),
        )
    )


def rewrite_manifests(
    *,
    target_bytes: int = 8 << 20,
    by: Sequence[str] | None = None,
    where: Filter = None,
    memory_bytes: int = 256 << 20,
    codec: str | None = None,
    block_bytes: int = 64_000,
    properties: Properties = None,
) -> IcebergAction:
    """Writes manifests of data files anew."""
    rewrite = ManifestRewrite(
        positive("target_bytes", target_bytes),
        names("by", by),
        to_sql(where),
        positive("memory_bytes", memory_bytes),
        codec,
        positive("block_bytes", block_bytes),
        _pairs(properties),
    )
    return IcebergAction.rewrite_manifests(rewrite)


def update_spec(
    *,
    add: Sequence[str] | Mapping[str, str] = (),
    remove: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
) -> IcebergAction:
    """Changes what new files are partitioned by."""
    new: list[tuple[str, str | None]]
    if isinstance(add, Mapping):
        new = [(encodable("add", text), encodable("add", name)) for name, text in add.items()]
    else:
        new = [(text, None) for text in names("add", add) or ()]
    renamed = [(encodable("rename", name), encodable("rename", to)) for name, to in (rename or {}).items()]
    return IcebergAction.update_spec(names("remove", remove) or [], renamed, new)


def _added(files: Any) -> Any:
    return None if files is None else _arrow.writable(files)


def _pairs(properties: Properties) -> list[tuple[str, str]]:
    pairs = (properties or {}).items()
    return [(encodable("properties", key), encodable("properties", str(value))) for key, value in pairs]


def _isolation(name: Isolation) -> _Isolation:
    if name is None:
        return _Isolation.NONE
    return _ISOLATIONS[one_of("isolation", name, list(_ISOLATIONS))]


def _paths(files: Any) -> list[str]:
    """The paths that are meant. Raises: SchemaError (no column `file_path`, a null or no text in it)."""
    if hasattr(files, "__arrow_c_stream__"):
        rows = _arrow.writable(files).read_all()
        if "file_path" not in rows.schema.names:
            message = f"no column 'file_path' among {', '.join(rows.schema.names)}"
            raise SchemaError(message, kind="unknown-column", field="file_path")
        paths: list[Any] = rows["file_path"].to_pylist()
        for record, path in enumerate(paths):
            if not isinstance(path, str):
                message = f"file_path is {path!r}"
                raise SchemaError(message, kind="required", field="file_path", record=record)
        return paths
    if isinstance(files, (str, os.PathLike)):
        raise TypeError(f"files takes a list of paths, not {files!r}")
    return [os.fspath(path) for path in files]


def snapshot_at(table: Table, at: AnyVersion | None, kind: str | None = None) -> int:
    """The id of a snapshot of the table; an id itself is not looked for.

    Args: at, None for that of the table; kind, what is made for it.
    Raises: SnapshotNotFoundError.
    """
    if isinstance(at, Version) and at.snapshot is not None:
        at = at.snapshot
    if isinstance(at, int) and not isinstance(at, bool):
        return known_id(at)
    found = table.snapshot_id if at is None else table.at(at).snapshot_id
    if found is None:
        message = f"there is no snapshot that a {kind or 'commit'} could name ({table.location})"
        raise SnapshotNotFoundError(message, kind="snapshot-not-found", path=table.location)
    return found


def kept(
    least: int | None, snapshot: timedelta | None, ref: timedelta | None
) -> tuple[int | None, int | None, int | None]:
    """The rules of retention as the core takes them, ages in milliseconds."""
    ages = [None if one is None else one // timedelta(milliseconds=1) for one in (snapshot, ref)]
    return least, ages[0], ages[1]


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
