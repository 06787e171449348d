"""What runs in the executors: module-level functions, so that Spark sends their names and not their code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from lakebed import _arrow, _native
from lakebed.errors import LakebedError
from lakebed.spark.ipc import ipc_batches
from lakebed.spark.types import cast_batch, to_spark

if TYPE_CHECKING:
    from lakebed.limits import Limits

ManifestContents: TypeAlias = Iterator[tuple[str, Any]]
"""The paths of manifests with their bytes as `_native.Task.run` takes them: all, or a share."""

Decoder: TypeAlias = Callable[[ManifestContents], Iterator[pa.RecordBatch]]
"""What makes rows of manifests."""

# Rows of small batches that are put together.
_GATHERED_ROWS = 4096


def task_schema(task: str, limits: Limits) -> pa.Schema:
    """The columns that `decode_manifests` makes, before they get the types of Spark."""
    return _arrow.schema(_native.Task(task, limits).schema)


def map_contents(batches: Iterator[pa.RecordBatch], decode: Decoder) -> Iterator[pa.RecordBatch]:
    """Decodes whole manifests; made for `DataFrame.mapInArrow`.

    Args: batches, rows of Spark's `binaryFile` source: `path` utf8 and `content` binary, by name.
    """
    return decode(_contents(batches))


def _contents(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Array]]:
    for batch in batches:
        paths, contents = batch.column("path"), batch.column("content")
        for row in range(batch.num_rows):
            yield paths[row].as_py(), contents.slice(row, 1)


def decode_manifests(contents: ManifestContents, task: str, limits: Limits) -> Iterator[pa.RecordBatch]:
    """Decodes manifests, one after the other.

    Args:
        contents: their paths, and what is there of them: all bytes, or a share.
        task: what the driver's scan wants of each manifest, as JSON text.
        limits: what one manifest may cost.
    Returns: batches of the task's schema in the types of Spark, bounded in rows and bytes; those of small
        manifests together.
    Raises: CorruptError and its kin; a manifest with fewer entries than its list records is an error.
    Cost: one pass on one thread; memory is one manifest, or one share, and one batch.
    """
    work = _native.Task(task, limits)
    schema = to_spark(_arrow.schema(work.schema))
    yield from gathered_batches(_decoded(contents, work, schema))


def _decoded(contents: ManifestContents, work: _native.Task, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for path, content in contents:
        with prefix_error_kind():
            for decoded in _arrow.batches(work.run(path, content)):
                yield cast_batch(decoded, schema)


def gathered_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, small batches put together: each costs the JVM as much as some hundred rows.

    The first ones stay as small as they come, for whoever wants but a few rows.
    """
    waiting: list[pa.RecordBatch] = []
    rows = given = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= min(_GATHERED_ROWS, given):
            yield from _together(waiting)
            given += rows
            waiting, rows = [], 0
    if waiting:
        yield from _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) == 1 or not batches[0].num_columns:
        return batches
    # Columns too long for one array stay several batches.
    together: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return together


def map_rows(batches: Iterator[pa.RecordBatch], rows: bytes) -> Iterator[pa.RecordBatch]:
    """The rows that came with the function; made for `mapInArrow` over a DataFrame of one row.

    Args: rows, an Arrow IPC stream in the types of Spark.
    """
    for _ in batches:
        yield from ipc_batches(rows)


@contextlib.contextmanager
def prefix_error_kind() -> Iterator[None]:
    """Puts the kind of an error into its text, which is all of it that Spark brings to the driver."""
    try:
        yield
    except LakebedError as error:
        error.message = f"{error.kind}: {error.message}"
        raise
