"""Golden tables of version 4 whose Parquet manifests have many row groups, and ranges of them."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from fastavro.schema import parse_schema

import lakebed
from iceberg_golden import GoldenTable
from lakebed.spark.inputs import Reading, contents
from lakebed.spark.mappers import JobMap
from lakebed.view import Bounds, ViewScan

if TYPE_CHECKING:
    from lakebed.storage import Storage


def regrouped(table: GoldenTable, to: Path, rows: int) -> lakebed.Table:
    """A copy of a golden table whose Parquet manifests have so many rows a group, as their lists record."""
    shutil.copytree(table.path, to, ignore=shutil.ignore_patterns("expected"))
    for path in (to / "metadata").glob("*.parquet"):
        path.chmod(0o644)
        regroup(path, rows)
    record_lengths(table, to)
    moved = {written: str(to) for written in table.relocate}
    return lakebed.open_table(to / table.info["metadata_file"], relocate=moved)


def record_lengths(table: GoldenTable, copy: Path) -> None:
    """Has the lists of a copy of a golden table record the lengths that its manifests have now."""
    for path in (copy / "metadata").glob("snap-*.avro"):
        path.chmod(0o644)
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            records: list[Any] = list(reader)
        for record in records:
            _, behind, name = record["manifest_path"].partition(f"/{table.name}/")
            record["manifest_length"] = (copy / (name if behind else record["manifest_path"])).stat().st_size
        own = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        sink = io.BytesIO()
        assert reader.writer_schema is not None
        fastavro.writer(sink, parse_schema(reader.writer_schema), records, metadata=own)
        path.write_bytes(sink.getvalue())


def regroup(path: Path, rows: int) -> None:
    """Writes a Parquet file again, with so many rows a group; field ids and keys of the footer stay."""
    pq.write_table(pq.read_table(path), path, row_group_size=rows, store_schema=False, compression="gzip")


def in_ranges(
    scan: ViewScan, step: int, storage: Storage | None = None, *, are_recorded: bool = True
) -> tuple[pa.Table, list[tuple[str, int]]]:
    """The rows of a scan of entries, each range of so many bytes mapped for itself, the last first; and how
    many rows each range had, with the path of its manifest.

    Args: are_recorded, whether lists record the lengths of manifests; else those of the files are taken.
    """
    job = scan.job(Bounds())
    assert job is not None
    assert not job.is_question
    planned = job.manifests
    if not are_recorded:
        planned = [{**one, "size": Path(one["path"]).stat().st_size} for one in planned]
    pieces = Reading(lakebed.LIMITS, storage=storage).pieces(planned, step)
    mapping = JobMap(job.to_bytes(), lakebed.LIMITS)
    found: list[pa.RecordBatch] = []
    counts = []
    for piece in reversed(pieces):
        own = list(mapping.of_contents(contents([piece], storage, lakebed.LIMITS)))
        found += own
        if piece.header is not None:
            counts.append((piece.path, sum(batch.num_rows for batch in own)))
    return pa.Table.from_batches(found, pa.schema(job.schema)), counts


def manifests(scan: ViewScan) -> Iterator[Path]:
    """The Parquet manifests of a scan that have several row groups."""
    for manifest in scan.planned_manifests():
        path = Path(manifest["path"])
        if path.suffix == ".parquet" and pq.read_metadata(path).num_row_groups > 1:
            yield path
