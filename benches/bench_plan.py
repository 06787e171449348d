"""Times query plans of Iceberg and Paimon tables: lakebed beside the formats' own Python, Rust and warm Java.

Tasks: `all` (no filter; lakebed's deletes by their numbers; beside the floor), `stream` (the same in batches,
deletes in full, for its memory), `partition` (one partition), `range` (bounds of one column leave few files).
See README.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import plan_peers
import plan_readers
import plan_tables
import report
from corpus import Corpus, MissingInputError
from session import Result, run_round_robin

HERE = Path(__file__).resolve().parent
TABLES = {table.name: table for table in plan_tables.TABLES}


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if lakebed gave a wrong answer or none."""
    options = _parse(arguments)
    results: list[Result] = []
    try:
        for name in options.tables or TABLES:
            table = TABLES[name]
            corpus = table.make(options.cache, options.entries or table.entries, options.given.get(name))
            _progress(corpus.describe())
            for task in table.tasks:
                if options.tasks is None or task in options.tasks:
                    results += _run(options, corpus, task, min(options.repeats, table.most_rounds))
                    if options.json:
                        report.write_json(results, options.json)
    except MissingInputError as missing:
        print(f"bench_plan: {missing}", file=sys.stderr)
        return 2
    print(f"{report.machine()}\n\n{report.table(results)}")
    for verdict in report.floor_verdicts(results):
        print(f"\n{verdict}")
    failed = report.errors(results)
    if failed:
        print("\nn/a:\n" + "\n".join(f"- {line}" for line in failed))
    return 1 if report.lakebed_failed(results) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add = parser.add_argument
    add("--tables", type=_tables, default=None, help=f"which of {', '.join(TABLES)}, comma-separated")
    add("--tasks", type=_words, default=None, help="which tasks, comma-separated")
    add("--readers", type=_words, default=None, help="only readers whose name starts with one of these")
    add("--entries", type=int, default=None, help="data files of every table made here")
    add("--repeats", type=int, default=9, help="timed rounds (default 9)")
    add("--java-threads", type=int, default=os.cpu_count() or 1, help="threads that Java plans with")
    add("--no-rust", action="store_true", help="leave out the floor, which is a Rust program")
    add("--given", type=_given, action="append", default=[], metavar="TABLE=DIR", help="use this one instead")
    add("--cache", type=Path, default=HERE / ".cache", help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    options = parser.parse_args(arguments)
    options.given = dict(options.given)
    options.cache = options.cache.resolve()
    return options


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _tables(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in TABLES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no table named {', '.join(unknown)}: {', '.join(TABLES)}")
    return text.split(",")


def _given(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    if name not in TABLES or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not TABLE=DIR, with TABLE one of {', '.join(TABLES)}")
    return name, Path(folder).resolve()


def _run(options: argparse.Namespace, corpus: Corpus, task: str, repeats: int) -> list[Result]:
    found = plan_readers.contestants(corpus, task)
    found += plan_peers.java(corpus, task, options.java_threads, options.cache)
    if not options.no_rust:
        found += plan_peers.floor(corpus, task)
    chosen = [one for one in found if one.label.startswith(options.readers or ("",))]
    return run_round_robin(chosen, corpus, repeats, _progress) if chosen else []


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
