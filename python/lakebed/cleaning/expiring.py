"""An expiry by reviewed rows: a commit of what they name, and then the files that it has freed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._arguments import milliseconds
from lakebed._native import IcebergAction, PaimonChange, View
from lakebed._pyarrow import pa, pc
from lakebed.cleaning import looking
from lakebed.cleaning.others import tables_within
from lakebed.cleaning.places import full, respelled
from lakebed.commits.change import Change, Freed
from lakebed.commits.transaction import commit
from lakebed.errors import UnsupportedError
from lakebed.scan import ReadRows, Scan
from lakebed.view import ViewScan

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from datetime import datetime, timedelta

    from lakebed.cleaning.log import CleanupLog
    from lakebed.cleaning.rows import ReviewedPlan
    from lakebed.table import Table

OF_COMMITS = ("snapshot", "changelog")
"""Kinds of Paimon's files that the commit removes itself."""

_TOGETHER = 1 << 20
"""Rows of reached files that are compared at a time."""


def expired(plan: ReviewedPlan, table: Table, log: CleanupLog) -> tuple[Table, pa.Table]:
    """Commits the expiry of what the rows name, as far as the rules of the plan still say so.

    Args: log, of an earlier run too, which may have been broken off after its commit: what was freed then is
        in no plan any more, but in its log.
    Returns: the table after it; the files, without those that the commit removes, with `reason` utf8 where
        one is kept.
    Raises: as `Table.expire_plan` and `Table.expire_snapshots`.
    """
    others = tables_within(table)
    rules = (plan.rules["older_than_ms"], plan.rules["retain_last"], milliseconds(plan.planned_at))
    view = View.expire_plan(*rules, table.opening.newest(table.core))
    found = ViewScan(table, "expire_plan", view, {"columns": ["file_path", "file_size_in_bytes"]}).to_arrow()
    is_of_commit = pc.is_in(plan.files["kind"], value_set=pa.array(OF_COMMITS))
    files = plan.files.filter(pc.invert(is_of_commit))
    found = respelled(found.filter(pc.is_valid(found["file_path"])), table)
    verdicts = looking.at_freed(files, found)
    if any("commit" in line for line in log.lines()):
        paths = [line["path"] for line in log.lines() if line.get("outcome") == "planned"]
        planned = respelled(pa.table({"file_path": pa.array(paths, pa.string())}), table)
        verdicts = looking.allowed(verdicts, planned["file_path"])
    if plan.removals:
        table = _committed(plan, rules, table, verdicts, log)
    for other in others:
        verdicts = _without_reached(verdicts, other, table, "another table in the table's folder reaches it")
    return table, _unreached(verdicts, table)


def _committed(
    plan: ReviewedPlan,
    rules: tuple[int | None, int | None, int],
    table: Table,
    verdicts: pa.Table,
    log: CleanupLog,
) -> Table:
    """The table after the commit, which the log has before it is made, with the files that it may free."""
    left = verdicts.filter(pc.is_null(verdicts["reason"]))
    for batch in left.select(["file_path", "file_size_in_bytes"]).to_batches(max_chunksize=10_000):
        log.append(
            {
                "path": full(table, row["file_path"]),
                "size": row["file_size_in_bytes"],
                "reason": plan.view,
                "outcome": "planned",
            }
            for row in batch.to_pylist()
        )
    removed = {name: sorted(getattr(plan.removals, name)) for name in ("snapshots", "changelogs", "refs")}
    log.append([{"commit": "expire_snapshots", **removed}])
    of_iceberg = IcebergAction.expire_snapshots(*rules, plan.removals)
    of_paimon = PaimonChange.expire_snapshots(*rules, plan.removals)
    after, _ = commit(table, Change("expire_snapshots", of_iceberg, of_paimon))
    log.append([{"committed": "expire_snapshots", "snapshot_id": after.snapshot_id}])
    return after


def _unreached(verdicts: pa.Table, table: Table) -> pa.Table:
    """The files, of which those are kept too that something reaches.

    It is looked until so many looks in succession take nothing out: a root of Paimon's may move from one
    folder to another while one is made.
    """
    quiet, needed = 0, 2 if table.format == "paimon" else 1
    while quiet < needed and pc.any(pc.is_null(verdicts["reason"])).as_py():
        kept = verdicts["reason"].null_count
        verdicts = _without_reached(verdicts, table, table, "something reaches it still")
        quiet = quiet + 1 if verdicts["reason"].null_count == kept else 0
    return verdicts


def _without_reached(verdicts: pa.Table, of: Table, table: Table, reason: str) -> pa.Table:
    """The files, of which those are kept that the newest version of `of` reaches."""
    for rows in _reached(of.refresh()):
        verdicts = looking.kept(verdicts, respelled(rows, table)["file_path"], reason)
    return verdicts


def _reached(table: Table) -> Iterator[pa.Table]:
    """The paths of files that anything reaches, many at a time."""
    batches: list[pa.RecordBatch] = []
    for batch in table.reachable(columns=["file_path"]):
        batches.append(batch)
        if sum(one.num_rows for one in batches) >= _TOGETHER:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


def expired_by_table(
    changes: object,
    older_than: timedelta | datetime | None,
    retain_last: int | None,
    log: str | os.PathLike[str],
    quarantine: str | os.PathLike[str] | None,
) -> Freed:
    """Plans the expiry of a table, commits it, and removes what it has freed.

    Raises: UnsupportedError for a transaction and for what is staged, which commit later; as `apply`.
    """
    from lakebed.cleaning.applying import apply
    from lakebed.table import Table

    if not isinstance(changes, Table):
        what = f"a {type(changes).__name__.lower()} takes no remove_files: files go only after the commit"
        raise UnsupportedError(what, kind="unsupported", field="remove_files")
    rows = changes.expire_plan(older_than, retain_last).to_arrow()
    done = apply(rows, changes, quarantine, log=log)
    return Freed(done.table.refresh(), Scan(ReadRows(done.rows), "files that the expiry has freed"))
