"""Times writing manifests of Paimon and Iceberg: lakebed beside the formats' own Python, and apache-avro.

The entries of a table's manifests, read before the clock starts, are encoded again at the codec that they
had. What is written is compared in size with what was there, which is Java's. See README.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import iceberg_tables
import paimon_tables
import report
import runs
import rust_peers
import writers
from session import Contestant

if TYPE_CHECKING:
    from corpus import Corpus

NAMES = ("paimon-java", "pypaimon", "iceberg-java", "iceberg-zstd", "pyiceberg")
TABLES = {
    table.name: replace(table, tasks=(writers.TASK,))
    for table in (*paimon_tables.TABLES, *iceberg_tables.TABLES)
    if table.name in NAMES
}


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if lakebed wrote something wrong or nothing."""
    options = runs.parse(runs.parser(__doc__, TABLES), arguments, TABLES)

    def contestants(corpus: Corpus, task: str) -> list[Contestant]:
        found = [
            Contestant.from_reader(writer, corpus, writers.__file__)
            for writer in (*writers.LAKEBED, *writers.OTHERS[corpus.format])
        ]
        if options.no_rust:
            return found
        peers = [line for line in rust_peers.listed() if line["task"] == task]
        return found + [Contestant.from_binary(rust_peers.build(), line, corpus) for line in peers]

    return runs.run("bench_write", options, contestants, report.size_verdicts)


if __name__ == "__main__":
    sys.exit(main())
