"""Times lakebed's views in Spark beside the formats' own runtimes for Spark, on tables by their Java.

Tasks: `sum` (count the live files, add up their rows and sizes), `partitions` (the same for each partition),
`maps` (every file with all statistics as they are stored, to the sink `noop`), `readable` (with typed
statistics), `plan` (of Paimon: lakebed's plan to `noop`; Paimon's splits). See README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import report
import spark_report
import spark_sides
import spark_tables
from corpus import MissingInputError
from iceberg_tables import JAVA_VERSION
from session import Contestant, Result, run_round_robin

if TYPE_CHECKING:
    from corpus import Corpus

TABLES = {table.name: table for table in spark_tables.TABLES}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for and prints one table; what is done is kept in the JSON file as it is done.

    Returns: 1 if lakebed gave a wrong answer or none, 2 where something to run with is missing.
    """
    options = _options(arguments)
    results: list[Result] = []
    for table in (TABLES[name] for name in options.tables):
        given = dict(options.given).get(table.name)
        try:
            corpus = table.corpus(options.cache.resolve(), options.entries or table.entries, given)
        except MissingInputError as missing:
            print(f"bench_spark: {missing}", file=sys.stderr)
            return 2
        for task in table.tasks:
            if task in options.tasks:
                chosen = _contestants(corpus, task, options)
                results += run_round_robin(chosen, corpus, options.repeats, _progress)
                if options.json:
                    report.write_json(results, options.json)
    print(spark_report.document(results))
    return 1 if report.lakebed_failed(results) else 0


def _contestants(corpus: Corpus, task: str, options: argparse.Namespace) -> list[Contestant]:
    sides = [side for side in spark_sides.sides(corpus, task) if side.startswith(options.readers)]
    return [_contestant(side, corpus, task, options.master) for side in sides]


def _contestant(side: str, corpus: Corpus, task: str, master: str) -> Contestant:
    peer = spark_sides.PAIMON_VERSION if side == "paimon" else JAVA_VERSION
    own = version("lakebed") if side.startswith(report.REFERENCE) else peer
    command = (sys.executable, str(spark_sides.__file__), side, task, master)
    shown = f"{own}, Spark {spark_sides.pyspark_version()}"
    return Contestant(side, task, shown, master, command, json.dumps(asdict(corpus)), every_round=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add = made.add_argument
    add("--tables", type=_tables, default=spark_tables.DEFAULT, help=f"which of {', '.join(TABLES)}")
    add("--tasks", type=_words, default=spark_tables.TASKS, help="which tasks, comma-separated")
    add("--readers", type=_words, default=("",), help="only readers whose name starts with one of these")
    add("--entries", type=int, default=None, help="entries of every table made here")
    add("--repeats", type=int, default=3, help="timed rounds")
    add("--given", type=_given, action="append", default=[], metavar="TABLE=DIR", help="use this one instead")
    add("--master", default="local[2]", help="Spark's master")
    cache = Path(__file__).with_name(".cache")
    add("--cache", type=Path, default=cache, help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    return made.parse_args(arguments)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _tables(text: str) -> tuple[str, ...]:
    if unknown := [name for name in _words(text) if name not in TABLES]:
        raise argparse.ArgumentTypeError(f"no table named {', '.join(unknown)}: {', '.join(TABLES)}")
    return _words(text)


def _given(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    return _tables(name)[0], Path(folder).resolve(strict=True)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
