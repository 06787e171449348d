"""Plans that hold as many rows as are wanted, and no more files than those need."""

from __future__ import annotations

import pytest

import lakebed
from iceberg_golden import GoldenTable as IcebergTable
from iceberg_golden import each_golden_iceberg_table
from shared_data import SAMPLE_TABLE, GoldenTable, each_golden_paimon_table

COLUMNS = ["file_path", "record_count", "delete_files", "residual"]


def check(table: lakebed.Table) -> None:
    """For several limits the plan is the beginning of the whole one that holds the rows."""
    whole = table.plan(columns=COLUMNS, threads=1).to_arrow().to_pylist()
    sure = [0 if file["delete_files"] or file["residual"] else file["record_count"] for file in whole]
    for wanted in (0, 1, sum(sure) // 2, sum(sure), sum(sure) + 1):
        count = next((n for n in range(len(whole) + 1) if sum(sure[:n]) >= wanted), len(whole))
        plan = table.plan(columns=["file_path"], row_limit=wanted, threads=1).to_arrow()
        assert plan.schema.names == ["file_path"]
        assert plan["file_path"].to_pylist() == [file["file_path"] for file in whole[:count]], wanted


@each_golden_iceberg_table()
def test_iceberg_plans_end_with_the_rows(table: IcebergTable) -> None:
    opened = table.open()
    if opened.snapshot_id is not None:
        check(opened)


@each_golden_paimon_table()
def test_paimon_plans_end_with_the_rows_unless_files_are_merged(table: GoldenTable) -> None:
    opened = lakebed.open_table(table.path)
    keys = opened.schemas().to_arrow().to_pylist()[-1]["primary_keys"]
    options = opened.properties
    evolves = options.get("data-evolution.enabled") == "true"
    vectors = options.get("deletion-vectors.enabled") == "true"
    if evolves or (keys and not vectors and options.get("merge-engine") != "first-row"):
        one = opened.plan(columns=["file_path"], row_limit=1).to_arrow()
        assert one.equals(opened.plan(columns=["file_path"]).to_arrow())
    else:
        check(opened)


def test_what_is_left_to_test_does_not_count() -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    open_filter = "region IS NOT NULL AND amount >= 0"
    whole = table.plan(where=open_filter, columns=["file_path"]).to_arrow()
    assert whole.num_rows > 1
    assert table.plan(where=open_filter, columns=["file_path"], row_limit=1).to_arrow().equals(whole)
    with pytest.raises(ValueError, match="row_limit"):
        table.plan(row_limit=-1)
