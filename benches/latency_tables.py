"""Tables of many small files, behind storages that answer late: what is timed of them is mostly waiting.

Of each format one table: 400 manifests of ten entries by PyIceberg, 100 snapshots of ten entries by pypaimon,
a manifest each. They are inputs four times over, one for each delay of a request. A million entries by the
formats' Java, in few manifests, are late by one delay: there is as much to decode as to wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import iceberg_tables
import paimon_tables
from corpus import Corpus, Make, Table

DELAYS = (0, 10, 30, 100)
"""Milliseconds a request; 30 are those of an object store in the same region."""
ENTRIES_EACH = 10
TASKS = ("open", "snapshots", "files", "plan", "partitions")
LARGE = ("iceberg-1m", "paimon-1m")
"""The large tables, as they are called among those of their format."""
LARGE_DELAY = 30


def iceberg(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The Iceberg table of small manifests."""
    return iceberg_tables.by_pyiceberg(cache, entries, given, manifests=max(1, entries // ENTRIES_EACH))


def paimon(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The Paimon table of small manifests."""
    return paimon_tables.by_pypaimon(cache, entries, given, commits=max(1, entries // ENTRIES_EACH))


SMALL = {"iceberg": (4_000, iceberg), "paimon": (1_000, paimon)}
"""By format: entries, and what makes the table."""


def _late(cache: Path, entries: int, given: Path | None, make: Make, milliseconds: int) -> Corpus:
    made = make(cache, entries, given)
    return replace(made, format=f"{made.format}-delayed", delay=milliseconds)


def _large(name: str) -> Table:
    return next(table for table in (*iceberg_tables.TABLES, *paimon_tables.TABLES) if table.name == name)


def small(prefix: str, tasks: tuple[str, ...], late: Callable[..., Corpus]) -> list[Table]:
    """The small tables at every delay; `late` puts what `make` made behind so many `milliseconds`."""
    return [
        Table(
            f"{prefix}-{name}-{delay}ms",
            tasks,
            entries,
            partial(late, make=make, milliseconds=delay),
            most_rounds=5,
        )
        for name, (entries, make) in SMALL.items()
        for delay in DELAYS
    ]


TABLES = [
    *small("latency", TASKS, _late),
    *(
        Table(
            f"latency-{large}-{LARGE_DELAY}ms",
            TASKS[2:],
            _large(large).entries,
            partial(_late, make=_large(large).make, milliseconds=LARGE_DELAY),
            most_rounds=3,
        )
        for large in LARGE
    ),
]
