"""Many tables at once: their health, and a report of them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

from lakebed import _native, opening
from lakebed._arguments import names, positive
from lakebed._threads import in_order
from lakebed.advice import SMALL_BYTES
from lakebed.catalogs import is_of_catalog
from lakebed.limits import LIMITS, Limits
from lakebed.spark.access import map_in_arrow, numbers_of, pickled, task_numbers
from lakebed.spark.inputs import Piece, Reading, mapped, spread
from lakebed.spark.mappers import (
    PIECES,
    JobMap,
    gathered_batches,
    ipc_batches,
    ipc_stream,
    rows_of,
)
from lakebed.spark.private_api import at_once, spare_archives
from lakebed.spark.table import open_table
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.storage import resolve
from lakebed.storage.paths import URI, absolute
from lakebed.storage.secrets import error_text
from lakebed.table import Table
from lakebed.view import Bounds

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from lakebed._keywords import TableKeywords
    from lakebed.spark.access import Read
    from lakebed.spark.catalogs import TablePath
    from lakebed.version import AnyVersion
    from lakebed.view import ViewScan

# Tasks for each core: tables are of many sizes, and a task costs a tenth of a second before it begins.
_TASKS_PER_CORE = 16
_UNTOLD_TASKS = 200
# Tables of a remote storage that a task reads at once: it waits for most of them.
_REMOTE_TABLES = 4
# What a task has of a large table, in bytes.
_SHARE = 32 << 20
# Tasks for each core among which shares of large tables are distributed by their hash.
_SHARING_TASKS = 4

_SHARES = pa.schema(
    [("table", pa.int32()), ("share", pa.int32()), ("work", pa.binary()), ("rows", pa.binary())]
)


def health(
    spark: SparkSession,
    path: TablePath | Sequence[str | os.PathLike[str]],
    *,
    small_bytes: int = SMALL_BYTES,
    at: AnyVersion | None = None,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits | None = None,
    range_bytes: int | None = None,
    read: Read | None = None,
    large_bytes: int | None = None,
    **given: Unpack[TableKeywords],
) -> DataFrame:
    """One row about how a table is, or one for each of many tables.

    Args: path, one table as `open_table` of this module has it, whose manifests are spread over the
        executors, or a list of paths or URIs, which are spread: an executor opens and reads whole tables;
        storage, format and relocate, as `lakebed.open_table` has them: not for a name of Spark's catalogs,
        storage to be pickled if it is for a list; at, limits, range_bytes and read, as `open_table` of this
        module has them, the last two for one table only; large_bytes, of a list: the manifests of a table
        that has more bytes of them are divided among several tasks; the others are those of `Table.health`.
    Returns: the columns of `Table.health`; for a list, in its order, then `error` utf8: the kind of what is
        wrong and its text, null where nothing is. A table in error has its path as `location`, without
        credentials, and nulls.
    Raises: what `open_table` and `Table.health` raise, for one table here or when the DataFrame is computed;
        for a list only SchemaError for a column that is not there, TypeError for a storage that cannot be
        pickled.
    Cost: one table: as `partitions`; the driver reads the snapshots too. A list: nothing on the driver; paths
        and storage are in the function, so that plans do not show them. A task has several tables where
        there are many more than cores, remote ones side by side. With large_bytes tasks read tables one after
        the other and there are two exchanges; of Paimon's a table with very many deletions stays one task's.
    """
    how: dict[str, Any] = {"storage": storage, "format": format, "relocate": relocate}
    if isinstance(path, str | os.PathLike | Table) or is_of_catalog(path):
        if not isinstance(path, Table) and any(given is not None for given in how.values()):
            path = opening.open_table(path, **how, limits=limits or LIMITS)
        table = open_table(spark, path, at=at, limits=limits, range_bytes=range_bytes, read=read)
        return table.health(small_bytes=small_bytes, **given)
    columns = names("columns", given.get("columns"))
    tables = _Tables.of(
        cast("Sequence[str | os.PathLike[str]]", path),
        {**how, "limits": limits or LIMITS},
        at=at,
        selection={**given, "columns": columns, "small_bytes": small_bytes},
        large_bytes=positive("large_bytes", large_bytes, least=0),
    )
    types, numbers, shares = spark_schema(tables.schema), tables.numbers(spark), spark_schema(_SHARES)
    if large_bytes is None:
        return map_in_arrow(numbers, tables.read, types)
    divided = map_in_arrow(numbers, tables.divide, shares)
    moved = divided.repartition(_tasks(spark, _SHARING_TASKS), "table", "share")
    worked = map_in_arrow(moved, tables.work, shares).repartition(1).sortWithinPartitions("table")
    return map_in_arrow(worked, tables.sum_up, types)


@dataclass(frozen=True)
class _Tables:
    """Tables of one request, known by their numbers. Its `repr` hides paths and storages.

    Made for `mapInArrow`: `gather` gives what a report shows, `read` the rows of `health`. Where large tables
    are divided among tasks, `divide` and `work` give `_SHARES`, of which `sum_up` makes those rows.

    Attributes: how, as `lakebed.open_table` has it; the others are of `health`.
    """

    paths: tuple[str, ...]
    how: dict[str, Any]
    selection: dict[str, Any]
    at: AnyVersion | None = None
    large_bytes: int | None = None

    def __repr__(self) -> str:
        return f"<{len(self.paths)} tables>"

    @staticmethod
    def of(paths: Sequence[str | os.PathLike[str]], how: dict[str, Any], **more: Any) -> _Tables:
        """Tables that executors open. Raises: TypeError for a storage that cannot be pickled."""
        pickled(how["storage"])
        texts = (os.fspath(path) for path in paths)
        return _Tables(tuple(texts if how["storage"] else map(absolute, texts)), how, **more)

    def numbers(self, spark: SparkSession) -> DataFrame:
        """Their numbers, in some tasks."""
        tasks = min(len(self.paths), _tasks(spark, _TASKS_PER_CORE))
        return task_numbers(spark, len(self.paths), max(1, tasks))

    @property
    def schema(self) -> pa.Schema:
        """The columns of `health`, before they get the types of Spark."""
        schema = pa.schema(_native.health_schema(self.selection["columns"]))
        return schema.append(pa.field("error", pa.string()))

    def gather(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What a report shows of each table, or what is wrong with it, pickled."""
        from lakebed.fleet import NamedTable
        from lakebed.reporting import collect

        spare_archives()
        for number in numbers_of(batches):
            path = self.paths[number]
            opener = partial(opening.open_table, path, **self.how)
            named = NamedTable(path, path, opener, storage=self.how["storage"])
            numbers = pickle.dumps(collect([named], self.selection["asked"], 1)[0])
            columns = [pa.array([number], pa.int64()), pa.array([numbers], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, ["number", "numbers"])

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The row of each table."""
        for batch in batches:
            numbers = batch.column("id").to_pylist()
            is_local = all(URI.match(self.paths[number]) is None for number in numbers)
            rows = in_order(numbers, self.row, 1 if is_local else _REMOTE_TABLES)
            yield from gathered_batches(row for _, row in rows)

    def divide(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The row of each small table, the work on shares of each large one."""
        for number in numbers_of(batches):
            try:
                shares = [_share(number, share, work) for share, work in enumerate(self.works(number))]
            except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
                shares = [_share(number, rows=[self.failed(number, error)])]
            yield from shares or [_share(number, rows=[self.row(number)])]

    def work(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What is made of each share, and the rows that are made."""
        for batch in batches:
            for at, row in enumerate(batch.to_pylist()):
                if row["work"] is None:
                    yield batch.slice(at, 1)
                    continue
                number, work = row["table"], pickle.loads(row["work"])
                storage = resolve(self.paths[number], self.how["storage"])[1]
                try:
                    made = [*mapped(work.job, work.pieces, storage)]
                    share = _share(number, row["share"], work._replace(pieces=[]), made)
                except Exception as error:  # noqa: BLE001 - as above
                    share = _share(number, rows=[self.failed(number, error)])
                yield share

    def sum_up(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The row of each table, of its shares, which are in one task."""
        shares = (row for batch in batches for row in batch.to_pylist())
        tables = groupby(shares, itemgetter("table"))
        yield from gathered_batches(self.summed(number, list(own)) for number, own in tables)

    def opened(self, number: int) -> tuple[Table, ViewScan]:
        """A table, and its health. Raises: what these raise."""
        table = opening.open_table(self.paths[number], **self.how)
        table = table if self.at is None else table.at(self.at)
        return table, table.health(threads=1, **self.selection)

    def row(self, number: int) -> pa.RecordBatch:
        """The row of a table, whatever it is like."""
        return self.only(number, lambda: self.opened(number)[1].core.stream())

    def only(self, number: int, stream: Callable[[], _native.BatchStream]) -> pa.RecordBatch:
        """The row of a stream, or that of a table in error."""
        try:
            (row,) = rows_of(stream())
        except Exception as error:  # noqa: BLE001 - as above
            return self.failed(number, error)
        return row.append_column("error", pa.nulls(1, pa.string()))

    def works(self, number: int) -> list[_Work]:
        """The work on shares of a large table; none of a small one, or whose files are in one task before
        they are summed up. Raises: as `opened`.
        """
        table, scan = self.opened(number)
        planned = scan.job(Bounds(small_bytes=self.large_bytes))
        if planned is None or len(planned.shuffles) > 2:
            return []
        limits = table.opening.limits
        pieces = Reading(limits, storage=table.opening.storage).pieces(planned.manifests, _SHARE)
        made = [(stage, pa.record_batch(one)) for stage, rows in planned.made() for one in rows]
        job = JobMap.of(planned, limits, table.opening.keys)
        return [_Work(job, own, made) for own in spread(pieces, _SHARE)]

    def summed(self, number: int, shares: list[dict[str, Any]]) -> pa.RecordBatch:
        """The row of a table, of its shares; an error of one is the table's."""
        for share in shares:
            if share["work"] is None:
                return next(ipc_batches(share["rows"]))
        work: _Work = pickle.loads(shares[0]["work"])
        pieces = (batch for share in shares for batch in ipc_batches(share["rows"]))
        reader = pa.RecordBatchReader.from_batches(PIECES, pieces)
        return self.only(number, lambda: work.job.opened().reduce_all(reader, work.made))

    def failed(self, number: int, error: Exception) -> pa.RecordBatch:
        """The row of a table that has an error."""
        path = self.paths[number]
        text = error_text(error, path, self.how["storage"])
        values = {"location": _native.without_credentials(path), "error": text}
        return cast_batch(pa.RecordBatch.from_pylist([values], schema=self.schema), to_spark(self.schema))


def _tasks(spark: SparkSession, per_core: int) -> int:
    cores = at_once(spark)
    return cores * per_core if cores > 1 else _UNTOLD_TASKS


class _Work(NamedTuple):
    """What is to be done with a share of a large table: the job of its health, and some manifests. `made` is
    what was made when it was planned: batches, each of a stage.
    """

    job: JobMap
    pieces: list[Piece]
    made: list[tuple[int, pa.RecordBatch]]


def _share(
    number: int, share: int = 0, work: _Work | None = None, rows: Sequence[pa.RecordBatch] = ()
) -> pa.RecordBatch:
    """A row of `_SHARES`: with work, and pieces that were made of it; without, the row of the table."""
    sent = None if work is None else pickle.dumps(work)
    values = {"table": number, "share": share, "work": sent, "rows": ipc_stream(rows)}
    return pa.RecordBatch.from_pylist([values], schema=_SHARES)


def report(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    small_bytes: int = SMALL_BYTES,
    totals: bool | None = None,
    orphans: bool = False,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
    now: datetime | None = None,
) -> str:
    """A page about tables: that of `lakebed.report`, whose numbers executors gather table by table.

    Args: paths, of tables or URIs; output, small_bytes, totals, orphans and now, as `lakebed.report` has
        them, output a file of the driver; storage, format, relocate and limits, as `open_table` has them,
        storage to be pickled.
    Returns: the page, which is that of `lakebed.report` for the same tables.
    Raises: TypeError for a storage that cannot be pickled; OSError where the page cannot be written. A table
        that cannot be read is a line of the page with its error.
    Cost: each table is one task's, with the cost of `lakebed.report`; the driver holds what the page shows.
    """
    from lakebed.reporting import written
    from lakebed.reporting.numbers import ReportOptions

    how = {"storage": storage, "format": format, "relocate": relocate, "limits": limits}
    asked = ReportOptions(positive("small_bytes", small_bytes, least=0) or 0, totals, orphans)
    tables = _Tables.of(paths, how, selection={"asked": asked})
    rows = map_in_arrow(tables.numbers(spark), tables.gather, "number long, numbers binary").collect()
    found = [pickle.loads(row.numbers) for row in sorted(rows, key=lambda row: row.number)]
    return written(found, output, now)
