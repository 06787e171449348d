"""Whatever hangs is interrupted, and no process hangs or aborts when it ends or forks."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from counting_storage import CountingStorage
from file_rows import file_rows
from interpreters import printed
from nested_reads import COLUMNS, FORMATS, Format, made
from test_process import forks, in_a_fork
from trust import not_in_check

import lakebed
from lakebed import LakebedError, Table
from shared_data import PROJECT

COMMITS = 30


@pytest.fixture(scope="module", params=FORMATS)
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("ends") / "t", request.param, COMMITS)


HANGING = """
    import os, sys
    import lakebed, obstore
    from obstore.store import S3Store
    from pyarrow import fs

    server, library, call = sys.argv[1:]
    options = {"access_key_id": "k", "secret_access_key": "s", "region": "us-east-1"}
    store = S3Store("b", endpoint=f"http://{server}", client_options={"allow_http": True}, **options)

    class Own:
        def read(self, path, start=None, end=None):
            return bytes(store.get(path.removeprefix("s3://b/")).bytes())

        def list(self, prefix):
            return store.list_with_delimiter(prefix.removeprefix("s3://b/"))["common_prefixes"]

        contents = folders = list

    arrow = lambda: fs.S3FileSystem(
        endpoint_override=server, scheme="http", access_key="k", secret_key="s", region="us-east-1"
    )
    storage = {"obstore": lambda: store, "pyarrow": arrow, "own": Own}[library]()
    print("ready", flush=True)
    try:
        if call == "open_table":
            lakebed.open_table("s3://b/wh/t", storage=storage)
        elif call == "find_tables":
            lakebed.find_tables("s3://b/wh", storage=storage).to_arrow()
        elif call == "metadata":
            lakebed.open_table("s3://b/wh/t/metadata/v1.metadata.json", storage=storage)
        else:
            lakebed.avro.read("s3://b/wh/a.avro", storage=storage).to_arrow()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@not_in_check
@pytest.mark.parametrize("call", ["open_table", "find_tables", "metadata", "avro"])
@pytest.mark.parametrize("library", ["obstore", "pyarrow", "own"])
def test_whatever_hangs_is_interrupted(silent: str, library: str, call: str):
    pytest.importorskip("obstore")
    if library == "own" and call == "avro":
        pytest.skip("the path is the storage's own")
    program = [sys.executable, "-c", textwrap.dedent(HANGING), silent, library, call]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        try:
            # The libraries' own time-outs, and their tries, take longer.
            said, _ = child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    assert said == "interrupted\n"


@not_in_check
@pytest.mark.parametrize("how", ["reader", "stream", "atexit", "daemon", "teardown", "finaliser"])
def test_an_interpreter_ends_whatever_is_open(location: str, how: str):
    lines = printed(PROJECT / "tests/exiting_program.py", location, how, timeout=120).split()
    assert lines[0] == "end"
    if how == "atexit":
        assert lines[1:] == [str(COMMITS)] * 2
    if how == "finaliser":
        # Nothing calls a storage written in Python from other threads any more; files are read.
        assert lines[1] in ("ArrowInvalid", "LakebedError", "ImportError")
        assert lines[2:] == [str(COMMITS)]


def big(folder: Path, form: Format) -> Table:
    """A table of so many rows that no stream has all in its first batch."""
    table = lakebed.open_table(made(folder, form, 1))
    for number in range(12):
        within = "bucket-0" if form == "paimon" else "data"
        files = file_rows(*(f"{within}/{number}-{n}" for n in range(2000)))
        if form == "iceberg":
            formats = pa.array(["parquet"] * 2000)
            table = table.append_files(files.append_column("file_format", formats), merge=False)
        else:
            table = table.append_files(files)
    return table


@pytest.fixture(scope="module", params=FORMATS)
def many_rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return big(tmp_path_factory.mktemp("many") / "t", request.param)


class Held(CountingStorage):
    """Reads of some files wait until they are let go."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names
        self.waits, self.go_on = threading.Event(), threading.Event()

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        content = super().read(path, start, end)
        name = path.rsplit("/", 1)[-1]
        if name in self.names:
            self.waits.set()
            self.go_on.wait()
        return content


def test_closing_a_stream_is_interrupted_while_its_reads_hang(many_rows: Table):
    in_order = CountingStorage(0, 1)
    lakebed.open_table(many_rows.location, storage=in_order).files(threads=1).to_arrow()
    storage = Held(in_order.manifests()[7:])
    table = lakebed.open_table(many_rows.location, storage=storage)
    streams = [table.files(columns=COLUMNS).to_arrow_batch_reader()]
    # How far is read ahead grows with what is taken.
    assert any(streams[0].read_next_batch() and storage.waits.wait(2) for _ in range(3))
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            close(streams)
    finally:
        signal.signal(signal.SIGALRM, previous)
        storage.go_on.set()


DROPPED = """
    import sys

    import lakebed

    scan = lakebed.open_table(sys.argv[1]).files()
    for stream in (lambda: scan.to_arrow_batch_reader(), scan._source.stream, scan.__arrow_c_stream__):
        try:
            # The stream is dropped when the second value raises.
            print(stream(), 1 / 0)
        except ZeroDivisionError as error:
            print(error)
"""


def test_an_exception_stays_that_is_raised_while_a_stream_is_dropped(many_rows: Table):
    """An interrupt, too, is raised between two steps of Python, with values on their way."""
    told = printed("-c", textwrap.dedent(DROPPED), many_rows.location, timeout=60)
    assert told == "division by zero\n" * 3


def close(streams: list[pa.RecordBatchReader]) -> None:
    """Closes the only one, and runs Python for a while."""
    streams.clear()
    for _ in range(1000):
        time.sleep(0.001)


def avro_reader(table: Table) -> pa.RecordBatchReader:
    file = Path(table.location) / "numbers.avro"
    if not file.exists():
        lakebed.avro.write(pa.table({"n": range(1_000_000)}), file, codec="null")
    return lakebed.avro.read(file).to_arrow_batch_reader()


BEGUN: dict[str, Callable[[Table], pa.RecordBatchReader]] = {
    "threads": lambda table: table.files(columns=COLUMNS, threads=2).to_arrow_batch_reader(),
    "one thread": lambda table: table.files(columns=COLUMNS, threads=1).to_arrow_batch_reader(),
    "filter": lambda table: table.files(columns=COLUMNS).filter("file_path > ''").to_arrow_batch_reader(),
    "c stream": lambda table: pa.RecordBatchReader.from_stream(table.files(columns=COLUMNS, threads=2)),
    "avro": avro_reader,
}


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", BEGUN)
@pytest.mark.parametrize("own", [False, True], ids=["local", "own"])
def test_a_fork_does_not_go_on_with_its_parents_stream(many_rows: Table, kind: str, own: bool):
    storage = CountingStorage(0.001) if own else None
    table = lakebed.open_table(many_rows.location, storage=storage)
    whole = BEGUN[kind](table).read_all().num_rows
    reader = BEGUN[kind](table)
    first = reader.read_next_batch().num_rows
    assert 0 < first < whole

    def refused() -> bool:
        signal.alarm(30)
        error = pa.ArrowInvalid if kind == "c stream" else LakebedError
        with pytest.raises(error, match="belongs to the process from which this one was forked"):
            reader.read_all()
        # A stream of its own is another thing.
        return bool(BEGUN[kind](table).read_all().num_rows == whole)

    assert in_a_fork(refused) == 0
    assert first + reader.read_all().num_rows == whole


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["threads", "one thread", "filter", "c stream"])
def test_a_fork_begins_a_stream_that_its_parent_has_not_begun(many_rows: Table, kind: str):
    table = lakebed.open_table(many_rows.location, storage=CountingStorage(0.001))
    whole, other = BEGUN[kind](table).read_all().num_rows, BEGUN["threads"](table)
    other.read_next_batch()
    reader = BEGUN[kind](table)

    def begins() -> bool:
        signal.alarm(30)
        return bool(reader.read_all().num_rows == whole)

    assert in_a_fork(begins) == 0
    assert reader.read_all().num_rows == whole


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
@pytest.mark.parametrize("number", [1_000_000, 1 << 40])
def test_no_more_threads_are_started_than_there_is_work(many_rows: Table, tmp_path: Path, number: int):
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    most, before, done = 0, threads(), threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.0005):
            most = max(most, threads())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for storage in (None, CountingStorage(0.001)):
            for reads in (None, number):
                table = lakebed.open_table(many_rows.location, storage=storage, concurrent_reads=reads)
                assert table.files(threads=number).to_arrow().num_rows == 24_001
        numbers = pa.table({"n": range(500_000)})
        lakebed.avro.write(numbers, tmp_path / "n.avro", codec="deflate", threads=number)
        assert lakebed.avro.read(tmp_path / "n.avro", threads=number).to_arrow().num_rows == 500_000
    finally:
        done.set()
        watcher.join()
    # Thirteen manifests, and who decodes or waits beside.
    assert most - before < 13 + 2 * (os.cpu_count() or 1) + 8
