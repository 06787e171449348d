"""Acts on reviewed rows of a plan: on these at most, less what a fresh look takes out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lakebed._arguments import positive
from lakebed.cleaning import dropping, expiring, looking, repairing
from lakebed.cleaning.log import CleanupLog
from lakebed.cleaning.outcome import Cleanup, rows_of
from lakebed.cleaning.places import Place, check_apart, full, is_local, place_of, respelled
from lakebed.cleaning.removing import Removal, header_of
from lakebed.cleaning.rows import reviewed
from lakebed.errors import UnsupportedError
from lakebed.storage.paths import absolute
from lakebed.table.jobs import THREE_DAYS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from lakebed.table import Table


def apply(
    rows: Any,
    table: Table,
    quarantine: str | os.PathLike[str] | None = None,
    *,
    log: str | os.PathLike[str],
    younger: timedelta = THREE_DAYS,
    listing: Any = None,
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    files_per_second: int = 2000,
) -> Cleanup:
    """Acts on reviewed rows of `orphans`, `expire_plan`, `dangling_deletes` or `repair_plan`: on these at
    most, and of these only on what a fresh look still names.

    Of `orphans` the view is made again now; a file that it does not name any more, or that has another size
    or time than when it was planned, is kept. Of `expire_plan` the snapshots (and Iceberg's branches and
    tags) that are among the rows are expired first, in one commit, as far as the plan's rules still say so
    and no others; then the files among the rows are removed that were to be freed before it, and that nothing
    reaches after it. Without rows of snapshots nothing is committed and nothing is freed. Of
    `dangling_deletes` one commit takes out of the table's snapshot those that still apply to no live file;
    older snapshots have their files until they expire, so that nothing is removed from the storage. Of
    `repair_plan` the repairs are made that still lose and return as many rows as when they were planned:
    hints first, then a rollback, then one commit of all that is left out, whose summary says so.

    Args:
        rows: what was read and reviewed: a table of pyarrow, pandas or Polars with the columns of the view,
            or the path of an Arrow or Parquet file of them. Rows may have been taken out.
        table: the table that they are of; its newest version counts.
        quarantine: a folder apart from the table, on its storage: files are moved there, with their paths
            below the table's folder, in place of being deleted. `restore` brings them back. Not of dangling
            deletes.
        log: a local file apart from the table, to which each file is written before it is removed and after
            it, as JSON lines. With the log of a run that was broken off, the same rows are looked at again,
            and what is left is done.
        younger: orphans that were modified less than this ago are kept.
        listing: for the fresh look at orphans, as `Table.orphans` has it: of now, not of the plan.
        equal_schemes: for the fresh look at orphans, as `Table.orphans` has it.
        equal_authorities: likewise.
        files_per_second: at most so many are removed.
    Returns: a `Cleanup`: the table after it, and for each file what became of it, and why.
    Raises: SchemaError for rows that were not read, for such as lack columns and for rows of several plans;
        LocationError for rows of another table, for a log or a quarantine that is not apart from the table,
        and for a log of something else; CommitConflictError for a plan older than 24 hours, and where another
        process writes the log; UnsupportedError for a storage that does not remove or copy files; of the
        fresh look all that `Table.orphans` and `Table.expire_plan` raise, and LocationError for another table
        in the table's folder that cannot be read: nothing was removed then; of the commits what
        `Table.expire_snapshots` and `Table.replace_files` raise; OSError where the log cannot be written:
        files are removed only after it was. A file that is not removed is a row, not an error.
    Cost: that of the view, and for `expire_plan` two of `reachable`, a commit, and a listing of each folder,
        where other tables may be, besides; a request for each thousand files, or for each file where the
        storage has none for many; three or four for each file that is moved. Memory is that of the rows three
        times.
    Source: Iceberg's `DeleteOrphanFilesSparkAction.java`, `ExpireSnapshotsSparkAction.java`,
        `RemoveDanglingDeletesSparkAction.java`; Paimon's `LocalOrphanFilesClean.java`.

    >>> rows = table.orphans().to_arrow()
    >>> print(rows)                                              # look
    >>> lakebed.apply(rows, table, log="orders.log").counts
    """
    check_limits(younger, files_per_second)
    plan = reviewed(rows)
    if plan is None:
        return Cleanup(table, rows_of())
    table = table.refresh()
    plan.check(table)
    if is_local(table):
        check_apart(place_of(table, table.location), Place(absolute(str(log))), "the log")
    if plan.view in _COMMITTED:
        if quarantine is not None:
            message = f"the files of {plan.view} stay where they are"
            raise UnsupportedError(message, kind="unsupported", field="quarantine")
        with CleanupLog(log, header_of(plan, full(table, table.location), None)) as opened:
            plan = replace(plan, files=respelled(plan.files, table))
            return Cleanup(*_COMMITTED[plan.view](plan, table, opened))
    removal = Removal(table, plan.view, quarantine, files_per_second)
    plan = replace(plan, files=respelled(plan.files, table))
    with CleanupLog(log, removal.header(plan)) as opened:
        if plan.view == "orphans":
            verdicts = looking.at_orphans(
                plan.files, table, younger, listing, equal_schemes or {}, equal_authorities or {}
            )
        else:
            table, verdicts = expiring.expired(plan, table, opened)
        return Cleanup(table, removal.done(verdicts, opened))


_COMMITTED = {"dangling_deletes": dropping.dropped, "repair_plan": repairing.repaired}
"""What is done by plans that remove no file from the storage."""


def check_limits(younger: timedelta, files_per_second: int) -> None:
    """Raises: ValueError for what is no age, and for what is no count."""
    given: object = younger
    if not isinstance(given, timedelta) or given < timedelta(0):
        raise ValueError(f"younger is an age, not {younger!r}")
    positive("files_per_second", files_per_second)
