"""Views whose rows the executors decode, and what goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from lakebed.limits import LIMITS, Limits
from lakebed.spark.exchange import exchanged
from lakebed.spark.frames import At, TablePath, decoded, from_driver, table_at
from lakebed.spark.mappers import decode_manifests, map_contents
from lakebed.spark.reading import Reading
from lakebed.spark.small_tables import read_by_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.predicates import Predicate
    from lakebed.spark.map_in_arrow import Mapper
    from lakebed.spark.reach import Read
    from lakebed.table import Table
    from lakebed.view import Manifest, ViewScan

BROADCAST_DELETIONS = 100_000
"""Deleted files whose identities every executor gets, some hundred bytes each; more are sorted and merged."""


def files(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> DataFrame:
    """One row per live file; the rows and columns of `Table.files`, in no order.

    Args: as `Table.files`; path and at, which table and snapshot; limits, what one manifest may cost;
        read, who reads manifests: "executors" through the storage that the table was opened with, larger
        ones in ranges that begin at a sync marker; "spark", as its source `binaryFile` with the cluster's
        credentials, and each is decoded as a whole; None: the driver, here, where they have 32 MiB or less
        and their rows 16 MiB or less in Arrow; else executors where they reach that storage, else Spark.
        `explain` shows which, and why. range_bytes, of which executors read and decode as many in a task, of
        one manifest or several; None: so many that the cores have about the same.
    Raises: what `open_table` and `Table.files` raise, here; ValueError where `read` and `range_bytes`
        contradict each other, TypeError for a storage that executors are to read through and that cannot be
        pickled; errors of a manifest here where the driver reads it, else when the DataFrame is computed.
    Cost: the driver reads the manifest lists; executors read the manifests that `where` leaves. Of a storage
        that was opened by its URI, and of local files on a cluster, one job finds out whether executors
        reach it: once for a session, with a read on at most 32 cores. Where manifests of Paimon record
        deletions, they are read once more for these, and one join by identity
        takes them away, in which up to `BROADCAST_DELETIONS` are broadcast. Where `where` decides on files of
        Paimon together (by values of a table with primary keys, or whose rows are spread over files), each
        manifest is read once, and its entries cross one exchange by partition and bucket: a task holds those
        of its buckets.
    """
    table = table_at(path, at, limits)
    reading = Reading.of(table, limits, range_bytes, read)
    scan = table.files(columns=columns, where=where, stats=stats)
    manifests = scan.planned_manifests()
    small = read_by_driver(spark, scan, manifests, reading)
    return _live_files(spark, table, scan, manifests, reading) if small is None else small


def _live_files(
    spark: SparkSession, table: Table, scan: ViewScan, manifests: list[Manifest], reading: Reading
) -> DataFrame:
    if scan.decides_together:
        return exchanged(spark, scan.schema, scan.exchange(), reading)
    if table.format != "paimon":
        # An entry says itself whether its file is alive.
        return decoded(spark, scan, manifests, "rows", reading)
    deleting = [manifest for manifest in manifests if manifest["deleted"]]
    return without_deleted(spark, scan, manifests, deleting, reading)


def without_deleted(
    spark: SparkSession, scan: ViewScan, adding: list[Manifest], deleting: list[Manifest], reading: Reading
) -> DataFrame:
    """(Paimon) The files that some manifests add, without those that others delete."""
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    added = decoded(spark, scan, adding, "added", reading)
    if deleting:
        deleted = decoded(spark, scan, deleting, "deleted", reading)
        few = sum(manifest["deleted"] for manifest in deleting) <= BROADCAST_DELETIONS
        # Spark cannot know how many rows a mapper makes.
        added = added.join(F.broadcast(deleted) if few else deleted, "_identity", "left_anti")
    return added.drop("_identity")


def entries(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> DataFrame:
    """One row per manifest entry, as stored; the rows and columns of `Table.entries`, in no order.

    Args, Raises: as `files`.
    Cost: the driver reads the manifest lists; executors read the manifests that `where` leaves.
    """
    table = table_at(path, at, limits)
    scan = table.entries(columns=columns, where=where, stats=stats)
    return manifest_rows(spark, scan, Reading.of(table, limits, range_bytes, read))


def manifest_rows(spark: SparkSession, scan: ViewScan, reading: Reading) -> DataFrame:
    """The rows of a scan that each manifest makes by itself."""
    manifests = scan.planned_manifests()
    small = read_by_driver(spark, scan, manifests, reading)
    return decoded(spark, scan, manifests, "rows", reading) if small is None else small


def deletes(
    spark: SparkSession,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
    range_bytes: int | None = None,
    read: Read | None = None,
) -> DataFrame:
    """One row per deletion vector or delete file; the rows and columns of `Table.deletes`, in no order.

    Args, Raises: as `files`.
    Cost: Paimon: the driver reads what `Table.deletes` says. Iceberg: as `entries`, of the manifests of
        deletes; with `positions` the driver reads all.
    """
    table = table_at(path, at, limits)
    scan = table.deletes(columns=columns, where=where)
    if table.format == "paimon" or "positions" in scan.schema.names:
        return from_driver(spark, scan)
    return manifest_rows(spark, scan, Reading.of(table, limits, range_bytes, read))


def manifest_mapper(
    fmt: str,
    path: TablePath,
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    at: At = None,
    limits: Limits = LIMITS,
) -> Mapper:
    """The function for `DataFrame.mapInArrow` that turns manifests into rows of `Table.entries`.

    It takes rows with `path` and `content`, those of Spark's `binaryFile` source for manifests of this
    snapshot, and goes with the schema `schema("entries", path, columns=…, stats=…, at=…)`.

    Args: fmt, the table format, "paimon" or "iceberg"; the others as in `entries`.
    Raises: what `open_table` and `Table.entries` raise; ValueError where the table is of another format.
    Cost: the driver reads the manifest lists.
    """
    table = table_at(path, at, limits)
    if table.format != fmt:
        raise ValueError(f"{table.location} is a {table.format} table, not {fmt}")
    task = table.entries(columns=columns, where=where, stats=stats).task("rows")
    return partial(map_contents, decode=partial(decode_manifests, task=task, limits=limits))
