"""Branches and tags of Iceberg tables, and what an expiry takes out of them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lakebed._arguments import MOST_RETAINED, age, milliseconds, positive
from lakebed._arguments import snapshot_id as known_id
from lakebed.errors import SnapshotNotFoundError
from lakebed.iceberg.committing import Change, commit, commit_from, on_branch
from lakebed.table.jobs import expired

if TYPE_CHECKING:
    from lakebed.limits import Limits
    from lakebed.table import Table
    from lakebed.view import ViewScan


def create_branch(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    replace: bool = False,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_ref_age: timedelta | None = None,
    limits: Limits | None = None,
) -> Table:
    """Makes a branch, to which commits can be made beside `main`; no file is written but the metadata.

    Args:
        table: as in `append_files`.
        name: of the branch.
        snapshot_id: its first head, any snapshot of the table; None for the table's own.
        replace: move a branch that is there, with the rules of retention that are not said anew.
        min_snapshots_to_keep: how many of its snapshots an expiry keeps, however old they are.
        max_snapshot_age: for how long an expiry keeps its other snapshots.
        max_ref_age: for how long an expiry keeps the branch itself, by the age of its head. None for each of
            them is the table's own rule.
        limits: what reading the table may cost; None for what it was opened with.
    Returns: the table, standing on the branch: commits to it are commits to the branch.
    Raises: FileExistsError (a branch of that name, without `replace`), SnapshotNotFoundError (no such
        snapshot; none to replace), SchemaError (a tag of that name, a rule below 1); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.

    >>> audit = create_branch(table, "audit")
    >>> table = fast_forward(append_files(audit, files).at(branch="main"), "audit")
    """
    rules = _rules(min_snapshots_to_keep, max_snapshot_age, max_ref_age)
    return _create(table, "branch", name, snapshot_id, replace, rules, limits).at(branch=name)


def create_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    replace: bool = False,
    max_ref_age: timedelta | None = None,
    limits: Limits | None = None,
) -> Table:
    """Names a snapshot, which expiry then leaves alone.

    Args: as in `create_branch`; max_ref_age, for how long the tag is kept, by the age of its snapshot.
    Returns: the table standing at the tag.
    Raises: as `create_branch`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    rules = _rules(None, None, max_ref_age)
    return _create(table, "tag", name, snapshot_id, replace, rules, limits).at(tag=name)


def delete_branch(table: Table, name: str, *, limits: Limits | None = None) -> Table:
    """Removes a branch; its snapshots stay until they expire.

    Args: as in `create_branch`.
    Returns: the table, on `main` where it stood on that branch.
    Raises: SnapshotNotFoundError (no such branch), SchemaError (a tag, or `main`); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    return _delete(table, name, "branch", limits)


def delete_tag(table: Table, name: str, *, limits: Limits | None = None) -> Table:
    """Removes a tag; its snapshot stays until it expires.

    Args: as in `create_branch`.
    Returns: the table at the head of its branch.
    Raises: SnapshotNotFoundError (no such tag), SchemaError (a branch); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    return _delete(table, name, "tag", limits)


def set_retention(
    table: Table,
    name: str,
    *,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_ref_age: timedelta | None = None,
    limits: Limits | None = None,
) -> Table:
    """Says how long a branch or tag that is there is kept; rules that are None stay as they are.

    Args: as in `create_branch`.
    Returns: the table at the head of its branch.
    Raises: SnapshotNotFoundError (no such branch or tag), SchemaError (a rule below 1, of a tag one that is
        of branches); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    change = {"retain": [name, _rules(min_snapshots_to_keep, max_snapshot_age, max_ref_age)]}
    return commit(table, _of_refs(change), limits)


def fast_forward(table: Table, to: str, *, limits: Limits | None = None) -> Table:
    """Moves the table's branch forward to where another branch or a tag is.

    Args: table, as in `append_files`; to, the name of a branch or tag whose snapshot was made from the head
        of the table's branch.
    Returns: the table at the new head of its branch.
    Raises: SnapshotNotFoundError (no such name, or one that was not made from the head); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    return commit(table, _of_refs({"fast_forward": to}), limits)


def rollback_to(table: Table, snapshot_id: int, *, limits: Limits | None = None) -> Table:
    """Moves the table's branch back to a snapshot that its head was made from.

    Args: table, as in `append_files`; snapshot_id, the snapshot. What was committed since stays in the table
        until it expires.
    Returns: the table at that snapshot, the head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot, or one that the head was not made from); as
        `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetSnapshotOperation.java`.
    """
    return commit(table, _of_refs({"roll_back": known_id(snapshot_id)}), limits)


def set_current_snapshot(table: Table, snapshot_id: int, *, limits: Limits | None = None) -> Table:
    """Moves the table's branch to any snapshot of the table.

    Args: table, as in `append_files`; snapshot_id, the snapshot.
    Returns: the table at that snapshot, the head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetSnapshotOperation.java`.
    """
    return commit(table, _of_refs({"set_current": known_id(snapshot_id)}), limits)


def cherry_pick(table: Table, snapshot_id: int, *, limits: Limits | None = None) -> Table:
    """Brings what another snapshot of the table changed to the table's branch.

    The branch moves to the snapshot where that was made from its head. The data files of another append are
    added in a new snapshot, whose summary says `source-snapshot-id` (and `published-wap-id`, where the
    snapshot was staged with a `wap.id`).

    Args: table, as in `append_files`; snapshot_id, the snapshot.
    Returns: the table at the new head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot), SchemaError (the branch has it, or has picked it
        before), UnsupportedError (one that is not an append, and was not made from the head); as
        `append_files`.
    Cost: as `append_files`, and reads the manifests that the snapshot wrote.
    Source: Iceberg's `CherryPickOperation.java`.
    """
    return commit(table, Change("cherry_pick", known_id(snapshot_id)), limits)


def expire_snapshots(
    table: Table,
    older_than: timedelta | datetime | None = None,
    retain_last: int | None = None,
    *,
    limits: Limits | None = None,
) -> tuple[Table, ViewScan | None]:
    """Takes snapshots out of the metadata by the rules of retention, and branches and tags that are overdue.

    No file is deleted: those that nothing reaches any more come back as rows, for whoever deletes them.

    Args: table, as in `append_files`; older_than and retain_last, as in `Table.expire_plan`, whose rules
        these are; limits, what reading the table may cost, None for what it was opened with.
    Returns: the table at the head of its branch, and `expire_plan` of the version that the commit builds on:
        a lazy scan of what went, and of the files that only that reached. None where nothing was to go.
    Raises: UnsupportedError for a table with `gc.enabled` false; ValueError for a `retain_last` below 1; as
        `append_files`.
    Cost: reads and writes the metadata file; the rows cost what `expire_plan` does.
    Source: Iceberg's `RemoveSnapshots.java`.

    >>> table, gone = expire_snapshots(table, timedelta(days=7))
    >>> paths = gone.to_arrow()["file_path"].drop_null() if gone else []
    """
    now = milliseconds(datetime.now(timezone.utc))
    before = None if older_than is None else age("older_than", older_than)
    rules = (before, positive("retain_last", retain_last, most=MOST_RETAINED), now)
    after, base = commit_from(table, Change("expire", rules), limits)
    return after, None if base is None else expired(base, rules)


def _create(
    table: Table,
    kind: str,
    name: str,
    snapshot_id: int | None,
    replace: bool,
    rules: dict[str, int | None],
    limits: Limits | None,
) -> Table:
    snapshot_id = table.snapshot_id if snapshot_id is None else known_id(snapshot_id)
    if snapshot_id is None:
        message = f"the table has no snapshot that a {kind} could name ({table.location})"
        raise SnapshotNotFoundError(message, kind="snapshot-not-found", path=table.location)
    new = {"name": name, "kind": kind, "snapshot_id": snapshot_id, "replace": replace, "rules": rules}
    return commit(table, _of_refs({"create": new}), limits)


def _delete(table: Table, name: str, kind: str, limits: Limits | None) -> Table:
    if (table.branch, kind) == (name, "branch"):
        table = on_branch(table, "main").at(branch="main")
    return commit(table, _of_refs({"delete": [name, kind]}), limits)


def _of_refs(change: Any) -> Change:
    return Change("refs", json.dumps(change))


def _rules(least: int | None, snapshot: timedelta | None, ref: timedelta | None) -> dict[str, int | None]:
    """The rules as the core takes them."""
    millis = [None if one is None else one // timedelta(milliseconds=1) for one in (snapshot, ref)]
    names = ("min_snapshots_to_keep", "max_snapshot_age_ms", "max_ref_age_ms")
    return dict(zip(names, (least, *millis), strict=True))
