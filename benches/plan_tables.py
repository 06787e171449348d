"""The Iceberg tables of `bench_plan.py`: by PyIceberg and by Iceberg Java, one of them with deletes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from corpus import Corpus, Table
from iceberg_tables import by_pyiceberg, complete, describe, generate, listed_manifests

COLUMNS = 12
_DELETES = {"regions": 20, "days": 10, "pos-deletes": 20_000, "eq-deletes": 2_000, "seed": 7}
"""As many deletes for 200,000 entries; fewer entries have as much fewer."""


def _plain(cache: Path, entries: int, given: Path | None) -> Corpus:
    return _table(cache, given, f"plan_{entries}", {"entries": entries, "regions": 20, "days": 50, "seed": 5})


def _deletes(cache: Path, entries: int, given: Path | None) -> Corpus:
    options = dict(_DELETES)
    for kind in ("pos-deletes", "eq-deletes"):
        options[kind] = max(1, options[kind] * entries // 200_000)
    return _table(cache, given, f"plan_deletes_{entries}", {"entries": entries, **options})


def _table(cache: Path, given: Path | None, name: str, options: dict[str, int]) -> Corpus:
    table = given or cache / "iceberg" / name
    if not complete(table, given):
        sizes = {"location": table, "columns": COLUMNS, "per-manifest": 10_000, "codec": "gzip", **options}
        generate(cache, sizes)
        (table / "complete").touch()
    corpus = describe(table)
    listed = listed_manifests(json.loads(Path(corpus.path).read_text()))
    data = [record for record in listed if record["content"] == 0]
    # Plans are of data files.
    return replace(
        corpus, live=sum(record["added_files_count"] + record["existing_files_count"] for record in data)
    )


TASKS = ("all", "stream", "partition", "range")
TABLES = [
    Table("pyiceberg", ("all", "stream"), 50_000, by_pyiceberg),
    Table("iceberg-50k", TASKS, 50_000, _plain),
    Table("iceberg-deletes", ("all", "stream", "partition"), 200_000, _deletes),
    Table("iceberg-1m", TASKS, 1_000_000, _plain, most_rounds=5),
]
