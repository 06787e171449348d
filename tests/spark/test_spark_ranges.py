"""Manifests read in ranges by the executors themselves give the rows of whole ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from covering import each_layout_of_golden_paimon_tables
from pyarrow.fs import LocalFileSystem
from trust import long_or

import lakebed
import lakebed.spark as ls
from iceberg_golden import each_golden_iceberg_table
from lakebed.spark.reading import Piece, Reading, spread
from shared_data import SAMPLE_TABLE
from spark_rows import actual, expected

pytest.importorskip("pyspark")
from pyspark.errors import PythonException

pytestmark = pytest.mark.spark

# Each range is a task of its own, or nearly.
RANGE = long_or(2500, 700)


def guarded_storage(secret: str) -> Any:
    """The local file system, for whoever knows a secret; its class is sent to the executors by value."""

    class Guarded:
        def __init__(self) -> None:
            self.secret = secret

        def __repr__(self) -> str:
            return f"<storage with {self.secret}>"

        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            with Path(path).open("rb") as file:
                file.seek(start or 0)
                return file.read() if end is None else file.read(end - (start or 0))

        def list(self, prefix: str) -> list[str]:
            return [path.name for path in Path(prefix).iterdir()] if Path(prefix).is_dir() else []

    return Guarded()


@each_layout_of_golden_paimon_tables()
def test_paimons_rows_are_those_without_spark(spark, table):
    opened = lakebed.open_table(table.path)
    assert actual(ls.files(spark, opened, range_bytes=RANGE)) == expected(opened.files())


@each_golden_iceberg_table("dv_v3", "eq_deletes_v2", "part_time_v1", "spec_evolution_v1")
def test_icebergs_rows_are_those_without_spark(spark, table):
    opened = table.open()
    for view in ("files", "entries", "partitions"):
        frame = getattr(ls, view)(spark, opened, range_bytes=RANGE)
        assert actual(frame) == expected(getattr(opened, view)()), view


def manifest(path: str, size: int, divisible: bool = True) -> Any:
    return {"path": path, "size": size, "added": 1, "deleted": 0, "divisible": divisible}


def test_work_is_spread_by_bytes():
    mebibyte = 1 << 20
    many = [manifest(f"m{number}", mebibyte) for number in range(640)]
    tasks = spread(many, 32 * mebibyte)
    assert len(tasks) < 26
    sizes = [sum(piece.end - piece.start for piece in pieces) for pieces in tasks]
    assert max(sizes) - min(sizes) <= mebibyte
    assert sorted(piece.path for pieces in tasks for piece in pieces) == sorted(m["path"] for m in many)

    assert len(spread(many, 32 * mebibyte, at_once=16)) == 32, "the last wave is full"
    assert len(spread(many[:3], 32 * mebibyte, at_once=16)) == 3, "no task without a piece"

    huge = [manifest("huge", 100 * mebibyte + 7), manifest("whole", 90 * mebibyte, divisible=False)]
    tasks = spread([*huge, manifest("small", 100), manifest("empty", 0)], 32 * mebibyte)
    pieces = sorted(piece for pieces in tasks for piece in pieces)
    assert pieces == [
        Piece("empty", 0, 0, 0),
        *(
            Piece("huge", 100 * mebibyte + 7, start, min(start + 32 * mebibyte, 100 * mebibyte + 7))
            for start in range(0, 100 * mebibyte + 7, 32 * mebibyte)
        ),
        Piece("small", 100, 0, 100),
        Piece("whole", 90 * mebibyte, 0, 90 * mebibyte),
    ]
    assert [sum(piece.end - piece.start for piece in pieces) // mebibyte for pieces in tasks].count(32) == 3


def test_the_storage_of_the_table_goes_along_and_is_not_shown(spark, capfd):
    secret = "s3cr3t-canary"
    table = lakebed.open_table(SAMPLE_TABLE, storage=guarded_storage(secret))
    frame = ls.files(spark, table, range_bytes=500)
    frame.explain("extended")
    assert actual(frame) == expected(table.files())
    shown = "".join(capfd.readouterr()) + repr(frame) + repr(Reading.of(table, lakebed.LIMITS, 500))
    assert "RangeReader" in shown
    assert secret not in shown


def test_a_filesystem_of_arrow_goes_along(spark):
    table = lakebed.open_table(SAMPLE_TABLE, storage=LocalFileSystem())
    assert actual(ls.entries(spark, table, range_bytes=500)) == expected(table.entries())


def test_a_manifest_cut_between_blocks_is_an_error(spark, tmp_path: Path):
    copy = Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "t"))
    planned = lakebed.open_table(copy).entries().planned_manifests()
    path = Path(planned[0]["path"])
    blocks = lakebed.avro.read_blocks(path).to_pylist()
    path.write_bytes(path.read_bytes()[: blocks[-1]["offset"] - 2])
    with pytest.raises(PythonException, match="truncated.*" + path.name):
        ls.entries(spark, copy, range_bytes=300).collect()


def test_ranges_of_no_bytes_are_refused(spark):
    with pytest.raises(ValueError, match="range_bytes"):
        ls.files(spark, SAMPLE_TABLE, range_bytes=0)
