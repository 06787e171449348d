"""Views of all that a table is made of, each made by one task: the driver reads and holds none of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed._arguments import age
from lakebed.limits import LIMITS, Limits
from lakebed.opening import Opening
from lakebed.predicates import to_sql
from lakebed.spark.binary_files import absolute
from lakebed.spark.frames import At, TablePath, table_at
from lakebed.spark.mappers import gathered_batches, prefix_error_kind
from lakebed.spark.reach import check_pickled
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.table.jobs import THREE_DAYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.storage import Storage
    from lakebed.table import Table
    from lakebed.view import ViewScan


def reachable(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per file that anything of the table still reaches; the rows and columns of `Table.reachable`.

    Args: as `Table.reachable`; path and at, which table and snapshot; limits, what one file may cost.
    Raises: what `open_table` and `Table.reachable` raise at once, here; TypeError for a storage that cannot
        be pickled; errors of reading when the DataFrame is computed.
    Cost: one task opens the table again, through the same storage, and reads what `Table.reachable` says,
        with all threads that its machine has; the driver reads what opening does.
    """
    return _by_task(spark, table_at(path, at, limits), "reachable", _selection(where, columns))


def orphans(
    spark: SparkSession,
    path: TablePath,
    older_than: timedelta | datetime | None = THREE_DAYS,
    listing: DataFrame | None = None,
    *,
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per file that lies in the table's folders and that nothing of the table reaches; the rows and
    columns of `Table.orphans`.

    Args: as `Table.orphans`; listing, a DataFrame with `path`, `size` and `modified`; path and limits, as in
        `reachable`.
    Raises: as `reachable`, and as `Table.orphans`.
    Cost: as `reachable`, and a listing of each folder; the rows of `listing` come to that task, which holds
        256 MiB of them and of what is reached, and has more on its disk.
    """
    table = table_at(path, None, limits)
    # Now is when it is asked for, wherever that is read.
    instant = None if older_than is None else age("older_than", older_than)
    equal = {"equal_schemes": equal_schemes, "equal_authorities": equal_authorities}
    keywords = {"older_than": instant, **equal, **_selection(where, columns)}
    return _by_task(spark, table, "orphans", keywords, listing)


def expire_plan(
    spark: SparkSession,
    path: TablePath,
    older_than: timedelta | datetime | None = None,
    retain_last: int | None = None,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """What an expiry of snapshots would free; the rows and columns of `Table.expire_plan`.

    Args: as `Table.expire_plan`; path, at and limits, as in `reachable`.
    Raises, Cost: as `reachable`.
    """
    instant = None if older_than is None else age("older_than", older_than)
    keywords = {"older_than": instant, "retain_last": retain_last, **_selection(where, columns)}
    return _by_task(spark, table_at(path, at, limits), "expire_plan", keywords)


def verify(
    spark: SparkSession,
    path: TablePath,
    *,
    data_files: bool = False,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row for each thing that is wrong with the table; the rows and columns of `Table.verify`.

    Args: as `Table.verify`; path, at and limits, as in `reachable`.
    Raises, Cost: as `reachable`.
    """
    keywords = {"data_files": data_files, **_selection(where, columns)}
    return _by_task(spark, table_at(path, at, limits), "verify", keywords)


def growth(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per snapshot that led to the table's own; the rows and columns of `Table.growth`.

    Args: as `Table.growth`; path, at and limits, as in `reachable`.
    Raises, Cost: as `reachable`.
    """
    return _by_task(spark, table_at(path, at, limits), "growth", _selection(where, columns))


def file_history(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row for each file that a commit added or removed; the rows and columns of `Table.file_history`.

    Args: as `Table.file_history`; path, at and limits, as in `reachable`.
    Raises, Cost: as `reachable`.
    """
    keywords = {"stats": stats, **_selection(where, columns)}
    return _by_task(spark, table_at(path, at, limits), "file_history", keywords)


def _selection(where: str | Predicate | None, columns: Sequence[str] | None) -> dict[str, Any]:
    return {"where": to_sql(where), "columns": columns}


def _by_task(
    spark: SparkSession,
    table: Table,
    view: str,
    keywords: dict[str, Any],
    listing: DataFrame | None = None,
) -> DataFrame:
    reader = _Reader.of(table, view, keywords, has_listing=listing is not None)
    # Wrong arguments raise here, not in a task.
    types = spark_schema(reader.scan(table).schema)
    # Not `coalesce`, with which the listing would be read by that task too.
    rows = spark.range(1, numPartitions=1) if listing is None else listing.repartition(1)
    return rows.mapInArrow(reader, types)


@dataclass(frozen=True)
class _Reader:
    """Opens a table again and reads a view of it; made for `mapInArrow` over one row, or all of a listing.

    Attributes: path, what was opened; place, the keywords of `Table.at` for its snapshot. It may hold
        credentials, which its `repr` does not show.
    """

    view: str
    path: str = field(repr=False)
    format: str
    branch: str
    place: dict[str, Any]
    storage: Storage | None = field(repr=False)
    opening: Opening = field(repr=False)
    keywords: dict[str, Any] = field(repr=False)
    has_listing: bool = False

    @staticmethod
    def of(table: Table, view: str, keywords: dict[str, Any], *, has_listing: bool) -> _Reader:
        """Of a table that is open. Raises: TypeError for a storage that cannot be pickled."""
        storage = table._storage
        check_pickled(storage)
        opening = table._opening or Opening((), None, LIMITS, None, None)
        path = opening.path or table._native.location
        if storage is None:
            moved = tuple((prefix, absolute(now)) for prefix, now in opening.moved)
            path, opening = absolute(path), opening.elsewhere(moved)
        else:
            opening = opening.elsewhere(opening.moved)
        place: dict[str, Any] = {}
        # Orphans are of what is newest, wherever a table stands.
        if view != "orphans" and table.snapshot_id is not None:
            place = {"snapshot": table.snapshot_id} if table.tag is None else {"tag": table.tag}
        return _Reader(view, path, table.format, table.branch, place, storage, opening, keywords, has_listing)

    @property
    def __name__(self) -> str:
        """What plans show."""
        return f"one_task_reads_{self.view}"

    def scan(self, table: Table, **more: Any) -> ViewScan:
        """The view of a table."""
        scan: ViewScan = getattr(table, self.view)(**self.keywords, **more)
        return scan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows of the view."""
        first = next(batches, None)
        if first is None:
            return
        more: dict[str, Any] = {}
        if self.has_listing:
            more["listing"] = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        with prefix_error_kind():
            table = self.opening.table(self.path, self.storage, self.format, self.branch)
            scan = self.scan(table.at(**self.place) if self.place else table, **more)
            types = to_spark(scan.schema)
            yield from gathered_batches(cast_batch(batch, types) for batch in scan)
