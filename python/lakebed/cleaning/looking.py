"""A fresh look at what was planned: which of the files are still what their rows say."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa, pc
from lakebed.cleaning.places import respelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.table import Table

COLUMNS = ["file_path", "file_size_in_bytes", "modified_at"]
"""What is compared of orphans."""

CHANGED = "it changed since it was planned"
NOT_NAMED = "a fresh look does not name it: by now it is reached, or gone, or may be another table's"


def at_orphans(
    files: pa.Table,
    table: Table,
    younger: timedelta,
    listing: Any,
    equal_schemes: Mapping[str, str],
    equal_authorities: Mapping[str, str],
) -> pa.Table:
    """The files, with `reason` utf8: why one is kept; null for those that are orphans still.

    Raises: as `Table.orphans`.
    """
    before = datetime.now(timezone.utc) - younger
    scan = table.orphans(
        younger,
        listing,
        equal_schemes=equal_schemes,
        equal_authorities=equal_authorities,
        columns=COLUMNS,
    )
    return of_orphans(files, respelled(scan.to_arrow(), table), before, younger)


def of_orphans(files: pa.Table, found: pa.Table, before: datetime, younger: timedelta) -> pa.Table:
    """The same of orphans that a look has found by now, with `file_path` spelled as that of the files.

    Args: before, when files have to be modified that are not younger.
    """
    reasons = _compared(files, found, COLUMNS[1:])
    is_young = pc.fill_null(pc.greater(files["modified_at"], pa.scalar(before)), False)
    young = f"it is younger than {younger / timedelta(days=1):g} days"
    return files.append_column("reason", pc.if_else(is_young, young, reasons))


def at_freed(files: pa.Table, found: pa.Table) -> pa.Table:
    """The files, with `reason` utf8, of those that an expiry would free by now."""
    return files.append_column("reason", _compared(files, found, ["file_size_in_bytes"]))


def kept(verdicts: pa.Table, paths: pa.ChunkedArray, reason: str) -> pa.Table:
    """The files, of which those at these paths are kept too."""
    named = pc.is_in(verdicts["file_path"], value_set=paths.combine_chunks())
    return _with(verdicts, pc.and_(named, pc.is_null(verdicts["reason"])), pa.scalar(reason))


def allowed(verdicts: pa.Table, paths: pa.ChunkedArray) -> pa.Table:
    """The files, of which those at these paths are not kept."""
    named = pc.is_in(verdicts["file_path"], value_set=paths.combine_chunks())
    return _with(verdicts, named, pa.scalar(None, pa.string()))


def _with(verdicts: pa.Table, which: Any, reason: pa.Scalar) -> pa.Table:
    at = verdicts.schema.get_field_index("reason")
    return verdicts.set_column(at, "reason", pc.if_else(which, reason, verdicts["reason"]))


def _compared(files: pa.Table, found: pa.Table, columns: list[str]) -> pa.ChunkedArray:
    """Why files are kept that a look did not find, or found with other values."""
    paths = found["file_path"].combine_chunks()
    rows = pc.index_in(files["file_path"], value_set=paths)
    is_other = pc.is_null(rows)
    changed = pa.array([False] * files.num_rows) if not found.num_rows else None
    for name in columns if changed is None else ():
        now = pc.take(found[name].combine_chunks(), rows.combine_chunks())
        then = files[name].combine_chunks()
        same = pc.or_(pc.fill_null(pc.equal(now, then), False), pc.and_(pc.is_null(now), pc.is_null(then)))
        differs = pc.invert(same)
        changed = differs if changed is None else pc.or_(changed, differs)
    text = pc.if_else(changed, CHANGED, pa.scalar(None, pa.string()))
    return pc.if_else(is_other, NOT_NAMED, text)
