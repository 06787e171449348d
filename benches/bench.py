"""Times lakebed beside every other reader and writer of the same bytes, and above the floors below them.

One run prints one table: a row for each input, task and reader. `--suite quick` takes minutes, `full` hours;
`--tables`, `--tasks` and `--readers` choose. See README.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import avro_cases
import iceberg_readers
import iceberg_tables
import late_cases
import metadata_cases
import paimon_readers
import paimon_tables
import pair_cases
import programs
import readers
import report
import row_cases
import suite
from corpus import Corpus, MissingInputError, Table
from session import Contestant, Result

LATE = late_cases.TABLES
EARLY = [
    table
    for module in (iceberg_tables, pair_cases, paimon_tables, avro_cases, row_cases, metadata_cases)
    for table in module.TABLES
]
TABLES = {table.name: table for table in (*EARLY, *LATE)}
PYTHON = {
    name: (module.__name__, found)
    for module in (
        iceberg_readers,
        pair_cases,
        paimon_readers,
        avro_cases,
        row_cases,
        metadata_cases,
        late_cases,
    )
    for name, found in module.READERS.items()
}
"""What reads each format in Python, and the module that lists it."""
REPEATS = {"quick": 3, "full": 9, "latency": 5}


def contestants(corpus: Corpus, task: str, options: argparse.Namespace) -> list[Contestant]:
    """All who do that task on that input, in the order in which they are reported."""
    module, found_here = PYTHON[corpus.format]
    found = [
        Contestant.of_python(
            *(one.label, task, one.version, one.threads, corpus, readers.__file__, module, one.label, task),
            patient=False,
        )
        for one in found_here
        if one.task == task
    ]
    if TABLES[corpus.input] not in LATE:
        # These have programs of other languages, which are not delayed.
        found += programs.java(corpus, task, options.java_threads, options.cache)
        if not options.no_rust:
            found += programs.rust(corpus, task)
    if task in TABLES[corpus.input].alone:
        found = [one for one in found if one.label.startswith(report.REFERENCE)]
    return [one for one in found if one.label.startswith(options.readers)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for and prints one table; what is done is kept in the JSON file as it is done.

    Returns: 1 if lakebed gave a wrong answer or none, 2 where something to run with is missing.
    """
    options = _options(arguments)
    results: list[Result] = []
    left_out: list[str] = []
    # Tables behind late storages are a suite of their own, which takes no others.
    for table in options.tables or (LATE if options.suite == "latency" else EARLY):
        tasks = _tasks(table, options)
        try:
            _run(table, tasks, options, results)
        except MissingInputError as missing:
            if options.tables:
                print(f"bench: {missing}", file=sys.stderr)
                return 2
            left_out.append(f"{table.name}: {missing}")
    print(report.document(results, left_out, options.clock))
    return 1 if report.lakebed_failed(results) else 0


def _tasks(table: Table, options: argparse.Namespace) -> list[str]:
    """Those of the suite, where no table is named; of these the ones that are asked for."""
    quick = options.suite == "quick" and not options.tables
    of_suite = table.quick if quick else table.tasks
    return [task for task in table.tasks if task in of_suite and task in (options.tasks or of_suite)]


def _run(table: Table, tasks: list[str], options: argparse.Namespace, results: list[Result]) -> None:
    """The tasks of one input, added to the results. Raises: MissingInputError."""
    if not tasks:
        return
    quick = options.suite == "quick"
    entries = options.entries or (table.quick_entries if quick else table.entries)
    corpus = table.corpus(options.cache, entries, options.given.get(table.name))
    suite.progress(corpus.describe())
    rounds = {"repeats": min(options.repeats or REPEATS[options.suite], table.most_rounds)}
    suite.run(corpus, tasks, contestants, argparse.Namespace(**vars(options) | rounds), results)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = suite.parser(__doc__, None)
    about = "some tasks of some inputs, small and three rounds; all, nine rounds; or late storages, five"
    made.add_argument("--suite", choices=list(REPEATS), default="full", help=about)
    suite.add_tables(made, TABLES)
    add = made.add_argument
    add("--no-rust", action="store_true", help="leave out what is a Rust program: peers and floors")
    add("--java-threads", type=int, default=os.cpu_count() or 1, help="threads that Java plans with")
    options = made.parse_args(arguments)
    options.given = dict(options.given)
    return options


if __name__ == "__main__":
    sys.exit(main())
