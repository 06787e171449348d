"""What a query must read of a table, planned by executors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed.spark.exchange import exchanged, gathered
from lakebed.spark.frames import decoded
from lakebed.spark.ipc import ipc_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.spark.reading import Reading
    from lakebed.spark.request import Request
    from lakebed.view import Exchange, ViewScan

_COMPRESSION = "zstd" if pa.Codec.is_available("zstd") else None
DELETE_BYTES = 16 << 20
"""Bytes of manifests of deletes that the driver reads, to send them to every executor."""


def plan(asked: Request) -> DataFrame:
    """Iceberg: manifests of deletes of up to `DELETE_BYTES` in all are read by the driver and sent with the
    DataFrame's plan; so are all with `deletes="ids"`, whose numbers are those of `Table.plan(…).deletes`.

    Of more, executors say which columns equality deletes compare; then data files and deletes cross an
    exchange by spec and partition, those of unpartitioned tables by data file, and each task holds the
    deletes of its own. In partitioned tables deletes of one file cross it by the file's path too, beside the
    path and partition of each data file, to find those of another partition: UnsupportedError where there is
    one, which `deletes="ids"` plans. Without the column of deletes, as `files`.

    Paimon: each manifest is read once. Where some record deletions, or `where` decides on files together,
    entries cross one exchange, by identity or by partition and bucket. The driver reads the index manifest
    and sends the deletion vectors of the partitions that `where` leaves, with the DataFrame's plan: some
    dozen bytes each, which every task holds.
    """
    spark, scan, reading = asked.of.spark, asked.scan, asked.reading
    exchange = scan.exchange()
    if (small := asked.small(chain(*exchange.sides))) is not None:
        return small
    if asked.table.format == "paimon":
        return asked.kept(_of_paimon(spark, scan, exchange, reading))
    files, manifests = exchange.sides[-1], exchange.sides[0] if exchange.together else []
    if not manifests:
        return asked.kept(gathered(spark, scan.schema, exchange, files, reading))
    by_id = asked.keywords.get("deletes") == "ids"
    if by_id or sum(manifest["size"] for manifest in manifests) <= DELETE_BYTES:
        entries = scan.side(0)
        ids = _equality_ids(entries)
        known = ipc_stream(entries, compression=_COMPRESSION)
        exchange = scan.exchange(ids) if ids else exchange
        return asked.kept(gathered(spark, scan.schema, exchange, files, reading, known))
    named = asked.table.deletes(columns=["equality_ids"], where=asked.keywords.get("where"))
    exchange = scan.exchange(_compared(spark, named, reading))
    return asked.kept(exchanged(spark, scan.schema, exchange, reading))


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
