"""Small tables are read by the driver, with the rows that executors make."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from covering import each_covering_table

import lakebed
import lakebed.spark as ls
from lakebed.errors import LakebedError, TruncatedError
from lakebed.spark import frames
from lakebed.spark.frames import from_batches
from shared_data import SAMPLE_TABLE
from spark_rows import actual, expected

pytest.importorskip("pyspark")
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.by_driver]

VIEWS = ("files", "entries", "deletes", "partitions", "buckets", "plan", "health", "appends")


def in_python(frame: DataFrame) -> bool:
    """Whether any Python runs for a frame."""
    return "InArrow" in frame._jdf.queryExecution().toString()  # PySpark 3.5 and 4 call it differently


def compare(spark: Any, table: lakebed.Table, view: str, *places: int) -> None:
    """Holds a view to what it is without Spark, errors included."""
    scan = getattr(table, view)(*places)
    try:
        rows = expected(scan)
    except LakebedError as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            getattr(ls, view)(spark, table, *places)
        return
    frame = getattr(ls, view)(spark, table, *places)
    assert not in_python(frame)
    assert frame.schema == ls.schema(view, table)
    assert actual(frame) == rows


def views(spark: Any, table: lakebed.Table) -> None:
    for view in VIEWS:
        compare(spark, table, view)
    ids = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    if len(ids) > 1:
        compare(spark, table, "diff", ids[0], ids[-1])


@each_covering_table()
def test_views_are_read_by_the_driver(spark, table):
    views(spark, table.open())


def test_a_frame_is_one_as_any_other(spark):
    table = lakebed.open_table(SAMPLE_TABLE)
    frame = ls.files(spark, table, where="region = 'emea'")
    kept = frame.where(F.col("partition.region") == "emea").groupBy("partition.dt").count()
    by_hand = table.files(where="region = 'emea'").to_arrow()["partition"].combine_chunks().field("dt")
    counted = {entry["values"]: entry["counts"] for entry in by_hand.value_counts().to_pylist()}
    assert {row["dt"]: row["count"] for row in kept.collect()} == counted


@pytest.mark.parametrize("read", ["executors", "spark"])
def test_who_reads_can_be_said(spark, read):
    table = lakebed.open_table(SAMPLE_TABLE)
    assert in_python(ls.files(spark, table, read=read))
    assert in_python(ls.files(spark, table, range_bytes=1 << 20))


@pytest.mark.parametrize("limit", ["SMALL_BYTES", "LOCAL_BYTES"])
def test_larger_tables_are_read_by_executors(spark, monkeypatch, limit):
    table = lakebed.open_table(SAMPLE_TABLE)
    sizes = {
        "SMALL_BYTES": sum(manifest["size"] + (32 << 10) for manifest in table.files().planned_manifests()),
        "LOCAL_BYTES": sum(batch.nbytes for batch in table.files()),
    }
    monkeypatch.setattr(frames, limit, sizes[limit])
    assert not in_python(ls.files(spark, table))
    monkeypatch.setattr(frames, limit, sizes[limit] - 1)
    frame = ls.files(spark, table)
    assert in_python(frame)
    assert actual(frame) == expected(table.files())


def test_many_rows_of_the_driver_come_with_a_function(spark, monkeypatch):
    monkeypatch.setattr(frames, "LOCAL_BYTES", 10)
    scan = lakebed.open_table(SAMPLE_TABLE).snapshots()
    frame = from_batches(spark, scan.schema, scan)
    assert in_python(frame)
    assert actual(frame) == expected(scan)


def test_a_damaged_manifest_is_an_error_of_the_call(spark, sample_table):
    manifest = Path(lakebed.open_table(sample_table).manifests().to_arrow()["path"][0].as_py())
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with pytest.raises(TruncatedError, match=manifest.name):
        ls.files(spark, sample_table)
