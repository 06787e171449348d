"""Times query plans of Iceberg and Paimon tables: lakebed beside the formats' own Python, Rust and warm Java.

Tasks: `all` (no filter; lakebed's deletes by their numbers; beside the floor), `stream` (the same in batches,
deletes in full, for its memory), `partition` (one partition), `range` (bounds of one column leave few files).
See README.md.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import plan_peers
import plan_readers
import plan_tables
import report
import runs

if TYPE_CHECKING:
    from corpus import Corpus
    from session import Contestant

TABLES = {table.name: table for table in plan_tables.TABLES}


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if lakebed gave a wrong answer or none."""
    parser = runs.parser(__doc__, TABLES)
    threads = os.cpu_count() or 1
    parser.add_argument("--java-threads", type=int, default=threads, help="threads that Java plans with")
    options = runs.parse(parser, arguments, TABLES)

    def contestants(corpus: Corpus, task: str) -> list[Contestant]:
        found = plan_readers.contestants(corpus, task)
        found += plan_peers.java(corpus, task, options.java_threads, options.cache)
        return found if options.no_rust else found + plan_peers.floor(corpus, task)

    return runs.run("bench_plan", options, contestants, report.floor_verdicts)


if __name__ == "__main__":
    sys.exit(main())
