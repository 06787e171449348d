"""Many tables at once: their health, and a report of them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pyarrow as pa

from lakebed import _arrow, _native, opening
from lakebed._arguments import names, positive
from lakebed._verdict import SMALL_BYTES
from lakebed.catalogs import is_of_catalog
from lakebed.errors import LakebedError
from lakebed.limits import LIMITS, Limits
from lakebed.spark.access import check_pickled, task_numbers
from lakebed.spark.inputs import Piece, Reading, contents, in_order, reads_at_once, spread
from lakebed.spark.mappers import (
    PIECES,
    JobMap,
    gathered_batches,
    ipc_batches,
    ipc_stream,
    prefix_error_kind,
    rows_of,
)
from lakebed.spark.private_api import at_once, spare_archives
from lakebed.spark.table import open_table
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.storage import resolve
from lakebed.storage.paths import URI, absolute
from lakebed.storage.secrets import without_secrets
from lakebed.table import Table
from lakebed.view import Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from lakebed._keywords import TableKeywords
    from lakebed.spark.access import Read
    from lakebed.spark.table import TablePath
    from lakebed.storage import Storage
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

    Args: path, one table, whose manifests are spread over the executors, or a list of paths or URIs, which
        are spread: an executor opens and reads whole tables; storage, format and relocate, as
        `lakebed.open_table` has them, storage to be pickled if it is for a list; at, limits, range_bytes and
        read, as `open_table` of this module has them, the last two for one table only; large_bytes, of a
        list: the manifests of a table that has more bytes of them are divided among several tasks; the others
        are those of `Table.health`.
    Returns: the columns of `Table.health`; for a list, in its order, then `error` utf8: the kind of what is
        wrong and its text, null where nothing is. A table in error has its path as `location`, without
        credentials, and nulls.
    Raises: what `open_table` and `Table.health` raise, for one table here or when the DataFrame is computed;
        for a list only SchemaError for a column that is not there, TypeError for a storage that cannot be
        pickled.
    Cost: one table: as `partitions`; the driver reads the snapshots too. A list: nothing on the driver; paths
        and storage travel in the function, so that plans do not show them. A task has several tables where
        there are many more than cores, remote ones side by side. With large_bytes tasks read tables one after
        the other and two exchanges follow; of Paimon's a table with very many deletions stays one task's.
    """
    how: dict[str, Any] = {"storage": storage, "format": format, "relocate": relocate}
    if limits is not None:
        how["limits"] = limits
    if isinstance(path, str | os.PathLike) or is_of_catalog(path):
        path = opening.open_table(path, **how)
    if isinstance(path, Table):
        table = open_table(spark, path, at=at, limits=limits, range_bytes=range_bytes, read=read)
        return table.health(small_bytes=small_bytes, **given)
    check_pickled(storage)
    paths = (os.fspath(one) for one in cast("Sequence[str | os.PathLike[str]]", path))
    columns = names("columns", given.get("columns"))
    selection = {**given, "columns": columns, "small_bytes": small_bytes}
    tables = _Tables(tuple(paths if storage else map(absolute, paths)), how, at, selection)
    return _of_tables(spark, tables, positive("large_bytes", large_bytes, least=0))


@dataclass(frozen=True)
class _Tables:
    """Tables of one request. Their `repr` hides paths and storages."""

    paths: tuple[str, ...]
    how: dict[str, Any]
    at: AnyVersion | None
    selection: dict[str, Any]

    def __repr__(self) -> str:
        return f"<{len(self.paths)} tables>"

    @property
    def schema(self) -> pa.Schema:
        """The columns, before they get the types of Spark."""
        schema = _arrow.schema(_native.health_schema(self.selection["columns"]))
        return schema.append(pa.field("error", pa.string()))

    def row(self, number: int) -> pa.RecordBatch:
        """The row of a table, whatever it is like."""
        try:
            row = self.opened(number)[1].to_arrow()
            row = row.append_column(self.schema.field("error"), pa.nulls(1, pa.string())).to_batches()[0]
        except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
            return self.failed(number, error)
        return cast_batch(row, to_spark(self.schema))

    def opened(self, number: int) -> tuple[Table, ViewScan]:
        """A table, and its health. Raises: what these raise."""
        table = opening.open_table(self.paths[number], **self.how)
        table = table if self.at is None else table.at(self.at)
        return table, table.health(threads=1, **self.selection)

    def failed(self, number: int, error: Exception) -> pa.RecordBatch:
        """The row of a table that has an error."""
        path = self.paths[number]
        location = _native.without_credentials(path)
        if isinstance(error, LakebedError):
            text = f"{error.kind}: {error}".replace(path, location)
        else:
            words = str(error).replace(path, location)
            text = f"{type(error).__name__}: {without_secrets(words, path, self.how['storage'])}"
        values = {"location": location, "error": text}
        return cast_batch(pa.RecordBatch.from_pylist([values], schema=self.schema), to_spark(self.schema))

    def storage(self, number: int) -> Storage | None:
        """What reads a table's manifests."""
        return resolve(self.paths[number], self.how["storage"])[1]


def tasks_of_tables(spark: SparkSession, count: int) -> int:
    """In how many tasks so many tables are read."""
    cores = at_once(spark)
    most = cores * _TASKS_PER_CORE if cores > 1 else _UNTOLD_TASKS
    return max(1, min(count, most))


def _of_tables(spark: SparkSession, tables: _Tables, large_bytes: int | None) -> DataFrame:
    count, types = len(tables.paths), spark_schema(tables.schema)
    numbers = task_numbers(spark, count, tasks_of_tables(spark, count))
    if large_bytes is None:
        return numbers.mapInArrow(partial(_map_tables, tables=tables), types)
    cores, shares = at_once(spark), spark_schema(_SHARES)
    tasks = cores * _SHARING_TASKS if cores > 1 else _UNTOLD_TASKS
    divided = numbers.mapInArrow(partial(_map_shares, tables=tables, large_bytes=large_bytes), shares)
    mapped = divided.repartition(tasks, "table", "share").mapInArrow(
        partial(_map_work, tables=tables), shares
    )
    together = mapped.repartition(1).sortWithinPartitions("table")
    return together.mapInArrow(partial(_map_rows, tables=tables), types)


def _map_tables(batches: Iterator[pa.RecordBatch], tables: _Tables) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        numbers = batch.column("id").to_pylist()
        reads = 1 if all(URI.match(tables.paths[number]) is None for number in numbers) else _REMOTE_TABLES
        rows = (row for _, row in in_order(numbers, tables.row, reads, lambda _: 0))
        yield from gathered_batches(rows)


class _Work(NamedTuple):
    """What is to be done with a share of a large table: the job of its health, and some manifests. `made` is
    what was made when it was planned: stages, each with its batches as an Arrow IPC stream.
    """

    job: JobMap
    pieces: list[Piece]
    made: list[tuple[int, bytes]]


def _map_shares(
    batches: Iterator[pa.RecordBatch], tables: _Tables, large_bytes: int
) -> Iterator[pa.RecordBatch]:
    """The row of each small table, the work on shares of each large one."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            try:
                works = _works(*tables.opened(number), large_bytes)
            except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
                yield _made(number, tables.failed(number, error))
                continue
            if not works:
                yield _made(number, tables.row(number))
            for share, work in enumerate(works):
                yield _share(number, share, work, b"")


def _works(table: Table, scan: ViewScan, large_bytes: int) -> list[_Work]:
    """The work on shares of a large table; none of a small one, or whose files come together before they are
    summed up: one task has them all.
    """
    planned = scan.job(Bounds(small_bytes=large_bytes))
    if planned is None or len(planned.shuffles) > 2:
        return []
    limits = table.opening.limits
    job, reading = JobMap.of(planned, limits), Reading(limits, storage=table.opening.storage)
    made = [(stage, ipc_stream([*map(_arrow.record_batch, rows)])) for stage, rows in planned.made()]
    return [_Work(job, pieces, made) for pieces in spread(reading.pieces(planned.manifests, _SHARE), _SHARE)]


def _map_work(batches: Iterator[pa.RecordBatch], tables: _Tables) -> Iterator[pa.RecordBatch]:
    """What is made of each share, and the rows that are made."""
    for batch in batches:
        for row in batch.to_pylist():
            number = row["table"]
            if row["work"] is None:
                yield _share(number, row["share"], None, row["rows"])
                continue
            work: _Work = pickle.loads(row["work"])
            storage = tables.storage(number)
            try:
                given = contents(work.pieces, storage, work.job.limits, reads_at_once(storage))
                pieces = ipc_stream(list(work.job.of_contents(given)))
            except Exception as error:  # noqa: BLE001 - as above
                yield _made(number, tables.failed(number, error))
                continue
            yield _share(number, row["share"], work._replace(pieces=[]), pieces)


def _map_rows(batches: Iterator[pa.RecordBatch], tables: _Tables) -> Iterator[pa.RecordBatch]:
    rows = (row for batch in batches for row in batch.to_pylist())
    made = (
        _row(number, list(of_table), tables) for number, of_table in groupby(rows, lambda row: row["table"])
    )
    yield from gathered_batches(made)


def _row(number: int, rows: Sequence[dict[str, Any]], tables: _Tables) -> pa.RecordBatch:
    """The row of a table, of its shares; an error of one is the table's."""
    for row in rows:
        if row["work"] is None:
            return next(ipc_batches(row["rows"]))
    work: _Work = pickle.loads(rows[0]["work"])
    pieces = (batch for row in rows for batch in ipc_batches(row["rows"]))
    try:
        made = [(stage, batch) for stage, stream in work.made for batch in ipc_batches(stream)]
        reader = pa.RecordBatchReader.from_batches(PIECES, pieces)
        (one,) = rows_of(work.job.opened().reduce_all(reader, made))
    except Exception as error:  # noqa: BLE001 - as above
        return tables.failed(number, error)
    return one.append_column("error", pa.nulls(1, pa.string()))


def _made(number: int, row: pa.RecordBatch) -> pa.RecordBatch:
    return _share(number, 0, None, ipc_stream([row]))


def _share(number: int, share: int, work: _Work | None, rows: bytes) -> pa.RecordBatch:
    pickled = None if work is None else pickle.dumps(work)
    values = {"table": number, "share": share, "work": pickled, "rows": rows}
    return pa.RecordBatch.from_pylist([values], schema=_SHARES)


def report(
    spark: SparkSession,
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    small_bytes: int = SMALL_BYTES,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
) -> str:
    """A page about tables: that of `lakebed.report`, whose numbers executors gather table by table.

    Args: paths, of tables or URIs; output and small_bytes, as `lakebed.report`, output a file of the driver;
        storage, format, relocate and limits, as `open_table` has them, storage to be pickled.
    Returns: the page, which is that of `lakebed.report` for the same tables.
    Raises: ImportError without matplotlib, which the driver alone needs; TypeError for a storage that cannot
        be pickled; what `open_table` and the views raise, as errors of Spark.
    Cost: each table is one task's, with the cost of `lakebed.report`; the driver holds what the page shows.
    """
    from lakebed.reporting import written
    from lakebed.reporting.page import page

    check_pickled(storage)
    small = positive("small_bytes", small_bytes, least=0) or 0
    names = [os.fspath(path) for path in paths]
    how: dict[str, Any] = {"storage": storage, "format": format, "relocate": relocate, "limits": limits}
    gatherer = _Gatherer(tuple(names if storage else map(absolute, names)), how, small)
    numbers = task_numbers(spark, len(names), tasks_of_tables(spark, len(names)))
    rows = numbers.mapInArrow(gatherer, "number long, numbers binary").collect()
    found = [pickle.loads(row.numbers) for row in sorted(rows, key=lambda row: row.number)]
    return written(page(found, small), output)


@dataclass(frozen=True)
class _Gatherer:
    """Gathers the numbers of tables; made for `mapInArrow` over the tables' numbers."""

    paths: tuple[str, ...] = field(repr=False)
    how: dict[str, Any] = field(repr=False)
    small: int

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "executors_gather_reports"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the numbers of each table, pickled."""
        from lakebed.reporting.numbers import gather

        spare_archives()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                with prefix_error_kind():
                    table = opening.open_table(self.paths[number], **self.how)
                    numbers = pickle.dumps(gather(table, table.location, self.small, 1))
                columns = [pa.array([number], pa.int64()), pa.array([numbers], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, ["number", "numbers"])
