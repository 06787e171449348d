"""Times jobs on a table of many snapshots: lakebed's views above what they cannot do without, and beside
Iceberg's own procedures for Spark and what Paimon's call. See README.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import jobs_sides
import jobs_tables
import paimon_tables
import report
import spark_sides
import suite
from corpus import Corpus
from session import Contestant, Result


@dataclass(frozen=True)
class Goal:
    """How many times as long one takes as another, at most or at least."""

    task: str
    side: str
    than: tuple[str, str]
    most: float | None = None
    least: float | None = None

    def verdict(self, medians: dict[tuple[str, str], float]) -> str | None:
        """A line for the report; None where one of both was not measured."""
        one, other = medians.get((self.side, self.task)), medians.get(self.than)
        if one is None or other is None:
            return None
        ratio = one / other
        is_there = ratio <= self.most if self.most is not None else ratio >= (self.least or 0)
        wanted = f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"
        names = f"{self.task} of {self.side} / {self.than[1]} of {self.than[0]}"
        return f"- {names}: {ratio:.1f}, goal {wanted}: {'there' if is_there else 'MISSED'}"


GOALS = (
    *(Goal(task, "lakebed", ("lakebed", "manifests"), most=3) for task in ("reachable", "expire_plan")),
    *(Goal(task, "lakebed", ("lakebed", "plan"), most=2) for task in ("growth", "file_history")),
    *(Goal(task, "iceberg", ("lakebed", task), least=5) for task in ("orphans", "expire_plan")),
    *(Goal(task, "paimon", ("lakebed", task), least=5) for task in ("paimon_orphans", "paimon_expire_plan")),
    Goal("rewrite_manifests", "iceberg", ("lakebed", "rewrite_manifests"), least=3),
    Goal("paimon_compact_manifests", "paimon", ("lakebed", "paimon_compact_manifests"), least=3),
)

# Characters of an error that the table has room for; all of it is in the file of `--json`.
_WORDS = 80


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for, and prints a table and what became of each goal.

    Returns: 1 if lakebed gave no answer, or another one than Iceberg.
    """
    options = _options(arguments)
    sizes = jobs_tables.Sizes(options.files, options.snapshots)
    results: list[Result] = []
    for task in options.tasks:
        suite.run(_corpus(task, options.cache, sizes), [task], _contestants, options, results)
    print(document(results))
    return 1 if report.lakebed_failed(results) or _differ(results) else 0


def document(results: Sequence[Result]) -> str:
    """The table, and the goals."""
    medians = {(one.contestant.label, one.contestant.task): one.median for one in results if one.median}
    header = ("task", "reader", "version", "seconds", "processor s", "MB", "rows", "times lakebed")
    rows = [header, *(_row(result, medians) for result in results)]
    goals = [verdict for goal in GOALS if (verdict := goal.verdict(medians)) is not None]
    return "\n".join([report.markdown(rows, (0, 1, 2)), "", *goals])


def _row(result: Result, medians: dict[tuple[str, str], float]) -> tuple[str, ...]:
    label, task = result.contestant.label, result.contestant.task
    own = medians.get((report.REFERENCE, task))
    if result.median is None:
        words = (result.error or "n/a").splitlines()[0][:_WORDS]
        return (task, label, result.contestant.version, words, "", "", "", "")
    times = f"{result.median / own:.1f}" if own else ""
    last = result.answers[-1]
    # The JVM is another process, whose processor seconds are not known.
    spent = f"{last['processor']:.2f}" if label == report.REFERENCE else ""
    most = f"{last['most_bytes'] / 1e6:,.0f}" if label == report.REFERENCE else ""
    found = f"{last['found']:,}"
    return (task, label, result.contestant.version, f"{result.median:.2f}", spent, most, found, times)


def _differ(results: Sequence[Result]) -> bool:
    """Whether sides found other files. Manifests are as many as each makes."""
    found: dict[str, set[int]] = {}
    for result in results:
        if result.contestant.task not in ("rewrite_manifests", "paimon_compact_manifests"):
            found.setdefault(result.contestant.task, set()).update(one["found"] for one in result.answers)
    return any(len(counts) > 1 for counts in found.values())


def _corpus(task: str, cache: Path, sizes: jobs_tables.Sizes) -> Corpus:
    """The table of a task, as the processes of all sides take it; `columns` are its snapshots."""
    if task in jobs_sides.PAIMON_TASKS:
        name, root = "paimon", jobs_tables.made_paimon(cache, sizes)
    else:
        name, root = "iceberg", jobs_tables.made(cache, sizes)
        jobs_tables.listing(root, sizes)
    of_table = {"entries": sizes.files, "columns": sizes.snapshots, "size": 0}
    corpus = Corpus.of_bytes(name, f"lakebed {version('lakebed')}", root, root.name, **of_table)
    return replace(corpus, input="jobs")


def _contestants(corpus: Corpus, task: str, options: argparse.Namespace) -> list[Contestant]:
    chosen = [side for side, tasks in jobs_sides.SIDES.items() if task in tasks and side in options.sides]
    return [_contestant(side, task, options, corpus) for side in chosen]


def _contestant(side: str, task: str, options: argparse.Namespace, corpus: Corpus) -> Contestant:
    if side == "paimon":
        program = str(Path(__file__).with_name("peers_java") / "PaimonJobs.java")
        jars = paimon_tables.java_classpath(options.cache)
        kept = str(jobs_sides.kept(corpus.columns))
        java = ("java", "-Xmx6g", "-Dlog4j2.level=OFF", "-cp", jars, program, corpus.path, task, kept)
        return Contestant(side, task, paimon_tables.java_version(), "", java, patient=True)
    master, release = (
        options.master,
        spark_sides.release_of("iceberg") if side == "iceberg" else version("lakebed"),
    )
    shown = release if side == report.REFERENCE else f"{release}, Spark {spark_sides.pyspark_version()}"
    program = (jobs_sides.__file__, side, task, master)
    return Contestant.of_python(side, task, shown, master, corpus, *program, patient=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made, tasks = suite.parser(__doc__, 3), jobs_sides.SIDES["lakebed"]
    add = made.add_argument
    add("--files", type=int, default=1_000_000, help="data files that commits add")
    add("--snapshots", type=int, default=1_000, help="commits")
    add("--tasks", type=suite.words, default=tasks, help=f"which of {', '.join(tasks)}")
    add("--sides", type=suite.words, default=_sides(), help=f"which of {', '.join(jobs_sides.SIDES)}")
    add("--master", default="local[2]", help="Spark's master")
    return made.parse_args(arguments)


def _sides() -> tuple[str, ...]:
    """Those that are here: Iceberg's need its runtime for this PySpark, Paimon's a JDK and Maven."""
    is_here = {"iceberg": spark_sides.jar("iceberg") is not None}
    is_here["paimon"] = all(shutil.which(tool) for tool in ("java", "mvn"))
    return tuple(side for side in jobs_sides.SIDES if is_here.get(side, True))


if __name__ == "__main__":
    sys.exit(main())
