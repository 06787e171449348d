"""All changes of a table, as methods of whatever makes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from lakebed.commits import files, refs, rewrites, settings

if TYPE_CHECKING:
    from lakebed.commits.change import Change

R = TypeVar("R")
"""What a change returns."""
F = TypeVar("F")
"""What a change returns that may free files."""


class Changes(ABC, Generic[R, F]):
    """What can be changed of a table: of both formats by the same names, with the same arguments where they
    mean the same. What only one format has is an `UnsupportedError` in the other.

    All of them raise, besides what each says: CommitConflictError where every attempt was lost to another
    commit (Iceberg: `commit.retry.num-retries`, 1,000 unless set; Paimon: 200), SnapshotNotFoundError where
    the table's branch does not exist any more, UnsupportedError for a storage without commits, a table opened
    with `relocate=`, and one that was opened by its path though a catalog has it; LocationError where
    metadata names a path that the table may not read; CorruptError and its subclasses (the table's own
    files); OSError. The table is then as before, unless the message says that the commit may have happened.
    """

    @abstractmethod
    def _changed(self, change: Change) -> R:
        """What becomes of a change."""

    @abstractmethod
    def _freed(self, change: Change) -> F:
        """What becomes of a change that may free files."""

    append_files = files.append_files
    delete_files = files.delete_files
    overwrite_files = files.overwrite_files
    overwrite_partitions = files.overwrite_partitions
    add_deletes = files.add_deletes

    replace_files = rewrites.replace_files
    rewrite_manifests = rewrites.rewrite_manifests

    update_schema = settings.update_schema
    update_properties = settings.update_properties
    update_spec = settings.update_spec
    upgrade = settings.upgrade
    set_statistics = settings.set_statistics
    remove_statistics = settings.remove_statistics

    create_branch = refs.create_branch
    create_tag = refs.create_tag
    set_retention = refs.set_retention
    set_current_snapshot = refs.set_current_snapshot
    cherry_pick = refs.cherry_pick
    delete_branch = refs.delete_branch
    delete_tag = refs.delete_tag
    fast_forward = refs.fast_forward
    rollback_to = refs.rollback_to
    expire_snapshots = refs.expire_snapshots
