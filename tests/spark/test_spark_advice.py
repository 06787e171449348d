"""Advice is typed as it is printed, into the formats' own runtimes for Spark: the problem is gone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from advised import advice
from spark_lake import MERGE_ON_READ, NUMBERS, Lake, add_equality_deletes, lake

import lakebed

pytest.importorskip("pyspark")
catalog_tables = pytest.importorskip("catalog_tables")

if TYPE_CHECKING:
    from spark_runtimes import SparkRuntimes

__all__ = ["lake"]

pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]


@pytest.mark.parametrize("deletes", [False, True])
def test_small_files(lake: Lake, deletes: bool) -> None:
    name = lake.make("'format-version'='2'", MERGE_ON_READ)
    for number in range(3):
        lake.append(name, 30 * number)
    if deletes:
        lake.sql(f"DELETE FROM lake.shop.{name} WHERE id = 3")
    lake.follow("small_file_count", name)
    # Nor does what is advised make another problem.
    assert lake.advice(name) == {}
    assert lake.at(name).deletes().to_arrow().num_rows == 0


def test_what_the_table_itself_writes_is_not_small(lake: Lake) -> None:
    name = lake.make("'write.target-file-size-bytes'='1200'")
    for number in range(3):
        lake.append(name, 3000 * number, 3000)
    assert "small_file_count" not in lake.advice(name)
    # Who asks for larger files is told how they are written.
    lake.follow("small_file_count", name, "small_bytes=20kB", "small_files=1")


def test_a_partition_of_many_small_files(lake: Lake) -> None:
    name = lake.make()
    for number in range(3):
        lake.append(name, 30 * number, partition="0")
    lake.append(name, 90, 1, partition="1")
    lake.follow("max_partition_file_count", name, "uneven=1.2", "uneven_files=2")


@pytest.mark.parametrize(("version", "granularity"), [(2, "file"), (2, "partition"), (3, "file")])
def test_deleted_rows(lake: Lake, version: int, granularity: str) -> None:
    properties = (f"'format-version'='{version}'", f"'write.delete.granularity'='{granularity}'")
    name = lake.make(*properties, MERGE_ON_READ)
    lake.append(name, rows=300)
    for number in range(2):
        lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % 10 = {number}")
    assert lake.rows(name) == 240
    lake.follow("deleted_record_ratio", name)
    assert lake.rows(name) == 240


def test_deletes_that_outlive_their_files(lake: Lake) -> None:
    name = lake.make("'format-version'='2'", MERGE_ON_READ)
    lake.append(name, rows=300)
    lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % 10 = 0")
    lake.sql(
        f"CALL lake.system.rewrite_data_files(table => 'shop.{name}', options => map('rewrite-all','true'))"
    )
    lake.follow("dangling_delete_file_count", name)
    assert lake.at(name).deletes().to_arrow().num_rows == 0


@pytest.mark.parametrize("partitioned", [True, False])
def test_equality_deletes_that_outlive_their_files(lake: Lake, partitioned: bool) -> None:
    name = lake.make("'format-version'='2'", partitioned=partitioned)
    lake.append(name, rows=300)
    for number in range(2):
        add_equality_deletes(lake.at(name), [3 * number], 0 if partitioned else None)
    lake.sql(
        f"CALL lake.system.rewrite_data_files(table => 'shop.{name}', options => map('rewrite-all','true'))"
    )
    (row,) = lake.at(name).health().to_arrow().to_pylist()
    # Iceberg itself removes those that are older than all data files.
    assert row["dangling_equality_delete_file_count"] == row["delete_file_count"] == 1
    lake.follow("dangling_delete_file_count", name)
    assert lake.at(name).deletes().to_arrow().num_rows == 0
    assert lake.rows(name) == 298


def test_position_deletes_of_files_that_are_gone(lake: Lake) -> None:
    """The others of their partition still apply."""
    name = lake.make("'format-version'='2'", "'write.delete.granularity'='file'", MERGE_ON_READ)
    for number in range(2):
        lake.append(name, 300 * number, 300, partition="0")
    lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % 10 = 0")
    table = lake.at(name)
    gone = table.files(filter="content = 0", limit=1).to_arrow()["file_path"].to_pylist()
    table.delete_files(gone)
    (row,) = lake.at(name).health().to_arrow().to_pylist()
    assert (row["delete_file_count"], row["dangling_delete_file_count"]) == (2, 1)
    assert row["deleted_record_ratio"] == 0.1
    lake.follow("dangling_delete_file_count", name)
    assert lake.at(name).deletes().to_arrow().num_rows == 1
    assert lake.rows(name) == 270


@pytest.mark.parametrize("version", [2, 3])
def test_lakebed_itself_takes_dangling_deletes_out(lake: Lake, version: int, tmp_path: Path) -> None:
    """Spark reads the rows that it read before, at the older snapshot too."""
    name = lake.make(f"'format-version'='{version}'", MERGE_ON_READ)
    for number in range(2):
        lake.append(name, 300 * number, 300)
    lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % 10 = 0")
    add_equality_deletes(lake.at(name), [3], 0)
    table = lake.at(name)
    gone = (
        table.files(where="p = 0", columns=["file_path"], filter="content = 0", limit=1)
        .to_arrow()["file_path"]
        .to_pylist()
    )
    if version == 2:
        table = table.delete_files(gone)
    add_equality_deletes(table, [1], 5)
    table, rows = table.refresh(), lake.rows(name)
    dangling = table.dangling_deletes().to_arrow()
    assert dangling.num_rows > 0
    before = table.snapshot_id
    done = lakebed.apply(dangling, table, log=tmp_path / "log")
    assert done.counts == {"dropped": dangling.num_rows}
    assert lake.rows(name) == rows
    past = lake.sql(f"SELECT count(*) AS n FROM lake.shop.{name} VERSION AS OF {before}")
    assert past["n"][0].as_py() == rows


@pytest.mark.parametrize("column", ["id", "p q"])
def test_files_that_a_plan_cannot_tell_apart(lake: Lake, column: str) -> None:
    """What the funnel of a plan ends with is typed: the files are sorted."""
    name = lake.make(partitioned=False)
    lake.sql(f"ALTER TABLE lake.shop.{name} RENAME COLUMN p TO `p q`")
    for number in range(4):
        lake.sql(f"INSERT INTO lake.shop.{name} SELECT 4 * id + {number}, 4 * id + {number} FROM range(300)")
    where = f'"{column}" = 500'
    advice = lake.at(name).plan(where=where).explain().advice
    assert advice is not None
    lake.sql("USE lake")
    lake.sql(re.findall(r"in Spark: `(.*)`", advice)[0])
    assert lake.at(name).plan(where=where).explain().advice is None


def test_position_delete_files(lake: Lake) -> None:
    name = lake.make("'format-version'='2'", "'write.delete.granularity'='partition'", MERGE_ON_READ)
    lake.append(name, rows=300)
    for number in range(3):
        lake.sql(f"DELETE FROM lake.shop.{name} WHERE id % 100 = {number}")
    lake.follow("position_delete_file_count", name, "deleted_ratio=1")


@pytest.mark.parametrize("partitioned", [True, False])
def test_equality_deletes(lake: Lake, partitioned: bool) -> None:
    name = lake.make("'format-version'='2'", partitioned=partitioned)
    lake.append(name, rows=300)
    for number in range(2):
        add_equality_deletes(lake.at(name), [3 * number], 0 if partitioned else None)
    assert lake.rows(name) == 298
    lake.follow("equality_delete_file_count", name)
    assert lake.rows(name) == 298


def test_manifests(lake: Lake) -> None:
    name = lake.make("'commit.manifest-merge.enabled'='false'")
    for number in range(4):
        lake.append(name, 30 * number)
    lake.follow("small_manifest_count", name, "manifests=3")


def test_the_table_says_when_its_manifests_are_merged(lake: Lake) -> None:
    name = lake.make("'commit.manifest.min-count-to-merge'='2'", "'commit.manifest-merge.enabled'='false'")
    for number in range(3):
        lake.append(name, 30 * number)
    lake.follow("small_manifest_count", name)


def test_entries_of_files_that_are_gone(lake: Lake) -> None:
    name = lake.make("'commit.manifest-merge.enabled'='false'")
    for number in range(4):
        lake.append(name, number, 1)
    lake.sql(f"DELETE FROM lake.shop.{name} WHERE id < 3")
    lake.follow("deleted_entry_count", name, "entries=3")


def test_snapshots(lake: Lake) -> None:
    name = lake.make()
    for number in range(4):
        lake.append(name, number, 1)
    lake.follow("snapshot_count", name, "snapshots=3")
    assert lake.at(name).snapshots().to_arrow().num_rows == 1
    assert lake.rows(name) == 4


@pytest.mark.parametrize(
    ("kind", "options", "threshold"),
    [
        ("small_file_count", "'bucket'='1','bucket-key'='id','write-only'='true'", "small_files=1"),
        ("level_0_file_count", "'bucket'='1','primary-key'='id,p'", "waiting_files=0.5"),
        ("deleted_record_ratio", "'bucket'='-1','deletion-vectors.enabled'='true'", ""),
        ("snapshot_count", "'bucket'='-1'", "snapshots=2"),
    ],
)
def test_paimon(kind: str, options: str, threshold: str, spark_runtimes: SparkRuntimes) -> None:
    sql, name = spark_runtimes.sql, f"orders_{next(NUMBERS)}"
    sql("CREATE DATABASE IF NOT EXISTS paimon.shop")
    sql("USE paimon")
    columns = "(id int NOT NULL, p int NOT NULL)"
    sql(
        f"CREATE TABLE paimon.shop.{name} {columns} USING paimon PARTITIONED BY (p) TBLPROPERTIES ({options})"
    )
    for number in range(4):
        sql(f"INSERT INTO paimon.shop.{name} SELECT id, id % 2 FROM range({20 * number}, {20 * number + 20})")
    if kind == "deleted_record_ratio":
        sql(f"DELETE FROM paimon.shop.{name} WHERE id % 3 = 0")
    if kind == "level_0_file_count":
        # A compaction, after which more files wait.
        sql(f"CALL sys.compact(table => 'shop.{name}')")
        sql(f"ALTER TABLE paimon.shop.{name} SET TBLPROPERTIES ('write-only'='true')")
        sql(f"INSERT INTO paimon.shop.{name} SELECT id, id % 2 FROM range(20)")
    words = [
        spark_runtimes.warehouse() / "shop.db" / name,
        *(("--threshold", threshold) if threshold else ()),
    ]
    for statement in advice(*words)[kind]:
        assert f"'shop.{name}'" in statement
        sql(statement)
    assert kind not in advice(*words)
