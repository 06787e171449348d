"""A cache that several processes have, and what none of them may leave in its folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from trust import long_or

import lakebed
from iceberg_golden import golden_iceberg_tables
from shared_data import SAMPLE_TABLE

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

ENCRYPTED = [table for table in golden_iceberg_tables("iceberg_next") if table.keys is not None]


def rows(cache: lakebed.Cache) -> Any:
    return lakebed.open_table(SAMPLE_TABLE, cache=cache).files().to_arrow()


# Reads with a cache that others clear and fill.
SEVERAL_TIMES = """
import os, sys, lakebed
_, table, folder = sys.argv
cache = lakebed.Cache(memory_bytes=0, folder=folder)
wanted = lakebed.open_table(table).files().to_arrow()
for number in range(20):
    if number % 7 == os.getpid() % 7:
        cache.clear()
    assert lakebed.open_table(table, cache=cache).files().to_arrow() == wanted
stats = cache.stats()
assert (stats["damaged"], stats["failed_writes"]) == (0, 0), stats
"""


def test_processes_at_once_have_one_folder(tmp_path):
    command = [sys.executable, "-c", SEVERAL_TIMES, SAMPLE_TABLE, tmp_path / "cache"]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_threads_use_the_cache_goes_on():
    cache, wanted = lakebed.Cache(), lakebed.open_table(SAMPLE_TABLE).files().to_arrow()
    stop = threading.Event()

    def use() -> None:
        while not stop.is_set():
            cache.clear()
            rows(cache)

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(long_or(10, 100)):
            child = os.fork()
            if child == 0:
                os._exit(0 if rows(cache) == wanted and rows(cache) == wanted else 1)
            deadline = time.monotonic() + 60
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.01)
            if ended == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            assert ended == (child, 0)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


WRITER = """
import sys, lakebed
while True:
    cache = lakebed.Cache(memory_bytes=0, folder=sys.argv[2])
    lakebed.open_table(sys.argv[1], cache=cache).files().to_arrow()
    cache.clear()
    print(flush=True)
"""


def test_a_killed_writer_leaves_no_half_of_a_file(tmp_path):
    folder = tmp_path / "cache"
    for number in range(long_or(5, 50)):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(SAMPLE_TABLE), str(folder)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(number % 7 / 1000)
            writer.kill()
        cache = lakebed.Cache(memory_bytes=0, folder=folder)
        assert rows(cache) == lakebed.open_table(SAMPLE_TABLE).files().to_arrow()
        assert cache.stats()["damaged"] == 0


def test_what_a_killed_writer_left_is_removed(tmp_path):
    cache = lakebed.Cache(folder=tmp_path / "cache")
    left, other = (tmp_path / "cache" / name for name in ("1-2-3.unfinished", "notes.txt"))
    for file in (left, other):
        file.write_bytes(b"half")
        os.utime(file, (0, 0))
    cache.stats()
    # Of what is not the cache's own nothing is removed.
    assert (left.exists(), other.exists()) == (False, True)
    cache.clear()
    assert other.exists()


@pytest.mark.parametrize("table", ENCRYPTED, ids=[table.name for table in ENCRYPTED])
def test_nothing_of_encrypted_manifests_is_kept(table, tmp_path):
    cache = lakebed.Cache(folder=tmp_path / "cache")
    opened = lakebed.open_table(table.path, relocate=table.relocate, keys=table.keys.unwrap, cache=cache)
    for _ in range(2):
        assert opened.files().to_arrow().num_rows
    texts = b"".join(file.read_bytes() for file in Path(tmp_path / "cache").iterdir())
    stats = cache.stats()
    assert (texts, stats["memory_bytes"], stats["misses"]) == (b"", 0, 0)
