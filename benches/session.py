"""Runs readers side by side: one fresh process each, their repeats interleaved, their memory watched."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import late_s3
from corpus import Corpus

SLOW_SECONDS = 2.0
"""A reader whose first run takes longer than this joins only the first two rounds."""
ENOUGH_SECONDS = 20.0
"""A reader whose warm-up takes longer than this has had its only run with it."""

CLOCKS = ("seconds", "processor")
"""What a run is timed by: the clock on the wall, or what the reader was given of the processors."""
MERGING_TASKS = frozenset({"files", "stats", "stream", "churn", "plan", "plan-stream"})
"""Tasks whose rows are live files, where the others' are entries."""
FILTERING_TASKS = frozenset({"guard", "plan-partition", "plan-range"})
"""Tasks whose rows are some of the files: readers that prune less than others may leave more."""
FLOORS = ("inflate", "walk")
"""What inflates the manifests of a task, and what walks them too: their rows are always entries."""


@dataclass(frozen=True)
class Contestant:
    """A reader of any language: how it is called in the report, and how its process is started."""

    label: str
    task: str
    version: str
    threads: str
    command: tuple[str, ...]
    greeting: str | None = None
    patient: bool = False
    """Whether it joins all rounds, however slow it is."""

    @classmethod
    def of_python(
        cls, label: str, task: str, version: str, threads: str, corpus: Corpus, *command: str, patient: bool
    ) -> Contestant:
        """A program of this interpreter, the corpus as its first line of input."""
        greeting = json.dumps(asdict(corpus))
        return cls(label, task, version, threads, (sys.executable, *command), greeting, patient)


@dataclass
class Result:
    """What a contestant showed: seconds of whole runs, the peak in bytes above the imported library, and the
    bytes that a writer wrote.
    """

    contestant: Contestant
    corpus: Corpus
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None
    written_bytes: int | None = None
    error: str | None = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    """What each run told, the warm-up first."""

    @property
    def median(self) -> float | None:
        """The median run, or None after an error."""
        return statistics.median(self.seconds) if self.seconds and not self.error else None


class _Process:
    """One contestant's process, from its imports to its last run."""

    def __init__(self, contestant: Contestant, corpus: Corpus, clock: str) -> None:
        self._clock = clock
        self.result = Result(contestant, corpus)
        self._process = subprocess.Popen(
            contestant.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._imported: int | None = None
        self._only_once = False
        answer = self._ask(contestant.greeting)
        if "error" in answer:
            self.result.error = str(answer["error"])
        else:
            self._imported = resident_bytes(self._process.pid, "VmRSS")

    def warm_up(self) -> None:
        """The first run: the one whose peak memory counts, and whose time only if there is no other."""
        answer = self._run()
        self.result.written_bytes = answer.get("bytes")
        slow = not self.result.error and answer["seconds"] > ENOUGH_SECONDS
        if slow and not self.result.contestant.patient:
            self._add(answer)
            self._only_once = True
        peak = resident_bytes(self._process.pid, "VmHWM")
        if peak is not None and self._imported is not None:
            self.result.peak_bytes = max(0, peak - self._imported)

    def joins(self, number: int) -> bool:
        """Whether it runs in that round, counted from 0: slow readers leave early."""
        slow = self.result.seconds[:1] > [SLOW_SECONDS] and not self.result.contestant.patient
        return not (self.result.error or self._only_once or (slow and number >= 2))

    def repeat(self) -> None:
        """One timed run."""
        answer = self._run()
        if not self.result.error:
            self._add(answer)

    def _run(self) -> dict[str, Any]:
        """One run; behind a proxy it tells what that has counted: `requests` and the most `in_flight`."""
        endpoint = self.result.corpus.endpoint
        if endpoint:
            late_s3.counts(endpoint)
        answer = self._ask("")
        if endpoint:
            answer |= late_s3.counts(endpoint)
        self._check(answer)
        return answer

    def _add(self, answer: dict[str, Any]) -> None:
        """A run's time by the clock that was asked for; not every reader tells that of the processor."""
        self.result.seconds.append(answer.get(self._clock) or answer["seconds"])

    def close(self) -> None:
        """Ends the process: its input ends, and so does its loop."""
        self._process.communicate()

    def _ask(self, line: str | None) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if line is not None:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            return {"error": f"the process ended with code {self._process.wait()}"}
        parsed: dict[str, Any] = json.loads(answer)
        return parsed

    def _check(self, answer: dict[str, Any]) -> None:
        contestant, corpus = self.result.contestant, self.result.corpus
        task = contestant.task
        merges = task in MERGING_TASKS and contestant.label not in FLOORS
        expected = corpus.live if merges else corpus.entries
        if "error" in answer:
            self.result.error = str(answer["error"])
        elif task not in FILTERING_TASKS and answer["rows"] not in (None, expected):
            self.result.error = f"{answer['rows']} rows, not {expected}"
        else:
            self.result.answers.append(answer)


def resident_bytes(pid: int, key: str) -> int | None:
    """`VmRSS` (now) or `VmHWM` (peak so far) of a process; None where there is no /proc."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


def run_round_robin(
    contestants: list[Contestant],
    corpus: Corpus,
    repeats: int,
    progress: Callable[[str], None],
    clock: str = CLOCKS[0],
) -> list[Result]:
    """All the contestants on one corpus: a warm-up each, then rounds in which each runs once.

    A busy moment of the machine so falls on neighbours, not on one reader's whole series.
    """
    processes = []
    for contestant in contestants:
        progress(f"{corpus.input}: {contestant.task}, warming up {contestant.label}")
        process = _Process(contestant, corpus, clock)
        if not process.result.error:
            process.warm_up()
        processes.append(process)
    for number in range(repeats):
        progress(f"{corpus.input}: {contestants[0].task}, round {number + 1} of {repeats}")
        for process in processes:
            if process.joins(number):
                process.repeat()
    for process in processes:
        process.close()
    return [process.result for process in processes]
