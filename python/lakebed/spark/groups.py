"""Partitions and buckets: live files summed up by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed.limits import LIMITS, Limits
from lakebed.spark.frames import At, TablePath, from_batches, table_at
from lakebed.spark.mappers import map_groups, serialise
from lakebed.spark.types import spark_schema
from lakebed.spark.views import live_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.table import Table
    from lakebed.view import ViewScan


# What a column is made of, and how, in Spark's SQL over the columns of `files`.
_SUMS: dict[str, tuple[tuple[str, ...], str]] = {
    "file_count": ((), "count(*)"),
    "record_count": (("record_count",), "sum(record_count)"),
    "file_size_in_bytes": (("file_size_in_bytes",), "sum(file_size_in_bytes)"),
    "last_updated_at": (("created_at",), "max(created_at)"),
    "bucket_count": (("bucket",), "count(DISTINCT bucket)"),
    "total_buckets": (
        ("created_at", "total_buckets"),
        "max(struct(created_at, total_buckets)).total_buckets",
    ),
    "min_level": (("level",), "min(level)"),
    "max_level": (("level",), "max(level)"),
    "delete_row_count": (
        ("delete_row_count",),
        "CASE WHEN count(delete_row_count) = count(*) THEN sum(delete_row_count) END",
    ),
    # Columns of other formats.
    **dict.fromkeys(("spec_id", "last_updated_snapshot_id"), ((), "NULL")),
}
# The sums over `deletes`, which the driver makes.
_DELETES = {"delete_file_count": "count", "delete_record_count": "sum"}


def partitions(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per partition that has live files; the rows and columns of `Table.partitions`, in no order.

    Args: as `Table.partitions`; path and at, which table and snapshot; limits, what one manifest may cost.
    Raises: as `files`.
    Cost: as `files` with five columns, and one exchange of sums by partition. For the columns `delete_…` the
        driver reads the index manifest, and sends its sums by partition along.
    """
    table = table_at(path, at, limits)
    scan = table.partitions(columns=columns, where=where)
    return _grouped(spark, table, scan, ["partition"], where, limits)


def buckets(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> DataFrame:
    """One row per bucket that has live files; the rows and columns of `Table.buckets`, in no order.

    Args, Raises, Cost: as `partitions`.
    """
    table = table_at(path, at, limits)
    scan = table.buckets(columns=columns, where=where)
    return _grouped(spark, table, scan, ["partition", "bucket"], where, limits)


def _grouped(
    spark: SparkSession,
    table: Table,
    scan: ViewScan,
    keys: Sequence[str],
    where: str | Predicate | None,
    limits: Limits,
) -> DataFrame:
    """The rows of a scan of groups, summed up from the live files that `where` leaves."""
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    sums = {name: _SUMS[name] for name in scan.schema.names if name in _SUMS}
    inputs = dict.fromkeys([*keys, *(name for made_of, _ in sums.values() for name in made_of)])
    files = table.files(columns=list(inputs), where=where)
    # Partitions are compared as the bytes they are stored in: Spark would take 0.0 and -0.0 for one, and
    # times that differ below the microsecond.
    groups = live_files(spark, files, limits, serialised=True).groupBy(*keys)
    types = spark_schema(scan.schema)
    columns = [F.expr(sql).cast(types[name].dataType).alias(name) for name, (_, sql) in sums.items()]
    # Spark asks for one sum at least.
    rows = groups.agg(F.count("*").alias("_files"), *columns)
    if not _DELETES.keys().isdisjoint(scan.schema.names):
        deletes = _deletes(table, keys, where)
        joined = F.broadcast(from_batches(spark, deletes.schema, deletes.to_batches()))
        rows = rows.join(joined, list(keys), "left").fillna(0, list(_DELETES))
    return rows.select(*scan.schema.names).mapInArrow(partial(map_groups, schema=scan.schema), types)


def _deletes(table: Table, keys: Sequence[str], where: str | Predicate | None) -> pa.Table:
    """The number of deletion vectors and of the rows they delete, by serialised partition (and bucket)."""
    deletes = table.deletes(columns=[*keys, "record_count"], where=where).to_arrow()
    columns = [column.combine_chunks() for column in deletes.columns]
    vectors = pa.Table.from_batches([serialise(pa.RecordBatch.from_arrays(columns, schema=deletes.schema))])
    sums = vectors.group_by(list(keys)).aggregate([("record_count", how) for how in _DELETES.values()])
    return sums.rename_columns([*keys, *_DELETES])
