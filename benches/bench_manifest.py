"""Times lakebed on manifests of Paimon and Iceberg, beside every other reader there is and the floors below.

Tasks: `entries` (all manifests of a table, every column), `projected` (a few columns), `files` (from the
table's path to its live files), `stats` (with typed statistics of two columns), `stream` (the files as
batches, for its memory), `churn` (where half of the entries cancel). See README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import iceberg_readers
import iceberg_tables
import paimon_readers
import paimon_tables
import report
import rust_peers
from corpus import Corpus, MissingInputError, Table
from session import Contestant, Result, run_round_robin

HERE = Path(__file__).resolve().parent
TABLES = {table.name: table for table in (*paimon_tables.TABLES, *iceberg_tables.TABLES)}
READERS = {"paimon": paimon_readers.READERS, "iceberg": iceberg_readers.READERS}
QUICK = ("pypaimon", "pyiceberg")
QUICK_ENTRIES = 2_000


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if lakebed gave a wrong answer or none."""
    options = _parse(arguments)
    results: list[Result] = []
    try:
        for table in options.tables:
            corpus = table.make(
                options.cache, options.entries or table.entries, options.given.get(table.name)
            )
            _progress(corpus.describe())
            for task in table.tasks:
                if options.tasks is None or task in options.tasks:
                    results += _run(options, corpus, task, min(options.repeats, table.most_rounds))
    except MissingInputError as missing:
        print(f"bench_manifest: {missing}", file=sys.stderr)
        return 2
    print(f"{report.machine()}\n\n{report.table(results)}")
    for verdict in report.memory_verdicts(results):
        print(f"\n{verdict}")
    failed = report.errors(results)
    if failed:
        print("\nn/a:\n" + "\n".join(f"- {line}" for line in failed))
    if options.json:
        report.write_json(results, options.json)
    return 1 if report.lakebed_failed(results) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add = parser.add_argument
    add("--quick", action="store_true", help="2,000 entries by pypaimon and by PyIceberg, three rounds")
    add("--tables", type=_tables, default=None, help=f"which of {', '.join(TABLES)}, comma-separated")
    add("--tasks", type=_words, default=None, help="which tasks, comma-separated")
    add("--readers", type=_words, default=None, help="only readers whose name starts with one of these")
    add("--entries", type=int, default=None, help="entries of every table made here")
    add("--repeats", type=int, default=None, help="timed rounds (default 9)")
    add("--given", type=_given, action="append", default=[], metavar="TABLE=DIR", help="use this one instead")
    add("--no-rust", action="store_true", help="leave out the Rust peers and the floors")
    add("--cache", type=Path, default=HERE / ".cache", help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    options = parser.parse_args(arguments)
    options.tables = options.tables or [TABLES[name] for name in (QUICK if options.quick else TABLES)]
    options.entries = options.entries or (QUICK_ENTRIES if options.quick else None)
    options.repeats = options.repeats or (3 if options.quick else 9)
    options.given = dict(options.given)
    options.cache = options.cache.resolve()
    return options


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


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


def _run(options: argparse.Namespace, corpus: Corpus, task: str, repeats: int) -> list[Result]:
    contestants = [Contestant.from_reader(reader, corpus) for reader in READERS[corpus.format]]
    if not options.no_rust:
        contestants += [
            Contestant.from_binary(rust_peers.build(), line, corpus)
            for line in rust_peers.listed()
            if line["format"] in (None, corpus.format)
        ]
    wanted = options.readers or ("",)
    chosen = [one for one in contestants if one.task == task and one.label.startswith(wanted)]
    return run_round_robin(chosen, corpus, repeats, _progress) if chosen else []


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
