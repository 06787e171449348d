"""Spark with Iceberg's runtime reads the same rows through a REST catalog for which lakebed plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planned_parts import SECRET
from spark_runtimes import SparkRuntimes

import lakebed
from lakebed.iceberg import Planner

tables = pytest.importorskip("catalog_tables")
servers = pytest.importorskip("plan_server")

pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]

MERGE_ON_READ = "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"
FILTERS = (
    "TRUE",
    "id % 3 = 0",
    "id > 40 AND kind = 'b'",
    "kind IN ('a', 'c') AND at < TIMESTAMP '2024-02-10 00:00:00'",
    "at >= TIMESTAMP '2024-02-01 00:00:00' AND day = DATE '2024-02-05'",
    "kind IS NULL OR id = 7",
    "kind LIKE 'a%'",
)


class Counting(Planner):
    """A planner that counts what it is asked for."""

    def counted(self) -> Counting:
        object.__setattr__(self, "fetched", [])
        return self

    def fetch_text(self, *given: Any) -> str:
        self.fetched.append(given)  # type: ignore[attr-defined]
        return super().fetch_text(*given)


def made(spark: SparkRuntimes, name: str, version: int) -> str:
    """Makes a table with deletes, whose partitions evolved. Returns its metadata file."""
    rows = "SELECT id, element_at(array('a', 'b', 'c', NULL), CAST(id % 4 AS INT) + 1) AS kind, \
        TIMESTAMP '2024-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS INT)) AS at, \
        DATE '2024-01-01' + CAST(id AS INT) AS day FROM range({}, {})"
    properties = f"'format-version'='{version}', {MERGE_ON_READ}"
    create = f"CREATE TABLE {name} (id BIGINT, kind STRING, at TIMESTAMP, day DATE) USING iceberg"
    for statement in (
        f"{create} PARTITIONED BY (kind) TBLPROPERTIES ({properties})",
        f"INSERT INTO {name} {rows.format(0, 50)}",
        f"DELETE FROM {name} WHERE id IN (3, 8, 21)",
        f"ALTER TABLE {name} ADD PARTITION FIELD months(at)",
        f"INSERT INTO {name} {rows.format(50, 100)}",
        f"UPDATE {name} SET kind = 'c' WHERE id IN (5, 60)",
        f"DELETE FROM {name} WHERE id BETWEEN 70 AND 72",
    ):
        spark.sql(statement)
    entries = f"SELECT file FROM {name}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
    found: str = spark.sql(entries)["file"][0].as_py()
    return found


@pytest.mark.parametrize("version", [2, 3])
def test_rows_are_the_same(spark_runtimes: SparkRuntimes, tmp_path: Path, version: int) -> None:
    name = f"lake.db.plans{version}"
    metadata = made(spark_runtimes, name, version)
    catalog = tables.sqlite(tmp_path)
    catalog.register_table("db.t", metadata)
    kinds = lakebed.open_table(catalog.load_table("db.t")).deletes().to_arrow()["file_format"]
    assert set(kinds.to_pylist()) == {"PARQUET" if version == 2 else "PUFFIN"}
    planner = Counting(SECRET, tasks_per_part=2).counted()
    with servers.served(catalog, planner, wait=10) as url:
        there = f"plans{version}"
        for setting, value in {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "rest",
            ".uri": url,
            ".cache-enabled": "false",
        }.items():
            spark_runtimes.sql(f"SET `spark.sql.catalog.{there}{setting}`=`{value}`")
        for filter in FILTERS:
            read, own = (
                spark_runtimes.sql(f"SELECT * FROM {table} WHERE {filter} ORDER BY id")
                for table in (f"{there}.db.t", name)
            )
            assert own.num_rows > 0, filter
            assert read.equals(own), filter
        count = spark_runtimes.sql(f"SELECT count(*) AS n, max(id) AS last FROM {there}.db.t")
        assert count.to_pylist() == [{"n": 94, "last": 99}]
    assert len(planner.fetched) > len(FILTERS)  # type: ignore[attr-defined]
