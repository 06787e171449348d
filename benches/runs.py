"""What the benches of tables share: options, rounds over tables and tasks, and what is printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import report
from corpus import Corpus, MissingInputError, Table
from session import Contestant, Result, run_round_robin

HERE = Path(__file__).resolve().parent
REPEATS = 9


def parser(about: str | None, tables: Mapping[str, Table]) -> argparse.ArgumentParser:
    """A parser of the options that every bench has, for `parse`.

    Args: about, the bench's docstring; tables, by their names.
    """
    made = argparse.ArgumentParser(description=about.partition("\n")[0] if about else None)
    add = made.add_argument

    def named(text: str) -> list[Table]:
        unknown = [name for name in text.split(",") if name not in tables]
        if unknown:
            raise argparse.ArgumentTypeError(f"no table named {', '.join(unknown)}: {', '.join(tables)}")
        return [tables[name] for name in text.split(",")]

    def given(text: str) -> tuple[str, Path]:
        name, _, folder = text.partition("=")
        if name not in tables or not Path(folder).is_dir():
            raise argparse.ArgumentTypeError(
                f"{text!r} is not TABLE=DIR, with TABLE one of {', '.join(tables)}"
            )
        return name, Path(folder).resolve()

    add("--tables", type=named, default=None, help=f"which of {', '.join(tables)}, comma-separated")
    add("--tasks", type=_words, default=None, help="which tasks, comma-separated")
    add("--readers", type=_words, default=None, help="only readers whose name starts with one of these")
    add("--entries", type=int, default=None, help="entries of every table made here")
    add("--repeats", type=int, default=None, help=f"timed rounds (default {REPEATS})")
    add("--given", type=given, action="append", default=[], metavar="TABLE=DIR", help="use this one instead")
    add("--no-rust", action="store_true", help="leave out what is a Rust program: peers and floors")
    add("--cache", type=Path, default=HERE / ".cache", help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    return made


def parse(
    made: argparse.ArgumentParser, arguments: Sequence[str] | None, tables: Mapping[str, Table]
) -> argparse.Namespace:
    """The options, with all of `tables` where none are named."""
    options = made.parse_args(arguments)
    options.tables = options.tables or list(tables.values())
    options.repeats = options.repeats or REPEATS
    options.given = dict(options.given)
    options.cache = options.cache.resolve()
    return options


def run(
    bench: str,
    options: argparse.Namespace,
    contestants: Callable[[Corpus, str], Iterable[Contestant]],
    verdicts: Callable[[list[Result]], Iterable[str]],
) -> int:
    """Runs what was asked for and prints one table; what is done is kept in the JSON file as it is done.

    Args: contestants, those of a task on a table; verdicts, what is said below the table.
    Returns: 1 if lakebed gave a wrong answer or none, 2 where something to run with is missing.
    """
    results: list[Result] = []
    try:
        for table in options.tables:
            corpus = table.make(
                options.cache, options.entries or table.entries, options.given.get(table.name)
            )
            _progress(corpus.describe())
            for task in table.tasks:
                if options.tasks is None or task in options.tasks:
                    wanted = options.readers or ("",)
                    chosen = [one for one in contestants(corpus, task) if one.label.startswith(wanted)]
                    repeats = min(options.repeats, table.most_rounds)
                    results += run_round_robin(chosen, corpus, repeats, _progress) if chosen else []
                    if options.json:
                        report.write_json(results, options.json)
    except MissingInputError as missing:
        print(f"{bench}: {missing}", file=sys.stderr)
        return 2
    print(f"{report.machine()}\n\n{report.table(results)}")
    for verdict in verdicts(results):
        print(f"\n{verdict}")
    failed = report.errors(results)
    if failed:
        print("\nn/a:\n" + "\n".join(f"- {line}" for line in failed))
    return 1 if report.lakebed_failed(results) else 0


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
