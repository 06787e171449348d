"""What commits to Iceberg tables do, as the core takes it: one function for each kind of change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _arrow
from lakebed._arguments import MOST_RETAINED, age, encodable, milliseconds, names, one_of, positive
from lakebed._arguments import snapshot_id as known_id
from lakebed._native import FileChangeKind, IcebergAction
from lakebed._native import Isolation as _Isolation
from lakebed.errors import SchemaError, SnapshotNotFoundError
from lakebed.predicates import to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakebed.iceberg.schemas import SchemaChange
    from lakebed.predicates import Predicate
    from lakebed.table import Table

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


def create_branch(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    replace: bool = False,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_ref_age: timedelta | None = None,
) -> IcebergAction:
    """Creates or moves a branch, by default to the snapshot of `table`."""
    kept = _kept(min_snapshots_to_keep, max_snapshot_age, max_ref_age)
    return IcebergAction.create_branch(
        encodable("name", name), _snapshot(table, "branch", snapshot_id), replace, kept
    )


def create_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    replace: bool = False,
    max_ref_age: timedelta | None = None,
) -> IcebergAction:
    """Creates or moves a tag, by default to the snapshot of `table`."""
    kept = _kept(None, None, max_ref_age)
    return IcebergAction.create_tag(
        encodable("name", name), _snapshot(table, "tag", snapshot_id), replace, kept
    )


def delete_branch(name: str) -> IcebergAction:
    """Removes a branch."""
    return IcebergAction.delete_branch(encodable("name", name))


def delete_tag(name: str) -> IcebergAction:
    """Removes a tag."""
    return IcebergAction.delete_tag(encodable("name", name))


def set_retention(
    name: str,
    *,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_ref_age: timedelta | None = None,
) -> IcebergAction:
    """Says how long a branch or tag is kept."""
    kept = _kept(min_snapshots_to_keep, max_snapshot_age, max_ref_age)
    return IcebergAction.set_retention(encodable("name", name), kept)


def fast_forward(to: str) -> IcebergAction:
    """Moves the branch forward to where another branch or a tag is."""
    return IcebergAction.fast_forward(encodable("to", to))


def rollback_to(snapshot_id: int) -> IcebergAction:
    """Moves the branch back to an ancestor of its head."""
    return IcebergAction.rollback_to(known_id(snapshot_id))


def set_current_snapshot(snapshot_id: int) -> IcebergAction:
    """Moves the branch to any snapshot."""
    return IcebergAction.set_current_snapshot(known_id(snapshot_id))


def cherry_pick(snapshot_id: int) -> IcebergAction:
    """Applies another snapshot to the branch."""
    return IcebergAction.cherry_pick(known_id(snapshot_id))


def expire_snapshots(
    older_than: timedelta | datetime | None = None, retain_last: int | None = None
) -> IcebergAction:
    """Removes snapshots, and overdue branches and tags, by the rules of retention."""
    now = milliseconds(datetime.now(timezone.utc))
    before = None if older_than is None else age("older_than", older_than)
    least = positive("retain_last", retain_last, most=MOST_RETAINED)
    return IcebergAction.expire_snapshots(before, least, now)


def set_properties(properties: Properties = None, *, remove: Sequence[str] = ()) -> IcebergAction:
    """Sets properties, and removes others."""
    return IcebergAction.set_properties(_pairs(properties), names("remove", remove) or [])


def upgrade(format_version: int) -> IcebergAction:
    """Makes the table one of a later version of the format."""
    return IcebergAction.upgrade(format_version)


def set_statistics(statistics: Mapping[str, Any], *, of_partitions: bool = False) -> IcebergAction:
    """Names a file of statistics of a snapshot."""
    return IcebergAction.set_statistics(json.dumps(dict(statistics)), of_partitions)


def remove_statistics(snapshot_id: int, *, of_partitions: bool = False) -> IcebergAction:
    """Removes the statistics of a snapshot."""
    return IcebergAction.remove_statistics(known_id(snapshot_id), of_partitions)


def update_schema(
    changes: SchemaChange | Iterable[SchemaChange], *, allow_incompatible_changes: bool = False
) -> IcebergAction:
    """Changes the current schema."""
    every = changes if hasattr(changes, "__iter__") else [changes]
    return IcebergAction.update_schema([change.json for change in every], allow_incompatible_changes)


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


def _snapshot(table: Table, kind: str, snapshot_id: int | None) -> int:
    """The snapshot that a branch or tag is made for."""
    snapshot_id = table.snapshot_id if snapshot_id is None else known_id(snapshot_id)
    if snapshot_id is None:
        message = f"the table has no snapshot that a {kind} could name ({table.location})"
        raise SnapshotNotFoundError(message, kind="snapshot-not-found", path=table.location)
    return snapshot_id


def _kept(
    least: int | None, snapshot: timedelta | None, ref: timedelta | None
) -> tuple[int | None, int | None, int | None]:
    """The rules of retention as the core takes them, ages in milliseconds."""
    ages = [None if one is None else one // timedelta(milliseconds=1) for one in (snapshot, ref)]
    return least, ages[0], ages[1]
