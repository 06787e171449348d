"""What runs in the executors: module-level functions, so that Spark sends their names and not their code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed import _arrow, _native, paimon
from lakebed.errors import LakebedError
from lakebed.spark.types import cast_batch, to_spark

if TYPE_CHECKING:
    from lakebed.limits import Limits


def task_schema(task: str, *, serialised: bool = False) -> pa.Schema:
    """The columns that `map_manifests` makes, before they get the types of Spark."""
    schema = _arrow.schema(_native.task_schema(task))
    place = schema.get_field_index("partition") if serialised else -1
    return schema if place < 0 else schema.set(place, pa.field("partition", pa.binary()))


def map_manifests(
    batches: Iterator[pa.RecordBatch], task: str, limits: Limits, *, serialised: bool = False
) -> Iterator[pa.RecordBatch]:
    """Decodes manifests; made for `DataFrame.mapInArrow`.

    Args:
        batches: rows of Spark's `binaryFile` source: `path` utf8 and `content` binary, by name.
        task: what the driver's scan wants of each manifest, as JSON text.
        limits: what one manifest may cost.
        serialised: whether `partition` is to be a BinaryRow rather than a struct.
    Returns: batches of the task's schema in the types of Spark, bounded in rows and bytes.
    Raises: CorruptError and its kin; a manifest whose size or counts are not those of the manifest list is an
        error.
    Cost: one pass on one thread; memory is one manifest and one batch.
    """
    schema = to_spark(task_schema(task, serialised=serialised))
    for batch in batches:
        paths, contents = batch.column("path"), batch.column("content")
        for row in range(batch.num_rows):
            with _kind_told():
                stream = _native.run_task(task, paths[row].as_py(), contents.slice(row, 1), limits)
                for decoded in _arrow.batches(stream):
                    yield cast_batch(serialise(decoded) if serialised else decoded, schema)


def map_groups(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Gives rows with serialised partitions the types of Spark; made for `mapInArrow`.

    Args: schema, names and types of the columns, partitions decoded.
    """
    types = to_spark(schema)
    for batch in batches:
        columns = [
            paimon.decode_rows(column, pa.schema(list(field.type))) if field.name == "partition" else column
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        yield cast_batch(pa.RecordBatch.from_arrays(columns, schema.names), types)


def map_rows(batches: Iterator[pa.RecordBatch], rows: bytes) -> Iterator[pa.RecordBatch]:
    """The rows that came with the function; made for `mapInArrow` over a DataFrame of one row.

    Args: rows, an Arrow IPC stream in the types of Spark.
    """
    for _ in batches:
        yield from pa.ipc.open_stream(rows)


def serialise(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with `partition` as BinaryRows."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    return pa.RecordBatch.from_pydict({**columns, "partition": paimon.encode_rows(columns["partition"])})


@contextlib.contextmanager
def _kind_told() -> Iterator[None]:
    """Puts the kind of an error into its text, which is all of it that Spark brings to the driver."""
    try:
        yield
    except LakebedError as error:
        error.message = f"{error.kind}: {error.message}"
        raise
