"""Executors read manifests on a server that speaks S3, through the storage that a table was opened with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from object_store import BUCKET, LIBRARIES, client, server, upload

import lakebed
import lakebed.spark as ls
from lakebed.spark.inputs import Reading
from lakebed.spark.mappers import JobMap
from lakebed.spark.types import spark_schema
from shared_data import SAMPLE_TABLE
from spark_rows import actual, expected

pytest.importorskip("pyspark")
pytest.importorskip("obstore")
pytest.importorskip("s3fs")
pytest.importorskip("moto")

pytestmark = pytest.mark.spark

URI = f"s3://{BUCKET}/shop.db/orders"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as address:
        upload(address, SAMPLE_TABLE, "shop.db/orders")
        yield address


@pytest.mark.parametrize("library", LIBRARIES)
def test_executors_read_through_the_storage_of_the_table(spark, address: str, library: str, capfd):
    table = lakebed.open_table(URI, storage=client(library, address))
    frame = ls.files(spark, table)
    frame.explain()
    assert "executors_read_manifests" in capfd.readouterr().out
    assert actual(frame) == expected(table.files())
    (row,) = ls.check(spark, table).collect()
    assert (row.ok, row.read, row.unread) == (True, "executors", None)


def test_what_neither_executors_nor_spark_reach_is_an_error_that_tells_of_both(spark, address: str):
    table = lakebed.open_table(URI, storage=client("obstore", address))
    lost = client("obstore", address.rpartition(":")[0] + ":9", seconds=1)
    vars(table.opening.storage).update(_filesystem=lost, of_uri=True)
    scan = lakebed.open_table(URI, storage=client("obstore", address)).entries()
    manifests, types = scan.planned_manifests(), spark_schema(scan.schema)
    with pytest.raises(lakebed.errors.UnsupportedError, match=r"executors: .*; Spark: .*s3") as raised:
        Reading.of(table, lakebed.LIMITS, None, None).frame(
            spark, manifests, JobMap(b"", lakebed.LIMITS), types
        )
    assert "c4n4ry" not in str(raised.value)
