"""Views of all that a table is made of: spread over executors, or made by one task that opens it again."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed._arguments import age, instant, milliseconds
from lakebed.spark.exchange import PIECES, exchanged, sent
from lakebed.spark.frames import from_batches
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import gathered_batches, prefix_error_kind
from lakebed.spark.reach import check_pickled
from lakebed.spark.reading import Reading
from lakebed.spark.session import task_numbers
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.spark.verifying import verified
from lakebed.table import Reopening, Table
from lakebed.table.jobs import THREE_DAYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from lakebed._keywords import Keywords
    from lakebed.spark.request import Request
    from lakebed.spark.table import SparkTable
    from lakebed.view import Exchange, ViewScan

# Those of the newest version, whichever snapshot the table is at.
_OF_NEWEST = ("orphans", "expire_plan")


def reachable(asked: Request) -> DataFrame:
    """The driver reads all but manifests, and holds what names these and the sets of snapshots that have
    each. Executors read every manifest once; some 100 bytes for each file that an entry names and its path
    cross one exchange, after which a task holds those of one part.
    """
    return _spread(asked.of.spark, asked.scan, asked.scan.exchange(), asked.reading)


def orphans(
    self: SparkTable,
    older_than: timedelta | datetime | None = THREE_DAYS,
    listing: DataFrame | None = None,
    *,
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    **given: Unpack[Keywords],
) -> DataFrame:
    """One row per file that lies in the table's folders and that nothing of the table reaches; the rows and
    columns of `Table.orphans`, in no order.

    The table is read as it is now, folders are listed when the DataFrame is computed: what was modified since
    is not an orphan. After all else a task reads the newest version again, until nothing is new, and takes
    out rows of files that the table keeps by then.

    Args: older_than, equal_schemes, equal_authorities and the keywords of `Table.orphans`; listing, a
        DataFrame with `path`, `size` and `modified`.
    Raises: what `Table.orphans` raises; TypeError for a storage or catalog that cannot be pickled.
    Cost: that of `reachable`. Each partition of `listing` is read by a task, which opens the table again to
        know its folders; without `listing` one task lists them, side by side. Some 150 bytes for each file
        that is listed cross the same exchange, and the rows another one, to one task.
    """
    table = self.table
    now = milliseconds(datetime.now(timezone.utc))
    before = None if older_than is None else age("older_than", older_than)
    if listing is None:
        before = now if before is None else min(before, now)
    equal = {"equal_schemes": equal_schemes, "equal_authorities": equal_authorities}
    columns = given.pop("columns", None)
    keywords = {"older_than": None if before is None else instant(before), **equal, **given}
    lister = _Reader.of(table, "orphans", keywords, has_listing=listing is not None)
    scan = lister.scan(table)

    def listed(parts: int) -> DataFrame:
        rows = task_numbers(self.spark, 1) if listing is None else listing
        return rows.mapInArrow(replace(lister, parts=parts), spark_schema(PIECES))

    exchange, reading = scan.exchange(), Reading.of(table, self.limits, None, self.read)
    rows = exchanged(self.spark, scan.schema, exchange, reading, beside=listed)
    return _looked_again(rows, table, replace(lister, has_listing=False), exchange, columns)


# Which of `listing` is given is all that differs.
orphans.__signature__ = inspect.signature(Table.orphans).replace(return_annotation="DataFrame")  # type: ignore[attr-defined]


def expire_plan(asked: Request) -> DataFrame:
    """Ages are counted to now. As of `reachable`; the rows cross another exchange, to one task, which reads
    the newest version again, until nothing is new, and takes out rows of what the table keeps by then.
    TypeError for a storage or catalog that cannot be pickled.
    """
    keywords = {name: given for name, given in asked.keywords.items() if name != "columns"}
    if (older_than := keywords.get("older_than")) is not None:
        keywords["older_than"] = instant(age("older_than", older_than))
    reader = _Reader.of(asked.table, "expire_plan", keywords)
    scan = reader.scan(asked.table)
    exchange = scan.exchange()
    rows = _spread(asked.of.spark, scan, exchange, asked.reading)
    return _looked_again(rows, asked.table, reader, exchange, asked.keywords.get("columns"))


def verify(asked: Request) -> DataFrame:
    """The driver reads all but manifests, and looks for files of statistics. Executors read every manifest
    once, through the table's storage; some 150 bytes for each entry of the table's snapshot cross one
    exchange, and a task has those of one part. With data_files each part looks for its files: one request
    each. What was found crosses another exchange, to one task.

    TypeError for a storage that cannot be pickled; MissingFileError when the DataFrame is computed by
    executors that do not reach the table.
    """
    table = asked.table
    reader = _Reader.of(table, "verify", asked.keywords)
    opening = reader.table.opening
    is_absolute = (opening.path, opening.moved) == (table.opening.path, table.opening.moved)
    # By paths that other processes understand too.
    scan = asked.scan if is_absolute else reader.scan(reader.table())
    return verified(asked.of.spark, scan, Reading.of(table, asked.of.limits, None, "executors"))


def by_task(asked: Request) -> DataFrame:
    """One task opens the table again and reads it. TypeError for a storage that cannot be pickled;
    MissingFileError when the DataFrame is computed by executors that do not reach the table.
    """
    reader = _Reader.of(asked.table, asked.scan.name, asked.keywords)
    rows = map_in_arrow(task_numbers(asked.of.spark, 1), reader, spark_schema(asked.scan.schema))
    return asked.kept(rows)


def _looked_again(
    rows: DataFrame, table: Table, reader: _Reader, exchange: Exchange, columns: Any
) -> DataFrame:
    """Rows by which people delete, without those of files that the table keeps when all else has been read:
    one task has them all, after an exchange for which Spark ends what is before it.
    """
    keywords = {**reader.keywords, "filter": None, "columns": columns}
    reader = replace(reader, keywords=keywords, seen=exchange.seen)
    types = spark_schema(reader.scan(table).schema)
    return map_in_arrow(rows.repartition(1), reader, types)


def _spread(spark: SparkSession, scan: ViewScan, exchange: Exchange, reading: Reading) -> DataFrame:
    """The rows of a scan that are made already, and those of the manifests that executors read."""
    rows = exchanged(spark, scan.schema, exchange, reading)
    made = [batch for batch in exchange.made if batch.num_rows]
    return rows.union(from_batches(spark, scan.schema, made)) if made else rows


@dataclass(frozen=True)
class _Reader:
    """Opens a table again and reads a view of it; made for `mapInArrow` over one row, or some of a listing.

    Attributes: table, what opens it; parts, of orphans those to which files are distributed; seen, what was
        read of the table before the rows that are compared with it again. It may hold credentials, which its
        `repr` does not show.
    """

    view: str
    table: Reopening
    keywords: dict[str, Any] = field(repr=False)
    has_listing: bool = False
    parts: int | None = None
    seen: str | None = field(default=None, repr=False)

    @staticmethod
    def of(table: Table, view: str, keywords: dict[str, Any], *, has_listing: bool = False) -> _Reader:
        """Of a table that is open. Raises: TypeError for a storage or a catalog that cannot be pickled."""
        check_pickled(table.opening.storage)
        of_newest = view in _OF_NEWEST
        reopening = Reopening.of(table, newest=of_newest, asks=of_newest)
        check_pickled(reopening.opening.pointer, "the table's catalog")
        return _Reader(view, reopening, keywords, has_listing)

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
