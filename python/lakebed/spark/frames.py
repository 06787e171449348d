"""How the rows of any view become a DataFrame: the one plan of Spark.

    manifests → map → [shuffle by part → reduce]… → rows

The core plans the job, and knows what is mapped, by which key it is moved and how it is reduced. Spark moves
batches, and nothing here knows a view. Rows of little metadata are read by the driver before a task of Python
would begin; rows that nobody can divide are read by one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from lakebed.spark.access import map_in_arrow, pickled, task_numbers
from lakebed.spark.mappers import PIECES, JobMap, Reducer, RowsInFunction, ViewReader, ipc_stream
from lakebed.spark.private_api import at_once, frame_of_arrow, is_classic, setting
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.table import Reopening
from lakebed.view import Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed import _native
    from lakebed.spark.inputs import Reading
    from lakebed.spark.mappers import Lister
    from lakebed.table import Table
    from lakebed.view import ViewScan

BOUNDS = Bounds()
"""By what jobs are planned, but for how many tasks run at a time."""

SMALL_BYTES: int | None = 32 << 20
"""Bytes of manifests that the driver reads itself, in less time than a job of Python would take."""

LOCAL_BYTES = 16 << 20
"""Bytes of rows in Arrow that Spark gets as rows of its own."""

Listing: TypeAlias = "tuple[DataFrame, Callable[[JobMap], Lister]]"
"""What gives rows of files besides manifests, and what maps them for a job."""

# A client of Spark Connect may be far from the table and from the cluster: it reads so much less.
_FAR = 8
# Of more bytes than these Spark makes rows in tasks, not before.
_RELATION_BYTES = 512 << 10
# What a task gets of them: Spark warns of one that is sent more than 1000 KiB.
_TASK_BYTES = 768 << 10
_THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"


def frame_of(
    spark: SparkSession,
    table: Table,
    scan: ViewScan,
    reading: Reading,
    keywords: dict[str, Any],
    listing: Listing | None = None,
) -> DataFrame:
    """The rows of a view: made by the driver, by one task, or by the job that the core plans.

    Args: keywords, those of the view, for a task that opens the table again; listing, for orphans.
    Raises: those of planning and of reading what is small, here; TypeError for a storage or catalog that
        cannot be pickled, where tasks need it.
    """
    share = 1 if is_classic(spark) else _FAR
    bounds = replace(BOUNDS, at_once=at_once(spark))
    small = None if SMALL_BYTES is None or reading.read is not None else SMALL_BYTES // share
    planned = scan.job(replace(bounds, small_bytes=small))
    if planned is None and scan.is_light:
        batches, rows, size = iter(scan), list[pa.RecordBatch](), 0
        for batch in batches:
            rows.append(batch)
            size += batch.nbytes
            # Manifests may be compressed a hundredfold.
            if size > LOCAL_BYTES // share:
                planned = scan.job(bounds)
                break
        if planned is None:
            return from_batches(spark, scan.schema, chain(rows, batches))
    if planned is not None and planned.is_question:
        # The rows of a job that planning another one needs, each once.
        schema = pa.schema(planned.schema)
        asked = computed(spark, planned, reading, schema).distinct().collect()
        answer = pa.Table.from_pylist([row.asDict() for row in asked], schema)
        planned = scan.job(replace(bounds, answer=answer))
    reader = ViewReader(scan.name, Reopening.of(table), keywords)
    if planned is None:
        pickled(table.opening.storage)
        frame = map_in_arrow(task_numbers(spark, 1), reader, spark_schema(scan.schema))
    else:
        if planned.reads_manifests:
            reading = replace(reading, range_bytes=None, read="executors")
            same = reader.table.opening
            if (same.path, same.moved) != (table.opening.path, table.opening.moved):
                # Rows have the paths of what is read: those that other processes understand too.
                planned = reader.scan(reader.table()).job(bounds) or planned
        newest = newest_again(table) if planned.looks_again else None
        frame = computed(spark, planned, reading, scan.schema, newest, listing)
    return frame if scan.limit is None else frame.limit(scan.limit)


def newest_again(table: Table) -> Reopening:
    """What opens the newest version of a table in a task. Raises: TypeError for a storage or a catalog that
    cannot be pickled.
    """
    pickled(table.opening.storage)
    reopening = Reopening.of(table, newest=True, asks=True)
    pickled(reopening.opening.pointer, "the table's catalog")
    return reopening


def computed(
    spark: SparkSession,
    planned: _native.JobPlan,
    reading: Reading,
    schema: pa.Schema,
    again: Reopening | None = None,
    listing: Listing | None = None,
) -> DataFrame:
    """The rows of a job.

    Args: schema, that of the rows; again, what opens the table that they are compared with, for a job that
        looks at it again; listing, what gives rows of files besides manifests.
    Raises: as `Reading.frame`; other errors when the DataFrame is computed.
    Cost: each manifest is read once; what is made of it crosses the shuffles of the job.
    """
    job = JobMap.of(planned, reading.limits, reading.keys, reading.cache)
    shuffles, made = planned.shuffles, dict(planned.made())
    types, pieces = spark_schema(schema), spark_schema(PIECES)
    frame = reading.frame(spark, planned.manifests, job, pieces if shuffles else types)
    for stage, tasks in enumerate(shuffles, 1):
        if stage in made:
            frame = frame.union(from_batches(spark, PIECES, map(pa.record_batch, made[stage])))
        if stage == 1 and listing is not None:
            rows, lister = listing
            frame = frame.union(map_in_arrow(rows, lister(job), pieces))
        is_last = stage == len(shuffles)
        storage = reading.storage if planned.reads_manifests else None
        reducer = Reducer(job, stage, storage, again if is_last else None)
        moved = frame.repartition(tasks, "part").sortWithinPartitions("part", "side")
        frame = map_in_arrow(moved, reducer, types if is_last else pieces)
    if (last := made.get(len(shuffles) + 1)) is not None:
        frame = frame.union(from_batches(spark, schema, map(pa.record_batch, last)))
    return frame


def from_batches(spark: SparkSession, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> DataFrame:
    """Rows of the driver, in their order; they are part of the DataFrame's plan.

    Cost: up to `LOCAL_BYTES` are Spark's own, in a `LocalTableScan` or a scan of an RDD named arrow, and no
        Python runs for them; more are sent with a function, which one task runs.
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
    return map_in_arrow(task_numbers(spark, 1), RowsInFunction(ipc_stream(rows)), shown)


def _of_arrow(spark: SparkSession, rows: pa.Table, types: StructType) -> DataFrame | None:
    """Rows that Spark holds; None where PySpark does not give them."""
    if not is_classic(spark):
        return frame_of_arrow(spark, rows, types)
    if rows.nbytes > _RELATION_BYTES:
        # A task has a batch.
        tasks = max(-(-rows.nbytes // _TASK_BYTES), at_once(spark))
        batches = rows.combine_chunks().to_batches(max_chunksize=-(-rows.num_rows // tasks))
        rows = pa.Table.from_batches(batches)
    with setting(spark, _THRESHOLD, _RELATION_BYTES):
        return frame_of_arrow(spark, rows, types)
