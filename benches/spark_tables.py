"""The tables of `bench_spark.py`, by Iceberg Java: three sizes, and two shapes that millions have; by Paimon
Java two sizes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from corpus import Corpus, Table
from iceberg_tables import by_java, by_pyiceberg, with_deletes
from paimon_tables import java_large

TASKS = ("sum", "partitions", "maps", "readable", "plan")


def _by_java(cache: Path, entries: int, given: Path | None) -> Corpus:
    return by_java(cache, entries, given, manifests=-(-entries // 10_000))


def _large_manifests(cache: Path, entries: int, given: Path | None) -> Corpus:
    """Manifests of 36 MB: 34,000 entries of a kilobyte, the statistics of 53 columns."""
    return by_java(cache, entries, given, manifests=-(-entries // 34_000), columns=53)


def _many_manifests(cache: Path, entries: int, given: Path | None) -> Corpus:
    """A manifest for every ten entries."""
    return by_java(cache, entries, given, manifests=-(-entries // 10))


def _deleted(cache: Path, entries: int, given: Path | None, *, regions: int, days: int) -> Corpus:
    """Two position deletes for every three files, each of one file, in so many partitions."""
    deletes = {"pos_deletes": entries * 2 // 3, "deletes_of": "one"}
    return with_deletes(cache, entries, given, regions=regions, days=days, **deletes)


TABLES = [
    Table("iceberg-10k", TASKS[:4], 10_000, _by_java),
    Table("iceberg-100k", TASKS[:4], 100_000, _by_java),
    Table("iceberg-1m", TASKS[:4], 1_000_000, _by_java),
    Table("iceberg-36mb", TASKS[:4], 136_000, _large_manifests),
    Table("iceberg-4400", ("sum",), 44_000, _many_manifests),
    # The deletes are more than a broadcast takes, so that data files and deletes are dealt out by partition.
    Table("iceberg-even", ("plan",), 600_000, partial(_deleted, regions=20, days=50)),
    Table("iceberg-skewed", ("plan",), 600_000, partial(_deleted, regions=1, days=1)),
    Table("pyiceberg", TASKS[:4], 50_000, by_pyiceberg),
    Table("paimon-100k", ("sum", "partitions", "plan"), 100_000, java_large),
    Table("paimon-1m", ("sum", "plan"), 1_000_000, java_large),
]
DEFAULT = ("iceberg-10k", "iceberg-100k", "iceberg-1m", "iceberg-36mb", "iceberg-4400")
"""Those that both sides read: Iceberg's runtime finds a table by a hint that PyIceberg does not leave."""
