"""Several writers of one Iceberg table at once, and writers that are killed."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
from iceberg_commits import appends, live, metadata, metadata_names
from trust import long_or
from writers import Writer, killed, race

import lakebed
from lakebed import iceberg

ONE = {
    "file_path": ["data/1.parquet"],
    "record_count": pa.array([1], pa.int64()),
    "file_size_in_bytes": pa.array([1], pa.int64()),
    # The killed writers may have left another spec as the default.
    "spec_id": [0],
}


def test_two_writers_lose_nothing(tmp_path: Path):
    lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    commits = long_or(10, 50)
    race(*(Writer(appends, str(tmp_path / "t"), name, commits) for name in "ab"), commits=commits)
    table = lakebed.open_table(tmp_path / "t")
    assert len(metadata(table)["snapshots"]) == 2 * commits
    assert live(table) == sorted(
        f"data/{name}-{number}.parquet" for name in "ab" for number in range(commits)
    )
    numbers = [row["sequence-number"] for row in metadata(table)["snapshots"]]
    assert numbers == list(range(1, 2 * commits + 1))
    ids = [row["snapshot-id"] for row in metadata(table)["snapshots"]]
    assert [row.get("parent-snapshot-id") for row in metadata(table)["snapshots"]] == [None, *ids[:-1]]
    used = {path.rpartition("/")[2] for path in named_files(table)}
    assert {name for name in metadata_names(table) if name.endswith(".avro")} == used


def named_files(table: lakebed.Table) -> list[str]:
    """Manifest lists and manifests of every snapshot."""
    lists = [row["manifest-list"] for row in metadata(table)["snapshots"]]
    manifests = [row for path in lists for row in iceberg.read_manifest_list(path).to_arrow().to_pylist()]
    return lists + [row["manifest_path"] for row in manifests]


def test_a_killed_writer_breaks_no_table(tmp_path: Path):
    """A writer of commits of all kinds is killed, many times; after each the table opens, and holds what
    was reported.
    """
    moments = random.Random(7)
    path = tmp_path / "t"
    lakebed.create_table(path, pa.schema([("id", pa.int64())]), "iceberg")
    committed: set[str] = set()
    for time_ in range(long_or(6, 200)):
        reported = killed(Writer(appends, str(path), f"w{time_}", 10_000, True), moments, 0.15)
        committed |= {f"data/w{time_}-{number}.parquet" for number in range(reported)}
        table = lakebed.open_table(path)
        found = set(live(table))
        # One more may have been committed than was reported.
        assert committed <= found <= committed | {f"data/w{time_}-{reported}.parquet"}
        committed = found
    table = lakebed.open_table(path).append_files(pa.table(ONE))
    assert set(live(table)) == committed | {"data/1.parquet"}
    leftovers = {name for name in metadata_names(table) if name.endswith(".lakebed-tmp")}
    assert all(name.startswith(".") for name in leftovers)
