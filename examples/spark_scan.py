"""Live files per partition, counted by Spark: executors decode the manifests through mapInArrow.

Run: python examples/spark_scan.py [TABLE]        (needs pyspark and a JDK)

Without TABLE: of both sample tables, one of Paimon and one of Iceberg.
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import lakebed
import lakebed.spark as ls

HERE = Path(__file__).parent


def sample_tables() -> list[lakebed.Table]:
    iceberg = HERE / "sample_iceberg_table"
    # Iceberg's metadata names files in full: of a table that was moved, say where from.
    moved = {"/tmp/lakebed/shop/orders": iceberg}
    return [lakebed.open_table(HERE / "sample_table"), lakebed.open_table(iceberg, relocate=moved)]


def local_session() -> SparkSession:
    # Workers must run the interpreter that lakebed is installed in.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[2]")
        .appName("lakebed example")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def show(spark: SparkSession, table: lakebed.Table) -> None:
    print(f"\nLive data files of {table}")
    columns = ["partition", "content", "record_count", "file_size_in_bytes"]
    files = ls.files(spark, table, columns=columns).where("content = 0")
    (
        files.groupBy("partition.dt", "partition.region")
        .agg({"record_count": "sum", "file_size_in_bytes": "sum", "*": "count"})
        .withColumnsRenamed(
            {"count(1)": "files", "sum(record_count)": "rows", "sum(file_size_in_bytes)": "bytes"}
        )
        .select("dt", "region", "files", "rows", "bytes")
        .orderBy("dt", "region")
        .show(50)
    )


def main(locations: list[str]) -> None:
    spark = local_session()
    spark.sparkContext.setLogLevel("ERROR")
    for table in map(lakebed.open_table, locations) if locations else sample_tables():
        show(spark, table)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
