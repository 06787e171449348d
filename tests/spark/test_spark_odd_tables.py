"""Odd but legal tables on executors: the rows and errors are those without Spark."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import iceberg_made
import paimon_made
import pytest
from test_deep_schemas import iceberg_struct, made, paimon_row
from test_iceberg_views import view, write
from test_legal_json import iceberg_table, metadata
from test_paimon_far_times import EARLY, FAR, NEAR, NEXT_TO_IT, row

import lakebed
import lakebed.spark as ls
from lakebed.errors import UnsupportedError
from spark_rows import actual, expected

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:.*shown as null")]


def compare(spark: Any, table: lakebed.Table, **how: Any) -> None:
    for view_name in ("files", "entries", "partitions", "buckets", "plan", "health"):
        frame = getattr(ls, view_name)(spark, table, **how)
        assert actual(frame) == expected(getattr(table, view_name)(**how)), (view_name, how)


@pytest.fixture
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_far_partitions_are_told_apart(spark, tmp_path: Path, quiet: None):
    table = paimon_made.MadeTable(
        tmp_path / "t", ("until", "TIMESTAMP(9)"), ("id", "INT"), partitionKeys=["until"]
    )
    for number, millis in enumerate([None, NEAR, EARLY, FAR, NEXT_TO_IT, FAR]):
        table.commit(paimon_made.entry(paimon_made.ADD, f"{number}.parquet", row(millis)))
    opened = lakebed.open_table(table.root)
    compare(spark, opened)
    compare(spark, opened, where="until = '9999-12-31'")
    counts = [row["file_count"] for row in ls.partitions(spark, opened).select("file_count").collect()]
    assert sorted(counts) == [1, 1, 1, 1, 2]


def test_marked_metadata_and_deep_columns_are_read(spark, tmp_path: Path):
    marked = iceberg_table(tmp_path / "marked")
    record = marked.manifest(iceberg_made.entry(snapshot_id=1))
    marked.commit(record)
    file = max(metadata(marked).parent.glob("v*.metadata.json"))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes() + bytes(64))
    compare(spark, lakebed.open_table(marked.root))
    for make in (iceberg_struct, paimon_row):
        compare(spark, lakebed.open_table(made(tmp_path / make.__name__, make, 150)), where="id = 1")


def test_a_view_is_refused(spark, tmp_path: Path):
    write(tmp_path / "paid", view(tmp_path / "paid"))
    with pytest.raises(UnsupportedError, match="a view"):
        ls.files(spark, str(tmp_path / "paid"))
