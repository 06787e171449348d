"""The tables of `bench_plan.py`: Iceberg's by PyIceberg and Java, two with deletes, and Paimon's."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import paimon_tables
from corpus import Corpus, Table
from iceberg_tables import by_pyiceberg, complete, describe, generate

COLUMNS = 12


def _plain(cache: Path, entries: int, given: Path | None) -> Corpus:
    return _iceberg(
        cache, given, f"plan_{entries}", {"entries": entries, "regions": 20, "days": 50, "seed": 5}
    )


def _deletes(cache: Path, entries: int, given: Path | None, *, days: int) -> Corpus:
    """A tenth of the entries as position deletes, a hundredth as equality deletes, in 20 partitions a day."""
    options = {
        "entries": entries,
        "regions": 20,
        "days": days,
        "pos-deletes": max(1, entries // 10),
        "eq-deletes": max(1, entries // 100),
        "seed": 7,
    }
    return _iceberg(cache, given, f"plan_deletes_{entries}_d{days}", options)


def _iceberg(cache: Path, given: Path | None, name: str, options: dict[str, int]) -> Corpus:
    """Plans are of data files, and so is the corpus: manifests of deletes are not in it."""
    table = given or cache / "iceberg" / name
    if not complete(table, given):
        sizes = {"location": table, "columns": COLUMNS, "per-manifest": 10_000, "codec": "gzip", **options}
        generate(cache, sizes)
        (table / "complete").touch()
    return describe(table, deletes=False)


TASKS = ("all", "stream", "partition", "range")
TABLES = [
    Table("pyiceberg", ("all", "stream"), 50_000, by_pyiceberg),
    Table("iceberg-50k", TASKS, 50_000, _plain),
    Table("iceberg-deletes", ("all", "stream", "partition"), 200_000, partial(_deletes, days=10)),
    # Twice of everything: as many files and deletes a partition, so twice the attachments too.
    Table("iceberg-deletes-2x", ("all", "stream"), 400_000, partial(_deletes, days=20)),
    Table("iceberg-1m", TASKS, 1_000_000, _plain, most_rounds=5),
    Table("paimon-50k", TASKS, 50_000, paimon_tables.by_java),
    Table("paimon-1m", TASKS, 1_000_000, paimon_tables.by_java_large, most_rounds=5),
]
