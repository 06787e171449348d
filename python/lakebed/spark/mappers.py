"""What runs in the executors: module-level functions, so that Spark sends their names and not their code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed import _arrow, _native
from lakebed.errors import LakebedError
from lakebed.spark.types import cast_batch, to_spark

if TYPE_CHECKING:
    from lakebed.limits import Limits


def task_schema(task: str) -> pa.Schema:
    """The columns that `map_manifests` makes, before they get the types of Spark."""
    return _arrow.schema(_native.task_schema(task))


def map_manifests(batches: Iterator[pa.RecordBatch], task: str, limits: Limits) -> Iterator[pa.RecordBatch]:
    """Decodes manifests; made for `DataFrame.mapInArrow`.

    Args:
        batches: rows of Spark's `binaryFile` source: `path` utf8 and `content` binary, by name.
        task: what the driver's scan wants of each manifest, as JSON text.
        limits: what one manifest may cost.
    Returns: batches of the task's schema in the types of Spark, bounded in rows and bytes.
    Raises: CorruptError and its kin; a manifest whose size or counts are not those of the manifest list is an
        error.
    Cost: one pass on one thread; memory is one manifest and one batch.
    """
    schema = to_spark(task_schema(task))
    for batch in batches:
        paths, contents = batch.column("path"), batch.column("content")
        for row in range(batch.num_rows):
            with kind_told():
                stream = _native.run_task(task, paths[row].as_py(), contents.slice(row, 1), limits)
                for decoded in _arrow.batches(stream):
                    yield cast_batch(decoded, schema)


def map_rows(batches: Iterator[pa.RecordBatch], rows: bytes) -> Iterator[pa.RecordBatch]:
    """The rows that came with the function; made for `mapInArrow` over a DataFrame of one row.

    Args: rows, an Arrow IPC stream in the types of Spark.
    """
    for _ in batches:
        yield from pa.ipc.open_stream(rows)


@contextlib.contextmanager
def kind_told() -> Iterator[None]:
    """Puts the kind of an error into its text, which is all of it that Spark brings to the driver."""
    try:
        yield
    except LakebedError as error:
        error.message = f"{error.kind}: {error.message}"
        raise
