"""How every commit to an Iceberg table is made: on the local file system, or through the table's catalog."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._commits import Freed
from lakebed.iceberg.catalog_commit import commit_through
from lakebed.table import table_of
from lakebed.table.jobs import freed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.table import Table


@dataclass(frozen=True)
class StagedCommit:
    """A commit whose files are written, for the table's catalog to make.

    Attributes:
        files: the manifests and manifest lists that were written, as the metadata names them.
        metadata: the table's metadata after the commit, as `write_metadata` takes it.
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
        """The id of the last snapshot that the commit makes; None where it makes none."""
        added = [one["snapshot"] for one in self.updates if one["action"] == "add-snapshot"]
        return int(added[-1]["snapshot-id"]) if added else None

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


def stage(table: Table, actions: Sequence[_native.IcebergAction]) -> StagedCommit | None:
    """Writes the files of one commit, for a catalog to make it, and changes nothing of the table.

    Args:
        table: an Iceberg table on a storage that writes, opened without `relocate=`, with or without a
            catalog. The commit builds on this version of it, and on its branch.
        actions: the changes, in order, each to what those before it leave.
    Returns: what the catalog is sent; None where no action has anything to do.
    Raises: what the actions raise where they do not fit the table, with "change 2 of 3: " before the message
        where there are several; UnsupportedError (a storage that does not write, `relocate=`), LocationError
        (metadata that leads to where the table may not read), OSError. No file is left behind then.
    Cost: that of the actions; between two of them the metadata is read once more, from memory.
    Source: Iceberg's `BaseTransaction.java`, `UpdateRequirements.java`.
    """
    staged = _native.iceberg_stage(table.core, actions, os.urandom(24))
    if staged is None:
        return None
    files, *parts = staged
    metadata, requirements, updates = (json.loads(part) for part in parts)
    return StagedCommit(tuple(files), metadata, requirements, updates, table.opening.storage)


def commit(table: Table, *actions: _native.IcebergAction) -> Table:
    """Makes changes, in order, in one commit. Returns: the table after it, opened as it was, on its branch;
    itself as it is now where nothing is to be done.
    """
    return _committed(table, actions)[0]


def freeing(table: Table, *actions: _native.IcebergAction) -> Freed:
    """The same. Returns: the table, and what the commit has freed."""
    after, before = _committed(table, actions)
    return Freed(after, freed(after, before))


def _committed(table: Table, actions: Sequence[_native.IcebergAction]) -> tuple[Table, str | None]:
    """The table after a commit, and the metadata file before it; None where nothing was to be done."""
    if table.opening.entry is not None:
        return commit_through(table, lambda now: stage(now, actions))
    before = _native.iceberg_commit(table.core, actions, os.urandom(24))
    opening = replace(table.opening, path=table.core.location)
    return table_of(opening.core("iceberg", table.branch), opening), before
