"""Tags and branches, and what of the past is kept."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from lakebed import _native
from lakebed._arguments import MOST_RETAINED, age, encodable, milliseconds, positive, version
from lakebed.errors import SchemaError
from lakebed.paimon._committing import committable, made, who_commits

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.table import Table


class Freed(NamedTuple):
    """What is left of a table, and what nothing of it reaches any more."""

    table: Table
    """The table, at the latest snapshot of its branch."""
    files: pa.Table
    """The files that are free, in the columns of `Table.reachable`. They are there still: delete them, or
    leave them to `Table.orphans`."""


def create_tag(table: Table, name: str, *, time_retained: timedelta | None = None) -> Table:
    """Names the snapshot that the table is at, which expiry then leaves alone.

    Args:
        table: a Paimon table on a storage as in `append_files`, standing at a snapshot.
        name: of the tag. One of digits only hides the snapshot of that number from `scan.version`.
        time_retained: how long it is kept, None for the table's option `tag.default-time-retained`, for ever
            where it has none.
    Returns: the table standing at the tag.
    Raises: SnapshotNotFoundError (the table has no snapshot), SchemaError (a name that no file can have),
        UnsupportedError (a storage that commits are not made on), FileExistsError (there is such a tag),
        ValueError (a time below zero).
    Source: Paimon's `TagManager.java`, `Tag.java`.
    """
    if time_retained is not None and time_retained < timedelta(0):
        raise ValueError(f"time_retained is not negative: {time_retained}")
    micros = None if time_retained is None else time_retained // timedelta(microseconds=1)
    if micros is not None and micros >= 1 << 64:
        raise SchemaError(f"time_retained is longer than 2^64 microseconds: {time_retained}", kind="argument")
    who = who_commits(None, None, None, None)
    return made(table, _native.paimon_create_tag(committable(table), encodable("name", name), micros, who))


def delete_tag(table: Table, name: str) -> Freed:
    """Removes a tag of the table's branch.

    Args:
        table: as in `append_files`.
        name: of the tag.
    Returns: the table at its latest snapshot, and the files that only the tag reached: none while its
        snapshot is there. They are not deleted; Paimon's own `deleteTag` deletes them.
    Raises: SnapshotNotFoundError (no such tag), UnsupportedError (a storage that commits are not made on),
        CorruptError and its kin (what names files cannot be read; the tag stays then), OSError.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `TagManager.java`, `TagDeletion.java`.
    """
    return _freed(table, _native.paimon_delete_tag(committable(table), encodable("name", name)))


def create_branch(table: Table, name: str, *, tag: str | None = None) -> Table:
    """Makes a branch, which has snapshots, schemas and tags of its own and shares all other files.

    Args:
        table: as in `append_files`.
        name: of the branch; not "main", not digits alone.
        tag: of the table's branch, whose snapshot and schema the branch starts from, even where that snapshot
            has expired. None for a branch of the latest schema without snapshots, as Paimon makes it.
    Returns: the table standing on the new branch; commits to it go there.
    Raises: SnapshotNotFoundError (no such tag), SchemaError (a name that no branch can have),
        FileExistsError (there is such a branch), UnsupportedError (a storage that commits are not made on),
        OSError.
    Cost: a file for each schema up to the tag's, a tag and a snapshot.
    Source: Paimon's `FileSystemBranchManager.java`, `BranchManager.java`.

    >>> create_branch(table, "audit", tag="v1")
    <lakebed paimon table '/data/orders' ...>
    """
    tag = None if tag is None else encodable("tag", tag)
    return made(table, _native.paimon_create_branch(committable(table), encodable("name", name), tag))


def delete_branch(table: Table, name: str) -> Freed:
    """Removes a branch: its snapshots, schemas, tags, changelogs and consumers.

    Args:
        table: as in `append_files`, standing on another branch.
        name: of the branch.
    Returns: the table at its latest snapshot, and the files that only the branch reached, which are not
        deleted: nor does Paimon's own `deleteBranch` delete them.
    Raises: SnapshotNotFoundError (no such branch), SchemaError ("main", the table's branch,
        or one that an option of the table names), others as `delete_tag`.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `FileSystemBranchManager.java`, `AbstractFileStoreTable.java`.
    """
    return _freed(table, _native.paimon_delete_branch(committable(table), encodable("name", name)))


def fast_forward(table: Table, branch: str) -> Freed:
    """Puts what a branch has in the place of what the table's branch has since the branch began.

    Snapshots, schemas and tags from the branch's first snapshot on are replaced file by file, so that the
    table can be read all the while. It is not a commit, so it conflicts with none: writers must not commit to
    the table's branch meanwhile, as with Paimon's own.

    Args:
        table: as in `append_files`, standing on the branch that is changed, mostly "main".
        branch: the other, which stays.
    Returns: the table at the branch's latest snapshot, and the files that nothing reaches any more.
    Raises: SnapshotNotFoundError (no such branch, or one without snapshots), SchemaError ("main", or the
        table's own), CommitConflictError (another snapshot is the latest in the end), others as `delete_tag`.
    Cost: that of `Table.reachable`, before anything is changed; reads and writes each file of the branch.
    Source: Paimon's `FileSystemBranchManager.java`.
    """
    return _freed(table, _native.paimon_fast_forward(committable(table), encodable("branch", branch)))


def rollback_to(table: Table, *, snapshot: int | None = None, tag: str | None = None) -> Freed:
    """Makes an earlier snapshot the latest again of the table's branch.

    Later snapshots, tags and changelogs are removed, the latest first; schemas stay. It is not a commit that
    another could lose to: writers must not commit meanwhile, as with Paimon's own.

    Args:
        table: as in `append_files`.
        snapshot: the number of the snapshot; it may have expired where a tag has it.
        tag: or the name of a tag.
    Returns: the table at that snapshot, and the files that nothing reaches any more. They are not deleted:
        nor does Paimon's own `rollbackTo` delete them.
    Raises: SnapshotNotFoundError, TypeError (both or neither), CommitConflictError (another snapshot is the
        latest in the end), others as `delete_tag`.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `RollbackHelper.java`, `AbstractFileStoreTable.java`.
    """
    target = snapshot if tag is None else tag
    if target is None or (snapshot is not None and tag is not None):
        raise TypeError("rollback_to takes a snapshot or a tag")
    target = version("snapshot" if tag is None else "tag", target)
    return _freed(table, _native.paimon_rollback_to(committable(table), target))


def expire_snapshots(
    table: Table, older_than: timedelta | datetime | None = None, retain_last: int | None = None
) -> Freed:
    """Lets the snapshots go that the table's rules of retention do not keep, of its branch.

    Their files are removed, the earliest first; where changelogs are kept for longer than snapshots they
    become changelogs, and those that are old go. What nothing reaches then is told and stays:
    `Table.expire_plan` without the snapshots themselves.

    Args:
        table: as in `append_files`.
        older_than: as in `Table.expire_plan`.
        retain_last: as there.
    Returns: the table at its latest snapshot, and the files that nothing reaches any more: manifests, lists,
        index and data files. Paimon's own expiry deletes them.
    Raises: SchemaError for a rule that is not a number or duration and for a `retain_last` above
        `snapshot.num-retained.max`, ValueError for one below 1; others as `delete_tag`.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `ExpireSnapshotsImpl.java`, `ExpireChangelogImpl.java`.

    >>> expire_snapshots(table, timedelta(days=7)).files.num_rows
    12
    """
    old = None if older_than is None else age("older_than", older_than)
    retained = positive("retain_last", retain_last, most=MOST_RETAINED)
    now = milliseconds(datetime.now(timezone.utc))
    return _freed(table, _native.paimon_expire_snapshots(committable(table), old, retained, now))


def _freed(table: Table, native: tuple[_native.Table, _native.BatchStream]) -> Freed:
    import pyarrow as pa

    left, files = native
    return Freed(made(table, left), pa.table(files))
