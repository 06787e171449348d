"""Takes dangling deletes out of a table by reviewed rows: a commit names them no more, their files stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.cleaning.looking import NOT_NAMED
from lakebed.cleaning.outcome import rows_of
from lakebed.cleaning.places import respelled
from lakebed.commits.inputs import named_deletes
from lakebed.errors import CommitConflictError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.cleaning.log import CleanupLog
    from lakebed.cleaning.rows import ReviewedPlan
    from lakebed.table import Table

_COLUMNS = ["file_path", "content_offset"]

Key = tuple[str, int | None]
"""The path of a delete file, and the offset of a vector in it."""


def dropped(plan: ReviewedPlan, table: Table, log: CleanupLog) -> tuple[Table, pa.Table]:
    """Commits without the deletes among the rows that a fresh look still names.

    Returns: the table after it, and the rows of a `Cleanup`.
    Raises: as `Table.dangling_deletes` and `Table.replace_files`.
    """
    begun, ended = (_of_outcome(log, outcome) for outcome in ("dropping", "dropped"))
    found = _dangling(table)
    # A run that was broken off may have committed.
    done = {key for key in begun if key not in found}
    log.append(_lines(plan, done - ended, "dropped"))
    while wanted := {key for key in _keys(plan.files) if key in found}:
        log.append(_lines(plan, wanted, "dropping"))
        try:
            table = _without(table, [found[key] for key in sorted(wanted, key=str)])
        except (SchemaError, CommitConflictError):
            # Another commit has taken one of them out since the look.
            newer = table.refresh()
            if newer.snapshot_id == table.snapshot_id:
                raise
            table, found = newer, _dangling(newer)
            continue
        log.append(_lines(plan, wanted, "dropped"))
        done |= wanted
        break
    became = [("dropped", None) if key in done else ("kept", NOT_NAMED) for key in _keys(plan.files)]
    columns = [plan.files[name] for name in ("file_path", "kind", "file_size_in_bytes")]
    return table, rows_of([*columns, *zip(*became, strict=True)])


def _of_outcome(log: CleanupLog, outcome: str) -> set[Key]:
    """What the log has with an outcome."""
    return {(line["path"], line["offset"]) for line in log.lines() if line.get("outcome") == outcome}


def _keys(rows: pa.Table) -> list[Key]:
    return list(zip(*(rows[name].to_pylist() for name in _COLUMNS), strict=True))


def _lines(plan: ReviewedPlan, wanted: set[Key], outcome: str) -> list[dict[str, Any]]:
    rows = zip(_keys(plan.files), plan.files["file_size_in_bytes"].to_pylist(), strict=True)
    return [
        {"path": path, "offset": offset, "size": size, "reason": plan.view, "outcome": outcome}
        for (path, offset), size in rows
        if (path, offset) in wanted
    ]


def _dangling(table: Table) -> dict[Key, Key]:
    """The dangling deletes by their spelling in plans, each as the table names it."""
    rows = table.dangling_deletes(columns=_COLUMNS).to_arrow()
    return dict(zip(_keys(respelled(rows, table)), _keys(rows), strict=True))


def _without(table: Table, deletes: list[Key]) -> Table:
    return table.replace_files([], removed_deletes=named_deletes(deletes))
