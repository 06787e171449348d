"""Several changes as one commit, and commits that are left to a catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakebed.commits import iceberg, paimon
from lakebed.commits.change import PLAIN, Change, CommitOptions, Freed, StagedCommit, unsupported
from lakebed.commits.changes import Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from lakebed.scan import Scan
    from lakebed.table import Table


def commit(table: Table, *changes: Change) -> tuple[Table, Callable[[], Scan]]:
    """Makes changes in one commit. Returns: the table after it, at the head of its branch, and what gives the
    files that it has freed.
    """
    table = changes[0].table(table)
    if table.format == "iceberg":
        return iceberg.commit(table, [change.of_iceberg(table) for change in changes])
    of_paimon = [change.of_paimon(table) for change in changes]
    return paimon.commit(table, of_paimon, options_of(changes, table))


def options_of(changes: Sequence[Change], table: Table) -> CommitOptions:
    """What the commit of all changes says of itself. Raises: UnsupportedError where they say different
    things.
    """
    given = [change.options for change in changes if change.options != PLAIN]
    if any(options != given[0] for options in given):
        raise unsupported("a snapshot says one thing of itself: the options of its changes differ", table)
    return given[0] if given else PLAIN


class Transaction(Changes[None, None]):
    """Several changes of a table, made in one commit: all of them or none. `Table.transaction` begins one.

    Iceberg: each change applies to what those before it leave: files of a schema or spec that the transaction
    changes, a tag of the snapshot that it makes. Paimon: one snapshot has all changes of files, each of what
    is live before it; what it cannot have beside them is an UnsupportedError that names it (a schema beside
    files, tags, branches, a compaction beside other changes).

    A change is checked for its arguments when it is called, and against the table when the block ends, which
    commits; a lost race makes all of them again. A block that ends with an exception changes nothing, and
    forgets the changes. A commit that fails keeps them, for another try.

    Attributes: table, the one that the changes were begun at, and after the block the one after the commit,
        at the head of its branch; freed, after the commit, the files that nothing reaches any more, as
        `Freed.files`; None before.

    >>> with table.transaction() as tx:
    ...     tx.update_schema(SchemaChange.add_column("note", pa.string()))
    ...     tx.append_files(files)
    >>> table = tx.table
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.freed: Scan | None = None
        self._changes: list[Change] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self._changes = []

    def commit(self) -> Freed:
        """Makes the commit, as the end of the block does; a transaction without changes makes none.

        Raises: what the changes raise; of Iceberg with "change 2 of 3: " before the message where there are
            several.
        """
        if self._changes:
            self.table, freed = commit(self.table, *self._changes)
            self._changes, self.freed = [], freed()
        elif self.freed is None:
            self.freed = self.table.reachable(limit=0)
        return Freed(self.table, self.freed)

    def stage(self) -> StagedCommit | None:
        """(Iceberg) Writes the files of the changes for a catalog to commit, in place of the commit: the
        table is not changed, and the end of the block has nothing left to commit.

        Returns: what the catalog is sent; None where no change has anything to do.
        Raises: as `commit`; UnsupportedError (a Paimon table, a storage that does not write).
        """
        _refuse_staging(self.table)
        if not self._changes:
            return None
        staged = iceberg.stage(self.table, [change.of_iceberg(self.table) for change in self._changes])
        self._changes = []
        return staged

    def _changed(self, change: Change) -> None:
        table = self.table
        if change.off == table.branch != "main" and table.format == "iceberg":
            raise unsupported(f"a transaction removes no branch that it is on, {table.branch!r}", table)
        if change.table(table) is not table:
            raise unsupported(f"{change.name} is of another branch than the transaction", table)
        # Streams are read now, and arguments are checked.
        if table.format == "iceberg":
            self._changes.append(replace(change, iceberg=change.of_iceberg(table)))
        else:
            self._changes.append(replace(change, paimon=change.of_paimon(table)))

    def _freed(self, change: Change) -> None:
        self._changed(change)


class Staging(Changes[StagedCommit | None, StagedCommit | None]):
    """Changes of an Iceberg table, written for a catalog to commit: nothing of the table is changed.

    Each method returns a `StagedCommit`, what the catalog is sent; None where there is nothing to do.
    """

    def __init__(self, table: Table) -> None:
        """Raises: UnsupportedError for a Paimon table, whose snapshots are files themselves."""
        _refuse_staging(table)
        self.table = table

    def _changed(self, change: Change) -> StagedCommit | None:
        table = change.table(self.table)
        return iceberg.stage(table, [change.of_iceberg(table)])

    def _freed(self, change: Change) -> StagedCommit | None:
        return self._changed(change)


def _refuse_staging(table: Table) -> None:
    if table.format != "iceberg":
        raise unsupported("a commit to a Paimon table is not staged: its snapshot is the commit", table)
