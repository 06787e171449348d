"""Health of many tables, of which the manifests of large ones are divided among several tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from lakebed.spark.binary_files import at_once
from lakebed.spark.group_mappers import finish_health, merge_sums, sum_manifests
from lakebed.spark.groups import known_beforehand
from lakebed.spark.ipc import ipc_batches, ipc_stream
from lakebed.spark.mappers import gathered_batches
from lakebed.spark.reading import Piece, Reading, contents, reads_at_once, spread
from lakebed.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakebed.limits import Limits
    from lakebed.storage import Storage
    from lakebed.table import Table
    from lakebed.view import ViewScan

# What a task has of a large table, in bytes.
_SHARE = 32 << 20
# Tasks for each core: shares are distributed by their hash.
_TASKS_PER_CORE = 4
_UNTOLD_TASKS = 200

_SHARES = pa.schema(
    [("table", pa.int32()), ("share", pa.int32()), ("work", pa.binary()), ("rows", pa.binary())]
)


class _Work(NamedTuple):
    """What is to be done with some manifests of a table: sums of them, and a row of the sums of all."""

    task: str
    limits: Limits
    pieces: list[Piece]
    deleted: bytes
    vectors: bytes


@dataclass(frozen=True)
class Tables:
    """How tables are asked, by their numbers; pickled for executors.

    Attributes: opened, the scan of a table's health and the table; row, its row as one batch in the types of
        Spark, an error where it has one; storage, what reads a table's manifests.
    """

    opened: Callable[[int], tuple[Table, ViewScan]]
    row: Callable[[int], pa.RecordBatch]
    failed: Callable[[int, Exception], pa.RecordBatch]
    storage: Callable[[int], Storage | None]
    schema: pa.Schema
    large_bytes: int


def divided(numbers: DataFrame, tables: Tables) -> DataFrame:
    """A row for each table, in their order: those of few manifests read by one task, the others' by several.

    Cost: two exchanges, of one row for each small table and the sums of each share of a large one.
    """
    spark = numbers.sparkSession
    cores = at_once(spark)
    tasks = cores * _TASKS_PER_CORE if cores > 1 else _UNTOLD_TASKS
    types = spark_schema(_SHARES)
    shares = numbers.mapInArrow(partial(_map_shares, tables=tables), types).repartition(
        tasks, "table", "share"
    )
    sums = shares.mapInArrow(partial(_map_sums, tables=tables), types)
    together = sums.repartition(1).sortWithinPartitions("table")
    return together.mapInArrow(partial(_map_rows, tables=tables), spark_schema(tables.schema))


def _map_shares(batches: Iterator[pa.RecordBatch], tables: Tables) -> Iterator[pa.RecordBatch]:
    """The row of each small table, the work on shares of each large one."""
    for batch in batches:
        for number in batch.column("id").to_pylist():
            try:
                works = _works(*tables.opened(number), tables.large_bytes)
            except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
                yield _made(number, tables.failed(number, error))
                continue
            if not works:
                yield _made(number, tables.row(number))
            for share, work in enumerate(works):
                yield _share(number, share, work, b"")


def _works(table: Table, scan: ViewScan, large_bytes: int) -> list[_Work]:
    """The work on shares of a large table; none of a small one, or whose files are decided on together."""
    manifests = scan.planned_manifests()
    if sum(manifest["size"] for manifest in manifests) <= large_bytes:
        return []
    known = known_beforehand(table, scan)
    if known is None:
        return []
    limits = table.opening.limits
    reading = Reading(limits, storage=table.opening.storage)
    adding = [manifest for manifest in manifests if manifest["added"] or not manifest["deleted"]]
    shares = spread(reading.pieces(adding, _SHARE), _SHARE)
    return [_Work(scan.group_task(), limits, pieces, *known) for pieces in shares]


def _map_sums(batches: Iterator[pa.RecordBatch], tables: Tables) -> Iterator[pa.RecordBatch]:
    """The sums of each share, and the rows that are made."""
    for batch in batches:
        for row in batch.to_pylist():
            number = row["table"]
            if row["work"] is None:
                yield _share(number, row["share"], None, row["rows"])
                continue
            work: _Work = pickle.loads(row["work"])
            storage = tables.storage(number)
            try:
                given = contents(work.pieces, storage, work.limits, reads_at_once(storage))
                sums = ipc_stream(sum_manifests(given, work.task, work.limits, work.deleted))
            except Exception as error:  # noqa: BLE001 - as above
                yield _made(number, tables.failed(number, error))
                continue
            yield _share(number, row["share"], work._replace(pieces=[], deleted=b""), sums)


def _map_rows(batches: Iterator[pa.RecordBatch], tables: Tables) -> Iterator[pa.RecordBatch]:
    rows = (row for batch in batches for row in batch.to_pylist())
    made = (
        _row(number, list(of_table), tables) for number, of_table in groupby(rows, lambda row: row["table"])
    )
    yield from gathered_batches(made)


def _row(number: int, rows: Sequence[dict[str, Any]], tables: Tables) -> pa.RecordBatch:
    """The row of a table, of its shares; an error of one is the table's."""
    for row in rows:
        if row["work"] is None:
            return next(ipc_batches(row["rows"]))
    work: _Work = pickle.loads(rows[0]["work"])
    sums = (batch for row in rows for batch in ipc_batches(row["rows"]))
    try:
        health = finish_health(merge_sums(sums, work.task, work.limits, work.vectors), work.task)
        (one,) = health
    except Exception as error:  # noqa: BLE001 - as above
        return tables.failed(number, error)
    return one.append_column("error", pa.nulls(1, pa.string()))


def _made(number: int, row: pa.RecordBatch) -> pa.RecordBatch:
    return _share(number, 0, None, ipc_stream([row]))


def _share(number: int, share: int, work: _Work | None, rows: bytes) -> pa.RecordBatch:
    values = {
        "table": number,
        "share": share,
        "work": None if work is None else pickle.dumps(work),
        "rows": rows,
    }
    return pa.RecordBatch.from_pylist([values], schema=_SHARES)
