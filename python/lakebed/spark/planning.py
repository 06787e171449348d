"""What a query must read of a table, planned by executors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from lakebed.limits import LIMITS, Limits
from lakebed.spark.exchange import exchanged, gathered
from lakebed.spark.frames import At, TablePath, decoded, table_at
from lakebed.spark.ipc import ipc_stream
from lakebed.spark.reading import Reading
from lakebed.spark.small_tables import read_by_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.spark.reach import Read
    from lakebed.view import Exchange, ViewScan

_COMPRESSION = "zstd" if pa.Codec.is_available("zstd") else None
DELETE_BYTES = 16 << 20
"""Bytes of manifests of deletes that the driver reads, to send them to every executor."""


def plan(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    deletes: Literal["list", "ids"] = "list",
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> DataFrame:
    """One row per data file that an engine must read; the rows and columns of `Table.plan`, in no order.

    Args: as `Table.plan`; path and at, which table and snapshot; limits, what one manifest may
        cost; range_bytes and read, as in `files`, of manifests that are not divided.
    Raises: as `files`; ValueError for other `deletes`; what `Table.plan` refuses of deletes, as errors of a
        manifest; UnsupportedError where deletes cross an exchange (see Cost) and one of a single file is of
        another spec or partition than the file: `deletes="ids"` plans it.
    Cost: Iceberg: manifests of deletes of up to `DELETE_BYTES` in all are read by the driver, here, and sent
        with the DataFrame's plan; so are all with "ids", whose numbers are those of `Table.plan(…).deletes`.
        Of more, executors say here which columns equality deletes compare; then data files and deletes
        cross an exchange by spec and partition, those of unpartitioned tables by data file, and each task
        holds the deletes of its own. In partitioned tables deletes of one file cross it by the file's path
        too, beside the path and partition of each data file, to find those of another partition. Without the
        column of deletes, as `files`.
        Paimon: each manifest is read once. Where some record deletions, or `where` decides on files together
        (see `files`), entries cross one exchange, by identity or by partition and bucket. The driver reads
        the index manifest and sends the deletion vectors of the partitions that `where`
        leaves, with the DataFrame's plan: some dozen bytes each, which every task holds.
    """
    table = table_at(path, at, limits)
    scan = table.plan(columns=columns, where=where, stats=stats, deletes=deletes)
    exchange, reading = scan.exchange(), Reading.of(table, limits, range_bytes, read)
    small = read_by_driver(spark, scan, chain(*exchange.sides), reading)
    if small is not None:
        return small
    if table.format == "paimon":
        return _of_paimon(spark, scan, exchange, reading)
    files, manifests = exchange.sides[-1], exchange.sides[0] if exchange.together else []
    if not manifests:
        return gathered(spark, scan.schema, exchange, files, reading)
    if deletes == "ids" or sum(manifest["size"] for manifest in manifests) <= DELETE_BYTES:
        entries = scan.side(0)
        ids = _equality_ids(entries)
        known = ipc_stream(entries, compression=_COMPRESSION)
        return gathered(spark, scan.schema, scan.exchange(ids) if ids else exchange, files, reading, known)
    named = table.deletes(columns=["equality_ids"], where=where)
    return exchanged(spark, scan.schema, scan.exchange(_compared(spark, named, reading)), reading)


def _of_paimon(spark: SparkSession, scan: ViewScan, exchange: Exchange, reading: Reading) -> DataFrame:
    vectors = ipc_stream(scan.side(0), compression=_COMPRESSION)
    if exchange.together:
        return exchanged(spark, scan.schema, exchange, reading, vectors)
    return gathered(spark, scan.schema, exchange, exchange.sides[-1], reading, vectors)


def _equality_ids(entries: Sequence[pa.RecordBatch]) -> list[int]:
    """The columns that some deletes compare."""
    lists = (batch.column("equality_ids") for batch in entries)
    return sorted({number for column in lists for number in column.flatten().unique().to_pylist()})


def _compared(spark: SparkSession, deletes: ViewScan, reading: Reading) -> list[int]:
    """The same, asked of executors."""
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    lists = decoded(spark, deletes, deletes.planned_manifests(), "rows", reading)
    rows = lists.select(F.explode("equality_ids").alias("id")).distinct().collect()
    return sorted(row.id for row in rows)
