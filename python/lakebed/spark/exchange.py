"""Rows that entries of several manifests make together.

Executors decode manifests to the core's own columns, distribute the entries to parts that are independent of
each other, and send them as Arrow IPC streams; Spark brings the pieces of one part together, side by side;
the core makes rows of it, with the code that makes them in one process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakebed import _arrow, _native
from lakebed.spark.binary_files import at_once
from lakebed.spark.ipc import ipc_batches, ipc_stream
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import gathered_batches, prefix_error_kind
from lakebed.spark.types import cast_batch, spark_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.limits import Limits
    from lakebed.spark.mappers import ManifestContents
    from lakebed.spark.reading import Reading
    from lakebed.storage import Storage
    from lakebed.view import Exchange, Manifest

BYTES_PER_TASK = 16 << 20
"""Bytes of manifests whose entries one task brings together."""
PARTS_PER_TASK = 4
"""Parts are spread over tasks by their hash: of several, a task has about as many as any other."""
PIECE_BYTES = 16 << 20
"""Bytes of entries that a task holds back, to send those of one part in one piece."""

PIECES = pa.schema([("part", pa.int32()), ("side", pa.int32()), ("rows", pa.binary())])
"""What crosses an exchange: a part, a side, and entries of both as an Arrow IPC stream."""


def exchanged(
    spark: SparkSession,
    schema: pa.Schema,
    exchange: Exchange,
    reading: Reading,
    known: bytes = b"",
    beside: Callable[[int], DataFrame] | None = None,
) -> DataFrame:
    """The rows of a scan, whose entries come together part by part.

    Args: schema, that of the rows; known, as in `gathered`, for every part; beside, what makes pieces for so
        many parts of something else than manifests.
    Raises: MissingFileError for a manifest that is not there; other errors when the DataFrame is computed.
    Cost: each manifest is read once; its entries, as far as rows are made of them, cross one exchange.
    """
    manifests = {manifest["path"]: manifest for side in exchange.sides for manifest in side}
    if not manifests and beside is None:
        return spark.createDataFrame([], spark_schema(schema))
    size = sum(manifest["size"] for manifest in manifests.values())
    # Of what is beside nobody knows how much it is.
    least = 1 if beside is None else at_once(spark)
    tasks = max(least, math.ceil(size / BYTES_PER_TASK))
    parts = tasks * PARTS_PER_TASK
    partition = partial(map_pieces, task=exchange.task, limits=reading.limits, parts=parts)
    read = list(manifests.values())
    pieces = reading.frame(spark, read, partition, spark_schema(PIECES), divided=False)
    if beside is not None:
        pieces = pieces.union(beside(parts))
    return shuffled(schema, pieces, exchange.task, reading.limits, tasks, known=known)


def shuffled(
    schema: pa.Schema,
    pieces: DataFrame,
    task: str,
    limits: Limits,
    tasks: int,
    *,
    known: bytes = b"",
    storage: Storage | None = None,
) -> DataFrame:
    """The rows of entries that were distributed to parts, which come together in so many tasks.

    Args: schema, known, as in `exchanged`; storage, what reads other files that rows are made of.
    """
    together = pieces.repartition(tasks, "part").sortWithinPartitions("part", "side")
    making = partial(map_parts, task=task, limits=limits, known=known, storage=storage)
    return map_in_arrow(together, making, spark_schema(schema))


def gathered(
    spark: SparkSession,
    schema: pa.Schema,
    exchange: Exchange,
    manifests: Sequence[Manifest],
    reading: Reading,
    known: bytes = b"",
) -> DataFrame:
    """The rows of a scan, whose manifests are gathered one by one.

    Args: manifests, those that executors read; known, all entries of side 0 as an Arrow IPC stream.
    Raises: as `exchanged`.
    """
    gathering = partial(map_gathered, task=exchange.task, limits=reading.limits, known=known)
    return reading.frame(spark, manifests, gathering, spark_schema(schema), divided=False)


def map_pieces(contents: ManifestContents, task: str, limits: Limits, parts: int) -> Iterator[pa.RecordBatch]:
    """Deals the entries of manifests out to parts.

    Args: contents, as in `decode_manifests`, of whole manifests; task, parts, as in `exchanged`.
    Returns: `part` int32, `side` int32, `rows` binary: an Arrow IPC stream of entries.
    Raises: as `decode_manifests`.
    Cost: memory is one manifest and 2 × `PIECE_BYTES`.
    """
    yield from sent(_entries(contents, _native.Exchange(task, limits), parts), parts)


def sent(entries: Iterator[tuple[int, pa.RecordBatch]], parts: int) -> Iterator[pa.RecordBatch]:
    """Entries by side, whose last column is their part, as pieces; Returns and Cost as `map_pieces`."""
    waiting: dict[int, list[pa.RecordBatch]] = {}
    size = 0
    for side, rows in entries:
        waiting.setdefault(side, []).append(rows)
        size += rows.nbytes
        if size >= PIECE_BYTES:
            yield from _sent(waiting, parts)
            size = 0
    yield from _sent(waiting, parts)


def map_parts(
    batches: Iterator[pa.RecordBatch], task: str, limits: Limits, known: bytes, storage: Storage | None = None
) -> Iterator[pa.RecordBatch]:
    """Makes the rows of parts; made for `mapInArrow`.

    Args: batches, what `map_pieces` gave, sorted by part and side; all of a part is here. The others as in
        `exchanged`.
    Returns: batches of the scan's schema in the types of Spark.
    Cost: memory is what the rows of a part must know of each other.
    """
    yield from gathered_batches(_parts(batches, _native.Exchange(task, limits), known, storage))


def _parts(
    batches: Iterator[pa.RecordBatch], exchange: _native.Exchange, known: bytes, storage: Storage | None
) -> Iterator[pa.RecordBatch]:
    making, current = exchange.gather(storage), None
    schema = to_spark(_arrow.schema(exchange.schema))
    for batch in batches:
        parts, sides, pieces = batch.columns
        for part, side, piece in zip(parts.to_pylist(), sides.to_pylist(), pieces, strict=True):
            if part != current:
                yield from _finished(making, schema)
                making, current = exchange.gather(storage), part
                yield from _known_rows(making, known, schema)
            for entries in ipc_batches(piece.as_buffer()):
                yield from _pushed(making, side, entries, schema)
    yield from _finished(making, schema)


def map_gathered(
    contents: ManifestContents, task: str, limits: Limits, known: bytes
) -> Iterator[pa.RecordBatch]:
    """Makes rows of manifests one by one. Args: as in `map_pieces` and `gathered`."""
    yield from gathered_batches(_gathered(contents, _native.Exchange(task, limits), known))


def _gathered(
    contents: ManifestContents, exchange: _native.Exchange, known: bytes
) -> Iterator[pa.RecordBatch]:
    making = exchange.gather()
    schema = to_spark(_arrow.schema(exchange.schema))
    yield from _known_rows(making, known, schema)
    for side, entries in _entries(contents, exchange, parts=1):
        yield from _pushed(making, side, entries.select(entries.schema.names[:-1]), schema)
    yield from _finished(making, schema)


def _entries(
    contents: ManifestContents, exchange: _native.Exchange, parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The entries of manifests by side; their last column is the part."""
    with prefix_error_kind():
        partitioner = exchange.partitioner(parts)
    for path, content in contents:
        with prefix_error_kind():
            yield from pieces_of(partitioner.pieces(path, content))


def pieces_of(pieces: _native.PieceStream) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The entries of a stream by side."""
    while (piece := pieces.next_piece()) is not None:
        yield piece[0], _arrow.record_batch(piece[1])


def _sent(waiting: dict[int, list[pa.RecordBatch]], parts: int) -> Iterator[pa.RecordBatch]:
    """Entries as pieces, a row each, in batches of bounded bytes; nothing waits any more."""
    pieces, size = [], 0
    for side, batches in waiting.items():
        for part, rows in _by_part(pa.Table.from_batches(batches).combine_chunks()):
            piece = ipc_stream(rows.to_batches())
            for number in range(parts) if part is None else (part,):
                pieces.append((number, side, piece))
                size += len(piece)
                if size >= PIECE_BYTES:
                    yield _batch(pieces)
                    pieces, size = [], 0
    waiting.clear()
    if pieces:
        yield _batch(pieces)


def _by_part(entries: pa.Table) -> Iterator[tuple[int | None, pa.Table]]:
    numbers = entries.column(entries.num_columns - 1)
    # Nulls come last.
    order = pc.sort_indices(numbers)
    rows = entries.select(range(entries.num_columns - 1)).take(order)
    counts = {count["values"]: count["counts"] for count in numbers.value_counts().to_pylist()}
    start = 0
    for part in sorted(counts, key=lambda part: (part is None, part)):
        yield part, rows.slice(start, counts[part])
        start += counts[part]


def _batch(pieces: list[tuple[int, int, bytes]]) -> pa.RecordBatch:
    columns = zip(*pieces, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PIECES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PIECES)


def _pushed(
    making: _native.PartRows, side: int, entries: pa.RecordBatch, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    with prefix_error_kind():
        for rows in _arrow.batches(making.push(side, entries)):
            yield cast_batch(rows, schema)


def _known_rows(making: _native.PartRows, known: bytes, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """What can be made of the entries that came with the function: those of side 0."""
    for entries in ipc_batches(known):
        yield from _pushed(making, 0, entries, schema)


def _finished(making: _native.PartRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with prefix_error_kind():
        for rows in _arrow.batches(making.finish()):
            yield cast_batch(rows, schema)
