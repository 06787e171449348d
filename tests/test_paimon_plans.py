"""Filters leave the files that the engine's own plans leave, at every place of every golden table.

Fewer than the engine only by a rule that says why none can match; more only for what bounds of floats leave
open. The rules are those of `paimon_plans.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from covering import each_golden_place
from paimon_plans import FEWER, Place, may_hold_nan, places, to_sql
from trust import some

import lakebed
from lakebed.errors import PredicateError
from shared_data import SAMPLE_TABLE, GoldenTable, each_golden_paimon_table, golden_paimon_tables


@each_golden_place()
def test_plans_are_those_of_the_engine(place: Place) -> None:
    table = place.open()
    versions = table.schemas().to_arrow().to_pylist()
    wrong = []
    for plan in some(place.plans(), place.id):
        assert "error" not in plan, plan
        predicate = plan["predicate"]
        where = None if predicate is None else to_sql(predicate)
        rows = (
            table.plan(where=where, columns=["file_name", "schema_id", "delete_files"]).to_arrow().to_pylist()
        )
        kept, expected = {row["file_name"] for row in rows}, set(plan["files"])
        if not _is_shown(plan, rows, place):
            wrong.append(f"{where}: other deletes")
        if kept == expected:
            continue
        rules = [rule.__name__ for rule in FEWER if predicate and rule(predicate, table, versions)]
        if expected - kept and not rules:
            wrong.append(f"{where}: lacks {len(expected - kept)} of {len(expected)} files")
        more = [row for row in rows if row["file_name"] in kept - expected]
        # Files that hold the columns of the same rows are kept together.
        every = any if table.properties.get("data-evolution.enabled") == "true" else all
        if more and not every(
            predicate and may_hold_nan(predicate, versions, row["schema_id"]) for row in more
        ):
            wrong.append(f"{where}: {len(more)} files too many")
    assert not wrong, "\n".join(wrong)


def _is_shown(plan: dict[str, Any], rows: list[dict[str, Any]], place: Place) -> bool:
    """Whether the deletes of `rows` are those that the engine gives the same files."""
    parts = ("content", "file_path", "content_offset", "content_size", "record_count")
    shown = {
        row["file_name"]: [tuple(delete[part] for part in parts) for delete in row["delete_files"]]
        for row in rows
    }
    for name, deletes in shown.items():
        expected = plan["deletion_files"].get(name)
        if expected is None:
            if deletes:
                return False
            continue
        path = expected["path"].replace("${TABLE}", str(place.table.path))
        numbers = [expected[key] and int(expected[key]) for key in ("offset", "length", "cardinality")]
        if deletes != [(1, path, *numbers)]:
            return False
    return True


@pytest.mark.parametrize(
    ("where", "message"),
    [("nowhere = 1", "nowhere"), ("bucket(4, id) = 1", "transforms"), ("id = 'x'", "id")],
)
def test_what_does_not_bind_is_refused(where: str, message: str) -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    for view in (table.files, table.entries, table.manifests, table.partitions, table.buckets, table.deletes):
        with pytest.raises(PredicateError, match=message):
            view(where=where).to_arrow()


@each_golden_place()
def test_deletes_have_numbers(place: Place) -> None:
    plan = place.open().plan(columns=["file_name", "delete_ids"], deletes="ids")
    deletes = plan.deletes.to_arrow().to_pylist()
    assert [delete["delete_id"] for delete in deletes] == list(range(len(deletes)))
    for row in plan.to_arrow().to_pylist():
        for number in row["delete_ids"]:
            assert deletes[number]["referenced_file_name"] == row["file_name"]


@pytest.mark.parametrize(
    ("where", "residual"),
    [
        ("pt = 0", None),
        ("pt = 0 AND k > '0'", "\"k\" > '0'"),
        ("(pt = 0 AND k > '0') OR (pt = 1 AND k > '1')", "\"k\" > '0'"),
        ("pt = 0 AND bucket >= 0", None),
        ("k > '0'", "\"k\" > '0'"),
        (None, None),
    ],
)
def test_the_residual_is_what_a_partition_leaves_open(where: str | None, residual: str | None) -> None:
    tables = [table for table in golden_paimon_tables() if table.name == "pk_dv"]
    if not tables:
        pytest.skip("no golden table pk_dv")
    rows = lakebed.open_table(tables[0].path).plan(where=where, columns=["partition", "residual"]).to_arrow()
    assert rows.num_rows
    assert {row["residual"] for row in rows.to_pylist() if row["partition"]["pt"] == 0} == {residual}


# What pypaimon calls comparisons, and the types whose literals it takes as they are.
_PEER_NAMES = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less_than",
    "le": "less_or_equal",
    "gt": "greater_than",
    "ge": "greater_or_equal",
}
_PEER_LITERALS: dict[str, Callable[[str], Any]] = {"INT": int, "BIGINT": int, "STRING": str}
_PLANS_PER_TABLE = 6


@each_golden_paimon_table()
def test_pypaimon_keeps_all_that_is_kept(table: GoldenTable) -> None:
    """It prunes less; what it leaves out must be left out here too. What it fails at is passed over."""
    stores = pytest.importorskip("pypaimon.table.file_store_table")
    peer = stores.FileStoreTable.from_path(str(table.path))
    place = Place(table, table.expected)
    if place.id not in {planned.id for planned in places()}:
        pytest.skip(f"{table.name} comes without plans")
    opened = place.open()
    predicates = [plan["predicate"] for plan in place.plans() if plan["predicate"]]
    simple = [it for it in predicates if it["op"] in _PEER_NAMES and it["type"] in _PEER_LITERALS]
    for predicate in simple[:_PLANS_PER_TABLE]:
        builder = peer.new_read_builder()
        try:
            test = getattr(builder.new_predicate_builder(), _PEER_NAMES[predicate["op"]])
            literal = _PEER_LITERALS[predicate["type"]](predicate["values"][0])
            splits = builder.with_filter(test(predicate["col"], literal)).new_scan().plan().splits()
        except Exception as error:  # noqa: BLE001 - whatever it raises, it says nothing of files
            logging.getLogger(__name__).info("pypaimon fails at %s: %s", table.name, error)
            continue
        kept = opened.plan(where=to_sql(predicate), columns=["file_name"]).to_arrow()["file_name"].to_pylist()
        assert set(kept) <= {file.file_name for split in splits for file in split.files}, to_sql(predicate)
