"""Partitions and buckets: live files summed up by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed.limits import LIMITS, Limits
from lakebed.spark.frames import At, TablePath, from_batches, from_driver, table_at
from lakebed.spark.mappers import map_groups, serialise
from lakebed.spark.reading import Reading
from lakebed.spark.sums import ICEBERG, PAIMON, PAIMON_DELETES
from lakebed.spark.types import spark_schema
from lakebed.spark.views import live_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.table import Table
    from lakebed.view import ViewScan

# What makes a partition: in Iceberg, a tuple of one spec is not that of another.
_KEYS = {"paimon": ("partition",), "iceberg": ("spec_id", "partition")}


def partitions(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
) -> DataFrame:
    """One row per partition that has live files; the rows and columns of `Table.partitions`, in no order.

    Args: as `Table.partitions`; path and at, which table and snapshot; limits and range_bytes, as in
        `files`.
    Raises: as `files`.
    Cost: as `files` with few columns, and one exchange of sums by partition. Of Paimon, for the columns
        `delete_…`, the driver reads the index manifest, and sends its sums by partition along; of Iceberg,
        for `last_updated_…`, the times of the snapshots.
    """
    table = table_at(path, at, limits)
    scan = table.partitions(columns=columns, where=where)
    reading = Reading.of(table, limits, range_bytes)
    return _grouped(spark, table, scan, _KEYS[table.format], where, reading)


def buckets(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
) -> DataFrame:
    """One row per bucket that has live files; the rows and columns of `Table.buckets`, in no order.

    Args, Raises, Cost: as `partitions`.
    """
    table = table_at(path, at, limits)
    scan = table.buckets(columns=columns, where=where)
    within = ("bucket",) if table.format == "paimon" else ()
    return _grouped(
        spark, table, scan, (*_KEYS[table.format], *within), where, Reading.of(table, limits, range_bytes)
    )


def _grouped(
    spark: SparkSession,
    table: Table,
    scan: ViewScan,
    keys: tuple[str, ...],
    where: str | Predicate | None,
    reading: Reading,
) -> DataFrame:
    """The rows of a scan of groups, summed up from the live files that `where` leaves."""
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    of_format = PAIMON if table.format == "paimon" else ICEBERG
    sums = {name: of_format[name] for name in scan.schema.names if name in of_format and name not in keys}
    inputs = dict.fromkeys([*keys, *(name for total in sums.values() for name in total.made_of)])
    view = table.files(columns=list(inputs), where=where)
    # Partitions are compared as the bytes they are stored in: Spark would take 0.0 and -0.0 for one, and
    # times that differ below the microsecond.
    files = live_files(spark, table, view, reading, serialised=True)
    if "snapshot_id" in inputs:
        files = files.join(F.broadcast(_commit_times(spark, table)), "snapshot_id", "left")
    types = spark_schema(scan.schema)
    columns = [F.expr(total.sql).cast(types[name].dataType).alias(name) for name, total in sums.items()]
    # Spark asks for one sum at least.
    rows = files.groupBy(*keys).agg(F.count("*").alias("_files"), *columns)
    if table.format == "paimon" and not PAIMON_DELETES.keys().isdisjoint(scan.schema.names):
        deletes = _deletes(table, keys, where)
        joined = F.broadcast(from_batches(spark, deletes.schema, deletes.to_batches()))
        rows = rows.join(joined, list(keys), "left").fillna(0, list(PAIMON_DELETES))
    return rows.select(*scan.schema.names).mapInArrow(partial(map_groups, schema=scan.schema), types)


def _commit_times(spark: SparkSession, table: Table) -> DataFrame:
    """`committed_at` of each `snapshot_id`."""
    return from_driver(spark, table.snapshots(columns=["snapshot_id", "committed_at"]))


def _deletes(table: Table, keys: Sequence[str], where: str | Predicate | None) -> pa.Table:
    """The number of deletion vectors and of the rows they delete, by serialised partition (and bucket)."""
    deletes = table.deletes(columns=[*keys, "record_count"], where=where).to_arrow()
    columns = [column.combine_chunks() for column in deletes.columns]
    vectors = pa.Table.from_batches([serialise(pa.RecordBatch.from_arrays(columns, schema=deletes.schema))])
    sums = vectors.group_by(list(keys)).aggregate([("record_count", how) for how in PAIMON_DELETES.values()])
    return sums.rename_columns([*keys, *PAIMON_DELETES])
