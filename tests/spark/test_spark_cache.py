"""Executors have manifests from the folder of a cache on their host, and fill it."""

from __future__ import annotations

import pickle

import pytest
from small_tables import either, manifests_of

import lakebed
import lakebed.spark as ls
from spark_rows import actual, expected

pytest.importorskip("pyspark")

from lakebed.spark.inputs import Reading, contents, shared_cache

pytestmark = pytest.mark.spark

VIEWS = ("files", "entries", "plan", "partitions")


@pytest.fixture(params=["paimon", "iceberg"])
def table(request, tmp_path) -> lakebed.Table:
    return either(request.param, tmp_path / "table", *"abc")


def test_what_executors_kept_they_do_not_read_again(spark, table, tmp_path):
    cache = lakebed.Cache(folder=tmp_path / "cache")
    wanted = {view: expected(getattr(table, view)()) for view in VIEWS}

    def rows(view: str) -> object:
        opened = ls.open_table(spark, table.location, read="executors", cache=cache)
        return actual(getattr(opened, view)())

    assert {view: rows(view) for view in VIEWS} == wanted
    assert any((tmp_path / "cache").iterdir())
    for manifest in manifests_of(table):
        manifest.unlink()
    assert {view: rows(view) for view in VIEWS} == wanted
    # So does the process of the driver.
    opened = lakebed.open_table(table.location, cache=lakebed.Cache(folder=tmp_path / "cache"))
    assert expected(opened.files()) == wanted["files"]


def test_executors_have_no_memory_of_a_cache(tmp_path):
    assert shared_cache(None) is None
    assert shared_cache(lakebed.Cache()) is None
    shared = pickle.loads(pickle.dumps(shared_cache(lakebed.Cache(folder=tmp_path / "cache", disk_bytes=5))))
    assert (shared.memory_bytes, shared.folder, shared.disk_bytes) == (0, str(tmp_path / "cache"), 5)


def test_manifests_that_no_cache_has_are_read_ahead(table, tmp_path):
    reading = Reading(lakebed.LIMITS)
    pieces = reading.pieces(table.entries().planned_manifests(), 1 << 30)
    shares = contents(pieces, None, lakebed.LIMITS, 1, lakebed.Cache(folder=tmp_path / "cache"))
    found = list(shares)
    for manifest in manifests_of(table):
        manifest.unlink()
    assert len(found) == len(pieces) == 3
