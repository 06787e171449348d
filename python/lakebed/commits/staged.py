"""A commit whose files are written, and that nobody has made yet."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakebed.storage.paths import local_path


@dataclass(frozen=True)
class StagedCommit:
    """A commit to an Iceberg table whose files are written, for the table's catalog to make.

    Attributes:
        files: the manifests and manifest lists that were written, as the metadata names them.
        metadata: the table's metadata after the commit, as `lakebed.iceberg.write_metadata` takes it.
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
                Path(local_path(file) or file).unlink(missing_ok=True)
            else:
                with contextlib.suppress(FileNotFoundError):
                    self._storage.remove(file)
