"""Rows with and without Spark, made comparable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import compared
import pyarrow as pa

import lakebed
import lakebed.spark as ls
from lakebed._values import to_rows
from lakebed.spark.types import cast_batch, spark_schema, to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sorted_rows(table: pa.Table) -> list[str]:
    """The rows as texts, without what differs from one plan to the next."""
    of_plans = [name for name in ("planned_at", "plan") if name in table.schema.names]
    return sorted(json.dumps(row) for row in to_rows(table.drop_columns(of_plans)))


def expected(scan: lakebed.Scan) -> list[str]:
    return sorted_rows(in_spark(scan))


def in_spark(scan: lakebed.Scan) -> pa.Table:
    """The rows of a scan, in the types of Spark."""
    schema = to_spark(scan.schema)
    return pa.Table.from_batches([cast_batch(batch, schema) for batch in scan], schema)


def actual(frame: DataFrame) -> list[str]:
    # PySpark's Arrow tables forget rows without columns.
    return sorted_rows(collected(frame)) if frame.columns else ["[]"] * frame.count()


def collected(frame: DataFrame) -> pa.Table:
    """The rows as they come, counted as compared."""
    rows = _collected(frame)
    compared.count(rows)
    return rows


def compare(spark: SparkSession, table: lakebed.Table, view: str, *places: Any, **selection: Any) -> int:
    """Holds one view to what it is without Spark. Returns: how many rows it has."""
    scan = getattr(table, view)(*places, **selection)
    rows = expected(scan)
    frame = getattr(ls, view)(spark, table, *places, **selection)
    columns = {name: value for name, value in selection.items() if name != "where"}
    assert frame.schema == ls.schema(view, table, **columns) == spark_schema(scan.schema)
    assert actual(frame) == rows, (view, places, selection)
    return len(rows)


def _collected(frame: DataFrame) -> pa.Table:
    """PySpark 3.5 has no `DataFrame.toArrow`."""
    if hasattr(type(frame), "toArrow"):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = cast("Any", frame)._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else to_arrow_schema(frame.schema).empty_table()
