"""What executors run of scans whose entries come together elsewhere, run here, in several parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed import LIMITS
from lakebed.spark.exchange import map_gathered, map_parts, map_pieces, sent
from spark_rows import sorted_rows

if TYPE_CHECKING:
    from lakebed.view import ViewScan


def contents(scan: ViewScan) -> Iterator[tuple[str, pa.Array]]:
    """The manifests as executors get them, in another order than that of the lists."""
    paths = {manifest["path"] for side in scan.exchange().sides for manifest in side}
    for path in sorted(paths):
        # Where tests say that it is of a bucket, it lies on the disk all the same.
        yield f"file:{path}", pa.array([Path(path.removeprefix("s3://one")).read_bytes()])


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
        order = [("part", "ascending"), ("side", "ascending")]
        dealt = pa.Table.from_batches(pieces).sort_by(order).to_batches() if pieces else []
        rows = list(map_parts(iter(dealt), exchange.task, LIMITS, known))
    return sorted_rows(pa.Table.from_batches(rows)) if rows else []
