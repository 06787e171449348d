"""Manifests read by the executors themselves, in ranges too, give the rows of whole ones that Spark reads."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from covering import each_layout_of_golden_paimon_tables
from fsspec.implementations.local import LocalFileSystem as LocalFiles
from local_storage import put_files
from pyarrow.fs import LocalFileSystem
from row_groups import regrouped
from spark_sessions import sent_by_value
from trust import long_or

import lakebed
import lakebed.spark as ls
from iceberg_golden import each_golden_iceberg_table, golden
from lakebed.errors import MissingFileError
from lakebed.spark.access import forget
from lakebed.spark.inputs import Piece, Reading, contents, spread, task_bytes
from shared_data import SAMPLE_TABLE
from spark_rows import actual, expected

pytest.importorskip("pyspark")
from pyspark.errors import PythonException

pytestmark = pytest.mark.spark

# Each range is a task of its own, or nearly.
RANGE = long_or(2500, 700)


def manifest_paths(table: Path) -> list[str]:
    return [manifest["path"] for manifest in lakebed.open_table(table).entries().planned_manifests()]


def guarded_storage(secret: str) -> Any:
    """The local file system, for whoever knows a secret; its class is sent to the executors by value."""

    storage = sent_by_value(lambda _: None)
    storage.secret = secret
    type(storage).__repr__ = lambda self: f"<storage with {self.secret}>"  # type: ignore[assignment, misc]
    return storage


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


def test_row_groups_of_parquet_manifests_are_shared(spark, tmp_path: Path):
    table = regrouped(golden("append_manifest_v4"), tmp_path / "t", rows=1)
    for view in ("files", "entries", "partitions"):
        frame = getattr(ls, view)(spark, table, range_bytes=RANGE)
        assert actual(frame) == expected(getattr(table, view)()), view


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


def test_tasks_are_as_large_as_bytes_and_cores_make_them():
    def manifests(count: int, size: int) -> Any:
        return [{"size": size}] * count

    assert task_bytes(manifests(10, MEBIBYTE // 4), 2) == (8 * MEBIBYTE, 1), "a core has enough to do"
    assert task_bytes(manifests(4, 34 * MEBIBYTE), 2) == (68 * MEBIBYTE + MEBIBYTE // 2, 2), "half for each"
    assert task_bytes(manifests(1, 3 << 30), 96)[0] == (3 << 30) // 96 + MEBIBYTE // 384 + 1
    assert task_bytes(manifests(100, 256 * MEBIBYTE), 2) == (256 * MEBIBYTE, 2), "not too long"
    assert task_bytes(manifests(100, 256 * MEBIBYTE), 1) == (32 * MEBIBYTE, 1), "cores that nobody tells of"


def test_a_task_reads_manifests_side_by_side_and_gives_them_in_order():
    class Meeting(CountingStorage):
        """Whoever reads waits for another reader."""

        readers = threading.Barrier(2, timeout=60)

        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            self.readers.wait()
            return super().read(path, start, end)

    sizes = {path: Path(path).stat().st_size for path in manifest_paths(SAMPLE_TABLE)}
    pieces = [Piece(path, size, 0, size) for path, size in sizes.items()]
    assert len(pieces) % 2 == 0
    given = contents(pieces, Meeting(), lakebed.LIMITS, reads=2)
    assert [path for path, _ in given] == [*sizes]
    threads = threading.active_count()
    with pytest.raises(MissingFileError):
        list(contents([Piece("no such", 9, 0, 9), *pieces], CountingStorage(), lakebed.LIMITS, reads=4))
    assert threading.active_count() == threads


def test_large_manifests_are_divided_and_a_range_is_one_request(tmp_path):
    large = tmp_path / "large.avro"
    values = pa.table({"id": pa.array(range(3000), pa.int64())})
    lakebed.avro.write(values, large, codec="null", block_bytes=700)
    size = large.stat().st_size
    storage = CountingStorage()

    def manifest(path: str, size: int, divisible: bool = True) -> Any:
        counts = {"added": 1, "deleted": 0, "entries": 1}
        return {"path": path, "size": size, **counts, "divisible": divisible, "counted": []}

    manifests = [
        manifest(str(large), size),
        manifest("whole", size, divisible=False),
        manifest("small", 100),
        manifest("empty", 0),
    ]
    pieces = Reading(lakebed.LIMITS, storage=storage).pieces(manifests, 1000)
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
    shown = "".join(capfd.readouterr()) + repr(frame) + repr(Reading.of(table, lakebed.LIMITS, 500, None))
    assert "executors_read_manifests" in shown
    assert secret not in shown


def in_the_driver_only() -> Any:
    """The local file system, which processes forbid that are not this one; its class is sent by value."""
    driver = os.getpid()

    class InTheDriverOnly(LocalFiles):  # type: ignore[misc]
        def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
            if os.getpid() != driver:
                raise PermissionError(13, "no key here", path)
            return super()._open(path, *arguments, **options)

    return InTheDriverOnly(skip_instance_cache=True)


def jobs(spark: Any) -> set[int]:
    return set(spark.sparkContext.statusTracker().getJobIdsForGroup())


def plan_of(frame: Any, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    frame.explain()
    return capfd.readouterr().out


def test_who_reads_is_found_out_once_and_shown(spark, capfd):
    forget(spark)
    before = jobs(spark)
    for path in (SAMPLE_TABLE, SAMPLE_TABLE / "snapshot" / ".."):
        table = lakebed.open_table(path, storage="pyarrow")
        frame = ls.entries(spark, table)
        assert len(jobs(spark) - before) == 1
    assert "executors_read_manifests(" in plan_of(frame, capfd)
    assert actual(frame) == expected(table.entries())
    # On this machine local files need not be asked for.
    before = jobs(spark)
    assert "executors_read_manifests(" in plan_of(ls.entries(spark, SAMPLE_TABLE), capfd)
    assert jobs(spark) == before


def test_spark_reads_where_executors_cannot(spark, capfd):
    table = lakebed.open_table(SAMPLE_TABLE, storage="fsspec")
    vars(table.opening.storage)["_filesystem"] = in_the_driver_only()
    before = jobs(spark)
    for _ in range(2):
        frame = ls.entries(spark, table)
        assert len(jobs(spark) - before) == 1
    plan = plan_of(frame, capfd)
    assert re.search(r"spark_reads_manifests \[executors do not: PermissionError: .*no key here", plan)
    assert "executors_read_manifests" not in plan
    assert actual(frame) == expected(table.entries())
    (row,) = ls.check(spark, table).collect()
    assert (row.ok, row.read) == (True, "spark")
    assert "no key here" in row.unread
    assert "executors_read_manifests(" in plan_of(ls.entries(spark, table, read="executors"), capfd)


def test_executors_that_lose_their_access_are_an_error_that_says_what_to_do(spark):
    table = lakebed.open_table(SAMPLE_TABLE, storage=in_the_driver_only())
    for view in (ls.entries, ls.partitions, ls.plan):
        with pytest.raises(
            PythonException, match=r'no key here.*; executors read .* read="spark" Spark does'
        ):
            view(spark, table).collect()
    assert actual(ls.files(spark, table, read="spark")) == expected(table.files())


def test_spark_reads_where_a_storage_cannot_be_pickled(spark, capfd):
    storage = guarded_storage("s3cr3t")
    storage.lock = threading.Lock()
    table = lakebed.open_table(SAMPLE_TABLE, storage=storage)
    frame = ls.files(spark, table)
    assert "spark_reads_manifests [executors do not: storage= is pickled" in plan_of(frame, capfd)
    assert actual(frame) == expected(table.files())


def test_a_filesystem_of_arrow_goes_along(spark):
    table = lakebed.open_table(SAMPLE_TABLE, storage=LocalFileSystem())
    assert actual(ls.entries(spark, table, range_bytes=500)) == expected(table.entries())


def test_a_manifest_cut_between_blocks_is_an_error(spark, sample_table: Path):
    planned = lakebed.open_table(sample_table).entries().planned_manifests()
    path = Path(planned[0]["path"])
    blocks = lakebed.avro.read_blocks(path).to_pylist()
    path.write_bytes(path.read_bytes()[: blocks[-1]["offset"] - 2])
    with pytest.raises(PythonException, match="truncated.*" + path.name):
        ls.entries(spark, sample_table, range_bytes=300).collect()


def test_wrong_readers_are_refused(spark):
    with pytest.raises(ValueError, match="range_bytes"):
        ls.files(spark, SAMPLE_TABLE, range_bytes=0)
    with pytest.raises(ValueError, match="range_bytes"):
        ls.plan(spark, SAMPLE_TABLE, range_bytes=1000, read="spark")
    with pytest.raises(ValueError, match='"executors", "spark" or None'):
        ls.health(spark, SAMPLE_TABLE, read="driver")  # type: ignore[arg-type]


def test_a_storage_that_cannot_be_pickled_is_refused_at_once(spark):
    obstore = pytest.importorskip("obstore.store")
    store = obstore.MemoryStore()
    put_files(store.put, SAMPLE_TABLE, "t/")
    table = lakebed.open_table("t", storage=store)
    said = "storage= is pickled for Spark's executors, which this one cannot be: .*MemoryStore"
    for view in (ls.files, ls.partitions, ls.plan):
        with pytest.raises(TypeError, match=said):
            view(spark, table, range_bytes=1 << 20)
    with pytest.raises(TypeError, match=said):
        ls.health(spark, ["t"], storage=store)
    with pytest.raises(TypeError, match=said):
        ls.check(spark, table)
    with pytest.raises(MissingFileError, match=f"executors do not read it either: {said}"):
        ls.files(spark, table)
