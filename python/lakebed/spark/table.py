"""A table whose views are DataFrames."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.opening import open_table as open_in_python
from lakebed.spark import changes, groups, jobs, planning, views
from lakebed.spark.catalogs import named
from lakebed.spark.request import Request
from lakebed.table import Table
from lakebed.view import KEYWORDS, ViewScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.limits import Limits
    from lakebed.spark.frames import TablePath
    from lakebed.spark.reach import Read
    from lakebed.version import AnyVersion

Way = Callable[[Request], "DataFrame"]
"""How Spark makes the rows of a view."""


def _view(method: Callable[..., ViewScan], way: Way) -> Callable[..., DataFrame]:
    """The method of a Spark table for a method of `Table`: the same arguments, the same rows and columns."""
    name = method.__name__

    def frame(self: SparkTable, *args: Any, **given: Any) -> DataFrame:
        whole = scan = method(self.table, *args, **given)
        if whole.filter_text is not None and "where" in KEYWORDS[name]:
            given.update(columns=whole.columns_and_filtered(), filter=None)
            scan = method(self.table, *args, **given)
        own = dict(zip(list(inspect.signature(method).parameters)[1:], args, strict=False))
        return way(Request(self, scan, whole, {**own, **given}))

    frame.__name__, frame.__qualname__ = name, f"SparkTable.{name}"
    frame.__signature__ = inspect.signature(method).replace(return_annotation="DataFrame")  # type: ignore[attr-defined]
    frame.__doc__ = (
        f"The rows and columns of `Table.{name}`.\n\n{inspect.getdoc(way)}\n\n{inspect.getdoc(method)}"
    )
    return frame


@dataclass(frozen=True)
class SparkTable:
    """A table whose views are DataFrames: the methods of `Table`, with the same arguments but `threads`.

    The rows are those of `Table`'s views, in no order unless the driver reads them.

    Attributes: spark, the session; table, the table; limits, what one metadata file may cost; range_bytes and
        read, as `open_table` of this module has them.
    """

    spark: SparkSession
    table: Table
    limits: Limits
    range_bytes: int | None = None
    read: Read | None = None

    orphans = jobs.orphans

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., DataFrame]: ...


_WAYS: dict[str, Way] = {
    **dict.fromkeys(("snapshots", "refs", "schemas", "changelogs"), Request.by_driver),
    **dict.fromkeys(("manifests", "indexes", "metadata_table"), Request.by_driver),
    "entries": views.manifest_rows,
    "files": views.live_files,
    "deletes": views.deletes,
    "appends": views.manifest_rows,
    "diff": changes.diff,
    "partitions": groups.summed,
    "buckets": groups.summed,
    "health": groups.health,
    "plan": planning.plan,
    "reachable": jobs.reachable,
    "expire_plan": jobs.expire_plan,
    "verify": jobs.verify,
}
"""How Spark makes the rows of views; those of others are one task's."""

for _name in KEYWORDS:
    if not hasattr(SparkTable, _name):
        setattr(SparkTable, _name, _view(getattr(Table, _name), _WAYS.get(_name, jobs.by_task)))


def open_table(
    spark: SparkSession,
    path: TablePath,
    *,
    at: AnyVersion | None = None,
    limits: Limits | None = None,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> SparkTable:
    """A table whose views are DataFrames.

    Args:
        spark: the session.
        path: a path or URI that the driver can open and the executors can reach, a table that a catalog of
            PyIceberg or pypaimon loaded, or a `lakebed.Table`, with the storage that it was opened with. Or a
            name in the catalogs of Spark, such as "lake.db.orders", "db.orders" of the current catalog, or
            "lake.`a.b`.orders": a string without `/`, `:` and backslash outside quotes, of which there is no
            local file or folder. It is read through the storage of its URI.
        at: which version of it; None for the one that it is at, or the latest.
        limits: what one metadata file may cost; None for those of the table.
        range_bytes: of which executors read and decode as many in a task, of one manifest or several; None:
            so many that the cores have about the same.
        read: who reads manifests: "executors" through the storage that the table was opened with, larger ones
            in ranges that begin at a sync marker; "spark", as its source `binaryFile` with the cluster's
            credentials, and each is decoded as a whole; None: the driver, here, where they have 32 MiB or
            less and their rows 16 MiB or less in Arrow; else executors where they reach that storage, else
            Spark. `explain` shows which, and why.
    Raises: what `lakebed.open_table` and `Table.at` raise; of a name TableNotFoundError (no such catalog or
        table), UnsupportedError (a view, another format, Paimon's REST catalogs), OSError (a catalog that
        does not answer). Views raise what those of `Table` raise, here; `orphans` and `expire_plan`
        UnsupportedError for a name where Spark's process alone can ask which version is the newest, which is
        so in Iceberg's catalogs but Hadoop's; ValueError where `read` and `range_bytes` contradict each
        other, TypeError for a storage that executors are to read through and that cannot be pickled; errors
        of a manifest here where the driver reads it, else when the DataFrame is computed.
    Cost: that of `lakebed.open_table`; of a name some statements of SQL, and in Iceberg's catalogs but
        Hadoop's one small job and another read of the metadata file. Of a storage that was opened by its URI,
        and of local files on a cluster, one job finds out whether executors reach it: once for a session,
        with a read on at most 32 cores.
    """
    table = table_at(named(spark, path, limits), at, limits)
    return SparkTable(spark, table, limits or table.opening.limits, range_bytes, read)


def table_at(path: TablePath, at: AnyVersion | None, limits: Limits | None) -> Table:
    """The table, opened unless it is open, at the version asked for. Raises: as `open_table`, `Table.at`."""
    if isinstance(path, Table):
        table = path
    else:
        table = open_in_python(path) if limits is None else open_in_python(path, limits=limits)
    return table if at is None else table.at(at)


def function(method: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """The function of a view: its method on the table that `open_table` opens, in one call."""

    def frame(
        spark: SparkSession,
        path: TablePath,
        *args: Any,
        at: AnyVersion | None = None,
        limits: Limits | None = None,
        range_bytes: int | None = None,
        read: Read | None = None,
        **given: Any,
    ) -> DataFrame:
        table = open_table(spark, path, at=at, limits=limits, range_bytes=range_bytes, read=read)
        return method(table, *args, **given)

    frame.__name__ = frame.__qualname__ = method.__name__
    frame.__doc__ = f"`open_table(spark, path, at=…, …).{method.__name__}(…)`.\n\n{inspect.getdoc(method)}"
    opening = list(inspect.signature(open_table).parameters.values())
    own = list(inspect.signature(method).parameters.values())[1:]
    first = [one for one in own if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    parameters = [*opening[:2], *first, *opening[2:], *(one for one in own if one not in first)]
    frame.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return frame
