"""What readers of Iceberg must do, a test a rule: which files a filter leaves."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import MadeTable, Record, avro_type, entry, entry_schema, field, optional

COLUMNS = [(1, "id", "int"), (2, "x", "double"), (3, "s", "string"), (4, "ts", "timestamp")]
SOURCES = {"id": 1, "x": 2, "s": 3, "ts": 4}


def int_bytes(value: int) -> bytes:
    return struct.pack("<i", value)


def double_bytes(value: float) -> bytes:
    return struct.pack("<d", value)


def partitioned(root: Path, source: str, transform: str = "identity") -> MadeTable:
    """A table of one partition field."""
    part = {"source-id": SOURCES[source], "field-id": 1000, "name": "part", "transform": transform}
    return MadeTable(root / "t", *COLUMNS, spec=[part])


def summarised(root: Path, source: str, kind: str, value: Any, **summary: Any) -> MadeTable:
    """A table of one manifest with one file, with this summary of its one identity partition."""
    table = partitioned(root, source)
    schema = entry_schema(2, [field(1000, "part", optional(avro_type(kind)))])
    record = table.manifest(entry(partition={"part": value}), schema=schema)
    whole = {"contains_null": False, "contains_nan": None, "lower_bound": None, "upper_bound": None} | summary
    table.commit({**record, "partitions": [whole]})
    return table


def manifests(table: MadeTable, where: str) -> int:
    return len(table.open().manifests(where=where).to_arrow())


def files(table: MadeTable, where: str) -> int:
    return len(table.open().files(where=where).to_arrow())


def test_a_partition_of_nulls(tmp_path: Path):
    table = summarised(tmp_path, "id", "int", None, contains_null=True)
    assert manifests(table, "id IS NULL") == manifests(table, "id <> 1") == 1
    assert manifests(table, "id IS NOT NULL") == manifests(table, "id = 1") == manifests(table, "id < 1") == 0


def test_a_partition_of_nan(tmp_path: Path):
    table = summarised(tmp_path, "x", "double", float("nan"), contains_nan=True)
    for where in ("is_nan(x)", "x IS NOT NULL", "x > 1", "x >= 1", "x <> 1", "x NOT IN (1, 2)", "x = 'NaN'"):
        assert manifests(table, where) == files(table, where) == 1, where
    for where in ("NOT is_nan(x)", "x IS NULL", "x < 1", "x <= 1", "x = 1", "x IN (1, 2)", "x <> 'NaN'"):
        assert manifests(table, where) == files(table, where) == 0, where


@pytest.mark.parametrize(
    ("contains_nan", "where", "kept"),
    [
        # NaN is larger than any other value: what may hold it is kept, whatever the sign of a zero.
        *[(nan, f"x {test}", 1) for nan in (True, None) for test in ("> -0.0", "> 0.0", ">= 0.0", ">= 5")],
        *[(nan, f"x {test}", 1) for nan in (True, None) for test in ("<> 0", "NOT IN (0.0)", "= 'NaN'")],
        *[(True, f"x {test}", 0) for test in ("> 'NaN'", "= 5", "BETWEEN 1 AND 5", "< -1")],
        *[(False, f"x {test}", 0) for test in ("> -0.0", "> 0.0", ">= 5", "<> 0", "NOT IN (0.0)", "= 'NaN'")],
        (False, "x >= -0.0", 1),
    ],
)
def test_nan_beside_numbers(tmp_path: Path, contains_nan: bool | None, where: str, kept: int):
    zero = double_bytes(0)
    bounds = {"lower_bound": zero, "upper_bound": zero}
    table = summarised(tmp_path, "x", "double", float("nan"), contains_nan=contains_nan, **bounds)
    assert manifests(table, where) == kept


def test_a_partition_of_one_value(tmp_path: Path):
    bound = int_bytes(5)
    table = summarised(tmp_path, "id", "int", 5, lower_bound=bound, upper_bound=bound)
    assert manifests(table, "id <> 5") == manifests(table, "id NOT IN (4, 5)") == 0
    assert manifests(table, "id <> 4") == manifests(table, "id NOT IN (4, 6)") == 1


def test_long_lists(tmp_path: Path):
    table = summarised(tmp_path, "id", "int", 5, lower_bound=int_bytes(5), upper_bound=int_bytes(9))
    for first, kept in ((6, 1), (10, 0)):
        assert manifests(table, f"id IN ({', '.join(map(str, range(first, first + 300)))})") == kept


@pytest.mark.parametrize("where", ["id = 5", "id < 9", "id IN (1, 5)", "id <> 4"])
def test_no_bounds_and_no_nulls_say_nothing(tmp_path: Path, where: str):
    table = summarised(tmp_path, "id", "int", 5)
    assert manifests(table, where) == files(table, where) == 1
    assert manifests(table, "id IS NULL") == 0


def metrics(root: Path, **maps: dict[int, Any]) -> MadeTable:
    """A table of one file with these metrics."""
    table = MadeTable(root / "t", *COLUMNS)
    values: Record = {"record_count": 10, **maps}
    table.commit(table.manifest(entry(**values)))
    return table


ALL_NULL: dict[str, Any] = {"value_counts": {1: 10, 2: 10, 3: 10}, "null_value_counts": {1: 10, 2: 10, 3: 10}}
NO_NULL: dict[str, Any] = {"value_counts": {1: 10, 2: 10, 3: 10}, "null_value_counts": {1: 0, 2: 0, 3: 0}}
INTS: dict[str, Any] = {"lower_bounds": {1: int_bytes(5)}, "upper_bounds": {1: int_bytes(9)}}
TEXTS: dict[str, Any] = {"lower_bounds": {3: b"abc"}, "upper_bounds": {3: b"abe"}}


@pytest.mark.parametrize(
    ("maps", "left", "dropped"),
    [
        # Missing maps say nothing.
        ({}, ["id = 1", "id IS NULL", "id IS NOT NULL", "is_nan(x)", "starts_with(s, 'q')"], []),
        (ALL_NULL, ["id IS NULL", "id <> 1"], ["id IS NOT NULL", "id = 1", "id < 1", "starts_with(s, 'a')"]),
        (NO_NULL, ["id IS NOT NULL", "id = 1"], ["id IS NULL"]),
        (
            NO_NULL | {"nan_value_counts": {2: 10}},
            ["is_nan(x)", "x > 1", "x >= 1", "x <> 1", "x NOT BETWEEN 1 AND 2", "x = 'NaN'"],
            ["NOT is_nan(x)", "x < 1", "x = 1", "x > 'NaN'", "x BETWEEN 1 AND 2"],
        ),
        (NO_NULL | {"nan_value_counts": {2: 0}}, ["NOT is_nan(x)"], ["is_nan(x)"]),
        # Counts below zero are unknown.
        (
            INTS | {"value_counts": {1: 10}, "null_value_counts": {1: -1}},
            ["id IS NULL", "id = 5"],
            ["id = 4"],
        ),
        # So are bounds that are NaN below, or are no values of their column.
        (
            {"lower_bounds": {2: double_bytes(float("nan"))}, "upper_bounds": {2: double_bytes(1)}},
            ["x > 5"],
            [],
        ),
        ({"lower_bounds": {1: b"\x01"}, "upper_bounds": {1: b"\x02\x00"}}, ["id = 9", "id < -5"], []),
        (INTS, ["id < 6", "id <= 5", "id > 8", "id >= 9", "id = 7", "id IN (1, 7)"], []),
        (INTS, [], ["id < 5", "id <= 4", "id > 9", "id >= 10", "id = 10", "id IN (1, 10)"]),
        (TEXTS, ["starts_with(s, 'abd')", "NOT starts_with(s, 'abc')"], ["starts_with(s, 'b')"]),
        (TEXTS | NO_NULL, ["NOT starts_with(s, 'abc')"], ["NOT starts_with(s, 'ab')"]),
        # Bounds that are crossed say nothing.
        ({"lower_bounds": {1: int_bytes(9)}, "upper_bounds": {1: int_bytes(5)}}, ["id = 1", "id > 20"], []),
    ],
)
def test_inclusive_metrics(tmp_path: Path, maps: dict[str, Any], left: list[str], dropped: list[str]):
    table = metrics(tmp_path, **maps)
    assert [where for where in left if files(table, where) != 1] == []
    assert [where for where in dropped if files(table, where) != 0] == []


@pytest.mark.parametrize(
    ("where", "without_nan", "with_nan"),
    [
        ("x > 1E400", 0, 1),
        ("x >= 1E400", 0, 1),
        ("x > -1E400", 1, 1),
        ("x < 1E400", 1, 1),
        ("x <= -1E400", 0, 0),
        ("x = 1E400", 0, 0),
        ("x <> 1E400", 1, 1),
        ("x IN (1E400, 20)", 0, 0),
        ("x BETWEEN 2 AND 1E400", 1, 1),
        ("NOT (x <= 1E400)", 0, 1),
        ("id > 1E40", 0, 0),
        ("id < 1E40", 1, 1),
    ],
)
def test_literals_beyond_a_column(tmp_path: Path, where: str, without_nan: int, with_nan: int):
    bounds = {"lower_bounds": {2: double_bytes(1)}, "upper_bounds": {2: double_bytes(9)}}
    for nans, kept in ((0, without_nan), (1, with_nan)):
        table = metrics(tmp_path / str(nans), **NO_NULL, **bounds, nan_value_counts={2: nans})
        assert files(table, where) == kept


def test_rows_that_are_not_counted(tmp_path: Path):
    table = MadeTable(tmp_path / "t", *COLUMNS)
    paths = {"imported": -1, "empty": 0}
    table.commit(table.manifest(*(entry(path=path, record_count=rows) for path, rows in paths.items())))
    assert table.open().files(where="id = 1").to_arrow()["file_path"].to_pylist() == ["imported"]


def test_the_residual_of_a_day(tmp_path: Path):
    table = partitioned(tmp_path, "ts", "day")
    schema = entry_schema(2, [field(1000, "part", optional(avro_type("date")))])
    days = {"before": 17485, "same": 17486, "after": 17487, "never": None}
    table.commit(
        table.manifest(*(entry(path=p, partition={"part": d}) for p, d in days.items()), schema=schema)
    )
    plan = table.open().plan(where="ts >= TIMESTAMP '2017-11-16 10:00:00'").to_arrow()
    found = dict(zip(plan["file_path"].to_pylist(), plan["residual"].to_pylist(), strict=True))
    assert found == {"same": "\"ts\" >= TIMESTAMP '2017-11-16 10:00:00'", "after": None}
