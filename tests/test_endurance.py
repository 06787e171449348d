"""What a long-lived process asks of lakebed: it is interrupted, keeps no memory, and survives a panic."""

from __future__ import annotations

import gc
import io
import os
import pickle
import platform
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from interpreters import printed
from local_storage import LocalStorage
from process_memory import forget_peak, held
from trust import Figure, long_or

import lakebed
from lakebed import _native, avro, errors
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")

MANIFESTS = [
    path.read_bytes()
    for folder in (SAMPLE_TABLE / "manifest", SAMPLE_ICEBERG_TABLE / "metadata")
    for path in sorted(folder.iterdir())
    if path.read_bytes()[:4] == b"Obj\x01"
]
ROW = pa.schema([("id", pa.int64()), ("name", pa.string())])


def test_a_panic_becomes_an_internal_error():
    with pytest.raises(errors.InternalError, match="panic in lakebed: on purpose") as caught:
        _native.panic("on purpose")
    assert isinstance(caught.value, RuntimeError)
    assert pickle.loads(pickle.dumps(caught.value)).kind == "internal"
    assert lakebed.open_table(SAMPLE_TABLE).files().to_arrow().num_rows > 0


def test_a_panic_in_a_thread_leaves_the_others_alone():
    caught: list[BaseException] = []

    def panic() -> None:
        try:
            _native.panic("on purpose")
        except errors.InternalError as error:
            caught.append(error)

    threads = [threading.Thread(target=panic) for _ in range(8)]
    for thread in threads:
        thread.start()
    rows = avro.read(MANIFESTS[0]).to_arrow()
    for thread in threads:
        thread.join()
    assert len(caught) == 8
    assert avro.read(MANIFESTS[0]).to_arrow() == rows


DECODE = """
    import io, signal, sys, time
    import pyarrow as pa
    from lakebed import avro

    rows = pa.table({"path": [f"s3://bucket/table/data/{number:032}.parquet" for number in range(%d)]})
    file = avro.write(rows, codec="deflate", level=1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("decoding", flush=True)
    try:
        while True:
            avro.read(file).to_arrow()
    except KeyboardInterrupt:
        print(time.monotonic_ns())
"""


@pytest.mark.trust
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_is_answered_at_once(figure: Figure):
    script = textwrap.dedent(DECODE) % long_or(200_000, 1_000_000)
    answers: list[float] = []
    # A busy machine may be late once.
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout
            assert child.stdout.readline() == "decoding\n"
            time.sleep(random.Random(len(answers)).uniform(0.05, 0.3))
            sent = time.monotonic_ns()
            child.send_signal(signal.SIGINT)
            answers.append((int(child.stdout.readline()) - sent) / 1e6)
    figure("interrupt in a long decode", f"answered in {min(answers):.0f} to {max(answers):.0f} ms")
    assert min(answers) < 200


def decode_or_refuse(number: int) -> None:
    """One of many reads: whole files and tables, cut and flipped ones, wrong questions."""
    rng = random.Random(number)
    content = rng.choice(MANIFESTS)
    changed = bytearray(content)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    works: list[Callable[[], Any]] = [
        lambda: avro.read(content).to_arrow(),
        lambda: avro.read(content[: rng.randrange(len(content))]).to_arrow(),
        lambda: avro.read(bytes(changed)).to_arrow(),
        lambda: avro.read(io.BytesIO(content), columns=["no_such"]).to_arrow(),
        lambda: lakebed.paimon.decode_rows(pa.array([bytes(changed)[:40]]), ROW),
        lambda: lakebed.check_locations([f"s3://b/{number}"], ["s3://c"]),
        lambda: _native.panic("on purpose"),
    ]
    if number % 50 == 0:
        works = [lambda: lakebed.open_table(SAMPLE_TABLE).files(where="bucket = 0").to_arrow()]
    try:
        rng.choice(works)()
    except lakebed.LakebedError as error:
        pickle.dumps(error)


def resident() -> int:
    """Bytes of this process in memory but for those of files, which the system drops and takes up again."""
    gc.collect()
    return held("RssAnon")


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def soak(warm_up: int, reads: int) -> None:
    """Prints by how many bytes and open files this process grows with each quarter of so many reads."""
    for number in range(warm_up):
        decode_or_refuse(number)
    memory, files = resident(), open_files()
    for number in range(reads):
        decode_or_refuse(number)
        if (number + 1) % (reads // 4) == 0:
            sys.stdout.write(f"{resident() - memory} {open_files() - files}\n")


@linux
@pytest.mark.trust
def test_many_reads_keep_no_memory_and_no_files(figure: Figure):
    warm_up, reads = long_or((500, 3_000), (20_000, 1_000_000), (100, 400))
    # In a process of its own: what threads of other tests keep is theirs.
    script = f"import test_endurance; test_endurance.soak({warm_up}, {reads})"
    variables = {"PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    told = printed("-c", script, environment=variables, timeout=7200)
    grown, files = zip(*(map(int, line.split()) for line in told.splitlines()), strict=True)
    figure("soak", f"{reads:,} mixed reads, {grown[-1] / 2**20:+.1f} MiB resident")
    # A read that keeps anything adds to every quarter. The allocator takes up to 32 MiB for itself, in few
    # steps, and keeps them: `M_MMAP_THRESHOLD` of glibc's mallopt(3).
    quarters = [now - before for before, now in pairwise([0, *grown])]
    assert min(quarters) < 1 << 20, quarters
    assert grown[-1] < 48 << 20
    assert files[-1] == 0


READ_AGAIN = """
    import resource, sys
    from lakebed import avro

    def faults(reads):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(reads):
            avro.read(sys.argv[1], threads=1).to_arrow()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    print(faults(5), faults(10))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has its own ways")
def test_what_is_freed_is_used_again(tmp_path: Path):
    paths = [f"s3://bucket/table/data/{number:032}.parquet" for number in range(10_000)]
    rows = pa.table({f"path_{number}": paths for number in range(12)})
    avro.write(rows, tmp_path / "rows.avro", codec="zstandard")
    first, again = map(int, printed("-c", textwrap.dedent(READ_AGAIN), tmp_path / "rows.avro").split())
    pages = rows.nbytes // os.sysconf("SC_PAGE_SIZE")
    assert first > pages
    assert again < pages


def repeated(content: bytes, times: int, path: Path) -> Path:
    """An Avro file with the blocks of another as often as that."""
    marker = content[-16:]
    blocks = content[content.index(marker) + 16 :]
    with path.open("wb") as file:
        file.write(content[: -len(blocks)])
        for _ in range(times):
            file.write(blocks)
    return path


@linux
@pytest.mark.trust
def test_a_stream_takes_time_for_each_row_and_memory_for_none(figure: Figure, tmp_path: Path):
    entries = avro.read(MANIFESTS[0]).to_arrow()
    thousand = pa.concat_tables([entries] * -(-1000 // entries.num_rows)).slice(0, 1000)
    content = avro.write(thousand, codec="zstandard")
    assert content
    found, peaks = [], []
    for rows in (1_000, 10_000, 100_000, *long_or((), (1_000_000, 10_000_000))):
        path = repeated(content, rows // 1000, tmp_path / "entries.avro")
        limits = lakebed.Limits(max_file_bytes=path.stat().st_size * 1000)
        before = held("VmRSS")
        forget_peak()
        start = time.process_time()
        stream = avro.read(path, threads=1, limits=limits).to_arrow_batch_reader()
        assert sum(batch.num_rows for batch in stream) == rows
        del stream
        took, peaked = time.process_time() - start, held("VmHWM") - before
        peaks.append(peaked)
        found.append(f"{rows:,}: {1e9 * took / rows:,.0f} ns a row, {peaked / 2**20:.0f} MiB")
    figure("time and memory of a stream", "; ".join(found))
    assert max(peaks) < 128 << 20


def test_nothing_is_kept_of_what_is_given():
    storage = LocalStorage()
    gone = weakref.ref(storage)
    table = lakebed.open_table(str(SAMPLE_TABLE), storage=storage)
    scan = table.files()
    reader = scan.to_arrow_batch_reader()
    reader.read_next_batch()
    del storage, table, scan, reader
    gc.collect()
    assert gone() is None
    content = bytes(bytearray(MANIFESTS[0]))
    before = sys.getrefcount(content)
    avro.read(content).to_arrow()
    with pytest.raises(errors.LakebedError):
        avro.read(content, columns=["no_such"]).to_arrow()
    gc.collect()
    assert sys.getrefcount(content) == before


def test_reading_again_makes_no_more_objects():
    def read() -> None:
        lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate=SAMPLE_MOVED).files(where="amount > 1").to_arrow()
        with pytest.raises(lakebed.LakebedError):
            avro.read(MANIFESTS[0][:-3]).to_arrow()

    for _ in range(5):
        read()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        read()
    gc.collect()
    assert len(gc.get_objects()) - before < 25
