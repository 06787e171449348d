"""Manifests read in ranges by the executors themselves give the rows of whole ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from covering import each_layout_of_golden_paimon_tables
from pyarrow.fs import LocalFileSystem
from trust import long_or

import lakebed
import lakebed.spark as ls
from iceberg_golden import each_golden_iceberg_table
from lakebed.spark.reading import Piece, Reading, contents, spread
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


MEBIBYTE = 1 << 20


def test_work_is_spread_by_bytes():
    many = [Piece(f"m{number}", MEBIBYTE, 0, MEBIBYTE) for number in range(640)]
    tasks = spread(many, 32 * MEBIBYTE)
    assert len(tasks) < 26
    sizes = [sum(piece.end - piece.start for piece in pieces) for pieces in tasks]
    assert max(sizes) - min(sizes) <= MEBIBYTE
    assert sorted(piece.path for pieces in tasks for piece in pieces) == sorted(m.path for m in many)

    assert len(spread(many, 32 * MEBIBYTE, at_once=16)) == 32, "the last wave is full"
    assert len(spread(many[:3], 32 * MEBIBYTE, at_once=16)) == 3, "no task without a piece"


def test_large_manifests_are_divided_and_a_range_is_one_request(tmp_path):
    large = tmp_path / "large.avro"
    values = pa.table({"id": pa.array(range(3000), pa.int64())})
    lakebed.avro.write(values, large, codec="null", block_bytes=700)
    size = large.stat().st_size
    storage = CountingStorage()

    def manifest(path: str, size: int, divisible: bool = True) -> Any:
        return {"path": path, "size": size, "added": 1, "deleted": 0, "divisible": divisible}

    manifests = [
        manifest(str(large), size),
        manifest("whole", size, divisible=False),
        manifest("small", 100),
        manifest("empty", 0),
    ]
    pieces = Reading(lakebed.LIMITS, 1000, storage).pieces(manifests)
    header = pieces[0].header
    assert header is not None
    assert large.read_bytes().startswith(header)
    assert pieces == [
        *(Piece(str(large), size, at, min(at + 1000, size), header) for at in range(0, size, 1000)),
        Piece("whole", size, 0, size),
        Piece("small", 100, 0, 100),
        Piece("empty", 0, 0, 0),
    ]
    assert len(storage.reads) == 2, "the header, and whether the file is as long as recorded"
    storage.forget()
    ranges = [piece for piece in pieces if piece.header]
    assert list(contents(ranges, storage, lakebed.LIMITS))
    assert len(storage.reads) == len(ranges)


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


def test_a_storage_that_cannot_be_pickled_is_refused_at_once(spark):
    obstore = pytest.importorskip("obstore.store")
    store = obstore.MemoryStore()
    for file in SAMPLE_TABLE.rglob("*"):
        if file.is_file():
            store.put(f"t/{file.relative_to(SAMPLE_TABLE)}", file.read_bytes())
    table = lakebed.open_table("t", storage=store)
    said = "storage= is pickled for Spark's executors, which this one cannot be: .*MemoryStore"
    for view in (ls.files, ls.partitions, ls.plan):
        with pytest.raises(TypeError, match=said):
            view(spark, table, range_bytes=1 << 20)
    with pytest.raises(TypeError, match=said):
        ls.health(spark, ["t"], storage=store)
