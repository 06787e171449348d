"""What `bench_spark.py` prints: one table, and whether lakebed is as many times faster as it should be."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import report

if TYPE_CHECKING:
    from session import Result

WANTED = {
    ("iceberg-10k", None): 1.0,
    ("iceberg-4400", "sum"): 3.0,
    ("iceberg-1m", "sum"): 2.5,
    ("iceberg-1m", "partitions"): 2.5,
    ("iceberg-1m", "maps"): 1.8,
    ("iceberg-1m", "readable"): 2.7,
}
"""How many times faster than Iceberg lakebed should be by itself, by table and task; None for every task. The
first call of a session should take no longer than Iceberg's, on all tables."""
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
    """One row per reader, input and task. `times` are the runtime's seconds, of the clock or of processors,
    over the reader's; MB are millions of bytes; memory is the peak of all runs, what crossed it that of the
    last.
    """
    return report.markdown([_HEADER, *(_row(result, results) for result in results)], _LEFT)


def verdicts(results: Sequence[Result]) -> list[str]:
    """How many times faster lakebed was than the runtime's `files`, and whether their sums agree."""
    lines = []
    for result in results:
        task, entries = result.contestant.task, result.corpus.entries
        reference = _reference(result, results)
        if not result.contestant.label.startswith(report.REFERENCE):
            continue
        if reference is None or result.median is None:
            continue
        times = reference.median / result.median
        lines.append(
            f"{task}, {entries:,} entries: {result.contestant.label} {result.median:.2f} s, "
            f"{reference.contestant.label} {reference.median:.2f} s, {times:.1f} ×{_wanted(result, times)}; "
            f"processors {cpu(reference) / cpu(result):.1f} ×; "
            f"first call {first(reference) / first(result):.1f} ×, wanted 1.0 ×"
        )
        if timed(result)[-1]["totals"] != timed(reference)[-1]["totals"]:
            lines.append(f"{result.contestant.label}, {task}: OTHER SUMS than {reference.contestant.label}'s")
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


def first(result: Result) -> float:
    """Seconds of the first call of its session."""
    return float(result.answers[0]["seconds"])


def _wanted(result: Result, times: float) -> str:
    """What is wanted of lakebed's own way, and whether it is there."""
    table, task = result.corpus.input, result.contestant.task
    wanted = WANTED.get((table, task), WANTED.get((table, None)))
    if wanted is None or result.contestant.label != "lakebed":
        return ""
    return f", wanted {wanted:.1f} ×: {'there' if times >= wanted else 'MISSED'}"


def _reference(result: Result, results: Sequence[Result]) -> Any:
    """What the table's own runtime took: of Iceberg by `files`, of Paimon by `$files` or its splits."""
    for other in results:
        same = (other.corpus, other.contestant.task) == (result.corpus, result.contestant.task)
        if same and other.contestant.label == result.corpus.format and other.median is not None:
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
