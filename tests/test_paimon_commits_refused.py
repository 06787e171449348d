"""What does not fit a table is refused before anything is written, by column and row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows, with_column
from local_storage import LocalStorage
from paimon_commits import DAY, FIRST, SCHEMA, SECOND, files, folder, metadata
from raising import raises

import lakebed
from lakebed import Table
from lakebed.errors import LakebedError, SchemaError, UnsupportedError
from shared_data import SAMPLE_TABLE


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table partitioned by day, without snapshots."""
    return lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"partition_by": ["nothing"]}, "nothing"),
        ({"primary_key": ["id", "id"]}, "twice"),
        ({"primary_key": ["day"], "partition_by": ["day"]}, "primaryKeys"),
    ],
)
def test_what_makes_no_table_is_refused(arguments: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(LakebedError, match=words):
        lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", **arguments)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bucket": "4"}, "bucket-key"),
        ({"bucket": "0"}, "0 buckets"),
        ({"manifest.format": "csv"}, "manifest.format"),
        ({"manifest.compression": "lz4"}, "manifest.compression"),
        ({"manifest.format": "orc", "manifest.compression": "gzip"}, "manifest.compression"),
        ({"manifest.format": "parquet", "manifest.compression": "zlib"}, "manifest.compression"),
    ],
)
def test_options_that_make_no_table_are_refused(options: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(LakebedError, match=words):
        lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", properties=options)
    assert not (tmp_path / "t").exists()


def change(
    name: str, values: Sequence[Any], kind: pa.DataType | None = None
) -> Callable[[pa.Table], pa.Table]:
    return lambda table: with_column(table, name, pa.array(values, kind))


def stats(column: str, statistic: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Files that have a statistic of a column."""
    kind = pa.string() if isinstance(value, str) else pa.int64()
    of_column = pa.struct([(column, pa.struct([(statistic, kind)]))])
    return change("stats", [{column: {statistic: value}}] * 3, of_column)


BAD_FILES = {
    "no path": (lambda t: t.drop_columns(["file_path"]), "file_path", None),
    "no partition": (lambda t: t.drop_columns(["partition"]), "partition", None),
    "another column": (change("colour", [1, 2, 3]), "colour", None),
    "type": (change("record_count", ["a", "b", "c"]), "record_count", None),
    "null": (change("record_count", [1, None, 3], pa.int64()), "record_count", 1),
    "negative": (change("file_size_in_bytes", [1, 2, -3]), "file_size_in_bytes", 2),
    "path in the table": (change("file_path", ["a", "b", "c"]), "file_path", 0),
    "partition's folder": (
        change("file_path", [f"{folder(day)}/x" for day in (FIRST, SECOND, FIRST)]),
        *("file_path", 1),
    ),
    "no name": (change("file_path", [f"{folder(FIRST)}/a", f"{folder(FIRST)}/", "c"]), "file_path", 1),
    "twice": (change("file_path", [f"{folder(FIRST)}/{name}" for name in "aba"]), "file_path", 2),
    "bucket": (change("bucket", [0, 1, 0]), "bucket", 1),
    "level": (change("level", [0, 0, 5]), "level", 2),
    "partition null": (change("partition", [{"day": FIRST}, None, None], DAY), "partition", 1),
    "partition column": (change("partition", [{"hour": 1}] * 3), "partition.hour", None),
    "partition type": (change("partition", [{"day": "x"}] * 3), "partition.day", None),
    "schema": (change("schema_id", [0, 0, 7]), "schema_id", 2),
    "key": (change("min_key", [None, b"1", None], pa.binary()), "min_key", 1),
    "column of statistics": (stats("colour", "null_count", None), "stats.colour", None),
    "statistic": (stats("id", "mean", 1), "stats.id.mean", None),
    "bound": (stats("id", "lower_bound", "a"), "stats.id.lower_bound", None),
    "columns": (change("write_cols", [None, ["colour"], None], pa.list_(pa.string())), "write_cols", 1),
}


@pytest.mark.parametrize(("changed", "field", "record"), BAD_FILES.values(), ids=BAD_FILES)
def test_files_that_do_not_fit_are_refused(
    changed: Callable[[pa.Table], pa.Table], field: str, record: int | None, table: Table
) -> None:
    before = metadata(table)
    with raises(SchemaError, field=field, record=record):
        table.append_files(changed(files(FIRST, "a", "b", "c")))
    assert metadata(table) == before


def test_what_is_live_is_not_added_and_what_is_not_is_not_taken(table: Table) -> None:
    table = table.append_files(files(FIRST, "a", "b"))
    before = metadata(table)
    for commit, words, record in [
        (lambda: table.append_files(files(FIRST, "c", "b")), "already", 1),
        (lambda: table.overwrite_partitions(files(FIRST, "a"), {"day": FIRST}), "already", 0),
        (lambda: table.delete_files([f"{folder(FIRST)}/a", f"{folder(SECOND)}/a"]), "path of a live", 1),
        (lambda: table.delete_files([f"{folder(FIRST)}/a"] * 2), "twice", 1),
        (lambda: table.delete_files(pa.table({"file_path": [None]})), "null", 0),
    ]:
        with raises(SchemaError, match=words, field="file_path", record=record):
            commit()
    assert metadata(table) == before


def test_what_nobody_looks_for_is_not_read(table: Table) -> None:
    table = table.append_files(files(FIRST, "a"))
    (manifest,) = Path(table.location, "manifest").glob("manifest-????????-*")
    manifest.write_bytes(b"")
    with pytest.raises(LakebedError):
        table.append_files(files(FIRST, "b"))
    assert table.append_files(files(FIRST, "b"), check_files=False).snapshot_id == 2


def test_decimals_and_times_fit_or_are_refused(tmp_path: Path) -> None:
    kinds = {"d": pa.decimal128(5, 2), "t": pa.timestamp("ms"), "n": pa.int32()}
    table = lakebed.create_table(
        tmp_path / "t", pa.schema(list(kinds.items())), "paimon", partition_by=list(kinds)
    )

    def placed(d: Any, t: Any, n: Any) -> pa.Table:
        fields = [("d", pa.decimal128(9, 2)), ("t", pa.timestamp("us")), ("n", pa.int64())]
        partition = pa.array([{"d": d, "t": t, "n": n}], pa.struct(fields))
        return file_rows("/else/f", partition=partition)

    good = table.append_files(placed(Decimal("123.45"), 5000, None))
    assert good.files().to_arrow()["external_path"].to_pylist() == ["/else/f"]
    for bad, field in [
        (placed(Decimal("1234.56"), 0, 0), "partition.d"),
        (placed(None, 5001, 0), "partition.t"),
        (placed(None, 0, 1 << 40), "partition.n"),
    ]:
        with raises(SchemaError, field=field, record=0):
            table.append_files(bad)


def test_tables_that_need_more_than_entries_are_refused(tmp_path: Path) -> None:
    table = lakebed.create_table(
        tmp_path / "t", SCHEMA, "paimon", primary_key=["id"], properties={"bucket": "-1"}
    )
    with pytest.raises(UnsupportedError, match="dynamic"):
        table.append_files(file_rows("bucket-0/a"))
    remote = lakebed.open_table(SAMPLE_TABLE, storage=LocalStorage())
    for commit in (
        lambda: remote.delete_files(["a"]),
        lambda: remote.rewrite_manifests(),
        lambda: remote.create_tag("t"),
    ):
        with pytest.raises(UnsupportedError, match="writes a file only if none exists"):
            commit()
