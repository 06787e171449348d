"""lakebed among processes and threads: forks, and callers in parallel."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed import _arrow, _native
from shared_data import SAMPLE_TABLE

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

MANIFESTS = sorted((SAMPLE_TABLE / "manifest").glob("manifest-[!l]*"))


def decoded() -> list[dict[str, object]]:
    """Entries, decoded with all threads there are."""
    rows: list[dict[str, object]] = lakebed.open_table(SAMPLE_TABLE).entries().to_arrow().to_pylist()
    return rows


def in_a_fork(work: Callable[[], bool]) -> int:
    """The exit code of a forked process: 0 where `work` returned True."""
    # The child shares pytest's files, and must neither flush nor clean them up: it leaves by _exit.
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        except BaseException:  # noqa: BLE001 - a child that went on would run the tests again
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def kept_busy(work: Callable[[], object], count: int) -> Iterator[None]:
    """So many threads do the work again and again."""
    done = threading.Event()

    def again() -> None:
        while not done.is_set():
            work()

    with ThreadPoolExecutor(count) as others:
        found = [others.submit(again) for _ in range(count)]
        try:
            yield
        finally:
            done.set()
    assert [one.result() for one in found] == [None] * count


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_decodes_what_its_parent_decodes():
    before = decoded()
    assert in_a_fork(lambda: decoded() == before) == 0
    assert decoded() == before


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forks_of_forks_and_an_open_table_go_on():
    table = lakebed.open_table(SAMPLE_TABLE)
    files = table.files()
    rows = files.to_arrow()
    assert in_a_fork(lambda: in_a_fork(lambda: files.to_arrow().equals(rows)) == 0) == 0
    assert files.to_arrow().equals(rows)


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_amid_other_threads_decodes():
    before = decoded()
    with kept_busy(decoded, 1):
        assert [in_a_fork(lambda: decoded() == before) for _ in range(5)] == [0] * 5


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_amid_threads_that_read_schemas_waits_for_none_of_them(tmp_path: Path):
    file = tmp_path / "wide.avro"
    lakebed.avro.write(pa.table({f"column_{number}": [1] for number in range(300)}), file)

    def width() -> int:
        return len(lakebed.avro.read(file).schema)

    def in_time() -> bool:
        # Not what pytest does then, which is Python.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        return width() == 300

    with kept_busy(width, 2):
        assert all(in_a_fork(in_time) == 0 for _ in range(100))


def test_eight_threads_at_once_get_the_same_rows():
    table, alone = lakebed.open_table(SAMPLE_TABLE), decoded()
    manifests = {path: lakebed.avro.read(path).to_arrow() for path in MANIFESTS}
    scan, start = table.entries(), threading.Barrier(8)

    def work(_: int) -> bool:
        start.wait()
        rows = all(lakebed.avro.read(path).to_arrow().equals(manifests[path]) for path in manifests)
        return rows and scan.to_arrow().to_pylist() == alone

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8


def test_a_reader_handed_from_thread_to_thread_gives_every_batch_once():
    scan = lakebed.open_table(SAMPLE_TABLE).entries(columns=["file_name"])
    reader, batches = scan.to_arrow_batch_reader(), []
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        batches.append(first.submit(reader.read_next_batch).result())
        batches.extend(second.submit(lambda: list(reader)).result())
    assert sum(batch.num_rows for batch in batches) == scan.to_arrow().num_rows


def test_other_threads_run_while_one_decodes():
    fastavro = pytest.importorskip("fastavro")
    schema = {"type": "record", "name": "r", "fields": [{"name": "b", "type": "bytes"}]}
    file = io.BytesIO()
    fastavro.writer(file, schema, [{"b": bytes(50 << 20)}], codec="deflate")
    content = _arrow.bytes_array(file.getvalue())

    def another_ran() -> bool:
        go, ran = threading.Event(), threading.Event()

        def wait_and_run() -> None:
            go.wait()
            ran.set()

        other = threading.Thread(target=wait_and_run)
        other.start()
        stream = _native.avro_read(content, None, None, lakebed.LIMITS, 1)
        interval = sys.getswitchinterval()
        # From here on nobody is made to give up the interpreter: the other thread gets it from the decoder
        # or not at all.
        sys.setswitchinterval(100)
        go.set()
        batch = stream.next_batch()
        outcome = ran.is_set()
        sys.setswitchinterval(interval)
        other.join()
        return outcome and batch is not None

    # One call inflates 50 MB; a busy machine may still wake the other thread too late.
    assert any(another_ran() for _ in range(10))
