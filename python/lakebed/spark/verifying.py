"""What is wrong with a table, found by executors.

Executors read the manifests, each once, and say what is wrong with each; what entries of several manifests
are wrong about together comes together part by part, as in `exchange`; what the snapshot claims is
compared last. Executors read through the table's storage: of what Spark reads, a missing file ends the
job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakebed import _arrow, _native
from lakebed.spark.binary_files import at_once
from lakebed.spark.exchange import BYTES_PER_TASK, PARTS_PER_TASK, PIECES, pieces_of, sent, shuffled
from lakebed.spark.frames import from_batches
from lakebed.spark.map_in_arrow import map_in_arrow
from lakebed.spark.mappers import gathered_batches, prefix_error_kind
from lakebed.spark.reading import Piece, spread, task_bytes
from lakebed.spark.session import spare_archives, task_numbers
from lakebed.spark.types import cast_batch, spark_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.limits import Limits
    from lakebed.spark.reading import Reading
    from lakebed.storage import Storage
    from lakebed.view import Manifest, ViewScan

_ALL_TOTALS = 4
"""The side of the totals of all parts; the core has the same number."""
_TOTALS = "_totals"
"""The column with the totals of a part, in rows that are not findings."""


def verified(spark: SparkSession, scan: ViewScan, reading: Reading) -> DataFrame:
    """The rows of `Table.verify`.

    Args: reading, how executors read the table.
    Raises: errors of reading what names manifests; others when the DataFrame is computed.
    """
    exchange = scan.exchange()
    manifests = exchange.sides[0]
    size = sum(manifest["size"] for manifest in manifests)
    tasks = max(1, math.ceil(size / BYTES_PER_TASK))
    parts = tasks * PARTS_PER_TASK
    reader = ManifestChecker.of(exchange.task, reading, parts, manifests, at_once(spark))
    pieces = task_numbers(spark, len(reader.tasks)).mapInArrow(reader, spark_schema(PIECES))
    beside = list(sent(scan.listed(parts), parts))
    if beside:
        pieces = pieces.union(from_batches(spark, PIECES, beside))
    schema = _arrow.schema(_native.Exchange(exchange.task, reading.limits).schema)
    found = shuffled(schema, pieces, exchange.task, reading.limits, tasks, storage=reading.storage)
    # Without what the driver found there might be no part, and the last rows would not be made.
    found = found.union(from_batches(spark, schema, exchange.made)).repartition(1)
    last = partial(map_last, task=exchange.task, limits=reading.limits)
    return map_in_arrow(found, last, spark_schema(scan.schema))


@dataclass(frozen=True)
class ManifestChecker:
    """Reads the manifests of a task, and distributes what they have to parts; made for
    `mapInArrow` over the numbers of the tasks.
    """

    tasks: list[list[str]] = field(repr=False)
    task: str = field(repr=False)
    limits: Limits
    storage: Storage | None = field(repr=False)
    reads: int
    parts: int

    @staticmethod
    def of(task: str, reading: Reading, parts: int, manifests: list[Manifest], cores: int) -> ManifestChecker:
        """Of these manifests, in as many tasks as keep the cores busy; one where there are none."""
        whole = [Piece(one["path"], one["size"], 0, one["size"]) for one in manifests]
        share, cores = task_bytes(manifests, cores)
        tasks = [[piece.path for piece in own] for own in spread(whole, share, at_once=cores)] or [[]]
        return ManifestChecker(tasks, task, reading.limits, reading.storage, reading.reads, parts)

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "executors_check_manifests"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the pieces of the tasks whose numbers come."""
        spare_archives()
        exchange = _native.Exchange(self.task, self.limits)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from sent(self._entries(exchange, self.tasks[number]), self.parts)

    def _entries(self, exchange: _native.Exchange, paths: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        with prefix_error_kind():
            yield from pieces_of(exchange.reading(self.storage, self.reads, paths, self.parts))


def map_last(batches: Iterator[pa.RecordBatch], task: str, limits: Limits) -> Iterator[pa.RecordBatch]:
    """Gives the findings of all parts, and then those that only all parts together tell; made for
    `mapInArrow` over everything that was found, in one task.
    """
    yield from gathered_batches(_last(batches, _native.Exchange(task, limits).gather()))


def _last(batches: Iterator[pa.RecordBatch], making: _native.PartRows) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        totals = batch.column(_TOTALS)
        found = batch.filter(pc.is_null(totals))
        if found.num_rows < batch.num_rows:
            rows = pa.RecordBatch.from_arrays([totals.drop_null()], [_TOTALS])
            with prefix_error_kind():
                for _ in _arrow.batches(making.push(_ALL_TOTALS, rows)):
                    raise AssertionError("totals make no rows")
        if found.num_rows:
            yield _findings(found)
    with prefix_error_kind():
        for found in _arrow.batches(making.finish()):
            yield _findings(cast_batch(found, to_spark(found.schema)))


def _findings(found: pa.RecordBatch) -> pa.RecordBatch:
    return found.select(found.schema.names[:-1])
