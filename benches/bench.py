"""Times lakebed beside every other reader and writer of the same bytes, and above the floors below them.

One run prints one table: a row for each input, task and reader. `--suite quick` takes minutes, `full` hours;
`--tables`, `--tasks` and `--readers` choose. See README.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import avro_readers
import avro_tables
import iceberg_readers
import iceberg_tables
import latency_readers
import latency_s3_readers
import latency_s3_tables
import latency_tables
import metadata_readers
import metadata_tables
import paimon_readers
import paimon_tables
import plan_peers
import plan_readers
import report
import row_readers
import row_tables
import rust_peers
import writers
from corpus import Corpus, MissingInputError, Table
from session import CLOCKS, Contestant, Result, run_round_robin

if TYPE_CHECKING:
    from readers import Reader

HERE = Path(__file__).resolve().parent
LATE = [*latency_tables.TABLES, *latency_s3_tables.TABLES]
TABLES = {
    table.name: table
    for tables in (
        *(
            module.TABLES
            for module in (iceberg_tables, paimon_tables, avro_tables, row_tables, metadata_tables)
        ),
        LATE,
    )
    for table in tables
}
PYTHON: dict[str, list[tuple[ModuleType, list[Reader]]]] = {
    "iceberg": [
        (iceberg_readers, iceberg_readers.READERS),
        (plan_readers, plan_readers.READERS["iceberg"]),
        (writers, writers.READERS["iceberg"]),
    ],
    "paimon": [
        (paimon_readers, paimon_readers.READERS),
        (plan_readers, plan_readers.READERS["paimon"]),
        (writers, writers.READERS["paimon"]),
    ],
    "avro": [(avro_readers, avro_readers.READERS)],
    "rows": [(row_readers, row_readers.READERS)],
    "metadata": [(metadata_readers, metadata_readers.READERS)],
    **{
        name: [(module, readers)]
        for module in (latency_readers, latency_s3_readers)
        for name, readers in module.READERS.items()
    },
}
"""What reads each format in Python, by the module that is its process."""
REPEATS = {"quick": 3, "full": 9, "latency": 5}


def contestants(corpus: Corpus, task: str, options: argparse.Namespace) -> list[Contestant]:
    """All who do that task on that input, in the order in which they are reported."""
    found = [
        Contestant.from_reader(reader, corpus, str(module.__file__))
        for module, readers in PYTHON[corpus.format]
        for reader in readers
        if reader.task == task
    ]
    if TABLES[corpus.input] not in LATE:
        # These have programs of other languages, which are not delayed.
        found += plan_peers.java(corpus, task, options.java_threads, options.cache)
        if not options.no_rust:
            found += rust_peers.contestants(corpus, task)
    if task in TABLES[corpus.input].alone:
        found = [one for one in found if one.label.startswith(report.REFERENCE)]
    return [one for one in found if one.label.startswith(options.readers or ("",))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for and prints one table; what is done is kept in the JSON file as it is done.

    Returns: 1 if lakebed gave a wrong answer or none, 2 where something to run with is missing.
    """
    options = _options(arguments)
    results: list[Result] = []
    left_out: list[str] = []
    for table in options.tables or _suite(options.suite):
        tasks = _tasks(table, options)
        if not tasks:
            continue
        try:
            _run(table, tasks, options, results)
        except MissingInputError as missing:
            if options.tables:
                print(f"bench: {missing}", file=sys.stderr)
                return 2
            left_out.append(f"{table.name}: {missing}")
    print(report.document(results, left_out, options.clock))
    return 1 if report.lakebed_failed(results) else 0


def _suite(name: str) -> list[Table]:
    """The inputs of a suite: tables behind late storages are one of their own, which takes no others."""
    return LATE if name == "latency" else [table for table in TABLES.values() if table not in LATE]


def _tasks(table: Table, options: argparse.Namespace) -> list[str]:
    """Those of the suite, where no table is named; of these the ones that are asked for."""
    quick = options.suite == "quick" and not options.tables
    return [
        task
        for task in table.tasks
        if (not quick or task in table.quick) and (options.tasks is None or task in options.tasks)
    ]


def _run(table: Table, tasks: list[str], options: argparse.Namespace, results: list[Result]) -> None:
    """The tasks of one input, added to the results. Raises: MissingInputError."""
    quick = options.suite == "quick"
    entries = options.entries or (table.quick_entries if quick else table.entries)
    corpus = table.corpus(options.cache, entries, options.given.get(table.name))
    _progress(corpus.describe())
    repeats = min(options.repeats or REPEATS[options.suite], table.most_rounds)
    for task in tasks:
        chosen = contestants(corpus, task, options)
        if chosen:
            results += run_round_robin(chosen, corpus, repeats, _progress, options.clock)
        if options.json:
            report.write_json(results, options.json)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add = made.add_argument
    about = "some tasks of some inputs, small and three rounds; all, nine rounds; or late storages, five"
    add("--suite", choices=list(REPEATS), default="full", help=about)
    add("--tables", type=_tables, default=None, help=f"which of {', '.join(TABLES)}, comma-separated")
    add("--tasks", type=_words, default=None, help="which tasks, comma-separated")
    add("--readers", type=_words, default=None, help="only readers whose name starts with one of these")
    add("--entries", type=int, default=None, help="entries of every table made here")
    add("--repeats", type=int, default=None, help="timed rounds (3 or 9, as the suite has it)")
    add("--given", type=_given, action="append", default=[], metavar="TABLE=DIR", help="use this one instead")
    busy = "time by the processor, on a machine that has other work: for readers on one thread"
    add("--clock", choices=CLOCKS, default=CLOCKS[0], help=busy)
    add("--no-rust", action="store_true", help="leave out what is a Rust program: peers and floors")
    add("--java-threads", type=int, default=os.cpu_count() or 1, help="threads that Java plans with")
    add("--cache", type=Path, default=HERE / ".cache", help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    options = made.parse_args(arguments)
    options.given = dict(options.given)
    options.cache = options.cache.resolve()
    return options


def _tables(text: str) -> list[Table]:
    unknown = [name for name in text.split(",") if name not in TABLES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no table named {', '.join(unknown)}: {', '.join(TABLES)}")
    return [TABLES[name] for name in text.split(",")]


def _given(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    if name not in TABLES or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not TABLE=DIR, with TABLE one of {', '.join(TABLES)}")
    return name, Path(folder).resolve()


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
