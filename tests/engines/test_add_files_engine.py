"""Files that `add_files` adds, beside those that Iceberg's Java adds as its procedure for Spark does."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from java_engine import JavaEngine, each_iceberg_release

import lakebed
from lakebed._columns import columns_of, leaves_of

pytestmark = pytest.mark.jvm

UTC = dt.timezone.utc
TIMES = [dt.datetime(1970, 1, 1, 0, 0, 0, 1), None, dt.datetime(2026, 1, 1, 12, 0, 0, 1)]
COLUMNS: dict[str, pa.Array] = {
    "flag": pa.array([True, None, False]),
    "small": pa.array([3, None, -7], pa.int32()),
    "large": pa.array([2**62, -(2**62), None], pa.int64()),
    "single": pa.array([1.5, None, -0.0], pa.float32()),
    "double": pa.array([0.25, 2.5, None], pa.float64()),
    "day": pa.array([dt.date(1900, 1, 1), None, dt.date(2026, 2, 3)]),
    "at": pa.array(TIMES, pa.timestamp("us")),
    "text": pa.array(["the quick brown fox jumps", None, "été" * 9]),
    "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
    "wide": pa.array([Decimal(10) ** 30, None, -(Decimal(10) ** 20)], pa.decimal128(38, 4)),
    "nothing": pa.array([None, None, None], pa.int32()),
    "inner": pa.array([{"x": 1, "y": "é" * 20}, {"x": None, "y": "a"}, {"x": 3, "y": None}]),
    "list": pa.array([["a", "b"], [], None], pa.list_(pa.string())),
    "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
}
OF_PARQUET = {
    "instant": pa.array(TIMES, pa.timestamp("us", "UTC")),
    "clock": pa.array([dt.time(1, 2, 3, 4), None, dt.time(23)], pa.time64("us")),
    "raw": pa.array([b"\xff" * 20, None, b"\x00" * 20]),
    "fixed": pa.array([b"abcde", None, b"\xff\xff\xff\xff\xff"], pa.binary(5)),
}
MODES = {"write.metadata.metrics.column.text": "truncate(3)", "write.metadata.metrics.column.wide": "counts"}
MODES |= {"write.metadata.metrics.column.large": "none", "write.metadata.metrics.column.raw": "full"}


def parquet(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, row_group_size=2)


def old_parquet(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, version="1.0", use_dictionary=False, use_deprecated_int96_timestamps=True)


def half_measured(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, write_statistics=["small", "text"])


def of_orc(rows: pa.Table, path: Path) -> None:
    orc.write_table(rows, path, compression="zstd")


def of_avro(rows: pa.Table, path: Path) -> None:
    lakebed.avro.write(rows, path)


WRITERS = [parquet, old_parquet, half_measured, of_orc, of_avro]


class Pair:
    """Two tables of the same schema, one for each."""

    def __init__(self, folder: Path, schema: pa.Schema, **given: Any) -> None:
        self.ours = lakebed.create_table(folder / "ours", schema, "iceberg", **given)
        self.theirs = lakebed.create_table(folder / "theirs", schema, "iceberg", **given)

    def add(self, java: JavaEngine, folder: Path, file_format: str, **partition: str) -> None:
        where = folder.joinpath(*(f"{name}={value}" for name, value in partition.items()))
        java.ask(
            "add_files",
            table=self.theirs.location,
            folder=str(where),
            format=file_format,
            partition=partition,
        )
        self.theirs = self.theirs.refresh()
        self.ours = self.ours.add_files(where)

    def entries(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What both have of each file, by field id."""
        return rows_of(self.ours), rows_of(self.theirs)


def rows_of(table: lakebed.Table) -> list[dict[str, Any]]:
    leaves = {leaf.id for leaf in leaves_of(columns_of(table))}
    rows = table.entries().to_arrow().to_pylist()
    for row in rows:
        row["file_path"] = row["file_path"].removeprefix("file:")
        for name in [name for name in row if name.endswith(("_counts", "_sizes", "_bounds"))]:
            # Java has counts of structs and lists of ORC files too, and sizes of 0 where none are known.
            known = {key: value for key, value in row[name] or () if key in leaves}
            row[name] = {key: value for key, value in known.items() if (name, value) != ("column_sizes", 0)}
    return sorted(rows, key=lambda row: str(row["file_path"]))


SAME = ["file_path", "file_format", "partition", "record_count", "file_size_in_bytes", "column_sizes"]
SAME += ["value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"]


@each_iceberg_release
@pytest.mark.parametrize("properties", [{}, MODES], ids=["inferred", "modes"])
@pytest.mark.parametrize("write", WRITERS)
def test_metrics_are_those_of_java(
    tmp_path: Path,
    iceberg_java: JavaEngine,
    write: Callable[[pa.Table, Path], None],
    properties: dict[str, str],
) -> None:
    is_parquet = write in (parquet, old_parquet, half_measured)
    rows = pa.table(COLUMNS | (OF_PARQUET if is_parquet else {}))
    # Times without a zone are in Avro what Iceberg's Java does not read.
    rows = rows.drop(["at"]) if write is of_avro else rows
    known = {key: mode for key, mode in properties.items() if key.rpartition(".")[2] in rows.schema.names}
    pair = Pair(tmp_path, rows.schema, properties=known)
    file_format = "parquet" if is_parquet else write.__name__.removeprefix("of_")
    folder = tmp_path / "files"
    folder.mkdir()
    write(rows, folder / f"a.{file_format}")
    write(rows.slice(1, 1), folder / f"b.{file_format}")
    pair.add(iceberg_java, folder, file_format)

    ours, theirs = pair.entries()
    assert len(ours) == 2
    times = {leaf.id for leaf in leaves_of(columns_of(pair.ours)) if leaf.path in ("at", "instant")}
    for mine, their in zip(ours, theirs, strict=True):
        for name in SAME:
            if write in (old_parquet, half_measured) and name == "value_counts":
                # How many values there are is known of columns without statistics too: Java leaves that out.
                extra = mine[name].keys() - their[name].keys()
                assert write is half_measured or extra <= times
                mine[name] = {key: count for key, count in mine[name].items() if key not in extra}
            assert mine[name] == their[name], name
    # Java's own reader finds the rows by the name mapping that was set.
    for column in ("small", "text", "price", "inner", "list"):
        answers = [
            iceberg_java.ask("rows", table=one.location, column=column) for one in (pair.ours, pair.theirs)
        ]
        assert sorted(answers[0]) == sorted(answers[1])
        assert len(answers[0]) == rows.num_rows + 1


@each_iceberg_release
def test_partitions_of_folders_are_those_of_java(tmp_path: Path, iceberg_java: JavaEngine) -> None:
    rows = pa.table({"id": [1, 2], "region": ["a b/c", "a b/c"], "day": [dt.date(2026, 1, 1)] * 2})
    pair = Pair(tmp_path, rows.schema, partition_by=["region", "day"])
    folder = tmp_path / "files" / "region=a b" / "day=2026-01-01"
    folder.mkdir(parents=True)
    pq.write_table(rows.select(["id"]), folder / "a.parquet")
    (folder / "_SUCCESS").touch()
    pair.add(iceberg_java, tmp_path / "files", "parquet", region="a b", day="2026-01-01")
    ours, theirs = pair.entries()
    assert [[row[name] for name in SAME] for row in ours] == [[row[name] for name in SAME] for row in theirs]
    assert ours[0]["partition"] == {"region": "a b", "day": dt.date(2026, 1, 1)}
    assert iceberg_java.ask("rows", table=pair.ours.location, column="region") == ["a b"] * 2


@each_iceberg_release
def test_nan_is_no_bound_and_hides_none(tmp_path: Path, iceberg_java: JavaEngine) -> None:
    rows = pa.table({"x": [math.nan, 1.0, -0.0], "y": [math.nan] * 3})
    pair = Pair(tmp_path, rows.schema)
    (tmp_path / "files").mkdir()
    pq.write_table(rows, tmp_path / "files" / "a.parquet")
    pair.add(iceberg_java, tmp_path / "files", "parquet")
    ours, theirs = pair.entries()
    for name in SAME:
        assert ours[0][name] == theirs[0][name], name
    (bounds,) = pair.ours.files(stats=["x"]).to_arrow()["stats"].to_pylist()
    assert (math.copysign(1, bounds["x"]["lower_bound"]), bounds["x"]["upper_bound"]) == (-1, 1)


INFERRED = "write.metadata.metrics.max-inferred-column-defaults"
DEFAULT = "write.metadata.metrics.default"


@each_iceberg_release
@pytest.mark.parametrize(
    "properties",
    [{INFERRED: "3"}, {INFERRED: "14"}, {INFERRED: "0"}, {DEFAULT: "counts"}, {DEFAULT: "none"}],
    ids=str,
)
def test_columns_that_a_table_is_sorted_by_keep_their_bounds(
    tmp_path: Path, iceberg_java: JavaEngine, properties: dict[str, str]
) -> None:
    rows = pa.table(COLUMNS)
    pair = Pair(tmp_path, rows.schema, properties=properties)
    for table in (pair.ours, pair.theirs):
        iceberg_java.ask("manage", table=table.location, steps=[["sort", "text"], ["sort", "inner.y"]])
    pair.ours = pair.ours.refresh()
    (tmp_path / "files").mkdir()
    parquet(rows, tmp_path / "files" / "a.parquet")
    pair.add(iceberg_java, tmp_path / "files", "parquet")
    ours, theirs = pair.entries()
    for name in SAME:
        assert ours[0][name] == theirs[0][name], name
    assert ours[0]["lower_bounds"]
