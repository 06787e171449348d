"""Views of small tables: the driver has read one before a task of Python begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed.spark.frames import LOCAL_BYTES, from_batches
from lakebed.spark.session import is_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.spark.reading import Reading
    from lakebed.view import Manifest, ViewScan

MANIFEST_BYTES = 32 << 20
"""Bytes of manifests that the driver reads itself, in less time than a job of Python would take."""

# What opening a file costs, in bytes that could be decoded meanwhile; the driver opens many at once.
_OPENING = 32 << 10
# A client of Spark Connect may be far from the table and from the cluster: it reads so much less.
_FAR = 8


def read_by_driver(
    spark: SparkSession, scan: ViewScan, manifests: Iterable[Manifest], reading: Reading
) -> DataFrame | None:
    """The rows of a scan whose manifests are small and that makes few rows; None of any other, and where it
    was said who reads.

    Args: manifests, all that the scan reads.
    Raises: the errors of reading the scan, here.
    """
    share = 1 if is_classic(spark) else _FAR
    if reading.read is not None:
        return None
    if sum(manifest["size"] + _OPENING for manifest in manifests) > MANIFEST_BYTES // share:
        return None
    rows, size = list[pa.RecordBatch](), 0
    for batch in scan:
        rows.append(batch)
        size += batch.nbytes
        # Manifests may be compressed a hundredfold.
        if size > LOCAL_BYTES // share:
            return None
    return from_batches(spark, scan.schema, rows)
