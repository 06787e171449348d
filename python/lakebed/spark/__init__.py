"""Views of a table as Spark DataFrames: the driver plans and prunes, executors read and decode.

The rows are those of `lakebed.Table`'s views, value for value, but for what Spark has no type for: timestamps
finer than microseconds are cut to them, and a time of day is the number it is stored as. Times without a zone
are Spark's TIMESTAMP_NTZ. Works with PySpark 3.5 and 4; it is imported inside the functions, and nothing else
in lakebed imports it.
"""

from typing import Any

from lakebed.spark.changes import appends, diff
from lakebed.spark.check import check
from lakebed.spark.driver import (
    changelogs,
    indexes,
    manifests,
    metadata_table,
    refs,
    schemas,
    snapshots,
)
from lakebed.spark.frames import At, TablePath
from lakebed.spark.groups import buckets, partitions
from lakebed.spark.health import health
from lakebed.spark.jobs import expire_plan, file_history, growth, orphans, reachable, verify
from lakebed.spark.map_in_arrow import Mapper
from lakebed.spark.planning import plan
from lakebed.spark.reach import Read
from lakebed.spark.reports import report
from lakebed.spark.view_schema import schema
from lakebed.spark.views import deletes, entries, files, manifest_mapper

__all__ = [
    "At",
    "DataSource",
    "Mapper",
    "Read",
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
