"""Views of a table as Spark DataFrames: the driver plans and prunes, executors read and decode.

The rows are those of `lakebed.Table`'s views, value for value, but for what Spark has no type for: timestamps
finer than microseconds are cut to them, and a time of day is the number of its milliseconds. pyspark is
imported inside the functions; nothing else in lakebed imports it.
"""

from lakebed.spark.check import check
from lakebed.spark.views import At, Mapper, TablePath, entries, files, manifest_mapper, manifests, schema

__all__ = [
    "At",
    "Mapper",
    "TablePath",
    "check",
    "entries",
    "files",
    "manifest_mapper",
    "manifests",
    "schema",
]
