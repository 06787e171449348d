"""Live files per partition, counted by Spark: executors decode the manifests through mapInArrow.

Run: python examples/spark_scan.py [TABLE]        (needs pyspark and a JDK)
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import lakebed.spark as ls

SAMPLE_TABLE = Path(__file__).parent / "sample_table"


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


def main(location: str) -> None:
    spark = local_session()
    spark.sparkContext.setLogLevel("ERROR")
    files = ls.files(spark, location, columns=["partition", "record_count", "file_size_in_bytes"])
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
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE_TABLE))
