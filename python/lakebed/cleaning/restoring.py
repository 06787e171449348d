"""Brings files back that a clean-up has moved to a quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa
from lakebed.cleaning.outcome import Cleanup, rows_of
from lakebed.cleaning.places import Place, Remover, moved, place_of
from lakebed.cleaning.removing import BATCH
from lakebed.cleaning.shared_log import opened_log
from lakebed.errors import LocationError
from lakebed.storage.failures import words_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from lakebed.cleaning.shared_log import AnyLog
    from lakebed.storage.protocols import CopyingStorage
    from lakebed.table import Table


def restore(log: str | os.PathLike[str], table: Table) -> Cleanup:
    """Moves files back from the quarantine that `apply` has moved them to, by its log; where a file is by
    now, that one stays, and so does the one in the quarantine.

    Args: log, of `apply`, or the folder of `lakebed.spark.apply`; it is continued. table, the table whose
        files they were.
    Returns: a `Cleanup`, whose rows have `outcome` "restored", or "failed" with the reason; `kind` is null.
        What was restored before, or was removed without a quarantine, is no row.
    Raises: LocationError for the log of another table; CorruptError for a file that is no log;
        CommitConflictError where another process writes the file; UnsupportedError for a storage that copies
        no files; OSError.
    Cost: reads the log twice; four requests for each file. Memory grows by some 100 bytes for each file.
    """
    remover = Remover(table)
    copying = remover.copying()
    with opened_log(log, table) as opened:
        if opened.header.get("table_id") != table.core.identity():
            message = f"the log is of another table: {opened.header.get('location')!r}"
            raise LocationError(message, kind="location", path=table.location, field="table_id")
        place = place_of(table, table.location)
        begun = frozenset(line["path"] for line in opened.lines() if line.get("outcome") == "restoring")
        rows = [rows_of()]
        for lines in _batches(_moved(opened, place, copying)):
            opened.append({**line, "outcome": "restoring"} for line in lines)
            copied = moved(copying, [(line["to"], line["path"]) for line in lines], begun)
            back = [line for line, error in zip(lines, copied, strict=True) if error is None]
            # What cannot be removed from the quarantine is a copy too many, and no file lacks.
            remover.remove([line["to"] for line in back])
            words = [None if error is None else words_of(error) for error in copied]
            opened.append(
                {**line, "outcome": "restored"}
                if error is None
                else {**line, "outcome": "moved", "error": error}
                for line, error in zip(lines, words, strict=True)
            )
            rows.append(_rows(lines, words))
        return Cleanup(table, pa.concat_tables(rows))


def _moved(log: AnyLog, place: Place, copying: CopyingStorage) -> Iterator[dict[str, Any]]:
    """The files of a place that are in the quarantine, by the last that the log says of each.

    A store may refuse what it has done: of what failed the storage says where it is.
    """
    last = {line["path"]: line["outcome"] for line in log.lines() if "path" in line}
    for line in log.lines():
        if line.get("outcome") != "moving":
            continue
        own = {name: line[name] for name in ("path", "size", "reason", "to")}
        outcome = last.pop(line["path"], None)
        if not place.relative(own["path"]):
            continue
        if outcome in ("moved", "moving", "restoring") or (
            outcome == "failed" and copying.size(own["path"]) is None and copying.size(own["to"]) is not None
        ):
            yield own


def _batches(lines: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    found = list(lines)
    for start in range(0, len(found), BATCH):
        yield found[start : start + BATCH]


def _rows(lines: list[dict[str, Any]], errors: list[str | None]) -> pa.Table:
    columns = [
        [line["path"] for line in lines],
        [None] * len(lines),
        [line["size"] for line in lines],
        ["restored" if error is None else "failed" for error in errors],
        errors,
    ]
    return rows_of(columns)
