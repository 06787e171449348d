"""Writes the tables of `tests/data/iceberg_position_deletes`, with what the engine says of them.

Run: python tests/spark/write_position_deletes.py FOLDER RUNTIME, with PySpark 4.0 and the jar of
`org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0`. Afterwards data files may be taken away: what is
read are metadata, delete files and Puffin files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

CATALOG = "spark.sql.catalog.lake"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
COLUMNS = "id BIGINT NOT NULL, city STRING, amount DECIMAL(9,2), point STRUCT<x: INT, y: DOUBLE>"
BY_CITY = "PARTITIONED BY (city)"
MODES = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}


class Writer:
    """A session whose catalog `lake` keeps its tables in a folder."""

    def __init__(self, folder: Path, runtime: str) -> None:
        self.folder = folder
        session = SparkSession.builder.master("local[1]").config("spark.jars", runtime)
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.extensions": EXTENSIONS,
            CATALOG: "org.apache.iceberg.spark.SparkCatalog",
            f"{CATALOG}.type": "hadoop",
            f"{CATALOG}.warehouse": str(folder),
        }
        for name, value in settings.items():
            session = session.config(name, value)
        self.session = session.getOrCreate()

    def sql(self, text: str) -> DataFrame:
        return self.session.sql(text)

    def create(self, name: str, version: int, file_format: str, partitioned: str) -> str:
        """A table of a dozen rows in three cities."""
        formats = {"write.format.default": file_format, "write.delete.format.default": file_format}
        granularity = {"write.delete.granularity": "partition"}
        properties = {"format-version": version, **formats, **granularity, **MODES}
        text = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
        table = f"lake.{name}"
        self.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg {partitioned} TBLPROPERTIES ({text})")
        points = (f"named_struct('x', {number}, 'y', {number}.5D)" for number in range(12))
        cities = enumerate("aabbccaabbcc")
        rows = (f"({n}, '{city}', {n}.25, {point})" for (n, city), point in zip(cities, points, strict=True))
        self.sql(f"INSERT INTO {table} VALUES {', '.join(rows)}")
        return table

    def tables(self) -> None:
        """Delete files of every format; vectors; both in one table of two specs; neither."""
        for file_format in ("parquet", "orc", "avro"):
            table = self.create(f"deletes_{file_format}_v2", 2, file_format, BY_CITY)
            self.sql(f"DELETE FROM {table} WHERE id IN (1, 7)")
            self.sql(f"DELETE FROM {table} WHERE id IN (2, 4)")
        table = self.create("deletes_upgraded_v3", 2, "parquet", BY_CITY)
        self.sql(f"DELETE FROM {table} WHERE id IN (1, 3)")
        self.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
        self.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
        self.sql(
            f"INSERT INTO {table} VALUES (100, 'a', 1.0, null), (101, 'b', 2.0, null), (102, 'a', 3.0, null)"
        )
        self.sql(f"DELETE FROM {table} WHERE id IN (5, 100, 101)")
        table = self.create("deletes_unpartitioned_v3", 3, "parquet", "")
        self.sql(f"DELETE FROM {table} WHERE id IN (0, 5, 6, 11)")
        self.create("deletes_none_v2", 2, "parquet", "")

    def answers(self) -> None:
        """The engine's rows of each table's `position_deletes`, and their schema."""
        for folder in (path for path in self.folder.iterdir() if path.is_dir()):
            frame = self.sql(f"SELECT * FROM lake.{folder.name}.position_deletes")
            answer = {
                "location": str(folder),
                "schema": json.loads(frame.schema.json()),
                "rows": [plain(row) for row in frame.collect()],
            }
            (folder / "expected").mkdir(exist_ok=True)
            (folder / "expected" / "position_deletes.json").write_text(json.dumps(answer, indent=1))


def plain(value: Any) -> Any:
    """A value as JSON has it; decimals and floats as texts."""
    if hasattr(value, "asDict"):
        return {name: plain(item) for name, item in value.asDict().items()}
    return value if value is None or isinstance(value, (int, str)) else str(value)


if __name__ == "__main__":
    writer = Writer(Path(sys.argv[1]).resolve(), sys.argv[2])
    writer.tables()
    writer.answers()
