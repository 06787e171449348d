"""The work that the profile of a release is taken of: what the wheel is for, on tables that it writes itself.

`.ci/profile.sh` runs it with an extension that counts which branches are taken. Codecs, views and commits
each have their part, decoding and planning the most.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

import goals_tables
import jobs_tables
import pyarrow as pa
import pyarrow.dataset as pads

import lakebed

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
CODECS = ("null", "deflate", "snappy", "zstandard")
SIZES = jobs_tables.Sizes(files=120_000, snapshots=30)
COLUMNS = ["file_path", "file_size_in_bytes", "record_count"]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _decode(folder)
        _views(folder)
        _commits(folder)
        lakebed.open_table(goals_tables.long_metadata(folder, 0.05)).snapshots().to_arrow()
        _fixtures()


def _decode(folder: Path) -> None:
    """Manifests of both formats in each codec: all columns, some, statistics."""
    fields = jobs_tables.fields(12)
    header = {
        "schema": {"type": "struct", "schema-id": 0, "fields": fields},
        "spec": {
            "spec-id": 0,
            "fields": [{"name": "region", "transform": "identity", "source-id": 2, "field-id": 1000}],
        },
    }
    rows = jobs_tables.entries(folder, 1, 20_000, 12, jobs_tables.ADDED, 1)
    for codec in CODECS:
        written = lakebed.iceberg.write_manifest(rows, **header, format_version=2, codec=codec)
        for columns in (None, COLUMNS, ["file_path", "lower_bounds", "upper_bounds"]):
            for _ in range(4 if codec == "deflate" else 1):
                lakebed.iceberg.read_manifest(written, columns=columns, threads=1).to_arrow()


def _views(folder: Path) -> None:
    iceberg = jobs_tables.made(folder, SIZES)
    listing = pads.dataset(jobs_tables.listing(iceberg, SIZES))
    paimon = goals_tables.many_records(folder, 0.002)
    for root in (iceberg, paimon):
        table = lakebed.open_table(root)
        key = "region" if root is iceberg else "p"
        for where in (
            None,
            f"{key} = {'7' if root is paimon else repr('region-007')}",
            "id BETWEEN 5 AND 900",
        ):
            for _ in range(3):
                table.plan(where=where).to_arrow()
            table.files(where=where).to_arrow()
        table.files(stats=["id"]).to_arrow()
        table.entries().to_arrow()
        table.partitions().to_arrow()
        table.health().to_arrow()
        table.reachable().to_arrow()
    table = lakebed.open_table(iceberg)
    table.orphans(datetime.now(timezone.utc), listing=listing).to_arrow()
    table.growth().to_arrow()
    first, last = (
        snapshot
        for snapshot in table.snapshots().to_arrow()["snapshot_id"].to_pylist()[:: SIZES.snapshots - 1]
    )
    table.diff(first, last).to_arrow()


def _commits(folder: Path) -> None:
    root = goals_tables.sorted_by_java(folder, 0.1)
    table = lakebed.open_table(root).rewrite_manifests(sort=True)
    path = "p=0/bucket-0/one-more.parquet"
    partition = pa.array([{"p": 0}], pa.struct([("p", pa.int32())]))
    file = {"file_path": [path], "record_count": [1], "file_size_in_bytes": [1024]}
    rows = pa.table(file | {"partition": partition, "bucket": pa.array([0], pa.int32())})
    table.append_files(rows, check_files=False)


def _fixtures() -> None:
    """Files of many writers, small; of damaged ones the profile has their errors."""
    for path in sorted(DATA.rglob("*.avro")):
        with suppress(lakebed.LakebedError):
            lakebed.avro.read(path).to_arrow()


if __name__ == "__main__":
    main()
