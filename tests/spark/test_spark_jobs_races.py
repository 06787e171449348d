"""Orphans and expiries on Spark of tables that change between the call and the rows."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows

import lakebed
import lakebed.spark as ls

pytest.importorskip("pyspark")
from catalog_tables import ROWS, orders, sqlite

pytestmark = pytest.mark.spark

NOW = timedelta(0)
SCHEMA = pa.schema([("id", pa.int64())])


def added(table: lakebed.Table, folder: str, name: str) -> lakebed.Table:
    path = Path(table.location, folder, name)
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return table.append_files(file_rows(str(path)))


def paths(frame: Any) -> set[str]:
    rows = frame.select("file_path").collect()
    return {row.file_path.replace("file://", "") for row in rows if row.file_path}


@pytest.mark.parametrize("read", ["executors", "spark"])
def test_a_mistake_that_is_undone_after_the_call(spark, tmp_path: Path, read: Any):
    """Iceberg: what is live again by the time of the rows is not free."""
    table = added(lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg"), "data", "a.parquet")
    good = table.snapshot_id
    assert good is not None
    emptied = table.delete_files(["data/a.parquet"])
    frame = ls.expire_plan(spark, emptied, NOW, retain_last=1, read=read)
    assert paths(frame) >= {f"{table.location}/data/a.parquet"}
    emptied.set_current_snapshot(good)
    assert f"{table.location}/data/a.parquet" not in paths(frame)


def test_a_tag_that_becomes_a_branch_after_the_call(spark, tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties={"bucket": "-1"})
    table = added(table, "bucket-0", "a.parquet")
    table.create_tag("v")
    table = added(table, "bucket-0", "b.parquet").delete_files(["bucket-0/a.parquet"])
    table.expire_snapshots(NOW, retain_last=1)
    stray = tmp_path / "t" / "bucket-0" / "x.parquet"
    stray.touch()
    for path in (tmp_path / "t").rglob("*"):
        os.utime(path, (1_000_000, 1_000_000))
    frames = [
        ls.orphans(spark, str(tmp_path / "t")),
        ls.orphans(spark, str(tmp_path / "t"), listing=listing(spark, tmp_path / "t")),
    ]
    kept = f"{table.location}/bucket-0/a.parquet"
    lakebed.open_table(tmp_path / "t").create_branch("b", at="v")
    lakebed.open_table(tmp_path / "t").delete_tag("v")
    for frame in frames:
        assert str(stray) in paths(frame)
        assert kept not in paths(frame)


def listing(spark: Any, folder: Path) -> Any:
    rows = [
        (str(path), path.stat().st_size, datetime(2020, 1, 1, tzinfo=timezone.utc))
        for path in folder.rglob("*")
        if path.is_file()
    ]
    return spark.createDataFrame(rows, "path string, size long, modified timestamp")


def test_the_catalog_is_asked_by_the_last_task(spark, tmp_path: Path):
    catalog = sqlite(tmp_path)
    table = orders(catalog)
    stray = Path(table.location().removeprefix("file://"), "data", "x.parquet")
    stray.touch()
    frame = ls.orphans(spark, table, None)
    table.append(ROWS)
    live = (
        lakebed.open_table(catalog.load_table(table.name())).reachable().to_arrow()["file_path"].to_pylist()
    )
    found = paths(frame)
    assert str(stray) in found
    assert not found & {path.replace("file://", "") for path in live}
    # Of a catalog that cannot be asked elsewhere nobody knows what is newest.
    table.catalog.properties["lock"] = Lock()
    with pytest.raises(TypeError, match="cannot be"):
        ls.orphans(spark, table)
