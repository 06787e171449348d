"""Changes of a table's branches and tags, and of which snapshots it keeps."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, cast

from lakebed._arguments import MOST_RETAINED, age, encodable, milliseconds, positive
from lakebed._native import IcebergAction, PaimonChange
from lakebed.commits import iceberg, paimon
from lakebed.commits.change import Change, only

if TYPE_CHECKING:
    import os

    from lakebed.commits.changes import Changes, F, R
    from lakebed.table import Table
    from lakebed.version import AnyVersion


def _given(at: AnyVersion) -> AnyVersion:
    """Raises: TypeError for None, which some take for the table's own."""
    given: object = at
    if given is None:
        raise TypeError(
            "at takes a snapshot's id, the name of a tag or branch, a time or a Version, not None"
        )
    return at


def create_branch(
    self: Changes[R, F],
    name: str,
    *,
    at: AnyVersion | None = None,
    replace: bool = False,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_age: timedelta | None = None,
) -> R:
    """Makes a branch, to which commits can be made beside `main`. No data is copied: Paimon's has snapshots,
    schemas and tags of its own, and shares all other files.

    Args:
        name: of the branch; of Paimon not "main", not digits alone.
        at: its first snapshot: an id, the name of a tag or branch, a time, or a `Version` or its keywords in
            a dict. None for the table's own; of Paimon for the latest schema without snapshots, as Paimon
            makes it. Paimon's branches start from tags: a snapshot without one is refused, since an expiry
            would delete files that only the branch reaches.
        replace: (Iceberg) move a branch that is there, with the rules of retention that are not given anew.
        min_snapshots_to_keep: (Iceberg) how many of its snapshots an expiry keeps, however old they are.
        max_snapshot_age: (Iceberg) for how long an expiry keeps its other snapshots.
        max_age: (Iceberg) for how long an expiry keeps the branch itself, by the age of its head. None for
            each of them is the table's own rule.
    Returns: the table on the branch: commits to it are commits to the branch.
    Raises: FileExistsError (a branch of that name, without `replace`), SnapshotNotFoundError (no such
        snapshot or tag; none to replace), SchemaError (a tag of that name, a name that no branch can have, a
        rule below 1).
    Cost: Iceberg: reads and writes the metadata file. Paimon: writes a file for each schema up to the tag's,
        a tag and a snapshot.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`; Paimon's `FileSystemBranchManager.java`.

    >>> audit = table.create_branch("audit")
    >>> audit = audit.append_files(files)
    >>> table = table.fast_forward("main", to="audit").table
    """

    def of_iceberg(table: Table) -> IcebergAction:
        kept = iceberg.kept(min_snapshots_to_keep, max_snapshot_age, max_age)
        of = iceberg.chosen(table, at)
        return IcebergAction.create_branch(encodable("name", name), of, replace, kept)

    def of_paimon(table: Table) -> PaimonChange:
        least, age = (min_snapshots_to_keep, None), (max_snapshot_age, None)
        only("create_branch", table, replace=(replace, False), min_snapshots_to_keep=least)
        only("create_branch", table, max_snapshot_age=age, max_age=(max_age, None))
        start = None if at is None else paimon.target_of(table, at)
        return PaimonChange.create_branch(encodable("name", name), start)

    then = lambda table: table.at(branch=name)  # noqa: E731 - what is returned
    return self._changed(Change("create_branch", of_iceberg, of_paimon, then=then))


def create_tag(
    self: Changes[R, F],
    name: str,
    *,
    at: AnyVersion | None = None,
    replace: bool = False,
    max_age: timedelta | None = None,
) -> R:
    """Names a snapshot, which an expiry then keeps.

    Args:
        name: of the tag. One of digits only hides the snapshot of that number from Paimon's `scan.version`.
        at: the snapshot: an id, the name of a tag or branch, a time, or a `Version` or its keywords in a
            dict; None for the table's own.
        replace: move a tag that is there; Iceberg's keeps its rule of retention if none is given.
        max_age: for how long the tag is kept: of Iceberg by the age of its snapshot, of Paimon from now on.
            None for the table's own rule (Paimon: option `tag.default-time-retained`, for ever where it has
            none).
    Returns: the table at the tag.
    Raises: FileExistsError (a tag of that name, without `replace`), SnapshotNotFoundError (no such snapshot;
        the table has none), SchemaError (a branch of that name, a name that no file can have), and for an age
        below a millisecond; of Paimon ValueError (a negative age).
    Cost: Iceberg: reads and writes the metadata file. Paimon: writes a file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`; Paimon's `TagManager.java`, `Tag.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        of, kept = iceberg.chosen(table, at), iceberg.kept(None, None, max_age)
        return IcebergAction.create_tag(encodable("name", name), of, replace, kept)

    def of_paimon(table: Table) -> PaimonChange:
        number = None if at is None else paimon.snapshot_at(table, at)
        return PaimonChange.create_tag(
            encodable("name", name), number, paimon.micros("max_age", max_age), replace
        )

    then = lambda table: table.at(tag=name)  # noqa: E731 - what is returned
    return self._changed(Change("create_tag", of_iceberg, of_paimon, then=then))


def set_retention(
    self: Changes[R, F],
    name: str,
    *,
    min_snapshots_to_keep: int | None = None,
    max_snapshot_age: timedelta | None = None,
    max_age: timedelta | None = None,
) -> R:
    """(Iceberg) Says how long a branch or tag that is there is kept; rules that are None stay as they are.

    Args:
        name: of the branch or tag.
        min_snapshots_to_keep: how many snapshots of a branch an expiry keeps, however old they are.
        max_snapshot_age: for how long an expiry keeps other snapshots of a branch.
        max_age: for how long an expiry keeps the branch or tag itself, by the age of its snapshot.
    Returns: the table at the head of its branch.
    Raises: SnapshotNotFoundError (no such branch or tag), SchemaError (a rule below 1, of a tag one that is
        of branches), UnsupportedError (a Paimon table).
    Cost: reads and writes the metadata file.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`.
    """
    kept = iceberg.kept(min_snapshots_to_keep, max_snapshot_age, max_age)
    return self._changed(Change("set_retention", IcebergAction.set_retention(encodable("name", name), kept)))


def set_current_snapshot(self: Changes[R, F], at: AnyVersion) -> R:
    """(Iceberg) Moves the table's branch to any snapshot of the table.

    Args: at, the snapshot: an id, the name of a tag or branch, a time, or a `Version` or its keywords in a
        dict.
    Returns: the table at that snapshot, the head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot), UnsupportedError (a Paimon table).
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetSnapshotOperation.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        return IcebergAction.set_current_snapshot(iceberg.chosen(table, _given(at)))

    return self._changed(Change("set_current_snapshot", of_iceberg))


def cherry_pick(self: Changes[R, F], at: AnyVersion) -> R:
    """(Iceberg) Applies what another snapshot of the table changed to the table's branch.

    The branch moves to the snapshot if that was made from its head. The data files of another append are
    added in a new snapshot, whose summary has `source-snapshot-id` (and `published-wap-id`, if the snapshot
    was staged with a `wap.id`).

    Args: at, the snapshot: an id, the name of a tag or branch, a time, or a `Version` or its keywords in a
        dict.
    Returns: the table at the new head of its branch.
    Raises: SnapshotNotFoundError (no such snapshot), SchemaError (the branch has it, or has picked it
        before), UnsupportedError (one that is not an append, and was not made from the head; a Paimon table).
    Cost: reads the metadata file, the manifest list, the manifests that the snapshot wrote, and those that
        are merged; writes one manifest per spec, a manifest list and the metadata.
    Source: Iceberg's `CherryPickOperation.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        return IcebergAction.cherry_pick(iceberg.chosen(table, _given(at)))

    return self._changed(Change("cherry_pick", of_iceberg))


def delete_branch(self: Changes[R, F], name: str) -> F:
    """Removes a branch: of Iceberg the name, whose snapshots stay until they expire; of Paimon its snapshots,
    schemas, tags, changelogs and consumers.

    Args: name, of the branch.
    Returns: the table at the head of its branch, of `main` where it was on the removed one (Iceberg), and
        what nothing reaches any more. No file is deleted.
    Raises: SnapshotNotFoundError (no such branch), SchemaError (a tag, "main"; of Paimon the table's own
        branch, or one that an option of the table names).
    Cost: Iceberg: reads and writes the metadata file; the rows cost reading two metadata files. Paimon: that
        of `Table.reachable`, before anything is removed.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`; Paimon's `FileSystemBranchManager.java`.
    """
    name = encodable("name", name)
    of_iceberg, of_paimon = IcebergAction.delete_branch(name), PaimonChange.delete_branch(name)
    return self._freed(Change("delete_branch", of_iceberg, of_paimon, off=name))


def delete_tag(self: Changes[R, F], name: str) -> F:
    """Removes a tag; its snapshot stays until it expires.

    Args: name, of the tag; of Paimon of the table's branch.
    Returns: the table at the head of its branch, and what nothing reaches any more: no file while the
        snapshot is there. No file is deleted; Paimon's own `deleteTag` deletes those.
    Raises: SnapshotNotFoundError (no such tag), SchemaError (a branch).
    Cost: Iceberg: reads and writes the metadata file; the rows cost reading two metadata files. Paimon: that
        of `Table.reachable`, before anything is removed.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`; Paimon's `TagManager.java`,
        `TagDeletion.java`.
    """
    name = encodable("name", name)
    return self._freed(Change("delete_tag", IcebergAction.delete_tag(name), PaimonChange.delete_tag(name)))


def fast_forward(self: Changes[R, F], name: str, to: str) -> F:
    """Moves a branch forward to where another one is.

    Iceberg: the other's snapshot, or a tag's, descends from the head of the branch. Paimon: what the branch
    has since the other one began is replaced by what that has: snapshots, schemas and tags, file by file, so
    that the table can be read all the time. That is not a commit, so it conflicts with none: writers must not
    commit to the branch meanwhile, as with Paimon's own.

    Args: name, of the branch that moves, mostly "main"; to, the name of the other branch (Iceberg: or tag),
        which stays.
    Returns: the table at the new head of the branch that moved, and what nothing reaches any more: none of
        Iceberg, whose snapshots all stay.
    Raises: SnapshotNotFoundError (no such name; Iceberg: one that does not descend from the head; Paimon: a
        branch without snapshots), SchemaError (Paimon: "main", or the branch itself).
    Cost: Iceberg: reads and writes the metadata file. Paimon: that of `Table.reachable`, before anything is
        changed; reads and writes each file of the branch.
    Source: Iceberg's `UpdateSnapshotReferencesOperation.java`; Paimon's `FileSystemBranchManager.java`.
    """
    on, to = encodable("name", name), encodable("to", to)
    of_iceberg, of_paimon = IcebergAction.fast_forward(to), PaimonChange.fast_forward(to)
    return self._freed(Change("fast_forward", of_iceberg, of_paimon, on=on))


def rollback_to(self: Changes[R, F], at: AnyVersion) -> F:
    """Moves the table's branch back to an earlier snapshot.

    Iceberg: one from which its head descends; what was committed since stays until it expires. Paimon: later
    snapshots, tags and changelogs are removed, the latest first; schemas are kept. That is not a commit that
    could conflict with others: writers must not commit meanwhile, as with Paimon's own.

    Args: at, the snapshot: an id, the name of a tag or branch, a time, or a `Version` or its keywords in a
        dict; of Paimon it may have expired if a tag has it.
    Returns: the table at that snapshot, the head of its branch, and what nothing reaches any more: none of
        Iceberg. No file is deleted.
    Raises: SnapshotNotFoundError (no such snapshot, or of Iceberg one from which the head does not descend).
    Cost: Iceberg: reads and writes the metadata file. Paimon: that of `Table.reachable`, before anything is
        removed.
    Source: Iceberg's `SetSnapshotOperation.java`; Paimon's `RollbackHelper.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        return IcebergAction.rollback_to(iceberg.chosen(table, _given(at)))

    def of_paimon(table: Table) -> PaimonChange:
        return PaimonChange.rollback_to(paimon.target_of(table, _given(at)))

    return self._freed(Change("rollback_to", of_iceberg, of_paimon))


def expire_snapshots(
    self: Changes[R, F],
    older_than: timedelta | datetime | None = None,
    retain_last: int | None = None,
    *,
    remove_files: bool = False,
    log: str | os.PathLike[str] | None = None,
    quarantine: str | os.PathLike[str] | None = None,
) -> F:
    """Removes snapshots by the rules of retention: the plan is that of `Table.expire_plan`.

    Iceberg: from the metadata, and branches and tags that are overdue. Paimon: of the table's branch, the
    earliest first; where changelogs are kept longer than snapshots, snapshots become changelogs, and old
    changelogs are removed. Data files, manifests and lists stay: what nothing reaches is rows, for whoever
    deletes it, unless `remove_files` is given: then the commit is made, and after it the files of the plan
    are removed that nothing reaches any more, as `lakebed.apply` does with the plan's rows.

    Args:
        older_than: an age, or a time: only older snapshots are removed, whatever the table says.
        retain_last: so many are kept however old they are, whatever the table says.
        remove_files: remove the files, too; not in a transaction, and not of what is staged.
        log, quarantine: with `remove_files`, as `lakebed.apply` has them; the log is needed.
    Returns: the table at the head of its branch, and what nothing reaches any more: manifests, lists, index
        and data files; no rows where nothing was to be removed. With `remove_files` the files of the plan, in
        the columns of `Cleanup.rows`, with what became of each.
    Raises: UnsupportedError (Iceberg: `gc.enabled` is false), ValueError for a `retain_last` below 1 and for
        `remove_files` without a log, with `remove_files` what `lakebed.apply` raises,
        SchemaError (Paimon: a rule that is not a number or duration, a `retain_last` above
        `snapshot.num-retained.max`).
    Cost: Iceberg: reads and writes the metadata file; the rows cost what those of `Table.reachable` do.
        Paimon: that of `Table.reachable`, before anything is removed.
    Source: Iceberg's `RemoveSnapshots.java`; Paimon's `ExpireSnapshotsImpl.java`, `ExpireChangelogImpl.java`.

    >>> table, freed = table.expire_snapshots(timedelta(days=7))
    >>> paths = freed.to_arrow()["file_path"].drop_null()
    """
    if remove_files:
        from lakebed.cleaning.expiring import expired_by_table

        if log is None:
            raise ValueError("remove_files=True takes a log=, in which each file is before it is removed")
        freed: Any = expired_by_table(self, older_than, retain_last, log, quarantine)
        return cast("F", freed)
    old = None if older_than is None else age("older_than", older_than)
    least = positive("retain_last", retain_last, most=MOST_RETAINED)
    rules = (old, least, milliseconds(datetime.now(timezone.utc)))
    of_iceberg, of_paimon = (
        IcebergAction.expire_snapshots(*rules, None),
        PaimonChange.expire_snapshots(*rules, None),
    )
    return self._freed(Change("expire_snapshots", of_iceberg, of_paimon))
