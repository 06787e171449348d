"""What is timed in Python on Iceberg tables. Run as a program this is the process of one reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iceberg_tables import listed_manifests
from readers import (
    Reader,
    Rows,
    Run,
    duckdb_entries,
    fastavro_entries,
    lakebed_files,
    lakebed_reads,
    lakebed_stream,
    polars_entries,
    serve,
    tables,
)

if TYPE_CHECKING:
    from corpus import Corpus

PROJECTED = ["status", "file_path", "partition", "record_count", "file_size_in_bytes"]
PROJECTED_AVRO = ["status", *(f"data_file.{name}" for name in PROJECTED[1:])]
STATS = {"id": 1, "event_ts": 3}
"""The columns whose statistics are asked for, and their field ids."""


def _one_day_of_each_ten() -> str:
    """One region in twenty on one day in ten: half a percent of the files, some of every manifest."""
    days = [date(2024, 10, 7) + timedelta(days=10 * number) for number in range(5)]
    of_day = "event_ts >= '{}T00:00:00+00:00' AND event_ts < '{}T00:00:00+00:00'"
    found = " OR ".join(f"({of_day.format(day, day + timedelta(days=1))})" for day in days)
    return f"region = 'region-007' AND ({found})"


GUARD = _one_day_of_each_ten()
"""What drops all but half a percent of the entries, and no manifest."""


def _lakebed_entries(columns: list[str] | None, threads: int | None = 1) -> Callable[[Corpus], Run]:
    """With each manifest's record in the list, so that entries inherit from it, as PyIceberg's do."""

    def prepare(corpus: Corpus) -> Run:
        import lakebed

        read = partial(lakebed.iceberg.read_manifest, columns=columns, threads=threads)
        listed = listed_manifests(json.loads(Path(corpus.path).read_text()))
        manifests = list(zip(corpus.manifests, listed, strict=True))
        return lambda: tables([read(path, listed=record).to_arrow() for path, record in manifests])

    return prepare


def _lakebed_stats(every: bool) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        import lakebed

        fields = json.loads(Path(corpus.path).read_text())["schemas"][-1]["fields"]
        stats = [field["name"] for field in fields] if every else list(STATS)
        return lambda: tables([lakebed.open_table(corpus.path).files(stats=stats, threads=1).to_arrow()])

    return prepare


def _pyiceberg_table(corpus: Corpus) -> Any:
    from pyiceberg.avro import decoder_fast  # noqa: F401 - else a decoder in Python would be what is timed
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(corpus.path)


def _pyiceberg_entries(corpus: Corpus) -> Run:
    table = _pyiceberg_table(corpus)
    manifests = table.current_snapshot().manifests(table.io)

    def run() -> tuple[Rows, Any]:
        entries: list[Any] = []
        for manifest in manifests:
            entries.extend(manifest.fetch_manifest_entry(table.io, discard_deleted=False))
        return len(entries), entries

    return run


def _pyiceberg_stats(corpus: Corpus) -> Run:
    """Counts and typed bounds of two columns: entries first, since PyIceberg projects nothing."""
    from pyiceberg.conversions import from_bytes

    entries_of = _pyiceberg_entries(corpus)
    types = {id_: _pyiceberg_table(corpus).schema().find_type(name) for name, id_ in STATS.items()}

    def stats(file: Any) -> list[Any]:
        return [
            (
                file.value_counts.get(id_),
                file.null_value_counts.get(id_),
                from_bytes(type_, file.lower_bounds[id_]),
                from_bytes(type_, file.upper_bounds[id_]),
            )
            for id_, type_ in types.items()
        ]

    def run() -> tuple[Rows, Any]:
        _, entries = entries_of()
        found = [(entry.data_file.file_path, stats(entry.data_file)) for entry in entries]
        return len(found), found

    return run


def _pyiceberg_files(corpus: Corpus) -> Run:
    _pyiceberg_table(corpus)
    return lambda: tables([_pyiceberg_table(corpus).inspect.files()])


def _pyiceberg_plan(where: str | None = None) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        _pyiceberg_table(corpus)

        def run() -> tuple[Rows, Any]:
            table = _pyiceberg_table(corpus)
            scan = table.scan() if where is None else table.scan(row_filter=where)
            tasks = list(scan.plan_files())
            return len(tasks), tasks

        return run

    return prepare


def _pyiceberg_core_entries(corpus: Corpus) -> Run:
    from pyiceberg_core.manifest import read_manifest_entries

    def run() -> tuple[Rows, Any]:
        entries: list[Any] = []
        for path in corpus.manifests:
            entries.extend(read_manifest_entries(Path(path).read_bytes()).entries())
        return len(entries), entries

    return run


READERS = [
    Reader("lakebed", "entries", "lakebed", "1", _lakebed_entries(None)),
    Reader("lakebed, all cores", "entries", "lakebed", "all", _lakebed_entries(None, None)),
    Reader("lakebed.avro", "entries", "lakebed", "1", lakebed_reads("avro.read")),
    Reader("fastavro", "entries", "fastavro", "1", fastavro_entries),
    Reader("polars", "entries", "polars", "1", polars_entries()),
    Reader("duckdb", "entries", "duckdb", "1", duckdb_entries()),
    Reader("pyiceberg", "entries", "pyiceberg", "1", _pyiceberg_entries),
    Reader("pyiceberg-core", "entries", "pyiceberg-core", "1", _pyiceberg_core_entries),
    Reader("lakebed", "projected", "lakebed", "1", _lakebed_entries(PROJECTED)),
    Reader("lakebed, all cores", "projected", "lakebed", "all", _lakebed_entries(PROJECTED, None)),
    Reader("lakebed.avro", "projected", "lakebed", "1", lakebed_reads("avro.read", PROJECTED_AVRO)),
    Reader("lakebed", "stats", "lakebed", "1", _lakebed_stats(every=False)),
    Reader("pyiceberg", "stats", "pyiceberg", "1", _pyiceberg_stats),
    Reader("lakebed", "guard", "lakebed", "1", lakebed_files(1, GUARD)),
    Reader("pyiceberg plan", "guard", "pyiceberg", "all (GIL)", _pyiceberg_plan(GUARD)),
    Reader("lakebed", "files", "lakebed", "1", lakebed_files(1)),
    Reader("lakebed, all cores", "files", "lakebed", "all", lakebed_files(None)),
    Reader("lakebed, stats of all", "files", "lakebed", "1", _lakebed_stats(every=True)),
    Reader("pyiceberg inspect.files", "files", "pyiceberg", "all (GIL)", _pyiceberg_files),
    Reader("pyiceberg plan", "files", "pyiceberg", "all (GIL)", _pyiceberg_plan()),
    Reader("lakebed", "stream", "lakebed", "all", lakebed_stream),
    Reader("pyiceberg inspect.files", "stream", "pyiceberg", "all (GIL)", _pyiceberg_files),
]
"""All of them, in the order in which they are reported."""

if __name__ == "__main__":
    serve(READERS)
