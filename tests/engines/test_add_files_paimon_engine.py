"""Files that `add_files` adds to Paimon tables: its Java takes the same from footers, and reads the rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from java_engine import JavaEngine

import lakebed

pytestmark = pytest.mark.jvm

COLUMNS: dict[str, pa.Array] = {
    "id": pa.array([1, 2, 3], pa.int64()),
    "small": pa.array([3, None, -7], pa.int32()),
    "tiny": pa.array([1, None, -128], pa.int8()),
    "flag": pa.array([True, None, False]),
    "text": pa.array(["the quick brown fox jumps", None, "été" * 9]),
    "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
    "wide": pa.array([Decimal(10) ** 30, None, -(Decimal(10) ** 20)], pa.decimal128(38, 4)),
    "day": pa.array([dt.date(2001, 1, 1), None, dt.date(2026, 2, 3)]),
    "at": pa.array([dt.datetime(2026, 1, 1, 12, 0, 0, 1), None, None], pa.timestamp("us")),
    "nothing": pa.array([None] * 3, pa.string()),
    "ratio": pa.array([0.5, None, 2.5]),
    "tags": pa.array([["a"], None, []], pa.list_(pa.string())),
}
ROWS = pa.table(COLUMNS)


def write_parquet(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, row_group_size=2)


def write_orc(rows: pa.Table, path: Path) -> None:
    orc.write_table(rows, path)


def text_of(value: Any) -> Any:
    """A bound as Java prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, dt.date):
        return str((value - dt.date(1970, 1, 1)).days)
    return None if value is None else str(value)


@pytest.mark.parametrize("mode", ["truncate(16)", "counts", "full", "none"])
@pytest.mark.parametrize("write", [write_parquet, write_orc])
def test_statistics_are_those_of_java(
    tmp_path: Path, paimon_java: JavaEngine, write: Callable[[pa.Table, Path], None], mode: str
) -> None:
    options = {"bucket": "-1", "metadata.stats-mode": mode}
    table = lakebed.create_table(tmp_path / "t", ROWS.schema, "paimon", properties=options)
    file_format = write.__name__.removeprefix("write_")
    path = tmp_path / f"elsewhere.{file_format}"
    write(ROWS, path)
    table = table.add_files([path])
    theirs = paimon_java.ask("footer", table=table.location, file=str(path), format=file_format)
    # NaN is the greatest number for Java: without it in footers, bounds say too little.
    theirs["ratio"][:2] = [None, None]
    scalars = [name for name in ROWS.schema.names if name != "tags"]
    (stats,) = table.files(stats=scalars).to_arrow()["stats"].to_pylist()
    for name in scalars:
        mine = [text_of(stats[name][what]) for what in ("lower_bound", "upper_bound", "null_count")]
        assert mine == theirs[name], name
    rows = paimon_java.ask("rows", table=table.location)
    assert sorted(int(row["id"]) for row in rows) == [1, 2, 3]
    assert {row["text"] for row in rows} == set(COLUMNS["text"].to_pylist())


def test_partitions_are_read_from_folders_and_bounds(tmp_path: Path, paimon_java: JavaEngine) -> None:
    options = {"bucket": "-1"}
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("region", pa.string())])
    table = lakebed.create_table(
        tmp_path / "t", schema, "paimon", partition_by=["day", "region"], properties=options
    )
    rows = pa.table({"id": [1, 2]})
    for region in ("a b", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / "landing" / "day=2026-01-02" / f"region={region}"
        folder.mkdir(parents=True)
        write_parquet(rows, folder / "part-0.parquet")
    plain = tmp_path / "landing" / "plain.parquet"
    day = pa.array([dt.date(2026, 1, 3)] * 2)
    write_parquet(rows.append_column("day", day).append_column("region", pa.array(["z", "z"])), plain)
    table = table.add_files(tmp_path / "landing")
    found = {
        (row["partition"]["day"], row["partition"]["region"], row["file_name"])
        for row in table.files().to_arrow().to_pylist()
    }
    assert found == {
        (dt.date(2026, 1, 2), "a b", "part-0.parquet"),
        (dt.date(2026, 1, 2), None, "part-0.parquet"),
        (dt.date(2026, 1, 3), "z", "plain.parquet"),
    }
    read = paimon_java.ask("rows", table=table.location)
    assert sorted((row["region"] or "", int(row["id"])) for row in read) == [
        ("", 1), ("", 2), ("a b", 1), ("a b", 2), ("z", 1), ("z", 2)
    ]  # fmt: skip


def test_files_where_the_layout_has_them_have_no_other_path(tmp_path: Path, paimon_java: JavaEngine) -> None:
    table = lakebed.create_table(tmp_path / "t", ROWS.schema, "paimon", properties={"bucket": "-1"})
    folder = Path(table.location, "bucket-0")
    folder.mkdir()
    write_parquet(ROWS, folder / "data-1.parquet")
    table = table.add_files(folder)
    assert table.files().to_arrow()["external_path"].to_pylist() == [None]
    assert len(paimon_java.ask("rows", table=table.location)) == 3
