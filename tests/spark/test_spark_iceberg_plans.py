"""With Spark plans and changes of Iceberg tables are those without, value for value."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import encrypted_files
import pytest
from covering import each_covering_iceberg_table
from test_iceberg_pruning import spelled_out
from trust import THOROUGH

import lakebed
import lakebed.spark as ls
from iceberg_golden import GoldenTable, each_golden_iceberg_table, golden
from lakebed.spark import frames
from spark_rows import actual, compare, expected

pytest.importorskip("pyspark")
from pyspark.errors import PythonException

pytestmark = pytest.mark.spark

# Together they have deletes of every kind, within partitions and of all, of one spec and of several.
WITH_DELETES = ("dv_v3", "eq_deletes_global_v2", "eq_deletes_v2", "pos_deletes_v2", "upgrade_v1_v2_v3")
FEATURES = (*WITH_DELETES, "spec_evolution_v1", "upgrade_v2_v3_v4")


@pytest.fixture(params=["sent", "exchanged"])
def mode(request, monkeypatch) -> str:
    """Deletes are sent to executors; or they cross an exchange of several tasks and parts."""
    if request.param == "exchanged":
        exchange_deletes(monkeypatch)
    return str(request.param)


def exchange_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BOUNDS", replace(frames.BOUNDS, delete_bytes=0, task_bytes=1 << 14))


def filters(table: GoldenTable) -> Iterator[str]:
    """Of the filters that the engine was asked for one that leaves files out, and one that leaves something
    to test in rows.
    """
    opened = table.open()
    lines = [line for line in table.rows("plans") if line["snapshot_id"] == opened.snapshot_id]
    plans = {
        text: opened.plan(where=text, columns=["residual"]).to_arrow()["residual"]
        for text in (spelled_out(line) for line in lines[:24] if "files" in line)
    }
    every = max(map(len, plans.values()), default=0)
    yield from [text for text, left in plans.items() if 0 < len(left) < every][:1]
    yield from [text for text, left in plans.items() if left.null_count < len(left)][-1:]


@each_golden_iceberg_table(*FEATURES)
def test_plans_are_those_without_spark(spark, table, mode):
    opened = table.open()
    stats = [field["name"] for field in table.schema() if field["type"] != "variant"]
    assert compare(spark, opened, "plan", stats=stats) > 0
    for where in filters(table):
        compare(spark, opened, "plan", where=where, columns=["delete_files", "residual", "file_path"])


def test_plans_of_relative_paths_are_those_without_spark(spark, mode):
    table = golden("experimental_relative_paths_v4")
    assert compare(spark, table.open(), "plan") > 0
    for where in filters(table):
        compare(spark, table.open(), "plan", where=where)


@each_golden_iceberg_table("dv_v3", "eq_deletes_global_v2")
def test_plans_by_numbers_without_deletes_and_of_older_snapshots(spark, table, mode):
    opened = table.open()
    compare(spark, opened, "plan", deletes="ids", columns=["delete_ids", "file_path"])
    compare(spark, opened, "plan", columns=["residual", "record_count"])
    compare(spark, opened, "plan", columns=[])
    rows = expected(table.stand("plan@older").plan())
    assert actual(ls.plan(spark, opened, at=table.info["older_snapshot_id"])) == rows


@each_golden_iceberg_table("dv_v3", "eq_deletes_v2", "merge_append_v2")
def test_changes_are_those_without_spark(spark, table, monkeypatch):
    monkeypatch.setattr(frames, "BOUNDS", replace(frames.BOUNDS, task_bytes=1 << 14))
    opened = table.open()
    older, now = table.info["older_snapshot_id"], opened.snapshot_id
    assert compare(spark, opened, "diff", older, now) > 0
    compare(spark, opened, "diff", now, older, columns=["file_path", "change", "stats"], stats=[])
    assert compare(spark, opened, "diff", now, now) == 0
    compare(spark, opened, "appends")
    for where in filters(table):
        compare(spark, opened, "diff", older, now, where=where)
        compare(spark, opened, "appends", where=where, columns=["file_path"])


@each_golden_iceberg_table("encrypted_*")
def test_executors_ask_for_the_keys_of_encrypted_tables_themselves(spark, table, monkeypatch):
    exchange_deletes(monkeypatch)
    monkeypatch.setattr(frames, "SMALL_BYTES", None)
    # Executors have no modules of tests.
    spark.sparkContext.addPyFile(encrypted_files.__file__)
    opened = table.open()
    views = ("files", "plan", "partitions", "columns", "reachable", "totals", "verify", "health")
    for view in views:
        for how in ({"range_bytes": 1 << 12}, {"read": "spark"}):
            frame = getattr(ls, view)(spark, opened, **how)
            assert actual(frame) == expected(getattr(opened, view)()), (view, how)
        plan = frame._jdf.queryExecution().toString()
        assert not any(master in plan for master in table.keys.masters.values())


@each_golden_iceberg_table("dv_v3")
def test_a_corrupt_manifest_fails_the_job_once_and_says_how(spark, table, mode, tmp_path):
    copy = Path(shutil.copytree(table.path, tmp_path / "t"))
    opened = lakebed.open_table(copy, relocate=dict.fromkeys(table.relocate, str(copy)))
    victim = Path(opened.plan().planned_manifests()[-1]["path"])
    content = victim.read_bytes()
    victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(PythonException, match=rf"CorruptError: sync: (?!sync:).*{victim.name}"):
        ls.plan(spark, opened).collect()


@each_covering_iceberg_table("entry", "several", "format", "partition identity", "column")
def test_plans_and_changes_of_every_table_are_those_without_spark(spark, table, monkeypatch):
    opened, older = table.open(), table.info["older_snapshot_id"]
    compare(spark, opened, "appends")
    if older is not None:
        compare(spark, opened, "diff", older, opened.snapshot_id)
    compare_plans(spark, table)
    if THOROUGH or opened.deletes(columns=[]).to_arrow().num_rows:
        # Without deletes there is nothing to send or to exchange.
        exchange_deletes(monkeypatch)
        compare_plans(spark, table)


def compare_plans(spark: Any, table: GoldenTable) -> None:
    compare(spark, table.open(), "plan")
    for where in filters(table):
        compare(spark, table.open(), "plan", where=where)
    if table.info["older_snapshot_id"] is not None:
        compare(spark, table.stand("plan@older"), "plan")
