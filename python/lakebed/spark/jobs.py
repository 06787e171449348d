"""Views of all that a table is made of: spread over executors, or made by one task that opens it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed._arguments import age
from lakebed.limits import LIMITS, Limits
from lakebed.predicates import to_sql
from lakebed.spark.binary_files import absolute
from lakebed.spark.exchange import PIECES, exchanged, sent
from lakebed.spark.frames import At, TablePath, from_batches, table_at
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import gathered_batches, prefix_error_kind
from lakebed.spark.reach import check_pickled
from lakebed.spark.reading import Reading
from lakebed.spark.session import task_numbers
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.spark.verifying import verified
from lakebed.table import Table
from lakebed.table.jobs import THREE_DAYS
from lakebed.table.opening import Opening

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.spark.reach import Read
    from lakebed.storage import Storage
    from lakebed.view import Exchange, ViewScan


# Those of the newest version, whichever snapshot the table is at.
_OF_NEWEST = ("orphans", "expire_plan")


def reachable(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    read: Read | None = None,
) -> DataFrame:
    """One row per file that anything of the table still reaches; the rows and columns of `Table.reachable`,
    in no order.

    Args: as `Table.reachable`; path and at, which table and snapshot; limits, what one file may cost;
        read, as in `files`.
    Raises: what `open_table` and `Table.reachable` raise, of snapshots and lists, here; errors of reading
        manifests when the DataFrame is computed.
    Cost: the driver reads all but manifests, and holds what names these and the sets of snapshots that have
        each. Executors read every manifest once; some 100 bytes for each file that an entry names and its
        path cross one exchange, after which a task holds those of one part.
    """
    table = table_at(path, at, limits)
    scan = table.reachable(where=where, columns=columns)
    return _spread(spark, scan, scan.exchange(), Reading.of(table, limits, None, read))


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
    read: Read | None = None,
) -> DataFrame:
    """One row per file that lies in the table's folders and that nothing of the table reaches; the rows and
    columns of `Table.orphans`, in no order.

    The table is read as it is now, folders are listed when the DataFrame is computed: what was modified since
    is not an orphan. After all else a task reads the newest version again, until nothing is new, and takes
    out rows of files that the table keeps by then.

    Args: as `Table.orphans`; listing, a DataFrame with `path`, `size` and `modified`; path, limits and
        read, as in `reachable`.
    Raises: as `reachable`, and as `Table.orphans`; TypeError for a storage or catalog that cannot be pickled.
    Cost: as `reachable`. Each partition of `listing` is read by a task, which opens the table again to know
        its folders; without `listing` one task lists them, side by side. Some 150 bytes for each file that is
        listed cross the same exchange, and the rows another one, to one task.
    """
    table = table_at(path, None, limits)
    now = datetime.now(timezone.utc)
    instant = None if older_than is None else age("older_than", older_than)
    if listing is None:
        instant = now if instant is None else min(instant, now)
    equal = {"equal_schemes": equal_schemes, "equal_authorities": equal_authorities}
    keywords = {"older_than": instant, **equal, "where": to_sql(where)}
    lister = _Reader.of(table, "orphans", keywords, has_listing=listing is not None)
    scan = lister.scan(table)

    def listed(parts: int) -> DataFrame:
        rows = task_numbers(spark, 1) if listing is None else listing
        return rows.mapInArrow(replace(lister, parts=parts), spark_schema(PIECES))

    reading, exchange = Reading.of(table, limits, None, read), scan.exchange()
    rows = exchanged(spark, scan.schema, exchange, reading, beside=listed)
    return _looked_again(rows, table, replace(lister, has_listing=False), exchange, columns)


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
    read: Read | None = None,
) -> DataFrame:
    """What an expiry of snapshots would free; the rows and columns of `Table.expire_plan`, in no order.

    Snapshots are those of the newest version now, whatever `at`. After all else a task reads the newest
    version again, until nothing is new, and takes out rows of what the table keeps by then.

    Args: as `Table.expire_plan`; path, at, limits and read, as in `reachable`. Ages are counted to now.
    Raises: as `reachable`; TypeError for a storage or catalog that cannot be pickled; MissingFileError when
        the DataFrame is computed by executors that do not reach the table.
    Cost: as `reachable`; the rows cross another exchange, to one task.
    """
    table = table_at(path, at, limits)
    instant = None if older_than is None else age("older_than", older_than)
    keywords = {"older_than": instant, "retain_last": retain_last, "where": to_sql(where)}
    reader = _Reader.of(table, "expire_plan", keywords)
    scan = reader.scan(table)
    exchange = scan.exchange()
    rows = _spread(spark, scan, exchange, Reading.of(table, limits, None, read))
    return _looked_again(rows, table, reader, exchange, columns)


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
    """One row for each thing that is wrong with the table; the rows and columns of `Table.verify`, in no
    order.

    Args: as `Table.verify`; path, at and limits, as in `reachable`.
    Raises: what `open_table` and `Table.verify` raise, here; TypeError for a storage that cannot be pickled;
        MissingFileError when the DataFrame is computed by executors that do not reach the table.
    Cost: the driver reads all but manifests, and looks for files of statistics. Executors read every manifest
        once, through the table's storage; some 150 bytes for each entry of the table's snapshot cross one
        exchange, and a task has those of one part. With data_files each part looks for its files: one request
        each. What was found crosses another exchange, to one task.
    """
    table = _absolute(table_at(path, at, limits))
    scan = table.verify(data_files=data_files, where=where, columns=columns)
    return verified(spark, scan, Reading.of(table, limits, None, "executors"))


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


def _looked_again(
    rows: DataFrame, table: Table, reader: _Reader, exchange: Exchange, columns: Sequence[str] | None
) -> DataFrame:
    """Rows by which people delete, without those of files that the table keeps when all else has been read:
    one task has them all, after an exchange for which Spark ends what is before it.
    """
    reader = replace(
        reader, keywords={**reader.keywords, "where": None, "columns": columns}, seen=exchange.seen
    )
    types = spark_schema(reader.scan(table).schema)
    return map_in_arrow(rows.repartition(1), reader, types)


def _spread(spark: SparkSession, scan: ViewScan, exchange: Exchange, reading: Reading) -> DataFrame:
    """The rows of a scan that are made already, and those of the manifests that executors read."""
    rows = exchanged(spark, scan.schema, exchange, reading)
    made = [batch for batch in exchange.made if batch.num_rows]
    return rows.union(from_batches(spark, scan.schema, made)) if made else rows


def _selection(where: str | Predicate | None, columns: Sequence[str] | None) -> dict[str, Any]:
    return {"where": to_sql(where), "columns": columns}


def _absolute(table: Table) -> Table:
    """The same table, by paths that other processes understand too."""
    reader = _Reader.of(table, "verify", {})
    path, moved = (table._opening.path, table._opening.moved) if table._opening else (None, ())
    is_so = (reader.path, reader.opening.moved) == (path or table._native.location, moved)
    return table if is_so or table._storage is not None else reader.table()


def _by_task(spark: SparkSession, table: Table, view: str, keywords: dict[str, Any]) -> DataFrame:
    reader = _Reader.of(table, view, keywords)
    # Wrong arguments raise here, not in a task.
    types = spark_schema(reader.scan(table).schema)
    return map_in_arrow(task_numbers(spark, 1), reader, types)


@dataclass(frozen=True)
class _Reader:
    """Opens a table again and reads a view of it; made for `mapInArrow` over one row, or some of a listing.

    Attributes: path, what was opened; place, the keywords of `Table.at` for its snapshot; parts, of
        orphans those to which files are distributed; seen, what was read of the table before the rows that
        are compared with it again. It may hold credentials, which its `repr` does not show.
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
    parts: int | None = None
    seen: str | None = field(default=None, repr=False)

    @staticmethod
    def of(table: Table, view: str, keywords: dict[str, Any], *, has_listing: bool = False) -> _Reader:
        """Of a table that is open. Raises: TypeError for a storage or a catalog that cannot be pickled."""
        storage = table._storage
        check_pickled(storage)
        opening = table._opening or Opening((), None, LIMITS, None, None)
        path = opening.path or table._native.location
        if storage is None:
            moved = tuple((prefix, absolute(now)) for prefix, now in opening.moved)
            path, opening = absolute(path), opening.elsewhere(moved, asks=view in _OF_NEWEST)
        else:
            opening = opening.elsewhere(opening.moved, asks=view in _OF_NEWEST)
        check_pickled(opening.pointer, "the table's catalog")
        place: dict[str, Any] = {}
        if view not in _OF_NEWEST and table.snapshot_id is not None:
            place = {"snapshot": table.snapshot_id} if table.tag is None else {"tag": table.tag}
        return _Reader(view, path, table.format, table.branch, place, storage, opening, keywords, has_listing)

    @property
    def __name__(self) -> str:
        """What plans show."""
        if self.seen is not None:
            return "one_task_looks_again"
        return "executors_list_files" if self.parts is not None else f"one_task_reads_{self.view}"

    def scan(self, table: Table, **more: Any) -> ViewScan:
        """The view of a table."""
        scan: ViewScan = getattr(table, self.view)(**self.keywords, **more)
        return scan

    def table(self) -> Table:
        """The table, opened again."""
        native = self.opening.native(self.path, self.storage, self.format, self.branch)
        table = Table(native, self.storage, self.opening)
        return table.at(**self.place) if self.place else table

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the rows of the view."""
        first = next(batches, None)
        if first is None:
            return
        rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        more = {"listing": rows} if self.has_listing else {}
        with prefix_error_kind():
            scan = self.scan(self.table(), **more)
            if self.parts is not None:
                yield from sent(scan.listed(self.parts), self.parts)
                return
            types = to_spark(scan.schema)
            left = scan if self.seen is None else scan.looked_again(rows, self.seen)
            yield from gathered_batches(cast_batch(batch, types) for batch in left)
