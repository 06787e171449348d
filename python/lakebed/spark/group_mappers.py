"""What sums live files up in the executors; see `lakebed.spark.mappers`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed import _arrow, _native
from lakebed.spark.ipc import ipc_batches
from lakebed.spark.mappers import prefix_error_kind
from lakebed.spark.types import cast_batch, to_spark

if TYPE_CHECKING:
    from lakebed.limits import Limits
    from lakebed.spark.mappers import ManifestContents

MAX_GROUPS = 65_536
"""Groups that a task holds before it sends on what it has, and rows of a batch of groups."""


def sum_manifests(
    contents: ManifestContents, task: str, limits: Limits, deleted: bytes
) -> Iterator[pa.RecordBatch]:
    """Sums up the live files of manifests.

    Args:
        contents: as in `decode_manifests`.
        task: what the driver's scan sums up, as JSON text.
        limits: what one manifest may cost.
        deleted: identities of files that entries of any manifest delete, as an Arrow IPC stream.
    Returns: `partition` binary and numbers, one row per group; more only where there are many groups.
    Raises: as `decode_manifests`.
    Cost: one pass on one thread; memory is one manifest or share, and `MAX_GROUPS` groups besides its own.
    """
    groups = _native.Grouping(task, limits)
    _know(groups, "deleted", deleted)
    for path, content in contents:
        with prefix_error_kind():
            groups.read(path, content)
        yield from _overflow(groups)
    yield _arrow.record_batch(groups.drain())


def sum_files(
    batches: Iterator[pa.RecordBatch], task: str, limits: Limits, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Sums up live files; made for `mapInArrow`, after the join that takes deleted files away.

    Args: schema, of the rows, before they got the types of Spark; the others and Returns as `sum_manifests`.
    """
    groups = _native.Grouping(task, limits)
    for batch in batches:
        with prefix_error_kind():
            groups.add(cast_batch(batch, schema))
        yield from _overflow(groups)
    yield _arrow.record_batch(groups.drain())


def merge_sums(
    batches: Iterator[pa.RecordBatch], task: str, limits: Limits, vectors: bytes
) -> Iterator[pa.RecordBatch]:
    """Brings the sums of whole partitions together; made for `mapInArrow`.

    Args: batches, what `sum_manifests` gave; vectors, Paimon's deletion vectors by partition and bucket, as
        an Arrow IPC stream; the others as `sum_manifests`.
    Returns: the rows of the view, of `health` one row for all of these partitions.
    """
    groups = _native.Grouping(task, limits)
    sums = sums_schema(groups)
    for batch in batches:
        with prefix_error_kind():
            groups.merge(cast_batch(batch, sums))
    with prefix_error_kind():
        _know(groups, "vectors", vectors)
        rows = _arrow.record_batch(groups.rows())
    rows = cast_batch(rows, to_spark(rows.schema))
    for start in range(0, rows.num_rows, MAX_GROUPS):
        yield rows.slice(start, MAX_GROUPS)


def finish_health(batches: Iterator[pa.RecordBatch], task: str) -> Iterator[pa.RecordBatch]:
    """The row of `health`; made for `mapInArrow` over one partition of what `merge_sums` gave."""
    parts = pa.Table.from_batches(list(batches))
    with prefix_error_kind():
        row = _arrow.record_batch(_native.health_row(task, parts))
    yield cast_batch(row, to_spark(row.schema))


def sums_schema(groups: _native.Grouping) -> pa.Schema:
    """The columns of sums, of a grouping that has no groups."""
    return _arrow.record_batch(groups.drain()).schema


def _overflow(groups: _native.Grouping) -> Iterator[pa.RecordBatch]:
    if len(groups) >= MAX_GROUPS:
        yield _arrow.record_batch(groups.drain())


def _know(groups: _native.Grouping, what: str, rows: bytes) -> None:
    for batch in ipc_batches(rows):
        groups.know(what, batch)
