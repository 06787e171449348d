"""What programs make of views themselves: the Spark schema, and the function that decodes manifests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from lakebed.spark.mappers import decode_manifests, map_contents
from lakebed.spark.table import table_at
from lakebed.spark.types import spark_schema
from lakebed.view import KEYWORDS

if TYPE_CHECKING:
    from pyspark.sql.types import StructType
    from typing_extensions import Unpack

    from lakebed._keywords import FileKeywords
    from lakebed.limits import Limits
    from lakebed.spark.frames import TablePath
    from lakebed.spark.map_in_arrow import Mapper
    from lakebed.table import Table
    from lakebed.version import AnyVersion
    from lakebed.view import ViewScan


def schema(
    view: str,
    path: TablePath,
    *,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    deletes: Literal["list", "ids"] | None = None,
    at: AnyVersion | None = None,
) -> StructType:
    """The Spark schema of a view, such as "files", or of a metadata table, such as "$options".

    Args: columns and stats, as the view takes them; deletes, for "plan" only; path and at, as `open_table`.
    Raises: what `open_table` and the view raise; ValueError for another view.
    Cost: the driver opens the table.
    """
    selection: dict[str, Any] = {"columns": columns}
    if stats is not None:
        selection["stats"] = stats
    if deletes is not None:
        selection["deletes"] = deletes
    return spark_schema(view_of(table_at(path, at, None), view, selection).schema)


def view_of(table: Table, view: str, selection: dict[str, Any]) -> ViewScan:
    """A view, or a metadata table, by its name. Raises: as `schema`."""
    if view.startswith("$"):
        return table.metadata_table(view[1:], **selection)
    if view not in KEYWORDS:
        views = ", ".join(name for name in KEYWORDS if name != "metadata_table")
        raise ValueError(f"a view is one of {views}, or $ and a metadata table, not {view!r}")
    # Between which snapshots does not matter to the columns.
    places = (table.snapshot_id, table.snapshot_id) if view == "diff" else ()
    scan: ViewScan = getattr(table, view)(*places, **selection)
    return scan


def manifest_mapper(
    fmt: str,
    path: TablePath,
    *,
    at: AnyVersion | None = None,
    limits: Limits | None = None,
    **given: Unpack[FileKeywords],
) -> Mapper:
    """The function for `DataFrame.mapInArrow` that turns manifests into rows of `Table.entries`.

    It takes rows with `path` and `content`, those of Spark's `binaryFile` source for manifests of this
    snapshot, and goes with the schema `schema("entries", path, columns=…, stats=…, at=…)`.

    Args: fmt, the table format, "paimon" or "iceberg"; path, at and limits, as `open_table`; the others are
        those of `Table.entries`.
    Raises: what `open_table` and `Table.entries` raise; ValueError where the table is of another format.
    Cost: the driver reads the manifest lists.
    """
    table = table_at(path, at, limits)
    if table.format != fmt:
        raise ValueError(f"{table.location} is a {table.format} table, not {fmt}")
    task, limits = table.entries(**given).task("rows"), limits or table.opening.limits
    return partial(map_contents, decode=partial(decode_manifests, task=task, limits=limits))
