"""Views of a table as Spark DataFrames: the driver plans and prunes, executors read and decode.

The rows are those of `lakebed.Table`'s views, value for value, but for what Spark has no type for: timestamps
finer than microseconds are cut to them, and a time of day is the number it is stored as. Times without a zone
are Spark's TIMESTAMP_NTZ. Works with PySpark 3.5 and 4; it is imported inside the functions, and nothing else
in lakebed imports it.
"""

from typing import Any

from lakebed.spark.check import check
from lakebed.spark.frames import TablePath
from lakebed.spark.health import health
from lakebed.spark.map_in_arrow import Mapper
from lakebed.spark.reach import Read
from lakebed.spark.reports import report
from lakebed.spark.table import SparkTable, function, open_table
from lakebed.spark.view_schema import manifest_mapper, schema

snapshots = function(SparkTable.snapshots)
refs = function(SparkTable.refs)
schemas = function(SparkTable.schemas)
changelogs = function(SparkTable.changelogs)
growth = function(SparkTable.growth)
diff = function(SparkTable.diff)
appends = function(SparkTable.appends)
file_history = function(SparkTable.file_history)
manifests = function(SparkTable.manifests)
entries = function(SparkTable.entries)
files = function(SparkTable.files)
deletes = function(SparkTable.deletes)
indexes = function(SparkTable.indexes)
partitions = function(SparkTable.partitions)
buckets = function(SparkTable.buckets)
plan = function(SparkTable.plan)
metadata_table = function(SparkTable.metadata_table)
reachable = function(SparkTable.reachable)
orphans = function(SparkTable.orphans)
expire_plan = function(SparkTable.expire_plan)
verify = function(SparkTable.verify)

__all__ = [
    "DataSource",
    "Mapper",
    "Read",
    "SparkTable",
    "TablePath",
    "appends",
    "buckets",
    "changelogs",
    "check",
    "deletes",
    "diff",
    "entries",
    "expire_plan",
    "file_history",
    "files",
    "growth",
    "health",
    "indexes",
    "manifest_mapper",
    "manifests",
    "metadata_table",
    "open_table",
    "orphans",
    "partitions",
    "plan",
    "reachable",
    "refs",
    "report",
    "schema",
    "schemas",
    "snapshots",
    "verify",
]


def __getattr__(name: str) -> Any:
    # The class is made from PySpark's own, which is imported by nothing that does not need it.
    if name == "DataSource":
        from lakebed.spark.source import DataSource

        return DataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
