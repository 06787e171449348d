"""What executors run of a view's job, run here, in several parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import lakebed
from lakebed import LIMITS, _native
from lakebed._arguments import UnwrapKey
from lakebed.spark.frames import newest_again
from lakebed.spark.mappers import JobMap, Reducer, rows_of
from lakebed.storage import Storage
from lakebed.view import Bounds, ViewScan
from spark_rows import sorted_rows


def contents(planned: _native.JobPlan) -> Iterator[tuple[str, pa.Array]]:
    """The manifests as executors get them, in another order than that of the lists."""
    for path in sorted(manifest["path"] for manifest in planned.manifests):
        # Where tests say that it is of a bucket, it lies on the disk all the same.
        yield f"file:{path}", pa.array([Path(path.removeprefix("s3://one")).read_bytes()])


def together(pieces: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pieces as Spark brings them together, in one task."""
    order = [("part", "ascending"), ("side", "ascending")]
    return iter(pa.Table.from_batches(pieces).sort_by(order).to_batches() if pieces else [])


def planned(scan: ViewScan, keys: UnwrapKey | None = None, **bounds: Any) -> _native.JobPlan:
    """The job of a scan; what planning asks is answered."""
    job = scan.job(Bounds(**bounds))
    if job is not None and job.is_question:
        asked = JobMap(job.to_bytes(), LIMITS, keys=keys)
        schema = pa.schema(job.schema)
        answer = pa.Table.from_batches(list(asked.of_contents(contents(job))), schema)
        job = scan.job(Bounds(answer=answer, **bounds))
    assert job is not None
    return job


def mapped(
    job: _native.JobPlan, storage: Storage | None = None, keys: UnwrapKey | None = None
) -> list[pa.RecordBatch]:
    """What the map makes, each manifest in a task of its own."""
    mapping = JobMap(job.to_bytes(), LIMITS, keys=keys)
    if job.reads_manifests:
        paths = [manifest["path"] for manifest in reversed(job.manifests)]
        return [batch for path in paths for batch in mapping.of_paths([path], storage, 1)]
    return [batch for one in contents(job) for batch in mapping.of_contents(iter([one]))]


def rows(
    job: _native.JobPlan,
    scan: ViewScan | None = None,
    storage: Storage | None = None,
    table: lakebed.Table | None = None,
    *,
    listed: bool = False,
    keys: UnwrapKey | None = None,
) -> list[pa.RecordBatch]:
    """The rows of a job. Args: scan, its view; table, that of its look; listed, whether files are."""
    batches, made = mapped(job, storage, keys), dict(job.made())
    again = _again(scan, table) if job.looks_again else None
    mapping = JobMap(job.to_bytes(), LIMITS, keys=keys)
    for stage in range(1, len(job.shuffles) + 1):
        batches += map(pa.record_batch, made.get(stage, []))
        if stage == 1 and listed and scan is not None:
            batches += rows_of(mapping.opened().listed(scan.core))
        is_last = stage == len(job.shuffles)
        reducer = Reducer(mapping, stage, storage, again if is_last else None)
        batches = list(reducer(together(batches)))
    return [*batches, *map(pa.record_batch, made.get(len(job.shuffles) + 1, []))]


def _again(scan: ViewScan | None, table: lakebed.Table | None) -> Any:
    """What opens the table that rows are compared with: the one of the scan, unless it is given."""
    if table is not None:
        return newest_again(table)
    assert scan is not None
    return lambda: SimpleNamespace(core=scan._table, opening=SimpleNamespace(newest=lambda _: None))


def exchanged(
    scan: ViewScan,
    parts: int = 5,
    *,
    table: lakebed.Table | None = None,
    listed: bool = False,
    keys: UnwrapKey | None = None,
    **bounds: Any,
) -> list[str]:
    """The rows of a scan whose entries come together in so many parts where they have to, `listed` too."""
    job = planned(scan, keys, parts=parts, **bounds)
    found = rows(job, scan, table=table, listed=listed, keys=keys)
    return sorted_rows(pa.Table.from_batches(found)) if found else []


def verified(table: lakebed.Table, data_files: bool = False, parts: int = 3, **selection: Any) -> list[str]:
    """What executors find wrong with a table, each in a task of one manifest."""
    scan = table.verify(data_files=data_files, **selection)
    found = rows(planned(scan, parts=parts), storage=table.opening.storage)
    return sorted_rows(pa.Table.from_batches(found)) if found else []
