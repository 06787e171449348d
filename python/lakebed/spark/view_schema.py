"""The Spark schema of a view, without its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lakebed.limits import LIMITS
from lakebed.spark.frames import At, TablePath, table_at
from lakebed.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from lakebed.scan import Scan
    from lakebed.table import Table

VIEWS = (
    *("snapshots", "changelogs", "refs", "schemas", "manifests", "entries", "files", "deletes", "indexes"),
    *("partitions", "buckets", "health"),
)
"""The views of a table that have a function here."""


def schema(
    view: str,
    path: TablePath,
    *,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
) -> StructType:
    """The Spark schema of a view, such as "files", or of a metadata table, such as "$options".

    Args: as in `files`; stats, for views that have them only.
    Raises: what `open_table` and the view raise; ValueError for another view.
    Cost: the driver opens the table.
    """
    selection: dict[str, Any] = {"columns": columns}
    if stats is not None:
        selection["stats"] = stats
    return spark_schema(_scan(table_at(path, at, LIMITS), view, selection).schema)


def _scan(table: Table, view: str, selection: dict[str, Any]) -> Scan:
    if view.startswith("$"):
        return table.metadata_table(view[1:], **selection)
    if view not in VIEWS:
        raise ValueError(f"a view is one of {', '.join(VIEWS)}, or $ and a metadata table, not {view!r}")
    scan: Scan = getattr(table, view)(**selection)
    return scan
