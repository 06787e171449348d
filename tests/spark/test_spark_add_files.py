"""Files that `add_files` adds, beside those that Iceberg's procedure of that name adds in Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from spark_runtimes import SparkRuntimes

import lakebed

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]

NUMBERS = count()
ROWS = pa.table(
    {
        "id": pa.array([1, None, 3], pa.int64()),
        "name": ["the quick brown fox jumps", None, "été" * 8],
        "day": pa.array([dt.date(2026, 1, 1)] * 3),
        "at": pa.array([dt.datetime(2026, 1, 1), dt.datetime(2026, 2, 1), None], pa.timestamp("us", "UTC")),
        "ratio": [0.5, 2.5, None],
    }
)
COLUMNS = "id bigint, name string, day date, at timestamp, ratio double"
SAME = ["partition", "record_count", "file_size_in_bytes", "file_format", "spec_id", "column_sizes"]
SAME += ["value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"]


class Imported:
    """Two tables that Spark makes; files are added to one by Spark, to the other by lakebed."""

    def __init__(self, runtimes: SparkRuntimes, by: str = "", *properties: str) -> None:
        self.sql = runtimes.sql
        self.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
        self.names = [f"imported_{next(NUMBERS)}" for _ in range(2)]
        said = f"TBLPROPERTIES ({', '.join(properties)})" if properties else ""
        for name in self.names:
            self.sql(f"CREATE TABLE lake.shop.{name} ({COLUMNS}) USING iceberg {by} {said}")
        folder = runtimes.warehouse() / "lake" / "shop"
        self.tables = [lakebed.open_table(folder / name) for name in self.names]

    def add(self, folder: Path, file_format: str) -> None:
        source = f"`{file_format}`.`{folder}`"
        self.sql(f"CALL lake.system.add_files(table => 'shop.{self.names[0]}', source_table => '{source}')")
        self.tables = [self.tables[0].refresh(), self.tables[1].add_files(folder)]

    def entries(self) -> list[list[dict[str, Any]]]:
        both = []
        for table in self.tables:
            rows = table.entries().to_arrow().to_pylist()
            rows.sort(key=lambda row: str(row["file_path"].removeprefix("file:")))
            for row in rows:
                row["column_sizes"] = [pair for pair in row["column_sizes"] or () if pair[1]]
            both.append([{name: row[name] or None for name in SAME} for row in rows])
        return both

    def rows(self) -> list[list[dict[str, Any]]]:
        """What Spark reads of both."""
        for name in self.names:
            self.sql(f"REFRESH TABLE lake.shop.{name}")
        select = "SELECT id, name, day, at, ratio FROM lake.shop.{} ORDER BY id, name, day"
        return [self.sql(select.format(name)).to_pylist() for name in self.names]


def write_parquet(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, row_group_size=2)


def write_orc(rows: pa.Table, path: Path) -> None:
    orc.write_table(rows, path)


@pytest.mark.parametrize("write", [write_parquet, write_orc])
@pytest.mark.parametrize(
    "modes", [(), ("'write.metadata.metrics.default'='counts'",)], ids=["usual", "counts"]
)
def test_files_are_added_as_by_the_procedure(
    spark_runtimes: SparkRuntimes,
    tmp_path: Path,
    write: Callable[[pa.Table, Path], None],
    modes: tuple[str, ...],
) -> None:
    imported = Imported(spark_runtimes, "", *modes)
    file_format = write.__name__.removeprefix("write_")
    for number in range(2):
        write(ROWS.slice(number), tmp_path / f"part-{number}.{file_format}")
    (tmp_path / "_SUCCESS").touch()
    imported.add(tmp_path, file_format)
    theirs, ours = imported.entries()
    assert len(ours) == 2
    assert ours == theirs
    theirs, ours = imported.rows()
    assert ours == theirs
    assert len(ours) == 5


def test_folders_are_partitions_as_by_the_procedure(spark_runtimes: SparkRuntimes, tmp_path: Path) -> None:
    imported = Imported(spark_runtimes, "PARTITIONED BY (day, name)")
    rows = ROWS.drop(["day", "name"])
    for day, name in (
        ("2026-01-01", "a"),
        ("2026-01-02", "b%20c"),
        ("2026-01-02", "__HIVE_DEFAULT_PARTITION__"),
    ):
        folder = tmp_path / f"day={day}" / f"name={name}"
        folder.mkdir(parents=True)
        write_parquet(rows, folder / "part-0.parquet")
    imported.add(tmp_path, "parquet")
    theirs, ours = imported.entries()
    assert ours == theirs
    assert {row["partition"]["name"] for row in ours} == {"a", "b c", None}
    theirs, ours = imported.rows()
    assert ours == theirs
    assert len(ours) == 9
