"""How every commit to an Iceberg table is made: on the local file system, or through the table's catalog."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed.errors import SchemaError
from lakebed.iceberg.through_catalogs import commit_through
from lakebed.table import table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.limits import Limits
    from lakebed.table import Table


@dataclass(frozen=True)
class StagedCommit:
    """A commit whose files are written, for the table's catalog to make.

    Attributes:
        files: the manifests and the manifest list that were written, as the metadata names them.
        metadata: the table's metadata behind the commit, as `write_metadata` takes it.
        requirements: what must still hold of the table, and
        updates: what changes, both as the REST catalog specification spells them in JSON
            (`CommitTableRequest`), and as PyIceberg's `TableRequirement` and `TableUpdate` are made of it.
    Source: Apache Iceberg's `open-api/rest-catalog-open-api.yaml`.
    """

    files: tuple[str, ...]
    metadata: dict[str, Any]
    requirements: list[dict[str, Any]]
    updates: list[dict[str, Any]]
    _storage: Any = field(default=None, repr=False, compare=False)

    @property
    def snapshot_id(self) -> int | None:
        """The id of the new snapshot; None where the commit makes none."""
        added = (one["snapshot"] for one in self.updates if one["action"] == "add-snapshot")
        return next((int(snapshot["snapshot-id"]) for snapshot in added), None)

    def discard(self) -> None:
        """Removes the files, where the catalog has refused the commit; those that are gone already are no
        error.
        """
        for file in self.files:
            if self._storage is None:
                # Paths stand in the metadata as they are: nothing in them is escaped.
                Path(file.removeprefix("file://").removeprefix("file:")).unlink(missing_ok=True)
            else:
                with contextlib.suppress(FileNotFoundError):
                    self._storage.remove(file)


@dataclass(frozen=True)
class FileChange:
    """Files that come and go, as the core takes them.

    Attributes: kind, "append", "delete", "overwrite", "row_delta" or "replace"; data and deletes, files that
        come, as `pa.Table`; removed and removed_deletes, paths of files that go; filter, of which all rows of
        a file that goes match; data_sequence_number, of the data files that come; since, the snapshot that
        the change was begun at; isolation and conflict_filter, what others may not have done since; merge,
        whether small manifests are merged.
    """

    kind: str
    data: Any = None
    deletes: Any = None
    removed: Sequence[str] = ()
    removed_deletes: Sequence[str] = ()
    filter: str | None = None
    data_sequence_number: int | None = None
    since: int | None = None
    isolation: str | None = None
    conflict_filter: str | None = None
    merge: bool = True


@dataclass(frozen=True)
class Change:
    """What a commit does.

    Attributes: name, of the core's change; given, what that takes; properties, more keys of the snapshot's
        summary; codec and block_bytes, of manifests.
    """

    name: str
    given: Any
    properties: Mapping[str, str] | None = None
    codec: str | None = None
    block_bytes: int = 64_000

    def run(self, table: _native.Table, staged: bool, limits: Limits | None) -> Any:
        """What the core makes of it."""
        pairs = list((self.properties or {}).items())
        change, random = (self.name, self.given), os.urandom(24)
        return _native.iceberg_commit(
            table, change, pairs, self.codec, self.block_bytes, random, staged, limits
        )

    def stage(self, table: Table, limits: Limits | None) -> StagedCommit | None:
        """The change of a table, written and not made; None where there is nothing to do."""
        staged = self.run(table.core, True, limits)
        if staged is None:
            return None
        files, *parts = staged
        metadata, requirements, updates = (json.loads(part) for part in parts)
        return StagedCommit(tuple(files), metadata, requirements, updates, table.opening.storage)


def commit(table: Table, change: Change, limits: Limits | None) -> Table:
    """Makes a change; limits None are those that the table was opened with. Returns: the table behind it,
    opened as it was, on its branch; itself as it is now where nothing is to be done.
    """
    return commit_from(table, change, limits)[0]


def commit_from(table: Table, change: Change, limits: Limits | None) -> tuple[Table, Table | None]:
    """Makes a change. Returns: as `commit`, and the table that the commit builds on; None where there was
    nothing to do.
    """
    if not _has_catalog(table):
        before = change.run(table.core, False, limits)
        after = _opened_again(table, table.location, table.branch)
        return after, None if before is None else _opened_again(table, before)
    bases: list[Table | None] = []

    def stage(now: Table) -> StagedCommit | None:
        staged = change.stage(now, limits)
        bases.append(now if staged is not None else None)
        return staged

    return commit_through(table, stage), bases[-1]


def _opened_again(table: Table, path: str, branch: str = "main") -> Table:
    """A table without a catalog, at its folder or one of its metadata files, with the storage, limits and
    allowed prefixes of `table`.
    """
    opening = replace(table.opening, path=path)
    return table_of(opening.core("iceberg", branch), opening)


def staged(table: Table, change: Change, limits: Limits | None) -> StagedCommit:
    """The commit of a change that always has something to do."""
    made = change.stage(table, limits)
    assert made is not None
    return made


def files_of(given: Any) -> Any:
    """Files that callers give, in memory: there may be several attempts."""
    return None if given is None else _arrow.read_whole(_arrow.writable(given))


def paths(files: Any) -> list[str]:
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


def on_branch(table: Table, branch: str) -> Table:
    """The table at the head of a branch."""
    return table if branch == "main" else table.at(branch=branch)


def _has_catalog(table: Table) -> bool:
    return table.opening.entry is not None
