"""Everything of lakebed.spark by way of Spark Connect; run as a program by a test.

Usage: python connect.py PAIMON_TABLE ICEBERG_TABLE WRITTEN, where the latter's metadata says that it is.
Prints one JSON object: what was asked → whether the answer is that without Spark.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession
from spark_functions import answers


def session() -> SparkSession:
    builder = SparkSession.builder.remote("local[2]")
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
        builder = builder.config(name, "false")
    return builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()


def main(paimon: str, iceberg: str, written: str) -> None:
    spark = session()
    found = {"is Connect": ".connect." in type(spark).__module__}
    sys.stdout.write("\n" + json.dumps(found | answers(spark, paimon, iceberg, written)) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
