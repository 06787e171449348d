"""How rows become a DataFrame: decoded by executors, or read by the driver and sent to one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

import pyarrow as pa

from lakebed.catalogs import IcebergTable, PaimonTable
from lakebed.spark.binary_files import at_once
from lakebed.spark.ipc import ipc_stream
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import decode_manifests, map_rows, task_schema
from lakebed.spark.session import is_classic, setting, task_numbers
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.table import Table

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed.scan import Scan
    from lakebed.spark.reading import Reading
    from lakebed.view import Manifest, ViewScan

TablePath: TypeAlias = Union[str, "os.PathLike[str]", IcebergTable, PaimonTable, Table]
"""A path or URI that the driver can open and the executors can reach, a table that a catalog of PyIceberg or
pypaimon loaded, or one that is open already."""

LOCAL_BYTES = 16 << 20
"""Bytes of rows in Arrow that Spark gets as rows of its own."""

# Of more bytes than these Spark makes rows in tasks, not before.
_RELATION_BYTES = 512 << 10
# What a task gets of them: Spark warns of one that is sent more than 1000 KiB.
_TASK_BYTES = 768 << 10
_THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"


def from_driver(spark: SparkSession, scan: Scan) -> DataFrame:
    """The rows of a scan, in its order.

    Raises: the errors of reading the scan, here.
    Cost: the driver reads the scan now; its rows travel with the DataFrame's plan, so they should be few.
    """
    return from_batches(spark, scan.schema, scan)


def from_batches(spark: SparkSession, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> DataFrame:
    """Rows of the driver, in their order; they travel with the DataFrame's plan.

    Cost: up to `LOCAL_BYTES` are Spark's own, in a `LocalTableScan` or a scan of an RDD named arrow, and no
        Python runs for them; more come with a function, which one task runs.
    """
    types, shown = to_spark(schema), spark_schema(schema)
    rows = [batch for batch in (cast_batch(batch, types) for batch in batches) if batch.num_rows]
    if not rows:
        return spark.createDataFrame([], shown)
    # Without columns Arrow's tables do not know how many rows they have.
    few = len(types) > 0 and sum(batch.nbytes for batch in rows) <= LOCAL_BYTES
    frame = _of_arrow(spark, pa.Table.from_batches(rows), shown) if few else None
    if frame is not None:
        return frame
    return map_in_arrow(task_numbers(spark, 1), partial(map_rows, rows=ipc_stream(rows)), shown)


def _of_arrow(spark: SparkSession, rows: pa.Table, types: StructType) -> DataFrame | None:
    """Rows that Spark holds; None where PySpark does not hand them over."""
    from pyspark import __version__

    takes_arrow = int(__version__.partition(".")[0]) >= 4
    if not is_classic(spark):
        return spark.createDataFrame(rows, types) if takes_arrow else None
    if rows.nbytes > _RELATION_BYTES:
        # A task has a batch.
        tasks = max(-(-rows.nbytes // _TASK_BYTES), at_once(spark))
        batches = rows.combine_chunks().to_batches(max_chunksize=-(-rows.num_rows // tasks))
        rows = pa.Table.from_batches(batches)
    with setting(spark, _THRESHOLD, _RELATION_BYTES):
        return spark.createDataFrame(rows, types) if takes_arrow else _created(spark, rows, types)


def _created(spark: SparkSession, rows: pa.Table, types: StructType) -> DataFrame:
    """What `createDataFrame` of PySpark 3.5 does once it has made Arrow of pandas."""
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    jvm, context = cast("Any", spark)._jvm, cast("Any", spark)._sc
    batches = context._serialize_to_jvm(
        rows.to_batches(),
        ArrowStreamSerializer(),
        lambda file: jvm.PythonSQLUtils.readArrowStreamFromFile(file),
        lambda: jvm.ArrowIteratorServer(),
    )
    return Frame(jvm.PythonSQLUtils.toDataFrame(batches, types.json(), spark._jsparkSession), spark)


def decoded(
    spark: SparkSession, scan: ViewScan, manifests: Sequence[Manifest], part: str, reading: Reading
) -> DataFrame:
    """What the executors make of manifests. Args: part, as in `ViewScan.task`.

    Raises: MissingFileError for a manifest that is not there; other errors when the DataFrame is computed.
    """
    task = scan.task(part)
    types = spark_schema(task_schema(task, reading.limits))
    decode = partial(decode_manifests, task=task, limits=reading.limits)
    return reading.frame(spark, manifests, decode, types)
