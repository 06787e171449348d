"""The Spark schema of a view, without its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from lakebed.limits import LIMITS
from lakebed.spark.frames import At, TablePath, table_at
from lakebed.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from lakebed.scan import Scan
    from lakebed.table import Table

VIEWS = (
    *("snapshots", "changelogs", "refs", "schemas", "manifests", "entries", "files", "deletes", "indexes"),
    *("partitions", "buckets", "health", "plan", "diff", "appends"),
    *("reachable", "orphans", "expire_plan", "verify", "growth", "file_history"),
)
"""The views of a table that have a function here."""


def schema(
    view: str,
    path: TablePath,
    *,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    deletes: Literal["list", "ids"] | None = None,
    at: At = None,
) -> StructType:
    """The Spark schema of a view, such as "files", or of a metadata table, such as "$options".

    Args: as in `files`; stats, for views that have them only; deletes, for "plan" only, as there.
    Raises: what `open_table` and the view raise; ValueError for another view.
    Cost: the driver opens the table.
    """
    selection: dict[str, Any] = {"columns": columns}
    if stats is not None:
        selection["stats"] = stats
    if deletes is not None:
        selection["deletes"] = deletes
    return spark_schema(view_of(table_at(path, at, LIMITS), view, selection).schema)


def view_of(table: Table, view: str, selection: dict[str, Any]) -> Scan:
    """A view, or a metadata table, by its name. Raises: as `schema`."""
    if view.startswith("$"):
        return table.metadata_table(view[1:], **selection)
    if view not in VIEWS:
        raise ValueError(f"a view is one of {', '.join(VIEWS)}, or $ and a metadata table, not {view!r}")
    # Between which snapshots does not matter to the columns.
    places = (table.snapshot_id, table.snapshot_id) if view == "diff" else ()
    scan: Scan = getattr(table, view)(*places, **selection)
    return scan
