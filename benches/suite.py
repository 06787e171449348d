"""What the programs of benches share: their options, and a run of the tasks of one input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import report
from corpus import Corpus, Table
from session import CLOCKS, Contestant, Result, run_round_robin

CACHE = Path(__file__).resolve().with_name(".cache")


def words(text: str) -> tuple[str, ...]:
    """Those between the commas."""
    return tuple(text.split(","))


def progress(text: str) -> None:
    """Says on standard error what is being done."""
    print(text, file=sys.stderr, flush=True)


def parser(about: str | None, repeats: int | None) -> argparse.ArgumentParser:
    """With the options of all benches that run sides in turns. Args: about, the docstring of the program."""
    made = argparse.ArgumentParser(description=about.partition("\n")[0] if about else None)
    add = made.add_argument
    add(
        "--repeats", type=int, default=repeats, help="timed rounds (bench.py: 3, 9 or 5, as the suite has it)"
    )
    busy = "time by the processor, on a machine that has other work: for readers on one thread"
    add("--clock", choices=CLOCKS, default=CLOCKS[0], help=busy)
    add("--cache", type=cache, default=CACHE, help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    return made


def cache(text: str) -> Path:
    """A folder by its whole path."""
    return Path(text).resolve()


def add_tables(made: argparse.ArgumentParser, tables: Mapping[str, Table]) -> None:
    """The options that choose inputs, tasks and readers."""

    def named(text: str) -> list[Table]:
        if unknown := [name for name in words(text) if name not in tables]:
            raise argparse.ArgumentTypeError(f"no table named {', '.join(unknown)}: {', '.join(tables)}")
        return [tables[name] for name in words(text)]

    def given(text: str) -> tuple[str, Path]:
        name, _, folder = text.partition("=")
        if name not in tables or not Path(folder).is_dir():
            known = ", ".join(tables)
            raise argparse.ArgumentTypeError(f"{text!r} is not TABLE=DIR, with TABLE one of {known}")
        return name, Path(folder).resolve()

    add = made.add_argument
    add("--tables", type=named, default=None, help=f"which of {', '.join(tables)}, comma-separated")
    add("--tasks", type=words, default=None, help="which tasks, comma-separated")
    add("--readers", type=words, default=("",), help="only readers whose name starts with one of these")
    add("--entries", type=int, default=None, help="entries of every table made here")
    add("--given", type=given, action="append", default=[], metavar="TABLE=DIR", help="use this one instead")


def run(
    corpus: Corpus,
    tasks: Iterable[str],
    contestants: Callable[[Corpus, str, argparse.Namespace], Sequence[Contestant]],
    options: argparse.Namespace,
    results: list[Result],
) -> None:
    """The tasks of one input, added to the results; what is done is kept in the JSON file as it is done."""
    for task in tasks:
        if chosen := contestants(corpus, task, options):
            results += run_round_robin(chosen, corpus, options.repeats, progress, options.clock)
        if options.json:
            report.write_json(results, options.json)
