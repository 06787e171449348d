"""Times lakebed's views in Spark beside the formats' own runtimes for Spark, on tables by their Java.

Tasks: `sum` (count the live files, add up their rows and sizes), `partitions` (the same for each partition),
`maps` (every file with all statistics as they are stored, to the sink `noop`), `readable` (with typed
statistics), `plan` (of Paimon: lakebed's plan to `noop`; Paimon's splits). See README.md.

It prints one table, and whether lakebed is as many times faster as it should be.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import report
import spark_sides
import suite
from corpus import Corpus, MissingInputError, Table
from iceberg_tables import by_java, by_pyiceberg, with_deletes
from paimon_tables import java_large
from session import Contestant, Result

TASKS = ("sum", "partitions", "maps", "readable", "plan")


def _java(cache: Path, entries: int, given: Path | None, per_manifest: int = 10_000, **more: Any) -> Corpus:
    """Manifests of so many entries each."""
    return by_java(cache, entries, given, manifests=-(-entries // per_manifest), **more)


def _deleted(cache: Path, entries: int, given: Path | None, *, regions: int, days: int) -> Corpus:
    """Two position deletes for every three files, each of one file, in so many partitions."""
    deletes = {"pos_deletes": entries * 2 // 3, "deletes_of": "one"}
    return with_deletes(cache, entries, given, regions=regions, days=days, **deletes)


ALL_TABLES = [
    Table("iceberg-10k", TASKS[:4], 10_000, _java),
    Table("iceberg-100k", TASKS[:4], 100_000, _java),
    Table("iceberg-1m", TASKS[:4], 1_000_000, _java),
    # Manifests of 36 MB: entries of a kilobyte, the statistics of 53 columns.
    Table("iceberg-36mb", TASKS[:4], 136_000, _java, {"per_manifest": 34_000, "columns": 53}),
    Table("iceberg-4400", ("sum",), 44_000, _java, {"per_manifest": 10}),
    # The deletes are more than a broadcast takes, so that data files and deletes are dealt out by partition.
    Table("iceberg-even", ("plan",), 600_000, _deleted, {"regions": 20, "days": 50}),
    Table("iceberg-skewed", ("plan",), 600_000, _deleted, {"regions": 1, "days": 1}),
    Table("pyiceberg", TASKS[:4], 50_000, by_pyiceberg),
    Table("paimon-100k", ("sum", "partitions", "plan"), 100_000, java_large),
    Table("paimon-1m", ("sum", "plan"), 1_000_000, java_large),
]
TABLES = {table.name: table for table in ALL_TABLES}
DEFAULT = ALL_TABLES[:5]
"""Those that both sides read: Iceberg's runtime finds a table by a hint that PyIceberg does not leave."""

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
    *("input", "entries", "task", "reader", "version", "first s", "seconds", "times", "JVM cpu s"),
    *("Python cpu s", "times cpu", "tasks", "MB read", "MB to Python", "MB to JVM", "MB shuffled"),
    *("driver MB", "executor MB", "Python MB"),
)
_LEFT = {0, 2, 3, 4}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for and prints one table; what is done is kept in the JSON file as it is done.

    Returns: 1 if lakebed gave a wrong answer or none, 2 where something to run with is missing.
    """
    made = suite.parser(__doc__, 3)
    suite.add_tables(made, TABLES)
    made.add_argument("--master", default="local[2]", help="Spark's master")
    options = made.parse_args(arguments)
    given = dict(options.given)
    results: list[Result] = []
    for table_ in options.tables or DEFAULT:
        try:
            corpus = table_.corpus(options.cache, options.entries or table_.entries, given.get(table_.name))
        except MissingInputError as missing:
            print(f"bench_spark: {missing}", file=sys.stderr)
            return 2
        tasks = [task for task in table_.tasks if task in (options.tasks or TASKS)]
        suite.run(corpus, tasks, _contestants, options, results)
    print(document(results))
    return 1 if report.lakebed_failed(results) else 0


def _contestants(corpus: Corpus, task: str, options: argparse.Namespace) -> list[Contestant]:
    sides = [side for side in spark_sides.sides(corpus, task) if side.startswith(options.readers)]
    return [_contestant(side, corpus, task, options.master) for side in sides]


def _contestant(side: str, corpus: Corpus, task: str, master: str) -> Contestant:
    is_ours = side.startswith(report.REFERENCE)
    own = version("lakebed") if is_ours else spark_sides.release_of(corpus.format)
    shown = f"{own}, Spark {spark_sides.pyspark_version()}"
    program = (spark_sides.__file__, side, task, master)
    return Contestant.of_python(side, task, shown, master, corpus, *program, patient=True)


def document(results: Sequence[Result]) -> str:
    """All that a run prints: the machine, the table, how that is to targets, and what has no time."""
    parts = [report.machine(), table(results), "\n".join(f"- {line}" for line in verdicts(results))]
    return "\n\n".join([*parts, *report.without_time(results)])


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


if __name__ == "__main__":
    sys.exit(main())
