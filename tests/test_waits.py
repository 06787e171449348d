"""Streams that end early, and storages that are bound to a thread, while reads wait."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from nested_reads import COLUMNS, FORMATS, made
from test_process import forks, in_a_fork

import lakebed
from lakebed import Table, _native


@pytest.fixture(scope="module", params=FORMATS)
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("waits") / "t", request.param, 12)


class Hanging(CountingStorage):
    """All manifests but the first are read once they are let go; the alarm rings a while after one waits."""

    def __init__(self, manifests: list[str]) -> None:
        super().__init__(0, 8)
        self.first, self.later = manifests[0], set(manifests[1:])
        self.waits, self.go_on = threading.Event(), threading.Event()

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        content = super().read(path, start, end)
        name = path.rsplit("/", 1)[-1]
        if name == self.first:
            # The stream has a batch to end with once another read waits, however slow the machine is.
            self.waits.wait(30)
        elif name in self.later:
            if not self.waits.is_set():
                signal.setitimer(signal.ITIMER_REAL, 0.3)
            self.waits.set()
            self.go_on.wait()
        return content


def ended(reader: pa.RecordBatchReader) -> None:
    """Takes a batch; the stream ends when this returns."""
    reader.read_next_batch()


def left(table: Table) -> None:
    for _ in table.files(columns=COLUMNS, threads=2).to_arrow_batch_reader():
        break


EARLY: dict[str, Callable[[Table], object]] = {
    "limit": lambda table: table.files(columns=COLUMNS, limit=1, threads=2).to_arrow(),
    "head": lambda table: table.files(columns=COLUMNS, threads=2).head(1),
    "first of a limit": lambda table: ended(
        table.files(columns=COLUMNS, limit=1, threads=2).to_arrow_batch_reader()
    ),
    "limit, c stream": lambda table: pa.table(table.files(columns=COLUMNS, limit=1, threads=2)),
    "filter": lambda table: table.files(columns=COLUMNS, threads=2).filter("file_path > ''").head(1),
    "dropped": lambda table: ended(table.files(columns=COLUMNS, threads=2).to_arrow_batch_reader()),
    "dropped, c stream": lambda table: ended(
        pa.RecordBatchReader.from_stream(table.files(columns=COLUMNS, threads=2))
    ),
    "left": left,
    "entries": lambda table: table.entries(limit=1, threads=2).to_arrow(),
}


def ends(early: Callable[[Table], object], table: Table) -> None:
    """Reads, and runs Python for a while, as soon as which is raised what nobody could be told."""
    try:
        early(table)
    except pa.ArrowInvalid as error:
        # The C stream has errors as texts, and raises what ends a program besides.
        if "AlarmError" in str(error):
            raise AlarmError from error
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        time.sleep(0.001)


class AlarmError(Exception):
    """What a handler raises that is no `KeyboardInterrupt`."""


@pytest.mark.parametrize("raised", [KeyboardInterrupt, AlarmError])
@pytest.mark.parametrize("early", EARLY)
def test_a_stream_that_ends_early_hands_on_what_a_handler_raises(
    location: str, early: str, raised: type[BaseException]
):
    in_order = CountingStorage(0, 1)
    lakebed.open_table(location, storage=in_order).files(threads=1).to_arrow()
    storage = Hanging(in_order.manifests())
    table = lakebed.open_table(location, storage=storage)

    def answer(*_: object) -> None:
        raise raised

    previous = signal.signal(signal.SIGALRM, answer)
    # Whoever does not answer is let go, and has lost it.
    late = threading.Timer(30, storage.go_on.set)
    late.start()
    # Hypothesis times the collector in a callback: what a handler raises there nobody is told.
    gc.disable()
    try:
        with pytest.raises(raised):
            ends(EARLY[early], table)
        assert storage.waits.is_set()
        assert not storage.go_on.is_set()
    finally:
        gc.enable()
        late.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        storage.go_on.set()


class InOneThread:
    """A storage whose connection no other thread may use."""

    def __init__(self, root: str) -> None:
        self.files = sqlite3.connect(":memory:")
        self.files.execute("create table files (path text primary key, data blob)")
        paths = [path for path in Path(root).rglob("*") if path.is_file()]
        self.files.executemany(
            "insert into files values (?, ?)", [(str(path), path.read_bytes()) for path in paths]
        )

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        found = self.files.execute("select data from files where path = ?", [path]).fetchone()
        if found is None:
            raise FileNotFoundError(path)
        return bytes(found[0][start:end])

    def list(self, prefix: str) -> list[str]:
        found = self.files.execute("select path from files where path like ? || '/%'", [prefix])
        return sorted({path[len(prefix) + 1 :].split("/")[0] for (path,) in found})


class OfOneRead(InOneThread):
    """The same, which says so."""

    concurrent_reads = 1


@pytest.mark.parametrize("how", ["of itself", "of the call"])
def test_a_storage_of_one_read_is_called_by_who_asks(location: str, how: str):
    storage, given = (OfOneRead(location), None) if how == "of itself" else (InOneThread(location), 1)
    table = lakebed.open_table(location, storage=storage, concurrent_reads=given)
    plain = lakebed.open_table(location)
    for read in (
        lambda table: table.files(threads=1),
        lambda table: table.snapshots(),
        lambda table: table.refresh().entries(threads=1),
    ):
        assert read(table).to_arrow() == read(plain).to_arrow()


def session(local: threading.local) -> tuple[int, object]:
    """Which thread this is, and what a library keeps for it."""
    return threading.get_ident(), vars(local).setdefault("session", object())


def test_what_is_bound_to_a_thread_lasts_from_call_to_call():
    local = threading.local()
    first = _native.interruptibly(session, local)
    assert first[0] != threading.get_ident()
    assert [_native.interruptibly(session, local) for _ in range(20)] == [first] * 20


class Sessions(CountingStorage):
    """Makes a session for each thread."""

    def __init__(self) -> None:
        super().__init__()
        self.local, self.made = threading.local(), set[tuple[int, Any]]()

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        self.made.add(session(self.local))
        return super().read(path, start, end)


def test_reads_one_after_another_share_a_session(tmp_path: Path):
    location = made(tmp_path / "t", "iceberg", 1)
    metadata = max(Path(location, "metadata").glob("*.metadata.json"))
    storage = Sessions()
    for _ in range(20):
        lakebed.open_table(metadata, storage=storage)
    assert len(storage.made) == 1
    assert len(storage.reads) >= 20


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_a_thread_of_its_own(location: str):
    storage = CountingStorage()
    rows = lakebed.open_table(location, storage=storage).files().to_arrow()
    thread, _ = _native.interruptibly(session, threading.local())

    def reads() -> bool:
        signal.alarm(30)
        again = lakebed.open_table(location, storage=storage).files().to_arrow()
        return again.equals(rows) and _native.interruptibly(os.getpid) == os.getpid()

    assert in_a_fork(reads) == 0
    assert _native.interruptibly(session, threading.local())[0] == thread


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_a_thread_without_work_ends():
    def threads() -> set[str]:
        return {path.name for path in Path("/proc/self/task").iterdir()}

    thread = str(_native.interruptibly(threading.get_native_id))
    assert thread in threads()
    deadline = time.monotonic() + 60
    while thread in threads() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert thread not in threads()
    assert _native.interruptibly(os.getpid) == os.getpid()
