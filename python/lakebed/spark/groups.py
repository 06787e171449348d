"""Partitions and buckets: live files summed up where their manifests are read, then combined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from lakebed import _arrow, _native
from lakebed.spark.exchange import exchanged
from lakebed.spark.frames import from_batches
from lakebed.spark.group_mappers import finish_health, merge_sums, sum_files, sum_manifests, sums_schema
from lakebed.spark.ipc import ipc_stream
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import task_schema
from lakebed.spark.types import spark_schema
from lakebed.spark.views import without_deleted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed.spark.reading import Reading
    from lakebed.spark.request import Request
    from lakebed.table import Table
    from lakebed.view import Manifest, ViewScan

_MAX_DELETIONS = 100_000
"""DELETE entries of Paimon's that the driver reads and sends along, some 15 MB of identities."""

_MAX_DELETING_BYTES = 128 * 2**20
"""Bytes of the manifests that it reads for these, which may have few of them among many additions."""


def summed(asked: Request) -> DataFrame:
    """A task of an executor gives one row per group that it meets, and one exchange brings these together.

    Of Paimon the driver reads which files are deleted, up to 100,000 entries in manifests of 128 MiB; where
    there are more, or where `where` decides on files together, `files` and its join or exchange are summed
    up. For the columns `delete_…` it reads the index manifest too; of Iceberg, for `last_updated_…`, the
    times of the snapshots.
    """
    manifests = asked.scan.planned_manifests()
    if (small := asked.small(manifests)) is not None:
        return small
    return asked.kept(grouped(asked.of.spark, asked.table, asked.scan, manifests, asked.reading))


def health(asked: Request) -> DataFrame:
    """As of `partitions`; the driver reads the snapshots too."""
    spark, scan, reading = asked.of.spark, asked.scan, asked.reading
    manifests = scan.planned_manifests()
    if (small := asked.small(manifests)) is not None:
        return small
    task = scan.group_task()
    nothing = _arrow.record_batch(_native.Grouping(task, reading.limits).rows())
    # Without this one there might be no part of which to make a row.
    parts = grouped(spark, asked.table, scan, manifests, reading).union(
        from_batches(spark, nothing.schema, [nothing])
    )
    row = partial(finish_health, task=task)
    return asked.kept(map_in_arrow(parts.repartition(1), row, spark_schema(scan.schema)))


def grouped(
    spark: SparkSession, table: Table, scan: ViewScan, manifests: list[Manifest], reading: Reading
) -> DataFrame:
    """The rows of a scan of groups, by executors; of `health` a row for each part of the partitions."""
    task = scan.group_task()
    groups = _native.Grouping(task, reading.limits)
    sums = _sums(spark, scan, manifests, task, spark_schema(sums_schema(groups)), reading)
    merger = partial(merge_sums, task=task, limits=reading.limits, vectors=_vectors(table, scan))
    rows = _arrow.record_batch(groups.rows())
    return map_in_arrow(sums.repartition("partition"), merger, spark_schema(rows.schema))


def known_beforehand(table: Table, scan: ViewScan) -> tuple[bytes, bytes] | None:
    """What tasks must know of all files to sum up some of a scan's, and to make rows of sums: deleted files
    and deletion vectors, as Arrow IPC streams; None where files come together before they are summed up.
    """
    deleting = [manifest for manifest in scan.planned_manifests() if manifest["deleted"]]
    if scan.decides_together or not _are_few(deleting):
        return None
    return ipc_stream([scan.known("deleted")]) if deleting else b"", _vectors(table, scan)


def _vectors(table: Table, scan: ViewScan) -> bytes:
    vectors = scan.known("vectors") if table.format == "paimon" else None
    return ipc_stream([vectors]) if vectors is not None and vectors.num_rows else b""


def _sums(
    spark: SparkSession,
    scan: ViewScan,
    manifests: list[Manifest],
    task: str,
    types: StructType,
    reading: Reading,
) -> DataFrame:
    """What each task makes of its manifests."""
    adding = [manifest for manifest in manifests if manifest["added"] or not manifest["deleted"]]
    deleting = [manifest for manifest in manifests if manifest["deleted"]]
    if scan.decides_together or not _are_few(deleting):
        schema = task_schema(scan.task("added"), reading.limits)
        schema = schema.remove(schema.get_field_index("_identity"))
        if scan.decides_together:
            files = exchanged(spark, schema, scan.exchange(), reading)
        else:
            files = without_deleted(spark, scan, adding, deleting, reading)
        return files.mapInArrow(partial(sum_files, task=task, limits=reading.limits, schema=schema), types)
    known = ipc_stream([scan.known("deleted")]) if deleting else b""
    decode = partial(sum_manifests, task=task, limits=reading.limits, deleted=known)
    return reading.frame(spark, adding, decode, types)


def _are_few(deleting: Sequence[Manifest]) -> bool:
    """Whether the driver reads what these manifests delete."""
    deletions, size = (sum(manifest[key] for manifest in deleting) for key in ("deleted", "size"))
    return deletions <= _MAX_DELETIONS and size <= _MAX_DELETING_BYTES
