"""Tables of many small files, behind storages that answer late: what is timed of them is mostly waiting.

Of each format one table: 400 manifests of ten entries by PyIceberg, 100 snapshots of ten entries by pypaimon,
a manifest each. They are inputs four times over, one for each delay of a request.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import iceberg_tables
import paimon_tables
from corpus import Corpus, Table

DELAYS = (0, 10, 30, 100)
"""Milliseconds a request; 30 are those of an object store in the same region."""
ENTRIES_EACH = 10
TASKS = ("open", "snapshots", "files", "plan", "partitions")


def _iceberg(cache: Path, entries: int, given: Path | None, milliseconds: int) -> Corpus:
    made = iceberg_tables.by_pyiceberg(cache, entries, given, manifests=max(1, entries // ENTRIES_EACH))
    return replace(made, format="iceberg-delayed", delay=milliseconds)


def _paimon(cache: Path, entries: int, given: Path | None, milliseconds: int) -> Corpus:
    made = paimon_tables.by_pypaimon(cache, entries, given, commits=max(1, entries // ENTRIES_EACH))
    return replace(made, format="paimon-delayed", delay=milliseconds)


TABLES = [
    Table(f"latency-{name}-{delay}ms", TASKS, entries, partial(make, milliseconds=delay), most_rounds=5)
    for name, entries, make in (("iceberg", 4_000, _iceberg), ("paimon", 1_000, _paimon))
    for delay in DELAYS
]
