"""The memory and processor time of a process and all its children, as Linux tells them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SECONDS_BETWEEN = 0.2


def kind(pid: int, root: int) -> str:
    """What a process is to the Spark application whose client is `root`: `client`, `driver` or `executor`
    (JVMs), else `workers`.
    """
    if pid == root:
        return "client"
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    if not words[0].endswith(b"java"):
        return "workers"
    return "executor" if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words else "driver"


def descendants(root: int) -> list[int]:
    """A process and all its children's children."""
    parents = {pid: int(fields[1]) for pid, fields in _stats()}
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def processor_seconds(root: int) -> dict[str, float]:
    """Seconds that each kind has had of the processors, those of children that have ended among them."""
    stats = dict(_stats())
    seconds: dict[str, float] = {}
    for pid in descendants(root):
        if pid in stats:
            name = kind(pid, root)
            seconds[name] = seconds.get(name, 0.0) + sum(map(int, stats[pid][11:15])) / _TICKS
    return seconds


class Watch:
    """Samples memory from `start` to `stop`: `peak` is the highest sum of each kind, and of `all` [bytes].

    A JVM is counted by its resident pages. Python's workers are forked and share theirs, so each has its
    proportional share.
    """

    def __init__(self, root: int) -> None:
        self.peak: dict[str, int] = {}
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins to sample."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # Once at least, however soon it is stopped.
        self._sample()
        while not self._ended.wait(_SECONDS_BETWEEN):
            self._sample()

    def _sample(self) -> None:
        now: dict[str, int] = {}
        for pid in descendants(self._root):
            try:
                name = kind(pid, self._root)
                size = _proportional(pid) if name in ("client", "workers") else _resident(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            now[name] = now.get(name, 0) + size
        now["all"] = sum(now.values())
        self.peak = {name: max(now.get(name, 0), self.peak.get(name, 0)) for name in {*now, *self.peak}}


def _stats() -> Iterator[tuple[int, list[str]]]:
    """Every process and its fields of `/proc/<pid>/stat` from the third, the state, on."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _proportional(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
