"""Files are read side by side, as wide as the storage says, and no further than is needed."""

from __future__ import annotations

import gc
import os
import signal
import sys
import textwrap
import threading
import time
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from interpreters import ran

import lakebed
from lakebed import Table

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("region", pa.string())])
MANIFESTS = 40


def files(*names: str) -> pa.Table:
    numbers = pa.array([1] * len(names), pa.int64())
    return pa.table({"file_path": list(names), "record_count": numbers, "file_size_in_bytes": numbers})


@pytest.fixture(scope="module", params=["iceberg", "paimon"])
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of as many manifests, with a file in each."""
    root = tmp_path_factory.mktemp(request.param) / "t"
    if request.param == "iceberg":
        table = lakebed.create_table(root, COLUMNS, "iceberg")
        for number in range(MANIFESTS):
            table = table.append_files(files(f"data/{number:03}.parquet"))
    else:
        table = lakebed.create_table(root, COLUMNS, "paimon")
        for number in range(MANIFESTS):
            table = table.append_files(files(f"bucket-0/{number:03}"))
    return str(root)


def paths(table: Table, **options: Any) -> list[str]:
    found: list[str] = table.files(columns=["file_path"], **options).to_arrow()["file_path"].to_pylist()
    return found


@pytest.mark.parametrize(("threads", "reads"), [(1, 1), (1, 8), (2, 1), (2, 64), (16, 4), (None, None)])
def test_rows_are_in_the_order_of_the_list_at_any_width(
    location: str, threads: int | None, reads: int | None
):
    expected = paths(lakebed.open_table(location))
    assert len(expected) == MANIFESTS
    storage = CountingStorage(0.001, reads)
    options = {} if threads is None else {"threads": threads}
    assert paths(lakebed.open_table(location, storage=storage), **options) == expected
    assert len(storage.manifests()) == len(set(storage.manifests())) == MANIFESTS


def test_reads_are_as_many_as_the_storage_says(location: str):
    for width, threads in ((1, 1), (1, 4), (5, 1), (30, 2)):
        storage = CountingStorage(0.01, width)
        table = lakebed.open_table(location, storage=storage)
        storage.forget()
        paths(table, threads=threads)
        # The one who waits reads itself where one read at a time is all there is.
        assert storage.most_at_once <= width
        assert storage.most_at_once > width // 2


def test_a_number_of_reads_that_is_none_is_refused(location: str):
    with pytest.raises(ValueError, match="concurrent_reads must be at least 1"):
        lakebed.open_table(location, storage=CountingStorage(0, 0))
    storage = CountingStorage()
    storage.concurrent_reads = "many"  # type: ignore[assignment]
    with pytest.raises(TypeError):
        lakebed.open_table(location, storage=storage)


@pytest.mark.parametrize("view", ["files", "entries", "plan", "manifests", "snapshots"])
def test_no_rows_are_asked_for_without_reading(location: str, view: str):
    storage = CountingStorage()
    table = lakebed.open_table(location, storage=storage)
    storage.forget()
    assert getattr(table, view)(limit=0).to_arrow().num_rows == 0
    assert storage.asked == 0


def test_a_limit_reads_little(location: str):
    storage = CountingStorage(0.005)
    table = lakebed.open_table(location, storage=storage)
    assert len(paths(table, limit=1)) == 1
    assert storage.asked <= 18
    storage.forget()
    assert len(paths(table, limit=1)) == 1
    assert storage.asked <= 8


def test_who_stops_leaves_no_read_behind(location: str):
    storage = CountingStorage(0.005)
    stream = lakebed.open_table(location, storage=storage).files(limit=20).to_arrow_batch_reader()
    stream.read_next_batch()
    del stream
    gc.collect()
    asked = storage.asked
    time.sleep(0.05)
    assert storage.asked == asked
    assert storage.now == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lakebed")]


def test_the_first_error_in_order_is_raised(location: str):
    class Failing(CountingStorage):
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            name = path.rsplit("/", 1)[-1]
            if name in bad:
                time.sleep(0.02 * (1 + bad.index(name) == 1))
                raise PermissionError(f"bad {bad.index(name)}")
            return super().read(path, start, end)

    whole = CountingStorage(0, 1)
    paths(lakebed.open_table(location, storage=whole))
    bad: list[str] = []
    table = lakebed.open_table(location, storage=Failing(0.001))
    bad += whole.manifests()[10:12]
    with pytest.raises(PermissionError, match="bad 0"):
        paths(table)


def test_bytes_of_the_storage_are_not_copied_and_not_kept(location: str):
    kept: list[bytes] = []

    class Keeping(CountingStorage):
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            content = super().read(path, start, end)
            kept.append(content)
            return content

    table = lakebed.open_table(location, storage=Keeping())
    kept.clear()
    table.files().to_arrow()
    gc.collect()
    # The list here, and what counts.
    assert {sys.getrefcount(content) for content in kept} <= {2, 3}


INTERRUPTED = """
    import os, signal, sys, threading, time
    import lakebed

    class Hanging:
        hangs = False

        def read(self, path, start=None, end=None):
            while self.hangs:
                time.sleep(0.1)
            with open(path, "rb") as file:
                return file.read()[start:end]

        def list(self, prefix):
            return os.listdir(prefix)

    storage = Hanging()
    table = lakebed.open_table(sys.argv[1], storage=storage)
    table.manifests().to_arrow()
    scan = table.files()
    stream = scan.to_arrow_batch_reader()
    storage.hangs = True
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    try:
        for batch in stream:
            pass
    except KeyboardInterrupt:
        print(f"interrupted after {time.monotonic() - start:.1f}", flush=True)
    os._exit(0)
"""


def test_an_interrupt_is_answered_while_reads_hang(location: str):
    done = ran("-c", textwrap.dedent(INTERRUPTED), location, timeout=60)
    assert done.stdout.startswith("interrupted after"), done.stderr
    assert float(done.stdout.split()[-1]) < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_reads_anew(location: str):
    table = lakebed.open_table(location, storage=CountingStorage(0.001))
    expected = paths(table)
    stream = table.files(columns=["file_path"]).to_arrow_batch_reader()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(30)
            del stream
            status = 0 if paths(table) == expected else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sum(batch.num_rows for batch in stream) == MANIFESTS
