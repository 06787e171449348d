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
            with kind_told():
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
            _partitions(column, field.type) if field.name == "partition" else column
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
    """The batch with `partition` as BinaryRows: bytes that are equal where the values are, and only there."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    tuples = columns["partition"]
    fields = [pa.field(field.name, _kept(field.type)) for field in tuples.type]
    values = [child.cast(field.type) for child, field in zip(tuples.flatten(), fields, strict=True)]
    # Without a field an array would not know its length; partitions are never null.
    rows = pa.StructArray.from_arrays(values, fields=fields) if fields else tuples
    return pa.RecordBatch.from_pydict({**columns, "partition": paimon.encode_rows(rows)})


def _partitions(rows: pa.Array, kind: pa.StructType) -> pa.Array:
    """What `serialise` made, back in its types."""
    if not kind.num_fields:
        return paimon.decode_rows(rows, pa.schema([]))
    kept = paimon.decode_rows(rows, pa.schema([(field.name, _kept(field.type)) for field in kind]))
    values = [child.cast(field.type) for child, field in zip(kept.flatten(), kind, strict=True)]
    return pa.StructArray.from_arrays(values, fields=list(kind))


def _kept(kind: pa.DataType) -> pa.DataType:
    """The type as which a BinaryRow keeps one that it does not have: a time in microseconds."""
    return pa.int64() if pa.types.is_time64(kind) else kind


@contextlib.contextmanager
def kind_told() -> Iterator[None]:
    """Puts the kind of an error into its text, which is all of it that Spark brings to the driver."""
    try:
        yield
    except LakebedError as error:
        error.message = f"{error.kind}: {error.message}"
        raise
