"""`columns`: sums over the metrics of data files, which the engine and `files` have for each, and the newest
counts of distinct values.
"""

from __future__ import annotations

import json
import re
from datetime import time
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from covering import each_covering_iceberg_table, each_covering_paimon_table
from exchanging import exchanged
from test_jobs import column, rows

import lakebed
from iceberg_golden import GoldenTable as GoldenIcebergTable
from iceberg_golden import each_golden_iceberg_table
from lakebed import Table
from shared_data import SAMPLE_TABLE, GoldenTable, each_golden_paimon_table
from spark_rows import expected

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

Row = dict[str, Any]
COUNTS = {
    "value_count": "value_count",
    "null_count": "null_value_count",
    "nan_count": "nan_value_count",
    "column_size": "column_size",
}
"""The sums, with the engine's names of what is summed up."""


def shown(value: Any) -> str | None:
    """A bound that is neither a float nor a time, whose texts are compared by what they are read as."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_as(text: str | None, kind: pa.DataType) -> Any:
    """A bound as a value of the column's type, or as its text."""
    if text is None:
        return None
    if pa.types.is_floating(kind):
        return pa.scalar(float(text), kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(text.replace("T", " ")).cast(kind)
    if pa.types.is_time(kind):
        return pa.scalar(time.fromisoformat(text), kind)
    return text


def extreme(bounds: pa.ChunkedArray, name: str) -> Any:
    """The least lower or the greatest upper bound that is a number, of texts by their bytes."""
    kind = bounds.type
    if pa.types.is_floating(kind):
        bounds = bounds.filter(pc.invert(pc.is_nan(bounds)))
    if pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        values = [value for value in bounds.to_pylist() if value is not None]
        by = {"key": lambda value: value.encode()} if pa.types.is_string(kind) else {}
        return (min if name == "lower_bound" else max)(values, default=None, **by)
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        assert bounds.null_count == len(bounds)
        return None
    return pc.min_max(bounds)["min" if name == "lower_bound" else "max"]


def check(table: Table) -> list[Row]:
    """All that is said of each column is what `files` says of each file."""
    found = rows(table.columns())
    names = [row["column"] for row in found]
    files = table.files(columns=["content"], stats=names).to_arrow() if names else table.files().to_arrow()
    files = files.filter(pc.equal(files["content"], 0))
    for row, name in zip(found, names, strict=True):
        assert row["file_count"] == len(files)
        metrics = files["stats"].combine_chunks().field(names.index(name)) if len(files) else None
        if metrics is None:
            assert {row[count] for count in COUNTS} == {None}
            continue
        counts = {count: metrics.field(count).to_pylist() for count in COUNTS}
        for count, numbers in counts.items():
            known = [number for number in numbers if number is not None]
            assert row[count] == (sum(known) if known else None), (name, count)
        bounds = {bound: metrics.field(bound) for bound in ("lower_bound", "upper_bound")}
        for bound, values in bounds.items():
            extremum = extreme(pa.chunked_array([values]), bound)
            value = extremum.as_py() if isinstance(extremum, pa.Scalar) else extremum
            got = read_as(row[bound], values.type)
            if isinstance(got, pa.Scalar):
                assert got.equals(extremum), (name, bound)
            else:
                assert got == shown(value), (name, bound)
        uncounted = [None in pair for pair in zip(counts["value_count"], counts["null_count"], strict=True)]
        assert row["uncounted_file_count"] == sum(uncounted), name
    return found


@each_covering_iceberg_table()
def test_of_iceberg(table: GoldenIcebergTable) -> None:
    opened = table.open()
    found = check(opened)
    scan = opened.columns()
    for parts in (1, 3):
        assert exchanged(scan, parts) == expected(scan)
    own = {field["name"]: field["type"] for field in table.schema() if isinstance(field["type"], str)}
    types = {row["column"]: row["type"] for row in found if row["column"] in own}
    assert types == {name: kind for name, kind in own.items() if kind != "variant"}


@each_golden_iceberg_table()
def test_sums_are_those_of_the_engines_metrics(table: GoldenIcebergTable) -> None:
    files = [row["readable_metrics"] for row in table.rows("files") if row["content"] == 0]
    found = {row["column"]: row for row in rows(table.open().columns())}
    for name in files[0] if files else []:
        for count, theirs in COUNTS.items():
            # Some writers have -1 for what they do not know.
            numbers = [file[name][theirs] for file in files]
            known = [number for number in numbers if number is not None and number >= 0]
            assert found[name][count] == (sum(known) if known else None), (name, count)


@pytest.fixture(scope="module")
def connection() -> Any:
    """A connection with the extension that has `iceberg_column_stats`, a package until DuckDB 1.5."""
    pytest.importorskip("duckdb_extension_iceberg", reason="no package of DuckDB's Iceberg extension")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "benches"))
        return import_module("readers").duckdb_extensions(
            "avro", "iceberg", config={"allow_unsigned_extensions": "true"}
        )


@each_golden_iceberg_table()
def test_sums_are_those_of_duckdbs_column_stats(table: GoldenIcebergTable, connection: Any) -> None:
    """DuckDB has a row for each file and column."""
    import duckdb

    folder, _, name = table.info["metadata_file"].rpartition("/")
    version, suffix, _ = name.partition(".metadata.json")
    if folder != "metadata" or not suffix:
        pytest.skip("DuckDB does not look for metadata there")
    if table.name == "java_fixed_partition_v2":
        pytest.skip("DuckDB leaves out the second manifest, whose partitions are fixed and null")
    question = (
        "SELECT column_name, sum(value_count), sum(null_value_count), sum(nan_value_count), sum(column_size) "
        "FROM iceberg_column_stats(?, version => ?, version_name_format => '%s%s.metadata.json', "
        "allow_moved_paths => true) WHERE status <> 'DELETED' AND content = 'EXISTING' GROUP BY 1"
    )
    try:
        found = connection.execute(question, [str(table.path), version]).fetchall()
    except duckdb.Error as error:
        # Types, codecs and versions that it does not know, and encrypted files.
        unread = "Unrecognized primitive|unknown codec|magic number|'manifest-list' is missing|file not found"
        if re.search(unread, str(error)) is None:
            raise
        pytest.skip(str(error).partition("\n")[0])
    # A column within another has its last name alone there.
    top = {field["name"] for field in table.schema() if isinstance(field["type"], str)}
    sums = {row["column"]: tuple(row[count] for count in COUNTS) for row in rows(table.open().columns())}
    theirs = {name: tuple(counts) for name, *counts in found if name in top}
    assert theirs == {name: sums[name] for name in theirs}
    assert {name for name in top & sums.keys() if sums[name][0] is not None} <= theirs.keys()


@each_golden_iceberg_table()
def test_distinct_values_are_those_of_the_newest_ancestor_that_has_them(table: GoldenIcebergTable) -> None:
    opened = table.open()
    parents = {row["snapshot_id"]: row["parent_id"] for row in rows(opened.snapshots())}
    statistics = {
        row["snapshot_id"]: row["blob_metadata"] for row in rows(opened.metadata_table("statistics"))
    }
    for snapshot in parents:
        counts: dict[int, tuple[int, int]] = {}
        at: int | None = snapshot
        while at is not None:
            for blob in statistics.get(at, []):
                ndv = dict(blob["properties"]).get("ndv")
                if blob["type"] == "apache-datasketches-theta-v1" and ndv is not None:
                    counts.setdefault(blob["fields"][0], (int(ndv), blob["snapshot_id"]))
            at = parents.get(at)
        found = rows(opened.at(snapshot=snapshot).columns(columns=["column_id", "ndv", "ndv_snapshot_id"]))
        there = {
            row["column_id"]: (row["ndv"], row["ndv_snapshot_id"]) for row in found if row["ndv"] is not None
        }
        ids = {row["column_id"] for row in found}
        assert there == {number: count for number, count in counts.items() if number in ids}


@each_covering_paimon_table()
def test_of_paimon(table: GoldenTable) -> None:
    opened = lakebed.open_table(table.path)
    check(opened)
    scan = opened.columns()
    assert exchanged(scan, 3) == expected(scan)
    assert exchanged(scan, 2, deletions=0) == expected(scan)


@each_golden_paimon_table()
def test_distinct_values_are_those_that_the_engine_analyzed(table: GoldenTable) -> None:
    opened = lakebed.open_table(table.path)
    analyzed = rows(opened.metadata_table("statistics"))
    found = {row["column"]: (row["ndv"], row["ndv_snapshot_id"]) for row in rows(opened.columns())}
    if not analyzed:
        assert {*found.values()} <= {(None, None)}
        return
    (one,) = analyzed
    stats = json.loads(one["colstat"] or "{}")
    counts = {name: stats.get(name, {}).get("distinctCount") for name in found}
    assert found == {
        name: (None, None) if count is None else (count, one["snapshot_id"]) for name, count in counts.items()
    }


def test_columns_filter_and_limit() -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    every = rows(table.columns())
    assert len(every) > 3
    scan = table.columns(columns=["column", "null_count"], filter="null_count > 0", limit=1)
    assert scan.schema.names == ["column", "null_count"]
    nulls = [{name: row[name] for name in scan.schema.names} for row in every if row["null_count"]]
    assert rows(scan) == nulls[:1]
    assert column(table.columns(columns=["column"]), "column") == table.schema.names
    with pytest.raises(TypeError, match="filter= tests the columns of the view"):
        table.columns(where="dt = '2026-01-02'")  # type: ignore[call-arg]
