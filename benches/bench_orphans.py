"""Times finding and removing the orphans of a large table: lakebed in one process and on Spark, beside
Iceberg's `remove_orphan_files` on the same Spark. See README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

import jobs_tables
import orphans_sides
import report
import spark_sides
import suite
from corpus import Corpus
from session import Contestant, Result


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for, and prints a table. Returns: 1 if sides failed, or found other files."""
    options = _options(arguments)
    results: list[Result] = []
    suite.run(_corpus(options), options.tasks, _contestants, options, results)
    print(document(results))
    found = {one["found"] for result in results for one in result.answers}
    return 1 if any(result.error for result in results) or found != {options.orphans} else 0


def document(results: Sequence[Result]) -> str:
    """The machine, the table, and what failed."""
    medians = {(one.contestant.label, one.contestant.task): one.median for one in results}
    header = ("task", "reader", "version", "seconds", "processor s", "MB", "load", "rows", "times lakebed")
    rows = [header]
    for result in results:
        if (median := result.median) is None:
            continue
        label, task, last = result.contestant.label, result.contestant.task, result.answers[-1]
        own = medians.get((report.REFERENCE, task))
        counts = (f"{last['processor']:.1f}", f"{last['most_bytes'] / 1e6:,.0f}", f"{last['load']:.1f}")
        times = f"{median / own:.1f}" if own else ""
        shown = (task, label, result.contestant.version, f"{median:.1f}")
        rows.append((*shown, *counts, f"{last['found']:,}", times))
    table = report.markdown(rows, (0, 1, 2))
    return "\n\n".join([report.machine(), table, *report.without_time(results)])


def _corpus(options: argparse.Namespace) -> Corpus:
    """The table, as the processes of all sides take it."""
    sizes = jobs_tables.Sizes(options.files - options.orphans, options.snapshots, columns=3)
    root = jobs_tables.made(options.cache / f"orphans_{options.orphans}", sizes)
    jobs_tables.listing(root, sizes, options.orphans)
    of_table = {"entries": options.files, "columns": options.snapshots, "size": 0}
    corpus = Corpus.of_bytes("iceberg", f"lakebed {version('lakebed')}", root, root.name, **of_table)
    return replace(corpus, input="orphans")


def _contestants(corpus: Corpus, task: str, options: argparse.Namespace) -> list[Contestant]:
    return [_contestant(side, task, options.master, corpus) for side in options.sides]


def _contestant(side: str, task: str, master: str, corpus: Corpus) -> Contestant:
    on_spark = f"Spark {spark_sides.pyspark_version()}"
    shown = {"lakebed": version("lakebed"), "iceberg": f"{spark_sides.release_of('iceberg')}, {on_spark}"}
    text = shown.get(side, f"{version('lakebed')}, {on_spark}")
    command = (orphans_sides.__file__, side, task, master)
    return Contestant.of_python(side, task, text, master, corpus, *command, patient=False)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = suite.parser(__doc__, 1)
    add = made.add_argument
    add("--files", type=int, default=5_000_000, help="files that are listed, orphans among them")
    add("--orphans", type=int, default=1_000_000, help="how many of them nothing reaches; these are made")
    add("--snapshots", type=int, default=40, help="commits")
    add("--tasks", type=suite.words, default=orphans_sides.TASKS, help="which of find, remove")
    add("--sides", type=suite.words, default=_sides(), help=f"which of {', '.join(orphans_sides.SIDES)}")
    add("--master", default="local[2]", help="Spark's master")
    return made.parse_args(arguments)


def _sides() -> tuple[str, ...]:
    """Those that are here: Iceberg's needs its runtime for this PySpark."""
    is_here = spark_sides.jar("iceberg") is not None
    return tuple(side for side in orphans_sides.SIDES if is_here or side != "iceberg")


if __name__ == "__main__":
    sys.exit(main())
