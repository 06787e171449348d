"""Views of a table as Spark DataFrames: the driver plans and prunes, executors read and decode.

The rows are those of `lakebed.Table`'s views, value for value, but for what Spark has no type for: timestamps
finer than microseconds are cut to them, and a time of day is the number it is stored as. Times without a zone
are Spark's TIMESTAMP_NTZ. Works with PySpark 3.5 and 4; it is imported inside the functions, and nothing else
in lakebed imports it.
"""

from typing import Any

from lakebed.spark.access import Read, check
from lakebed.spark.catalogs import TablePath
from lakebed.spark.cleaning import apply
from lakebed.spark.fleets import health, report
from lakebed.spark.mappers import Mapper
from lakebed.spark.sql import register
from lakebed.spark.table import SparkTable, function, manifest_mapper, open_table, schema
from lakebed.view import KEYWORDS

_functions = {name: function(getattr(SparkTable, name)) for name in KEYWORDS if name != "health"}
globals().update(_functions)

__all__ = [
    "DataSource",
    "Mapper",
    "Read",
    "SparkTable",
    "TablePath",
    "apply",
    "check",
    "health",
    "manifest_mapper",
    "open_table",
    "register",
    "report",
    "schema",
]
__all__ += _functions


def __getattr__(name: str) -> Any:
    # The class is made from PySpark's own, which is imported by nothing that does not need it.
    if name == "DataSource":
        from lakebed.spark.source import DataSource

        return DataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
