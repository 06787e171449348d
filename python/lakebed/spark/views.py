"""Views whose manifests executors decode one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed.spark.exchange import exchanged
from lakebed.spark.frames import decoded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.spark.reading import Reading
    from lakebed.spark.request import Request
    from lakebed.view import Manifest, ViewScan

BROADCAST_DELETIONS = 100_000
"""Deleted files whose identities every executor gets, some hundred bytes each; more are sorted and merged."""


def live_files(asked: Request) -> DataFrame:
    """The driver reads the manifest lists; executors read the manifests that `where` leaves.

    Where manifests of Paimon record deletions, they are read once more for these, and one join by identity
    takes them away, in which up to `BROADCAST_DELETIONS` are broadcast. Where `where` decides on files of
    Paimon together (by values of a table with primary keys, or whose rows are spread over files), each
    manifest is read once, and its entries cross one exchange by partition and bucket: a task holds those of
    its buckets.
    """
    spark, scan, reading = asked.of.spark, asked.scan, asked.reading
    manifests = scan.planned_manifests()
    if (small := asked.small(manifests)) is not None:
        return small
    if scan.decides_together:
        rows = exchanged(spark, scan.schema, scan.exchange(), reading)
    elif asked.table.format != "paimon":
        # An entry says itself whether its file is alive.
        rows = decoded(spark, scan, manifests, "rows", reading)
    else:
        deleting = [manifest for manifest in manifests if manifest["deleted"]]
        rows = without_deleted(spark, scan, manifests, deleting, reading)
    return asked.kept(rows)


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


def manifest_rows(asked: Request) -> DataFrame:
    """The driver reads the manifest lists; executors read the manifests that `where` leaves."""
    manifests = asked.scan.planned_manifests()
    if (small := asked.small(manifests)) is not None:
        return small
    return asked.kept(decoded(asked.of.spark, asked.scan, manifests, "rows", asked.reading))


def deletes(asked: Request) -> DataFrame:
    """Paimon: the driver reads all. Iceberg: executors read the manifests of deletes; with `positions` the
    driver reads all.
    """
    if asked.table.format == "paimon" or "positions" in asked.scan.schema.names:
        return asked.by_driver()
    return manifest_rows(asked)
