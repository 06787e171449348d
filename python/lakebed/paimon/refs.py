"""Tags and branches, and which snapshots are kept."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._arguments import MOST_RETAINED, age, encodable, milliseconds, positive, snapshot_id, version
from lakebed.errors import SchemaError
from lakebed.paimon._commit import Freed, commit, freed

if TYPE_CHECKING:
    from lakebed.table import Table


def create_tag(
    table: Table,
    name: str,
    *,
    snapshot: int | None = None,
    replace: bool = False,
    time_retained: timedelta | None = None,
) -> Table:
    """Creates a tag of a snapshot, which expiry then keeps.

    Args:
        table: a Paimon table on a storage with commits.
        name: of the tag. One of digits only hides the snapshot of that number from `scan.version`.
        snapshot: the number of the snapshot, which may have expired if another tag has it; None for the
            snapshot that the table is at.
        replace: replace the tag of that name, which must exist. What only the replaced tag reached becomes an
            orphan (`Table.orphans`).
        time_retained: how long the tag is kept, None for the table's option `tag.default-time-retained`, for
            ever where it has none.
    Returns: the table at the tag.
    Raises: SnapshotNotFoundError (no such snapshot, or the table has none; no tag to replace), SchemaError (a
        name that no file can have), UnsupportedError (a storage without commits), FileExistsError (the tag
        exists, without `replace`), ValueError (a negative time), OSError.
    Cost: reads a snapshot, writes a file; for an expired snapshot reads all tags.
    Source: Paimon's `TagManager.java` (`createTag`, `replaceTag`), `Tag.java`.
    """
    if time_retained is not None and time_retained < timedelta(0):
        raise ValueError(f"time_retained is not negative: {time_retained}")
    micros = None if time_retained is None else time_retained // timedelta(microseconds=1)
    if micros is not None and micros >= 1 << 64:
        raise SchemaError(f"time_retained is longer than 2^64 microseconds: {time_retained}", kind="argument")
    number = None if snapshot is None else snapshot_id(snapshot)
    return commit(table, _native.PaimonChange.create_tag(encodable("name", name), number, micros, replace))


def delete_tag(table: Table, name: str) -> Freed:
    """Removes a tag of the table's branch.

    Args:
        table: a Paimon table on a storage with commits.
        name: of the tag.
    Returns: the table at its latest snapshot, and the files that only the tag reached: none while its
        snapshot exists. They are not deleted; Paimon's own `deleteTag` deletes them.
    Raises: SnapshotNotFoundError (no such tag), UnsupportedError (a storage without commits), CorruptError
        and its subclasses (a file that names others cannot be read; the tag is then kept), OSError.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `TagManager.java`, `TagDeletion.java`.
    """
    return freed(table, _native.PaimonChange.delete_tag(encodable("name", name)))


def create_branch(table: Table, name: str, *, tag: str | None = None, snapshot: int | None = None) -> Table:
    """Creates a branch, which has snapshots, schemas and tags of its own and shares all other files.

    Args:
        table: a Paimon table on a storage with commits.
        name: of the branch; not "main", not digits alone.
        tag: a tag of the table's branch, whose snapshot and schema the branch starts from, even where that
            snapshot has expired.
        snapshot: instead of `tag`, the number of a snapshot that has a tag. A branch needs the tag: Paimon's
            expiry would otherwise delete files that only the branch reaches. With neither, the branch has the
            latest schema and no snapshots, as in Paimon.
    Returns: the table on the new branch; commits to it go there.
    Raises: SnapshotNotFoundError (no such tag or snapshot), SchemaError (a name that no branch can have),
        FileExistsError (the branch exists), UnsupportedError (a storage without commits, a snapshot without a
        tag), TypeError (both `tag` and `snapshot`), OSError.
    Cost: writes a file for each schema up to the tag's, a tag and a snapshot.
    Source: Paimon's `FileSystemBranchManager.java`, `BranchManager.java`.

    >>> create_branch(table, "audit", tag="v1")
    <lakebed paimon table '/data/orders' ...>
    """
    if tag is not None and snapshot is not None:
        raise TypeError("create_branch takes a tag or a snapshot")
    start = snapshot if tag is None else encodable("tag", tag)
    start = None if start is None else version("snapshot", start)
    return commit(table, _native.PaimonChange.create_branch(encodable("name", name), start))


def delete_branch(table: Table, name: str) -> Freed:
    """Removes a branch: its snapshots, schemas, tags, changelogs and consumers.

    Args:
        table: a Paimon table on a storage with commits, opened on another branch.
        name: of the branch.
    Returns: the table at its latest snapshot, and the files that only the branch reached, which are not
        deleted: nor does Paimon's own `deleteBranch` delete them.
    Raises: SnapshotNotFoundError (no such branch), SchemaError ("main", the table's branch, or one that an
        option of the table names), UnsupportedError (a storage without commits), CorruptError and its
        subclasses (a file that names others cannot be read; the branch is then kept), OSError.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `FileSystemBranchManager.java`, `AbstractFileStoreTable.java`.
    """
    return freed(table, _native.PaimonChange.delete_branch(encodable("name", name)))


def fast_forward(table: Table, branch: str) -> Freed:
    """Replaces what the table's branch has since another branch began by what that branch has.

    Snapshots, schemas and tags from the branch's first snapshot on are replaced file by file, so that the
    table can be read all the time. It is not a commit, so it conflicts with none: writers must not commit to
    the table's branch meanwhile, as with Paimon's own.

    Args:
        table: a Paimon table on a storage with commits, on the branch that is changed, mostly "main".
        branch: the other branch, which stays.
    Returns: the table at the branch's latest snapshot, and the files that nothing reaches any more.
    Raises: SnapshotNotFoundError (no such branch, or one without snapshots), SchemaError ("main", or the
        table's own), CommitConflictError (another snapshot is the latest at the end), UnsupportedError (a
        storage without commits), CorruptError and its subclasses (a file that names others cannot be read;
        nothing is then changed), OSError.
    Cost: that of `Table.reachable`, before anything is changed; reads and writes each file of the branch.
    Source: Paimon's `FileSystemBranchManager.java`.
    """
    return freed(table, _native.PaimonChange.fast_forward(encodable("branch", branch)))


def rollback_to(table: Table, *, snapshot: int | None = None, tag: str | None = None) -> Freed:
    """Makes an earlier snapshot the latest one of the table's branch.

    Later snapshots, tags and changelogs are removed, the latest first; schemas are kept. It is not a commit
    that could conflict with others: writers must not commit meanwhile, as with Paimon's own.

    Args:
        table: a Paimon table on a storage with commits.
        snapshot: the number of the snapshot; it may have expired if a tag has it.
        tag: or the name of a tag.
    Returns: the table at that snapshot, and the files that nothing reaches any more. They are not deleted:
        nor does Paimon's own `rollbackTo` delete them.
    Raises: SnapshotNotFoundError (no such snapshot or tag), TypeError (both or neither), CommitConflictError
        (another snapshot is the latest at the end), UnsupportedError (a storage without commits),
        CorruptError and its subclasses (a file that names others cannot be read; nothing is then removed),
        OSError.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `RollbackHelper.java`, `AbstractFileStoreTable.java`.
    """
    target = snapshot if tag is None else tag
    if target is None or (snapshot is not None and tag is not None):
        raise TypeError("rollback_to takes a snapshot or a tag")
    target = version("snapshot" if tag is None else "tag", target)
    return freed(table, _native.PaimonChange.rollback_to(target))


def expire_snapshots(
    table: Table, older_than: timedelta | datetime | None = None, retain_last: int | None = None
) -> Freed:
    """Removes the snapshots of the table's branch that its rules of retention do not keep.

    The earliest is removed first. Where changelogs are kept longer than snapshots, snapshots become
    changelogs, and old changelogs are removed. What nothing reaches then is reported and stays: the rows of
    `Table.expire_plan` without the snapshots themselves.

    Args:
        table: a Paimon table on a storage with commits.
        older_than: an age, or a time: only older snapshots are removed. None for option
            `snapshot.time-retained` (1 hour).
        retain_last: how many snapshots are kept in any case. None for option `snapshot.num-retained.min`
            (10).
    Returns: the table at its latest snapshot, and the files that nothing reaches any more: manifests, lists,
        index and data files. Paimon's own expiry deletes them.
    Raises: SchemaError for a rule that is not a number or duration and for a `retain_last` above
        `snapshot.num-retained.max`, ValueError for one below 1, UnsupportedError (a storage without commits),
        CorruptError and its subclasses (a file that names others cannot be read; nothing is then removed),
        OSError.
    Cost: that of `Table.reachable`, before anything is removed.
    Source: Paimon's `ExpireSnapshotsImpl.java`, `ExpireChangelogImpl.java`.

    >>> expire_snapshots(table, timedelta(days=7)).files.to_arrow().num_rows
    12
    """
    old = None if older_than is None else age("older_than", older_than)
    retained = positive("retain_last", retain_last, most=MOST_RETAINED)
    now = milliseconds(datetime.now(timezone.utc))
    return freed(table, _native.PaimonChange.expire_snapshots(old, retained, now))
