"""Times lakebed on manifests of Paimon and Iceberg, beside every other reader there is and the floors below.

Tasks: `entries` (all manifests of a table, every column), `projected` (a few columns), `files` (from the
table's path to its live files), `stats` (with typed statistics of two columns), `stream` (the files as
batches, for its memory), `churn` (where half of the entries cancel). See README.md.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import iceberg_readers
import iceberg_tables
import paimon_readers
import paimon_tables
import report
import runs
import rust_peers
from session import Contestant

if TYPE_CHECKING:
    from corpus import Corpus

TABLES = {table.name: table for table in (*paimon_tables.TABLES, *iceberg_tables.TABLES)}
READERS = {"paimon": paimon_readers.READERS, "iceberg": iceberg_readers.READERS}
QUICK = ("pypaimon", "pyiceberg")
QUICK_ENTRIES = 2_000
QUICK_REPEATS = 3


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if lakebed gave a wrong answer or none."""
    parser = runs.parser(__doc__, TABLES)
    quick = "2,000 entries by pypaimon and by PyIceberg, three rounds"
    parser.add_argument("--quick", action="store_true", help=quick)
    if parser.parse_args(arguments).quick:
        parser.set_defaults(
            tables=[TABLES[name] for name in QUICK], entries=QUICK_ENTRIES, repeats=QUICK_REPEATS
        )
    options = runs.parse(parser, arguments, TABLES)

    def contestants(corpus: Corpus, task: str) -> list[Contestant]:
        found = [Contestant.from_reader(reader, corpus) for reader in READERS[corpus.format]]
        if not options.no_rust:
            found += [
                Contestant.from_binary(rust_peers.build(), line, corpus)
                for line in rust_peers.listed()
                if line["format"] in (None, corpus.format)
            ]
        return [one for one in found if one.task == task]

    return runs.run("bench_manifest", options, contestants, report.memory_verdicts)


if __name__ == "__main__":
    sys.exit(main())
