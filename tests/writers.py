"""Writers in processes of their own: they run side by side, or are killed.

A writer is a generator in a module that can be imported: it yields once where it is ready, then the number of
each commit that was acknowledged. Its process is forked from one that has imported the libraries already.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from file_rows import file_rows

from lakebed import Table

_SECONDS = 2000
_forks = multiprocessing.get_context("forkserver")
# pandas is what PyArrow looks for where it is first given a list: a second in which nothing is committed.
_forks.set_forkserver_preload(
    [
        "pandas",
        "pyarrow",
        "lakebed.iceberg",
        "lakebed.paimon",
        "pyiceberg.catalog.sql",
        "pyiceberg.catalog.rest",
    ]
)

Program = Callable[..., Iterator[int]]


def commits(
    table: Table, folder: str, writer: str, count: int, rewritten: Callable[[Table, int], Table]
) -> Iterator[int]:
    """Appends of a file each, of which each fifth is deleted again; the manifests are rewritten now and then.

    Args: folder, of the files; rewritten, the table behind the commit of that number.
    """
    for number in range(count):
        path = f"{folder}/{writer}-{number}.parquet"
        table = table.append_files(file_rows(path))
        if number % 5 == 4:
            table = table.delete_files([path])
        if number % 4 == 1:
            table = rewritten(table, number)
        yield number


def left(writer: str, count: int) -> list[str]:
    """The files that `commits` leaves."""
    return [f"{writer}-{number}.parquet" for number in range(count) if number % 5 != 4]


class Writer:
    """A process that waits for `go` before its first commit."""

    def __init__(self, program: Program, *arguments: Any) -> None:
        self._pipe, theirs = _forks.Pipe()
        self._process = _forks.Process(target=_run, args=(theirs, program, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def go(self) -> None:
        self._pipe.send(None)

    def kill(self) -> list[int]:
        """Ends it in the midst of whatever it does: SIGKILL. Returns: what it had acknowledged."""
        self._process.kill()
        return self._acknowledged()

    def wait(self) -> list[int]:
        """What it acknowledged until its end, to which it came by itself."""
        acknowledged = self._acknowledged()
        assert self._process.exitcode == 0
        return acknowledged

    def _acknowledged(self) -> list[int]:
        found: list[int] = []
        # A number that was half sent is none.
        with contextlib.suppress(EOFError, OSError), self._pipe:
            while self._pipe.poll(_SECONDS):
                found.append(self._pipe.recv())
        self._process.join(_SECONDS)
        return found


def race(*writers: Writer, commits: int, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Runs them side by side, each until all its commits are acknowledged; what is done meanwhile, here."""
    for writer in writers:
        writer.go()
    meanwhile()
    for writer in writers:
        assert writer.wait() == list(range(commits))


def killed(writer: Writer, chance: random.Random, seconds: float) -> int:
    """Kills a writer at a moment within these seconds of its work. Returns: how many commits it had told."""
    writer.go()
    time.sleep(chance.uniform(0, seconds))
    return len(writer.kill())


def _run(pipe: Connection, program: Program, arguments: tuple[Any, ...]) -> None:
    working = program(*arguments)
    next(working)
    pipe.send(None)
    pipe.recv()
    for number in working:
        pipe.send(number)
