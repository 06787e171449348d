"""Branches and tags of Iceberg tables, and the expiry of their snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed.iceberg import _actions
from lakebed.iceberg._commit import commit, freeing

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from lakebed._commits import Freed
    from lakebed.table import Table


def create_branch(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    replace: bool = False,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_ref_age: timedelta | None = None,
) -> Table:
    """Creates a branch, to which commits can be made beside `main`; no file is written but the metadata.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
        name: of the branch.
        snapshot_id: its first head, any snapshot of the table; None for the table's own.
        replace: move a branch that is there, which keeps the rules of retention that are not given.
        min_snapshots_to_keep: how many of its snapshots an expiry keeps, however old they are.
        max_snapshot_age: for how long an expiry keeps its other snapshots.
        max_ref_age: for how long an expiry keeps the branch itself, by the age of its head. None for each of
            them is the table's own rule.
    Returns: the table, on the branch: commits to it are commits to the branch.
    Raises: FileExistsError (a branch of that name, without `replace`), SnapshotNotFoundError (no such
        snapshot; none to replace), SchemaError (a tag of that name, a rule below 1);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.

    >>> audit = create_branch(table, "audit")
    >>> table = fast_forward(append_files(audit, files).at(branch="main"), "audit").table
    """
    action = _actions.create_branch(
        table,
        name,
        snapshot_id=snapshot_id,
        replace=replace,
        min_snapshots_to_keep=min_snapshots_to_keep,
        max_snapshot_age=max_snapshot_age,
        max_ref_age=max_ref_age,
    )
    return commit(table, action).at(branch=name)


def create_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    replace: bool = False,
    max_ref_age: timedelta | None = None,
) -> Table:
    """Names a snapshot, which an expiry then keeps.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
        name: of the tag.
        snapshot_id: any snapshot of the table; None for the table's own.
        replace: move a tag that is there, which keeps its rule of retention if none is given.
        max_ref_age: for how long an expiry keeps the tag, by the age of its snapshot; None for the table's
            own rule.
    Returns: the table at the tag.
    Raises: FileExistsError (a tag of that name, without `replace`), SnapshotNotFoundError (no such snapshot;
        none to replace), SchemaError (a branch of that name, an age below a millisecond);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    action = _actions.create_tag(
        table, name, snapshot_id=snapshot_id, replace=replace, max_ref_age=max_ref_age
    )
    return commit(table, action).at(tag=name)


def delete_branch(table: Table, name: str) -> Freed:
    """Removes a branch; its snapshots and their files stay until they expire.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        name, of the branch.
    Returns: the table at the head of its branch, of `main` where it was on the removed one, and what the
        commit has freed, a lazy scan in the columns of `Table.expire_plan`: a row of kind "branch" without a
        path, and no file while the snapshots are there. Rows name what the newest version does not have, by
        the time when they are read.
    Raises: SnapshotNotFoundError (no such branch), SchemaError (a tag, or `main`);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file; the rows cost reading two metadata files.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    return freeing(table.at(branch="main") if table.branch == name else table, _actions.delete_branch(name))


def delete_tag(table: Table, name: str) -> Freed:
    """Removes a tag; its snapshot and the files of that stay until it expires.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        name, of the tag.
    Returns: the table at the head of its branch, and what the commit has freed, a lazy scan in the columns of
        `Table.expire_plan`: a row of kind "tag" without a path, and no file while the snapshot is there. Rows
        name what the newest version does not have, by the time when they are read.
    Raises: SnapshotNotFoundError (no such tag), SchemaError (a branch);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file; the rows cost reading two metadata files.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    return freeing(table, _actions.delete_tag(name))


def set_retention(
    table: Table,
    name: str,
    *,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_ref_age: timedelta | None = None,
) -> Table:
    """Says how long a branch or tag that is there is kept; rules that are None stay as they are.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
        name: of the branch or tag.
        min_snapshots_to_keep: how many snapshots of a branch an expiry keeps, however old they are.
        max_snapshot_age: for how long an expiry keeps other snapshots of a branch.
        max_ref_age: for how long an expiry keeps the branch or tag itself, by the age of its snapshot.
    Returns: the table at the head of its branch.
    Raises: SnapshotNotFoundError (no such branch or tag), SchemaError (a rule below 1, of a tag one that is
        of branches); CommitConflictError (every attempt was lost to another commit:
        `commit.retry.num-retries`, 1,000 unless set), SnapshotNotFoundError (the table's branch is gone),
        UnsupportedError (opened by its path though a catalog has it, or with `relocate=`), LocationError
        (metadata leads to where the table may not read), OSError. The table is then as before, unless the
        message says that the commit may have happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    action = _actions.set_retention(
        name,
        min_snapshots_to_keep=min_snapshots_to_keep,
        max_snapshot_age=max_snapshot_age,
        max_ref_age=max_ref_age,
    )
    return commit(table, action)


def fast_forward(table: Table, to: str) -> Freed:
    """Moves the table's branch forward to where another branch or a tag is.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        to, the name of a branch or tag whose snapshot descends from the head of the table's branch.
    Returns: the table at the new head of its branch, and what the commit has freed, a lazy scan in the
        columns of `Table.expire_plan`: none, since every snapshot stays. Rows name what the newest version
        does not have, by the time when they are read.
    Raises: SnapshotNotFoundError (no such name, or one that does not descend from the head);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file; the rows cost reading two metadata files.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    return freeing(table, _actions.fast_forward(to))


def rollback_to(table: Table, snapshot_id: int) -> Freed:
    """Moves the table's branch back to a snapshot from which its head descends.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        snapshot_id, the snapshot. What was committed since stays in the table until it expires.
    Returns: the table at that snapshot, the head of its branch, and what the commit has freed, a lazy scan in
        the columns of `Table.expire_plan`: none, since every snapshot stays. Rows name what the newest
        version does not have, by the time when they are read.
    Raises: SnapshotNotFoundError (no such snapshot, or one from which the head does not descend);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file; the rows cost reading two metadata files.
    Source: Iceberg's `SetSnapshotOperation.java`.
    """
    return freeing(table, _actions.rollback_to(snapshot_id))


def set_current_snapshot(table: Table, snapshot_id: int) -> Table:
    """Moves the table's branch to any snapshot of the table.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        snapshot_id, the snapshot.
    Returns: the table at that snapshot, the head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetSnapshotOperation.java`.
    """
    return commit(table, _actions.set_current_snapshot(snapshot_id))


def cherry_pick(table: Table, snapshot_id: int) -> Table:
    """Applies what another snapshot of the table changed to the table's branch.

    The branch moves to the snapshot if that was made from its head. The data files of another append are
    added in a new snapshot, whose summary has `source-snapshot-id` (and `published-wap-id`, if the snapshot
    was staged with a `wap.id`).

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        snapshot_id, the snapshot.
    Returns: the table at the new head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot), SchemaError (the branch has it, or has picked it
        before), UnsupportedError (one that is not an append, and was not made from the head);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads the metadata file, the manifest list, the manifests that the snapshot wrote, and those that
        are merged; writes one manifest per spec, a manifest list and the metadata.
    Source: Iceberg's `CherryPickOperation.java`.
    """
    return commit(table, _actions.cherry_pick(snapshot_id))


def expire_snapshots(
    table: Table, older_than: timedelta | datetime | None = None, retain_last: int | None = None
) -> Freed:
    """Removes snapshots from the metadata by the rules of retention, and branches and tags that are overdue.

    No file is deleted: those that nothing reaches any more are rows, for whoever deletes them. The rules are
    `history.expire.max-snapshot-age-ms`, `history.expire.min-snapshots-to-keep`,
    `history.expire.max-ref-age-ms`, and those of branches and tags themselves, which take precedence.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
        older_than: snapshots older than this, or before this instant, are old, whatever the table says.
        retain_last: so many are kept however old they are, whatever the table says.
    Returns: the table at the head of its branch, and what the commit has freed, a lazy scan in the columns of
        `Table.expire_plan`: the files that only removed snapshots reached, and for each removed snapshot,
        branch and tag a row of kind "snapshot", "branch" or "tag" without a path; no rows where nothing was
        to be removed. Rows name what the newest version does not have, by the time when they are read.
    Raises: UnsupportedError for a table with `gc.enabled` false; ValueError for a `retain_last` below 1,
        CorruptError for one whose refs contradict its snapshots;
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file; the rows cost what those of `Table.reachable` do.
    Source: Iceberg's `RemoveSnapshots.java`.

    >>> table, freed = expire_snapshots(table, timedelta(days=7))
    >>> paths = freed.to_arrow()["file_path"].drop_null()
    """
    return freeing(table, _actions.expire_snapshots(older_than, retain_last))
