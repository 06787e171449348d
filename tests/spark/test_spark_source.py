"""`spark.read.format("lakebed")` gives the rows of the views."""

from __future__ import annotations

from typing import Any

import pytest
from covering import each_layout_of_golden_paimon_tables

import lakebed
import lakebed.spark as ls
from shared_data import SAMPLE_TABLE
from spark_rows import actual, expected

pytest.importorskip("pyspark.sql.datasource")
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    spark.dataSource.register(ls.DataSource)
    return spark


def read(spark: Any, path: Any, **options: Any) -> Any:
    return spark.read.format("lakebed").options(**options).load(str(path))


@pytest.mark.parametrize("view", ["files", "entries", "partitions", "snapshots", "plan", "$options"])
def test_views(source, view):
    table = lakebed.open_table(SAMPLE_TABLE)
    scan = table.metadata_table(view[1:]) if view.startswith("$") else getattr(table, view)()
    frame = read(source, SAMPLE_TABLE, view=view)
    assert frame.schema == ls.schema(view, SAMPLE_TABLE)
    assert actual(frame) == expected(scan)


@each_layout_of_golden_paimon_tables()
def test_files(source, table):
    assert actual(read(source, table.path, range_bytes=2000)) == expected(
        lakebed.open_table(table.path).files()
    )


@pytest.mark.parametrize("library", ["obstore", "pyarrow", "fsspec"])
def test_storages_by_name(source, library):
    pytest.importorskip(library)
    table = lakebed.open_table(SAMPLE_TABLE)
    # In tasks that read manifests, and in one that opens the table.
    for view in ("entries", "partitions"):
        frame = read(source, SAMPLE_TABLE, view=view, storage=library, range_bytes=2000)
        assert actual(frame) == expected(getattr(table, view)())
    with pytest.raises(PySparkException, match=f"pass storage= \\({library}: "):
        read(source, "nowhere://a/b", storage=library)


def test_selections(source):
    table = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1)
    options = {"snapshot": 1, "columns": "file_path, stats", "stats": "amount", "where": "dt = '2026-01-02'"}
    rows = table.files(columns=["file_path", "stats"], stats=["amount"], where="dt = '2026-01-02'")
    assert actual(read(source, SAMPLE_TABLE, **options)) == expected(rows)
    assert len(expected(rows)) < len(expected(table.files()))


def test_filters_that_spark_hands_down(source):
    files = lakebed.open_table(SAMPLE_TABLE).files
    one, all_files = expected(files(where="dt = '2026-01-02'")), expected(files())
    assert 0 < len(one) < len(all_files)
    for enabled in ("true", "false"):
        source.conf.set(PUSHDOWN, enabled)
        try:
            frame = read(source, SAMPLE_TABLE).where("partition.dt = '2026-01-02'")
            assert actual(frame) == one
            snapshots = read(source, SAMPLE_TABLE, view="snapshots").where("snapshot_id IN (1, 2)")
            assert snapshots.count() == 2
        finally:
            source.conf.unset(PUSHDOWN)


def test_errors_are_reported(source):
    for options, words in [
        ({"view": "nothing"}, "a view is one of"),
        ({"colums": "a"}, "options are"),
        ({"storage": "disk"}, "storage is 'obstore', 'pyarrow', 'fsspec'"),
        ({"columns": "absent"}, "absent"),
        ({"where": "absent = 1"}, "absent"),
        ({"tag": "absent"}, "absent"),
    ]:
        with pytest.raises(PySparkException, match=words):
            read(source, SAMPLE_TABLE, **options).collect()
    with pytest.raises(PySparkException, match="TableNotFoundError"):
        read(source, SAMPLE_TABLE / "snapshot").collect()
