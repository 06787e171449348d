"""What changed in a table's files, found by executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakebed.limits import LIMITS, Limits
from lakebed.spark.exchange import exchanged, gathered
from lakebed.spark.frames import At, TablePath, table_at
from lakebed.spark.reading import Reading
from lakebed.spark.small_tables import read_by_driver
from lakebed.spark.views import manifest_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.spark.reach import Read


def diff(
    spark: SparkSession,
    path: TablePath,
    snapshot_a: int | str,
    snapshot_b: int | str,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> DataFrame:
    """One row per file that is live in exactly one of two snapshots; the rows and columns of `Table.diff`, in
    no order.

    Args: as `Table.diff`; path and at, which table, and the snapshot whose schema gives the types; limits,
        what one manifest may cost; range_bytes and read, as in `plan`.
    Raises: what `Table.diff` raises, also of reading manifest lists, here; errors of a manifest as
        `files`.
    Cost: the driver reads the manifest lists of both; executors read the manifests that one of them alone
        has, once, and their files cross an exchange by identity, unless all came or all went.
    """
    table = table_at(path, at, limits)
    scan = table.diff(snapshot_a, snapshot_b, columns=columns, where=where, stats=stats)
    exchange, reading = scan.exchange(), Reading.of(table, limits, range_bytes, read)
    manifests = [manifest for side in exchange.sides for manifest in side]
    small = read_by_driver(spark, scan, manifests, reading)
    if small is not None:
        return small
    if exchange.together:
        return exchanged(spark, scan.schema, exchange, reading)
    return gathered(spark, scan.schema, exchange, manifests, reading)


def appends(
    spark: SparkSession,
    path: TablePath,
    after: int | str | None = None,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> DataFrame:
    """One row per data file that appends added after a snapshot; the rows and columns of `Table.appends`, in
    no order.

    Args: as `Table.appends`; path and at, which table, and up to which snapshot; limits, as in `diff`;
        range_bytes and read, as in `files`.
    Raises: as `diff`.
    Cost: the driver reads the manifest lists of the appends; executors read the manifests that `where`
        leaves.
    """
    table = table_at(path, at, limits)
    scan = table.appends(after, columns=columns, where=where, stats=stats)
    return manifest_rows(spark, scan, Reading.of(table, limits, range_bytes, read))
