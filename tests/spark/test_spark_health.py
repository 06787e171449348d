"""`health` with Spark: one large table over all executors, or many tables, each by one of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from covering import covering_paimon_tables, each_covering_table
from exchanging import planned, rows
from pyarrow.fs import LocalFileSystem
from trust import long_or

import lakebed
import lakebed.spark as ls
from lakebed.errors import LakebedError, SchemaError, TableNotFoundError
from lakebed.spark import frames
from lakebed.spark.types import spark_schema, to_spark
from lakebed.view import Bounds
from shared_data import (
    SAMPLE_ICEBERG_TABLE,
    SAMPLE_MOVED,
    SAMPLE_TABLE,
    sample_of,
)
from spark_rows import actual, collected, expected, sorted_rows

pytest.importorskip("pyspark")

pytestmark = pytest.mark.spark

GROUPS = ("partitions", "buckets", "health")
MAX_GROUPS = Bounds.groups


def readable(table: lakebed.Table) -> bool:
    try:
        table.health().to_arrow()
    except LakebedError:
        return False
    return True


def sums(table: lakebed.Table, view: str, **selection: Any) -> list[str]:
    """The rows of a view by what executors run: a task a manifest, and one that brings them together."""
    scan = getattr(table, view)(**selection)
    return sorted_rows(pa.Table.from_batches(rows(planned(scan, groups=MAX_GROUPS)), to_spark(scan.schema)))


@pytest.mark.parametrize("view", GROUPS)
@each_covering_table()
def test_sums_of_every_table_come_together(table, view):
    opened = table.open()
    if readable(opened):
        assert sums(opened, view) == expected(getattr(opened, view)())


def test_a_task_that_meets_many_groups_sends_them_on(monkeypatch):
    monkeypatch.setitem(globals(), "MAX_GROUPS", 1)
    for table in (lakebed.open_table(SAMPLE_TABLE), sample_of("iceberg")):
        for view in GROUPS:
            assert sums(table, view) == expected(getattr(table, view)())


@pytest.mark.parametrize("view", ["partitions", "health"])
def test_where_many_files_are_deleted_a_join_takes_them_away(spark, monkeypatch, view):
    monkeypatch.setattr(frames, "BOUNDS", replace(frames.BOUNDS, deletions=0))
    table = lakebed.open_table(SAMPLE_TABLE)
    assert any(manifest["deleted"] for manifest in table.partitions().planned_manifests())
    where = "dt >= '2026-01-02'"
    assert actual(getattr(ls, view)(spark, table, where=where)) == expected(getattr(table, view)(where=where))


def test_the_row_of_a_table_is_that_without_spark(spark):
    few: dict[str, Any] = {"small_bytes": 1000, "columns": ["small_file_count", "location"]}
    for table, selection in ((lakebed.open_table(SAMPLE_TABLE), few), (sample_of("iceberg"), {})):
        frame, scan = ls.health(spark, table, **selection), table.health(**selection)
        assert frame.schema == spark_schema(scan.schema)
        assert actual(frame) == expected(scan)
    table = lakebed.open_table(SAMPLE_TABLE)
    smaller = table.partitions(small_bytes=2400)
    assert expected(smaller) != expected(table.partitions())
    assert actual(ls.partitions(spark, table, small_bytes=2400)) == expected(smaller)


def test_a_filter_and_another_place_in_history(spark):
    older, where = lakebed.open_table(SAMPLE_TABLE).at(snapshot=4), "dt = '2026-01-02'"
    assert actual(ls.health(spark, SAMPLE_TABLE, where=where, at=4)) == expected(older.health(where=where))


def test_a_table_without_files(spark, made):
    assert actual(ls.health(spark, made.root)) == expected(lakebed.open_table(made.root).health())


def test_many_tables_share_tasks_and_answer_in_order(spark):
    paths = [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE] * 17
    frame = ls.health(spark, paths, columns=["location"], relocate=SAMPLE_MOVED)
    assert frame.rdd.getNumPartitions() == 16 * spark.sparkContext.defaultParallelism < len(paths)
    rows = collected(frame).to_pylist()
    assert [(row["location"], row["error"]) for row in rows] == [(str(path), None) for path in paths]


@pytest.mark.parametrize("large_bytes", [None, 0])
def test_many_tables_answer_whatever_one_of_them_is_like(spark, tmp_path: Path, large_bytes):
    broken = Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "broken"))
    victim = lakebed.open_table(broken).manifests().to_arrow()["path"][0].as_py()
    Path(victim).write_bytes(Path(victim).read_bytes()[:-1])
    paths: list[str | Path] = [
        SAMPLE_TABLE,
        tmp_path / "nowhere",
        SAMPLE_ICEBERG_TABLE,
        str(broken),
        SAMPLE_TABLE,
    ]
    frame = ls.health(spark, paths, relocate=SAMPLE_MOVED, storage=LocalFileSystem(), large_bytes=large_bytes)
    rows = collected(frame).to_pylist()
    assert [row["location"] for row in rows] == [str(path) for path in paths]
    errors = [row["error"] for row in rows]
    assert [error is None for error in errors] == [True, False, True, False, True]
    assert errors[1].startswith("table-not-found: ")
    assert errors[3].startswith("truncated: ")
    assert Path(victim).name in errors[3]
    assert [row["file_count"] is None for row in rows] == [error is not None for error in errors]
    for row, table in ((rows[0], lakebed.open_table(SAMPLE_TABLE)), (rows[2], sample_of("iceberg"))):
        assert row.pop("error") is None
        assert [row] == table.health().to_arrow().to_pylist()


@pytest.mark.parametrize("large_bytes", long_or([None], [None, 0]))
def test_many_golden_tables_in_one_job(spark, large_bytes):
    paimon = [str(table.path) for table in covering_paimon_tables()]
    rows = collected(ls.health(spark, paimon, large_bytes=large_bytes)).to_pylist()
    assert [row["location"] for row in rows] == paimon
    for row, path in zip(rows, paimon, strict=True):
        if readable(lakebed.open_table(path)):
            assert row.pop("error") is None
            assert [row] == lakebed.open_table(path).health().to_arrow().to_pylist()
        else:
            assert row["error"] is not None


def test_selected_columns_of_many_tables(spark):
    frame = ls.health(spark, [SAMPLE_TABLE] * 3, columns=["file_count"], where="dt = '2026-01-02'", at=1)
    wanted = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1).health(where="dt = '2026-01-02'").to_arrow()
    assert (
        collected(frame).to_pylist() == [{"file_count": wanted["file_count"][0].as_py(), "error": None}] * 3
    )
    assert collected(ls.health(spark, [])).num_rows == 0


def test_plans_and_errors_show_no_credentials(spark, capsys):
    frame = ls.health(spark, ["nowhere://user:secret@host/t?token=secret"])
    (row,) = collected(frame).to_pylist()
    assert row["location"] == "nowhere://host/t"
    assert row["error"].startswith("unsupported: ")
    frame.explain(extended=True)
    assert "secret" not in str(row) + capsys.readouterr().out


def test_wrong_questions_are_refused_by_the_driver(spark, tmp_path: Path):
    with pytest.raises(TableNotFoundError):
        ls.health(spark, tmp_path / "nowhere")
    with pytest.raises(SchemaError):
        ls.health(spark, [SAMPLE_TABLE], columns=["no_such"])
