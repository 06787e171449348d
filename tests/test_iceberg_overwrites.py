"""A file is removed by `where=` only where each of its rows matches, whichever engine asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_rows import file_rows

import lakebed
from lakebed.errors import UnsupportedError

NAN = float("nan")
SCHEMA = pa.schema(
    [
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("n", pa.struct([("d", pa.float64()), ("i", pa.int32())])),
    ]
)
REMOVED, KEPT, REFUSED = "removed", "kept", "refused"


def rows(count: int, **columns: list[Any]) -> pa.Table:
    full = {name: columns.get(name, [None] * count) for name in SCHEMA.names}
    return pa.table({name: pa.array(full[name], SCHEMA.field(name).type) for name in SCHEMA.names})


def outcome(location: Path, data: pa.Table, where: str, **given: Any) -> str:
    """What `overwrite_files` does with a file of these rows."""
    table = lakebed.create_table(location, data.schema, "iceberg", **given)
    (location / "data").mkdir()
    pq.write_table(data, location / "data" / "a.parquet")
    table = table.append_files(lakebed.describe_file(table, "data/a.parquet", data))
    return outcome_in(table, where)


def outcome_in(table: lakebed.Table, where: str) -> str:
    """The same of a table with one file."""
    try:
        left = table.overwrite_files(where=where)
    except UnsupportedError as error:
        return REFUSED if "some rows" in str(error) else str(error)
    return KEPT if left.files().to_arrow().num_rows else REMOVED


SOME_NAN = rows(2, d=[NAN, 5.0], f=[NAN, 5.0])
ALL_NAN = rows(2, d=[NAN, NAN], f=[NAN, NAN])
NO_NAN = rows(2, d=[5.0, 6.0], f=[5.0, 6.0])
SOME_NULL = rows(2, i=[None, 5], s=[None, "ab"], d=[None, 5.0])
ALL_NULL = rows(2)
IN_NULL_STRUCT = rows(2, n=[None, {"d": 5.0, "i": 5}])
IN_STRUCT = rows(2, n=[{"d": 5.0, "i": 5}, {"d": 6.0, "i": 6}])
CASES: list[tuple[pa.Table, str, str]] = [
    # Some engines hold NaN greater than any number, for others it is not comparable.
    *((SOME_NAN, f"{column} {test}", REFUSED) for column in "df" for test in ("> 1", ">= 5", "<> 'NaN'")),
    (SOME_NAN, "NOT (d < 1)", REFUSED),
    (SOME_NAN, "d > 1 AND d IS NOT NULL", REFUSED),
    (SOME_NAN, "d NOT BETWEEN 1 AND 2", REFUSED),
    (SOME_NAN, "d > 1 OR i > 1", REFUSED),
    (SOME_NAN, "d <= 5", REFUSED),
    (SOME_NAN, "d BETWEEN 1 AND 9", REFUSED),
    (SOME_NAN, "d = 5", REFUSED),
    (SOME_NAN, "d IN (5)", REFUSED),
    (SOME_NAN, "d <=> 5", REFUSED),
    (SOME_NAN, "is_nan(d)", REFUSED),
    (SOME_NAN, "d > 1 OR is_nan(d)", REFUSED),
    (SOME_NAN, "d <> 1", REMOVED),
    (SOME_NAN, "d NOT IN (1, 2)", REMOVED),
    (SOME_NAN, "d IS NOT NULL", REMOVED),
    (ALL_NAN, "d > 1", REFUSED),
    (ALL_NAN, "d = 'NaN'", REFUSED),
    (ALL_NAN, "d <=> 'NaN'", REFUSED),
    (ALL_NAN, "d < 1", KEPT),
    (ALL_NAN, "is_nan(d)", REMOVED),
    (ALL_NAN, "NOT is_nan(d)", KEPT),
    (NO_NAN, "d > 1", REMOVED),
    (NO_NAN, "f >= 5", REMOVED),
    (NO_NAN, "NOT is_nan(d)", REMOVED),
    (NO_NAN, "d < 'NaN'", REFUSED),
    # As in SQL, null matches neither a comparison nor its negation.
    *((SOME_NULL, f"i {test}", REFUSED) for test in ("<> 7", "NOT IN (7, 8)", "= 5", "NOT BETWEEN 7 AND 8")),
    (SOME_NULL, "i IS DISTINCT FROM 7", REMOVED),
    (SOME_NULL, "i <> 99999999999", REFUSED),
    (SOME_NULL, "NOT starts_with(s, 'x')", REFUSED),
    (SOME_NULL, "s NOT LIKE 'x%'", REFUSED),
    (SOME_NULL, "NOT is_nan(d)", REFUSED),
    (SOME_NULL, "i <> 7 OR i IS NULL", REFUSED),
    (ALL_NULL, "i <> 7", KEPT),
    (ALL_NULL, "i NOT IN (7)", KEPT),
    (ALL_NULL, "i IS NULL", REMOVED),
    # Metrics do not tell how many rows have no field in a struct.
    (IN_NULL_STRUCT, "n.d > 1", REFUSED),
    (IN_NULL_STRUCT, "n.i <> 7", REFUSED),
    (IN_NULL_STRUCT, "n.i IS NOT NULL", REFUSED),
    (IN_STRUCT, "n.i > 1", REFUSED),
    (IN_STRUCT, "n.i > 7", KEPT),
]


@pytest.mark.parametrize(
    ("data", "where", "expected"), CASES, ids=[f"{n}-{c[1]}" for n, c in enumerate(CASES)]
)
def test_a_file_is_removed_only_if_all_of_its_rows_match(
    tmp_path: Path, data: pa.Table, where: str, expected: str
):
    assert outcome(tmp_path / "t", data, where) == expected


@pytest.mark.parametrize(
    ("modes", "where"),
    [
        ({"write.metadata.metrics.default": "none"}, "i > 1"),
        ({"write.metadata.metrics.default": "counts"}, "i > 1"),
        ({"write.metadata.metrics.column.d": "none"}, "d > 1"),
    ],
)
def test_what_no_metrics_tell_is_not_removed(tmp_path: Path, modes: dict[str, str], where: str):
    data = rows(2, i=[5, 6], d=[5.0, 6.0])
    assert outcome(tmp_path / "t", data, where, properties=modes) == REFUSED


def test_nan_that_are_not_counted_may_be_there(tmp_path: Path):
    table = lakebed.create_table(tmp_path / "t", pa.schema([("d", pa.float64())]), "iceberg")
    stats = {"value_count": 2, "null_count": 0, "nan_count": None, "lower_bound": 5.0, "upper_bound": 6.0}
    table = table.append_files(file_rows("data/a.parquet", record_count=2, stats={"d": stats}))
    with pytest.raises(UnsupportedError, match="some rows"):
        table.overwrite_files(where="d > 1")
    assert table.overwrite_files(where="d <> 1").files().to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("value", "where", "expected"),
    [
        (NAN, "d > 1", REFUSED),
        (NAN, "d < 1", KEPT),
        (NAN, "is_nan(d)", REMOVED),
        (NAN, "d <> 1", REMOVED),
        (None, "d <> 1", KEPT),
        (None, "d IS NULL", REMOVED),
        (5.0, "d > 1", REMOVED),
    ],
)
def test_a_partition_is_judged_like_its_rows(tmp_path: Path, value: float | None, where: str, expected: str):
    table = lakebed.create_table(
        tmp_path / "t", pa.schema([("d", pa.float64())]), "iceberg", partition_by=["d"]
    )
    partition = pa.array([{"d": value}], pa.struct([("d", pa.float64())]))
    table = table.append_files(file_rows("data/a.parquet", record_count=2, partition=partition))
    assert outcome_in(table, where) == expected


def test_files_are_deleted_by_a_condition_alone(tmp_path: Path):
    """Whatever matches when the commit is made goes, also what others have added meanwhile."""
    schema = pa.schema([("day", pa.int32())])
    table = lakebed.create_table(tmp_path / "t", schema, "iceberg", partition_by=["day"])

    def added(table: lakebed.Table, name: str, day: int) -> lakebed.Table:
        return table.append_files(file_rows(f"data/{name}.parquet", partition={"day": day}))

    opened = added(added(table, "a", 1), "b", 2)
    added(opened, "c", 1)
    assert opened.delete_files("day = 9").files().to_arrow().num_rows == 3
    left = opened.delete_files(lakebed.col("day") == 1)
    assert [Path(path).stem for path in left.files().to_arrow()["file_path"].to_pylist()] == ["b"]
    assert left.snapshots().to_arrow()["operation"].to_pylist()[-1] == "delete"
    added(left, "d", 3)
    left = left.delete_files([f"{left.location}/data/b.parquet"], where="day > 2")
    assert left.files().to_arrow().num_rows == 0
    with pytest.raises(TypeError, match="files, where, or both"):
        left.delete_files()
    with pytest.raises(TypeError, match="one condition"):
        left.delete_files("day = 1", where="day = 2")
