"""How rows become a DataFrame: decoded by executors, or read by the driver and sent to one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import pyarrow as pa

from lakebed.catalogs import IcebergTable, PaimonTable
from lakebed.opening import open_table
from lakebed.spark.ipc import ipc_stream
from lakebed.spark.mappers import decode_manifests, map_rows, task_schema
from lakebed.spark.session import task_numbers
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.table import Table

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

    from lakebed.limits import Limits
    from lakebed.scan import Scan
    from lakebed.spark.reading import Reading
    from lakebed.view import Manifest, ViewScan

TablePath: TypeAlias = Union[str, "os.PathLike[str]", IcebergTable, PaimonTable, Table]
"""A path or URI that the driver can open and the executors can reach, a table that a catalog of PyIceberg or
pypaimon loaded, or one that is open already."""

Mapper: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for `DataFrame.mapInArrow`."""

At: TypeAlias = int | Mapping[str, Any] | None
"""A snapshot id, or the keywords of `Table.at` such as `{"tag": "v1"}`; None for the latest."""


def table_at(path: TablePath, at: At, limits: Limits) -> Table:
    """The table, opened unless it is open, at the snapshot asked for. Raises: as `open_table`, `Table.at`."""
    table = path if isinstance(path, Table) else open_table(path, limits=limits)
    if at is None:
        return table
    return table.at(snapshot=at) if isinstance(at, int) else table.at(**at)


def from_driver(spark: SparkSession, scan: Scan) -> DataFrame:
    """The rows of a scan, in its order, in one partition.

    Raises: the errors of reading the scan, here.
    Cost: the driver reads the scan now; its rows travel with the DataFrame's plan, so they should be few.
    """
    return from_batches(spark, scan.schema, scan)


def from_batches(spark: SparkSession, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> DataFrame:
    """Rows of the driver, in their order, in one partition; they travel with the DataFrame's plan."""
    types = to_spark(schema)
    rows = ipc_stream(cast_batch(batch, types) for batch in batches)
    # Not `createDataFrame`, which takes Arrow tables from PySpark 4 on only.
    return task_numbers(spark, 1).mapInArrow(partial(map_rows, rows=rows), spark_schema(schema))


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
