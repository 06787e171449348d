"""Rows of a plan that somebody has reviewed: what they are, and of which table."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa, pc
from lakebed.errors import CommitConflictError, LocationError, SchemaError, UnsupportedError
from lakebed.scan import Scan

if TYPE_CHECKING:
    from lakebed.table import Table

OLDEST = timedelta(hours=24)
"""How old a plan may be that is acted on."""

_METADATA_FILES = (".metadata.json", ".metadata.json.gz")

_SKEW = timedelta(minutes=5)
"""How far another machine's clock may be ahead of this one's."""

VIEWS = ("orphans", "expire_plan", "dangling_deletes", "repair_plan")
"""The views whose rows are acted on."""

OF_FILES = ["file_path", "kind", "file_size_in_bytes", "modified_at"]
"""What rows say of files."""

OF_PLANS = ["plan", "table_id", "planned_at"]
"""What rows say of their plan, all the same."""

_OF_EXPIRIES = {"first_snapshot_id": "int64", "first_reached_by": "string"}
_OF_VECTORS = {"content_offset": "int64"}
_OF_REPAIRS = dict.fromkeys(("content_offset", "snapshot_id", "rows_lost", "rows_back"), "int64")
_OWN = {"expire_plan": _OF_EXPIRIES, "dangling_deletes": _OF_VECTORS, "repair_plan": _OF_REPAIRS}


@dataclass(frozen=True)
class Reviewed:
    """What an expiry removes at most; the compiled core reads the attributes.

    Attributes: snapshots and (Paimon) changelogs, by their ids; refs, names of branches and tags (Iceberg).
    """

    snapshots: frozenset[int] = frozenset()
    changelogs: frozenset[int] = frozenset()
    refs: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.changelogs or self.refs)


@dataclass(frozen=True)
class ReviewedPlan:
    """Reviewed rows of one plan of one table.

    Attributes: files, a row for each file (or dangling vector), in the order of paths: `file_path`
        large_utf8, `kind` utf8, `file_size_in_bytes` int64 and `modified_at` timestamp[us, UTC], null where
        the plan does not say, and the numbers that only the view has; view, one of `VIEWS`; rules,
        those of the view; table_id; planned_at; removals, what `expire_plan` removes of the metadata.
    """

    files: pa.Table
    view: str
    rules: dict[str, Any]
    table_id: str
    planned_at: datetime
    removals: Reviewed = field(default_factory=Reviewed)

    def check(self, table: Table) -> None:
        """Refuses what may not be acted on.

        Raises: LocationError for rows of another table or branch; UnsupportedError for a table of which
            nobody says what is newest; CommitConflictError for a plan that is too old, or of a time that is
            still to come.
        """
        if (own := table.core.identity()) != self.table_id:
            message = f"the rows are of another table: theirs is {self.table_id!r}, this one {own!r}"
            raise LocationError(message, kind="location", path=table.location, field="table_id")
        branch = self.rules.get("branch", table.branch)
        if (table.format == "paimon" or self.view == "repair_plan") and branch != table.branch:
            # Snapshots of Paimon's branches have the same numbers, and one file may be broken on several.
            message = f"the rows are of branch {branch!r}, and the table is on {table.branch!r}"
            raise LocationError(message, kind="location", path=table.location, field="plan")
        opening = table.opening
        # A table whose hint is wrong may be opened in no other way.
        is_of_hints = self.view == "repair_plan" and set(self.files["kind"].to_pylist()) == {"hints"}
        if (
            not is_of_hints
            and opening.entry is None
            and opening.pointer is None
            and opening.path.endswith(_METADATA_FILES)
        ):
            message = (
                "the table was opened by a metadata file, which may not be the newest: open its folder, or "
                "its catalog's table"
            )
            raise UnsupportedError(message, kind="unsupported", path=table.location)
        age = datetime.now(timezone.utc) - self.planned_at
        if not -_SKEW <= age <= OLDEST:
            when = self.planned_at.isoformat(" ", "seconds")
            message = f"the rows were planned at {when}, not within the last 24 hours: plan and look again"
            raise CommitConflictError(message, kind="conflict", path=table.location, field="planned_at")


def reviewed(rows: Any) -> ReviewedPlan | None:
    """The plan that rows are of; None for no rows.

    Args: rows, a table of pyarrow, pandas or Polars, or the path of an Arrow or Parquet file.
    Raises: SchemaError for what is not read yet, for rows without the columns of a plan, and for rows of
        several plans; UnsupportedError for rows of a table without an identity.
    """
    table = _table(rows)
    if table.num_rows == 0:
        return None
    try:
        rules = json.loads(_one(table, "plan"))
        view = rules.pop("view")
    except (ValueError, KeyError, AttributeError):
        raise wrong("plan is no plan of lakebed's", "plan") from None
    if view not in VIEWS:
        raise UnsupportedError(f"rows of {view!r} are not acted on", kind="unsupported", field="plan")
    own = _OWN.get(view, {})
    time = pa.timestamp("us", "UTC")
    table = _cast(table, {**file_types(), "table_id": pa.string(), "planned_at": time, **own})
    table_id, planned_at = _one(table, "table_id"), _one(table, "planned_at")
    files = table.filter(pc.is_valid(table["file_path"]))
    if view in ("dangling_deletes", "repair_plan"):
        keys = ["file_path", *own, "kind"]
        files = (
            files.group_by([*OF_FILES, *own]).aggregate([]).sort_by([(name, "ascending") for name in keys])
        )
    else:
        files = distinct(files.select(OF_FILES))
    removals = _removals(table) if view == "expire_plan" else Reviewed()
    return ReviewedPlan(files, view, rules, table_id, planned_at, removals)


def _table(rows: Any) -> pa.Table:
    if isinstance(rows, (str, os.PathLike)):
        return read_rows(os.fspath(rows))
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return rows
    library = type(rows).__module__.partition(".")[0]
    if library in ("pandas", "polars") and type(rows).__name__ == "DataFrame":
        return pa.Table.from_pandas(rows, preserve_index=False) if library == "pandas" else rows.to_arrow()
    what = "a scan, which is read anew each time" if isinstance(rows, Scan) else f"a {type(rows).__name__}"
    raise wrong(
        f"apply takes rows that were read and looked at, not {what}: read them with to_arrow() "
        "(or .read_all()), look at them, and give those",
        "rows",
    )


def read_rows(path: str) -> pa.Table:
    """The rows of a file, whose form its first bytes show. Raises: SchemaError, OSError."""
    with open(path, "rb") as file:  # noqa: PTH123 - a text of any form
        is_parquet = file.read(4) == b"PAR1"
    try:
        if is_parquet:
            from pyarrow import parquet

            return parquet.read_table(path)
        with pa.OSFile(path) as source:
            return pa.ipc.open_file(source).read_all()
    except pa.ArrowInvalid as error:
        raise SchemaError(f"no Arrow or Parquet file: {error}", kind="argument", path=path) from None


def files_of(rows: pa.Table) -> pa.Table:
    """The files that rows name, as they are: the columns of a `ReviewedPlan`'s. Raises: SchemaError."""
    files = _cast(rows, file_types())
    return files.filter(pc.is_valid(files["file_path"]))


def file_types() -> dict[str, pa.DataType]:
    """The types of `OF_FILES`."""
    kinds = (pa.large_string(), pa.string(), pa.int64(), pa.timestamp("us", "UTC"))
    return dict(zip(OF_FILES, kinds, strict=True))


def _cast(table: pa.Table, needed: dict[str, Any]) -> pa.Table:
    """The columns that are needed, in their types. Raises: SchemaError."""
    columns = []
    for name, kind in needed.items():
        column = _column(table, name)
        try:
            columns.append(column.cast(kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise wrong(f"{name} is {column.type}: {error}", name) from None
    return pa.table(columns, names=list(needed))


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of a plan. Raises: SchemaError where there is none."""
    if name in table.schema.names:
        return table[name]
    message = f"rows without the column {name!r} do not say what they are of: plan with all columns"
    raise SchemaError(message, kind="unknown-column", field=name)


def _one(table: pa.Table, name: str) -> Any:
    """The value that all rows have in a column. Raises: SchemaError, UnsupportedError."""
    values = pc.unique(_column(table, name)).to_pylist()
    if len(values) > 1:
        raise wrong(f"rows of {len(values)} plans: their {name} differs", name)
    if values[0] is None:
        message = f"rows without a {name} do not say what they are of"
        raise UnsupportedError(message, kind="unsupported", field=name)
    return values[0]


def distinct(files: pa.Table) -> pa.Table:
    """Rows in the order of paths, each path once."""
    files = files.sort_by("file_path")
    paths = files["file_path"].combine_chunks()
    if len(paths) < 2:
        return files
    differs = pc.not_equal(paths.slice(1), paths.slice(0, len(paths) - 1))
    return files.filter(pa.concat_arrays([pa.array([True]), differs]))


def _removals(table: pa.Table) -> Reviewed:
    def of(kinds: list[str], column: str) -> list[Any]:
        found = table.filter(pc.is_in(table["kind"], value_set=pa.array(kinds)))[column]
        return [value for value in found.to_pylist() if value is not None]

    # "branch b" and "tag v1" are rows without a path: refs of Iceberg.
    refs = [name.partition(" ")[2] for name in of(["branch", "tag"], "first_reached_by")]
    snapshots, changelogs = (frozenset(of([kind], "first_snapshot_id")) for kind in ("snapshot", "changelog"))
    return Reviewed(snapshots, changelogs, frozenset(refs))


def wrong(message: str, field: str) -> SchemaError:
    """The error for rows that are not those of a plan that was looked at."""
    return SchemaError(message, kind="argument", field=field)
