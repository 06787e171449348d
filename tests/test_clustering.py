"""Manifests by partition: how many a plan reads, and manifests that are rewritten by other columns or in
part."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from covering import each_covering_iceberg_table, each_layout_of_golden_paimon_tables
from file_rows import file_rows
from test_jobs import rows

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from lakebed import Table
from lakebed.errors import PredicateError, SchemaError
from shared_data import SAMPLE_TABLE, GoldenTable

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

NOW = ("average_partition_manifest_count", "max_partition_manifest_count")
AFTER = (
    "rewritten_manifest_count",
    "average_rewritten_partition_manifest_count",
    "max_rewritten_partition_manifest_count",
)


def clustering(table: Table) -> list[Any]:
    (row,) = rows(table.health())
    return [row[name] for name in (*NOW, *AFTER)]


def made(folder: Path, version: int = 2) -> Table:
    """Three manifests with the days 1 to 3 of two regions each, then one of day 9 alone."""
    schema = pa.schema([("id", pa.int64()), ("region", pa.utf8()), ("day", pa.int32())])
    table = lakebed.create_table(
        folder, schema, "iceberg", partition_by=["region", "day"], format_version=version
    )
    for commit in range(4):
        days = [1, 2, 3] if commit < 3 else [9]
        tuples = [{"region": region, "day": day} for day in days for region in ("b", "a")]
        paths = [f"data/{commit}-{row['region']}-{row['day']}.parquet" for row in tuples]
        partitions = pa.array(tuples, pa.struct([("region", pa.utf8()), ("day", pa.int32())]))
        files = file_rows(*paths, record_count=10 + commit, file_size_in_bytes=100, partition=partitions)
        table = table.append_files(files)
    return table


def manifests_read(table: Table, where: str) -> int:
    """How many manifests a plan reads."""
    steps = [step for step in table.files(where=where).explain().steps if step.step == "manifests"]
    return int(steps[-1].kept or 0)


def test_health_says_how_many_manifests_a_partition_reads(tmp_path: Path):
    table = made(tmp_path / "t")
    partitions = rows(table.partitions(columns=["partition"]))
    read = [
        manifests_read(table, "region = '{region}' AND day = {day}".format(**row["partition"]))
        for row in partitions
    ]
    assert sorted(read) == [1, 1, 3, 3, 3, 3, 3, 3]
    average, most, *after = clustering(table)
    assert (average, most) == (sum(read) / len(read), max(read))
    assert after == [1, 1.0, 1]
    assert clustering(table.rewrite_manifests()) == [1.0, 1, 1, 1.0, 1]


@each_covering_iceberg_table("format", "one ", "no ", "several")
def test_every_partition_reads_what_bounds_leave(table: GoldenIcebergTable):
    opened = table.open()
    average, most, count, *_ = clustering(opened)
    manifests = [row for row in rows(opened.manifests()) if row["content"] == 0]
    assert most is None or 0 <= most <= len(manifests)
    assert average is None or 0 <= average <= most
    assert (count is None) == (rows(opened.health())[0]["file_count"] == 0)


@each_layout_of_golden_paimon_tables()
def test_of_paimon_too(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    average, most, *_ = clustering(opened)
    manifests = rows(opened.manifests())
    partitions = [row["partition"] or {} for row in rows(opened.partitions(columns=["partition"]))]

    def has(row: dict[str, Any], partition: dict[str, Any]) -> bool:
        lower, upper = row["partition_lower"] or {}, row["partition_upper"] or {}
        return all(
            lower.get(name) is None or lower[name] <= value <= upper[name]
            for name, value in partition.items()
        )

    whole = [one for one in partitions if None not in one.values()]
    read = [sum(has(row, partition) for row in manifests) for partition in whole]
    assert most == max(read, default=None)
    assert average == (sum(read) / len(read) if read else None)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_manifests_are_rewritten_in_part_and_by_other_columns(tmp_path: Path, version: int):
    table = made(tmp_path / "t", version)
    before = entries(table)
    old = {row["path"] for row in rows(table.manifests())}
    day_9 = next(row["path"] for row in rows(table.manifests(where="day = 9")))
    table = table.rewrite_manifests(where="day < 9", by=["day"])
    new = {row["path"] for row in rows(table.manifests())}
    assert new & old == {day_9}
    assert len(new) == 2
    assert entries(table) == before
    days = [row["partition"]["day"] for row in rows(table.entries(where="day < 9"))]
    assert days == sorted(days)
    table = table.rewrite_manifests(by=["record_count", "file_path"])
    found = [(row["record_count"], row["file_path"]) for row in rows(table.entries())]
    assert found == sorted(found)
    assert entries(table) == before
    assert table.rewrite_manifests(where="day = 77").snapshot_id == table.snapshot_id


def entries(table: Table) -> dict[str, Any]:
    """What of entries stays, by path; as text, since a NaN is not equal to itself."""
    kept = (
        "snapshot_id",
        "sequence_number",
        "file_sequence_number",
        "first_row_id",
        "record_count",
        "partition",
    )
    return {
        row["file_path"]: [repr(row[name]) for name in kept]
        for row in rows(table.entries())
        if row["status"] != 2
    }


def order(table: Table) -> list[list[dict[str, Any]]]:
    """Manifests and entries in their order, without what each commit has of its own."""
    own = {"path", "length", "sequence_number", "added_snapshot_id", "manifest"}
    manifests, found = rows(table.manifests()), rows(table.entries())
    # Of a manifest it is where the commit before has ended.
    of_manifests = [{name: one for name, one in row.items() if name != "first_row_id"} for row in manifests]
    kinds = (of_manifests, found)
    return [[{name: one for name, one in row.items() if name not in own} for row in kind] for kind in kinds]


@pytest.mark.parametrize("by", [None, ["day"], ["record_count", "file_path"]])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_little_memory_makes_the_same_manifests(tmp_path: Path, version: int, by: list[str] | None):
    table = made(tmp_path / "t", version)
    branches = [table.create_branch(name) for name in ("much", "little")]
    # Each manifest is a run of its own on disk, each entry a piece of it.
    much, little = (
        branch.rewrite_manifests(by=by, target_bytes=9_000, memory_bytes=memory_bytes)
        for branch, memory_bytes in zip(branches, (256 << 20, 1), strict=True)
    )
    assert entries(little) == entries(table)
    assert order(little) == order(much)
    assert len(rows(much.manifests())) > 1


def test_little_memory_makes_the_same_manifests_of_paimon(tmp_path: Path):
    copies = [Path(shutil.copytree(SAMPLE_TABLE, tmp_path / name)) for name in ("much", "little")]
    much, little = (
        lakebed.open_table(copy).rewrite_manifests(sort=True, memory_bytes=memory_bytes)
        for copy, memory_bytes in zip(copies, (256 << 20, 1), strict=True)
    )
    own = {"path", "file_name"}
    found = [
        [{name: one for name, one in row.items() if name not in own} for row in rows(table.manifests())]
        for table in (much, little)
    ]
    assert found[0] == found[1]
    files = [
        [row["file_path"].rpartition("/")[2] for row in rows(table.files())]
        for table in (much, little, lakebed.open_table(SAMPLE_TABLE))
    ]
    assert files[0] == files[1]
    assert sorted(files[0]) == sorted(files[2])


@pytest.mark.parametrize("memory_bytes", [1, 256 << 20])
def test_entries_are_sorted_across_manifests_that_overlap_and_that_do_not(tmp_path: Path, memory_bytes: int):
    schema = pa.schema([("p", pa.int32()), ("q", pa.string()), ("id", pa.int64())])
    properties = {"manifest.merge-min-count": "1000", "bucket": "3", "bucket-key": "id"}
    table = lakebed.create_table(
        tmp_path / "t", schema, "paimon", partition_by=["p", "q"], properties=properties
    )
    random = Random(5)
    for number, low in enumerate([30, 0, 10, 3, 33, 20, 20, 50, 11, 40]):
        lowest = [None, low] if number == 2 else [low]
        places = [
            (random.choice([*lowest, low + 1, low + 2]), random.choice("ab"), random.randrange(3))
            for _ in range(12)
        ]
        folders = [
            f"p={'__DEFAULT_PARTITION__' if p is None else p}/q={q}/bucket-{bucket}"
            for p, q, bucket in places
        ]
        partitions = [{"p": p, "q": q} for p, q, _ in places]
        columns = {
            "file_path": [f"{folder}/{number}-{place}.parquet" for place, folder in enumerate(folders)],
            "record_count": [1] * 12,
            "file_size_in_bytes": [1] * 12,
            "partition": pa.array(partitions, pa.struct([schema.field("p"), schema.field("q")])),
            "bucket": pa.array([bucket for *_, bucket in places], pa.int32()),
        }
        table = table.append_files(pa.table(columns))
    paths = table.files().to_arrow()["file_path"].to_pylist()
    table = table.delete_files(random.sample(paths, 20))

    def files(table: Table) -> list[tuple[Any, ...]]:
        found = rows(table.files(columns=["partition", "bucket", "file_path"]))
        return [
            (row["partition"]["p"], row["partition"]["q"], row["bucket"], row["file_path"]) for row in found
        ]

    # Nulls first; files of a bucket stay in their order.
    in_order = sorted(files(table), key=lambda file: (file[0] is not None, *file[:3]))
    after = table.rewrite_manifests(sort=True, target_bytes=1, memory_bytes=memory_bytes)
    assert files(after) == in_order
    assert len(in_order) == 100


@each_covering_iceberg_table("format", "status", "several")
def test_row_ids_of_golden_tables_stay(table: GoldenIcebergTable, tmp_path: Path):
    if table.info["metadata_file"].split("/")[-1][0] != "v":
        pytest.skip("a table of a catalog's")
    location = table.info["location"]
    copy = Path(shutil.copytree(table.path, tmp_path / "copy", ignore=shutil.ignore_patterns("expected")))
    new = tmp_path / "t"
    try:
        opened = lakebed.open_table(copy, relocate={location: str(copy)})
        lakebed.rewrite_paths(opened, {location: str(new)}, to=new)
    except FileNotFoundError:
        pytest.skip("position delete files are not there")
    before = lakebed.open_table(new)
    after = before.rewrite_manifests(by=["file_path"])
    assert entries(after) == entries(before)


def test_what_nothing_sorts_by_is_an_error(tmp_path: Path):
    table = made(tmp_path / "t")
    for error, keywords in (
        (SchemaError, {"by": ["nope"]}),
        (SchemaError, {"by": ["lower_bounds"]}),
        (PredicateError, {"where": "nope = 1"}),
        (TypeError, {"by": "day"}),
        (ValueError, {"memory_bytes": 0}),
    ):
        with pytest.raises(error):
            table.rewrite_manifests(**keywords)
    assert lakebed.open_table(tmp_path / "t").snapshot_id == table.snapshot_id
