"""What `bench_spark.py` prints: one table, and whether lakebed is as many times faster as it should be."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import report

if TYPE_CHECKING:
    from session import Result

REFERENCE = "iceberg"
WANTED = {"sum": 3.0, "partitions": 3.0, "maps": 2.0, "readable": 2.0}
"""How many times faster lakebed should be, where there are a million entries."""
MILLION = 1_000_000
JVMS = ("driver", "executor")
PYTHONS = ("client", "workers")

_HEADER = (
    *(
        "input",
        "entries",
        "task",
        "reader",
        "version",
        "first s",
        "seconds",
        "times",
        "JVM cpu s",
        "Python cpu s",
    ),
    *("times cpu", "tasks", "MB read", "MB to Python", "MB to JVM", "MB shuffled"),
    *("driver MB", "executor MB", "Python MB"),
)
_LEFT = {0, 2, 3, 4}


def document(results: Sequence[Result]) -> str:
    """All that a run prints: the machine, the table, how that is to targets, and what has no time."""
    parts = [report.machine(), table(results), "\n".join(f"- {line}" for line in verdicts(results))]
    failed = [
        f"- {result.contestant.label}, {result.contestant.task}, {result.corpus.input}: {result.error}"
        for result in results
        if result.error
    ]
    return "\n\n".join([*parts, *(["n/a:", *failed] if failed else [])])


def table(results: Sequence[Result]) -> str:
    """One row per reader, input and task. `times` are Iceberg's seconds, of the clock or of processors, over
    the reader's; MB are millions of bytes; memory is the peak of all runs, what crossed that of the last.
    """
    return report.markdown([_HEADER, *(_row(result, results) for result in results)], _LEFT)


def verdicts(results: Sequence[Result]) -> list[str]:
    """How many times faster lakebed was than Iceberg's `files`, and whether their sums agree."""
    lines = []
    for result in results:
        task, entries = result.contestant.task, result.corpus.entries
        reference = _reference(result, results)
        if result.contestant.label.startswith("iceberg") or reference is None or result.median is None:
            continue
        times = reference.median / result.median
        wanted = f", wanted {WANTED[task]:.0f} ×" if entries >= MILLION else ""
        lines.append(
            f"{task}, {entries:,} entries: {result.contestant.label} {result.median:.2f} s, "
            f"Iceberg {reference.median:.2f} s, {times:.1f} ×{wanted}; "
            f"processors {cpu(reference) / cpu(result):.1f} ×"
        )
        if timed(result)[-1]["totals"] != timed(reference)[-1]["totals"]:
            lines.append(f"{result.contestant.label}, {task}: OTHER SUMS than Iceberg's")
    return lines


def timed(result: Result) -> list[dict[str, Any]]:
    """What its runs told, without the warm-up."""
    return result.answers[1:]


def cpu(result: Result, kinds: Sequence[str] = (*JVMS, *PYTHONS)) -> float:
    """Seconds of processors that a run took."""
    return median(sum(run["cpu_seconds"].get(name, 0.0) for name in kinds) for run in timed(result))


def peak(result: Result, kinds: Sequence[str]) -> int:
    """The most memory of these processes [bytes]."""
    return max(sum(run["peak_bytes"].get(name, 0) for name in kinds) for run in result.answers)


def _reference(result: Result, results: Sequence[Result]) -> Any:
    """Iceberg's `files` on the same task and table."""
    for other in results:
        same = (other.corpus, other.contestant.task) == (result.corpus, result.contestant.task)
        if same and other.contestant.label == REFERENCE and other.median is not None:
            return other
    return None


def _row(result: Result, results: Sequence[Result]) -> tuple[str, ...]:
    corpus, contestant = result.corpus, result.contestant
    head = (corpus.input, f"{corpus.entries:,}", contestant.task, contestant.label, contestant.version)
    if result.median is None:
        return (*head, *("n/a" if name == "seconds" else "" for name in _HEADER[len(head) :]))
    reference, last = _reference(result, results), timed(result)[-1]
    megabytes = [last[name] for name in ("to_python_bytes", "from_python_bytes", "shuffle_bytes")]
    memory = [peak(result, kinds) for kinds in (("driver",), ("executor",), PYTHONS)]
    return (
        *head,
        f"{result.answers[0]['seconds']:.2f}",
        f"{result.median:.2f}",
        f"{reference.median / result.median:.1f}" if reference else "",
        f"{cpu(result, JVMS):.2f}",
        f"{cpu(result, PYTHONS):.2f}",
        f"{cpu(reference) / cpu(result):.1f}" if reference else "",
        str(last["tasks"]),
        *(f"{size / 1e6:,.1f}" for size in (corpus.compressed_bytes, *megabytes)),
        *(f"{size / 1e6:,.0f}" for size in memory),
    )
