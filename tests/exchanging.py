"""What executors run of scans whose entries come together elsewhere, run here, in several parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed import LIMITS
from lakebed.spark.exchange import map_gathered, map_parts, map_pieces, sent
from lakebed.spark.reading import Reading
from lakebed.spark.types import cast_batch, to_spark
from lakebed.spark.verifying import ManifestChecker, map_last
from spark_rows import sorted_rows

if TYPE_CHECKING:
    import lakebed
    from lakebed.view import ViewScan


def contents(scan: ViewScan) -> Iterator[tuple[str, pa.Array]]:
    """The manifests as executors get them, in another order than that of the lists."""
    paths = {manifest["path"] for side in scan.exchange().sides for manifest in side}
    for path in sorted(paths):
        # Where tests say that it is of a bucket, it lies on the disk all the same.
        yield f"file:{path}", pa.array([Path(path.removeprefix("s3://one")).read_bytes()])


def together(pieces: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pieces as Spark brings them together, in one task."""
    order = [("part", "ascending"), ("side", "ascending")]
    return iter(pa.Table.from_batches(pieces).sort_by(order).to_batches() if pieces else [])


def exchanged(
    scan: ViewScan, known: bytes = b"", parts: int = 5, ids: Sequence[int] = (), *, listed: bool = False
) -> list[str]:
    """The rows of a scan whose entries come together in so many parts where they have to, `listed` too."""
    exchange = scan.exchange(ids)
    if not exchange.together:
        rows = list(map_gathered(contents(scan), exchange.task, LIMITS, known))
    else:
        pieces = list(map_pieces(contents(scan), exchange.task, LIMITS, parts))
        if listed:
            pieces += sent(scan.listed(parts), parts)
        rows = list(map_parts(together(pieces), exchange.task, LIMITS, known))
    return sorted_rows(pa.Table.from_batches(rows)) if rows else []


def verified(table: lakebed.Table, data_files: bool = False, parts: int = 3, **selection: Any) -> list[str]:
    """What executors find wrong with a table, each in a task of one manifest."""
    scan = table.verify(data_files=data_files, **selection)
    exchange, reading = scan.exchange(), Reading.of(table, LIMITS, None, "executors")
    tasks = [[manifest["path"]] for manifest in reversed(exchange.sides[0])]
    reader = ManifestChecker(tasks, exchange.task, LIMITS, reading.storage, reading.reads, parts)
    pieces = list(reader(iter([pa.record_batch({"id": list(range(len(tasks)))})])))
    pieces += sent(scan.listed(parts), parts)
    found = [cast_batch(rows, to_spark(rows.schema)) for rows in exchange.made]
    found += map_parts(together(pieces), exchange.task, LIMITS, b"", reading.storage)
    rows = list(map_last(iter(found), exchange.task, LIMITS))
    return sorted_rows(pa.Table.from_batches(rows)) if rows else []
