"""`overlap`: how many files a value meets, counted one by one from the bounds that `files` has of each."""

from __future__ import annotations

import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from command_line import complaint, printed
from covering import EitherGolden, each_covering_table
from exchanging import exchanged
from iceberg_made import MadeTable, entry
from test_jobs import rows

import lakebed
from lakebed import Table
from lakebed.errors import PredicateError, SchemaError
from shared_data import SAMPLE_TABLE
from spark_rows import expected

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

Row = dict[str, Any]


def ordered(bound: Any) -> Any:
    """A bound by which files are compared: texts by their bytes."""
    return bound.encode() if isinstance(bound, str) else bound


def counted(files: list[Row], column: str) -> Row:
    """What is said of a partition's files and a column, one by one."""
    bounds, unbounded = list[tuple[Any, Any]](), 0
    for file in files:
        stats = file["stats"][column]
        pair = (ordered(stats["lower_bound"]), ordered(stats["upper_bound"]))
        # What is no value, and what contradicts itself, bounds nothing.
        if all(bound is not None and bound == bound for bound in pair) and pair[0] <= pair[1]:
            bounds.append(pair)
        else:
            values, nulls, nans = (stats[name] for name in ("value_count", "null_count", "nan_count"))
            is_empty = None not in (values, nulls) and values - nulls <= (nans or 0)
            unbounded += not is_empty
    values = [bound for pair in bounds for bound in pair]
    depths = [sum(lower <= value <= upper for lower, upper in bounds) for value in values]
    single = [max(1, sum(lower == value == upper for lower, upper in bounds)) for value in values]
    return {
        "column": column,
        "file_count": len(files),
        "unbounded_file_count": unbounded,
        "average_depth": sum(depths) / len(depths) if depths else None,
        "max_depth": max(depths, default=None),
        "sorted_depth": sum(single) / len(single) if single else None,
    }


def check(table: Table) -> None:
    names = [row["column"] for row in rows(table.columns(columns=["column"]))]
    if not names:
        return
    files = defaultdict[str, list[Row]](list)
    for row in rows(table.files(columns=["content", "partition", "spec_id"], stats=names)):
        if row["content"] == 0:
            files[repr((row["spec_id"], row["partition"]))].append(row)
    found = rows(table.overlap())
    keys = [(row["column"], repr((row.pop("spec_id"), row.pop("partition")))) for row in found]
    assert sorted(keys) == sorted((name, place) for name in names for place in files)
    for row, (name, place) in zip(found, keys, strict=True):
        assert row == pytest.approx(counted(files[place], name)), (name, place)
    scan = table.overlap(names[:2])
    for parts in (1, 3):
        assert exchanged(scan, parts) == expected(scan)


@each_covering_table()
def test_of_every_table(table: EitherGolden) -> None:
    check(table.open())


@pytest.mark.parametrize(("kind", "form"), [("float", "<f"), ("double", "<d")])
def test_both_zeros_are_one_value(kind: str, form: str, tmp_path: Path) -> None:
    zeros = [struct.pack(form, zero) for zero in (-0.0, 0.0)]
    bounds = [
        {"lower_bounds": {1: zero}, "upper_bounds": {1: zero}, "value_counts": {1: 5}} for zero in zeros
    ]
    table = MadeTable(tmp_path / "t", (1, "x", kind))
    table.commit(
        table.manifest(*(entry(1, f"{n}.parquet", snapshot_id=1, **one) for n, one in enumerate(bounds)))
    )
    check(table.open())
    (row,) = rows(table.open().overlap())
    assert (row["average_depth"], row["max_depth"], row["sorted_depth"]) == (2, 2, 2)


def test_bounds_that_contradict_each_other_bound_nothing(tmp_path: Path) -> None:
    pairs = [(5, 2), (1, 3), (2, 2)]
    bounds = [
        {"lower_bounds": {1: a.to_bytes(4, "little")}, "upper_bounds": {1: b.to_bytes(4, "little")}}
        for a, b in pairs
    ]
    table = MadeTable(tmp_path / "t", (1, "x", "int"))
    table.commit(
        table.manifest(*(entry(1, f"{n}.parquet", snapshot_id=1, **one) for n, one in enumerate(bounds)))
    )
    check(table.open())
    (row,) = rows(table.open().overlap())
    assert (row["unbounded_file_count"], row["average_depth"], row["max_depth"]) == (1, 1.5, 2)
    assert "within the bounds of 1.5 of 3 files" in str(table.open().plan(where="x = 2").explain())


def test_columns_conditions_and_limits() -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    every = rows(table.overlap(columns=["amount"]))
    assert {row["column"] for row in every} == {"amount"}
    deep = rows(table.overlap(["amount"], filter="average_depth > 2", limit=2))
    assert deep == [row for row in every if row["average_depth"] > 2][:2]
    emea = rows(table.overlap(["amount"], where="region = 'emea'"))
    assert emea == [row for row in every if row["partition"]["region"] == "emea"]
    with pytest.raises(SchemaError, match="nowhere"):
        table.overlap(["nowhere"])
    with pytest.raises(PredicateError, match="no column"):
        table.overlap(["amount"], filter="nowhere > 2")
    with pytest.raises(TypeError, match="a list of names"):
        table.overlap("amount")


def test_the_command_line() -> None:
    words = ("overlap", SAMPLE_TABLE, "--columns", "amount", "--sort", "-average_depth", "--limit", "1")
    (row,) = printed(*words)
    assert row["average_depth"] == max(row["average_depth"] for row in printed(*words[:4]))
    assert "no column" in complaint("overlap", SAMPLE_TABLE, "--sort", "depth", code=2)
