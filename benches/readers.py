"""What is timed in Python: each reader, from path to result, as one closure.

Run as a program this is the process of one reader: `readers.py LABEL TASK`, the corpus as JSON on the first
line of standard input. It answers one line when all imports and warm objects are there, then one line per
further input line: `{"seconds", "rows"}` or `{"error"}`.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from corpus import DATABASE, Corpus

PROJECTED = ["kind", "partition", "bucket", "file_name", "file_size", "row_count"]
PROJECTED_AVRO = [
    "_KIND",
    "_PARTITION",
    "_BUCKET",
    "_FILE._FILE_NAME",
    "_FILE._FILE_SIZE",
    "_FILE._ROW_COUNT",
]

Rows = int | None
Run = Callable[[], tuple[Rows, Any]]
"""Entries or files in the result (None: it does not tell), and the result, kept until the clock stops."""


@dataclass(frozen=True)
class Reader:
    """One reader for one task; `prepare` imports, opens catalogs and returns what is timed."""

    label: str
    task: str
    distribution: str
    threads: str
    prepare: Callable[[Corpus], Run]

    @property
    def version(self) -> str:
        """The installed version, or an empty text where there is none."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


def _tables(tables: list[Any]) -> tuple[Rows, Any]:
    return sum(table.num_rows for table in tables), tables


def _lakebed_entries(columns: list[str] | None) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        import lakebed

        read = lakebed.paimon.read_manifest
        return lambda: _tables(
            [read(path, columns=columns, threads=1).to_arrow() for path in corpus.manifests]
        )

    return prepare


def _lakebed_avro(columns: list[str] | None) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        import lakebed

        read = lakebed.avro.read
        return lambda: _tables(
            [read(path, columns=columns, threads=1).to_arrow() for path in corpus.manifests]
        )

    return prepare


def _lakebed_files(threads: int | None) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        import lakebed

        return lambda: _tables([lakebed.open_table(corpus.table).files(threads=threads).to_arrow()])

    return prepare


def _lakebed_stream(corpus: Corpus) -> Run:
    import lakebed

    def run() -> tuple[Rows, Any]:
        reader = lakebed.open_table(corpus.table).files().to_arrow_batch_reader()
        return sum(batch.num_rows for batch in reader), None

    return run


def _fastavro_entries(corpus: Corpus) -> Run:
    import fastavro

    def run() -> tuple[Rows, Any]:
        records: list[Any] = []
        for path in corpus.manifests:
            with Path(path).open("rb") as file:
                records.extend(fastavro.reader(file))
        return len(records), records

    return run


def _pypaimon_entries(corpus: Corpus) -> Run:
    from pypaimon import CatalogFactory
    from pypaimon.manifest.manifest_file_manager import ManifestFileManager

    table = CatalogFactory.create({"warehouse": corpus.warehouse}).get_table(f"{DATABASE}.{corpus.name}")
    manager = ManifestFileManager(table)

    def run() -> tuple[Rows, Any]:
        entries: list[Any] = []
        for path in corpus.manifests:
            entries.extend(manager.read(Path(path).name, drop_stats=False))
        return len(entries), entries

    return run


def _pypaimon_files(corpus: Corpus) -> Run:
    from pypaimon import CatalogFactory

    catalog = CatalogFactory.create({"warehouse": corpus.warehouse})

    def run() -> tuple[Rows, Any]:
        builder = catalog.get_table(f"{DATABASE}.{corpus.name}$files").new_read_builder()
        return _tables([builder.new_read().to_arrow(builder.new_scan().plan().splits())])

    return run


def _pypaimon_plan(corpus: Corpus) -> Run:
    from pypaimon import CatalogFactory

    catalog = CatalogFactory.create({"warehouse": corpus.warehouse})

    def run() -> tuple[Rows, Any]:
        builder = catalog.get_table(f"{DATABASE}.{corpus.name}").new_read_builder()
        splits = builder.new_scan().plan().splits()
        return sum(len(split.files) for split in splits), splits

    return run


def _pypaimon_rust_files(corpus: Corpus) -> Run:
    from pypaimon_rust.datafusion import SQLContext

    context = SQLContext()
    context.register_catalog("paimon", {"warehouse": corpus.warehouse})
    query = f"SELECT * FROM paimon.{DATABASE}.`{corpus.name}$files`"
    return lambda: _tables(context.sql(query))


def _pypaimon_rust_plan(corpus: Corpus) -> Run:
    from pypaimon_rust.datafusion import PaimonCatalog

    catalog = PaimonCatalog({"warehouse": corpus.warehouse})

    def run() -> tuple[Rows, Any]:
        return None, catalog.get_table(f"{DATABASE}.{corpus.name}").new_read_builder().new_scan().plan()

    return run


READERS = [
    Reader("lakebed", "entries", "lakebed", "1", _lakebed_entries(None)),
    Reader("lakebed.avro", "entries", "lakebed", "1", _lakebed_avro(None)),
    Reader("fastavro", "entries", "fastavro", "1", _fastavro_entries),
    Reader("pypaimon", "entries", "pypaimon", "1", _pypaimon_entries),
    Reader("lakebed", "projected", "lakebed", "1", _lakebed_entries(PROJECTED)),
    Reader("lakebed.avro", "projected", "lakebed", "1", _lakebed_avro(PROJECTED_AVRO)),
    Reader("lakebed", "files", "lakebed", "1", _lakebed_files(1)),
    Reader("lakebed, all cores", "files", "lakebed", "all", _lakebed_files(None)),
    Reader("pypaimon-rust $files", "files", "pypaimon-rust", "all", _pypaimon_rust_files),
    Reader("pypaimon-rust plan", "files", "pypaimon-rust", "all", _pypaimon_rust_plan),
    Reader("pypaimon $files", "files", "pypaimon", "8 (GIL)", _pypaimon_files),
    Reader("pypaimon plan", "files", "pypaimon", "8 (GIL)", _pypaimon_plan),
    Reader("lakebed", "stream", "lakebed", "all", _lakebed_stream),
    Reader("pypaimon-rust $files", "stream", "pypaimon-rust", "all", _pypaimon_rust_files),
    Reader("pypaimon $files", "stream", "pypaimon", "8 (GIL)", _pypaimon_files),
    Reader("lakebed", "churn", "lakebed", "1", _lakebed_files(1)),
    Reader("lakebed, all cores", "churn", "lakebed", "all", _lakebed_files(None)),
    Reader("lakebed, streamed", "churn", "lakebed", "all", _lakebed_stream),
    Reader("pypaimon-rust plan", "churn", "pypaimon-rust", "all", _pypaimon_rust_plan),
    Reader("pypaimon plan", "churn", "pypaimon", "8 (GIL)", _pypaimon_plan),
]
"""All of them, in the order in which they are reported."""


def _measure(run: Run) -> dict[str, Any]:
    gc.collect()
    start = time.perf_counter()
    rows, result = run()
    seconds = time.perf_counter() - start
    del result
    return {"seconds": seconds, "rows": rows}


def _serve(label: str, task: str) -> None:
    corpus = Corpus(**json.loads(sys.stdin.readline()))
    reader = next(reader for reader in READERS if (reader.label, reader.task) == (label, task))
    try:
        run = reader.prepare(corpus)
        print("{}", flush=True)
        for _ in sys.stdin:
            print(json.dumps(_measure(run)), flush=True)
    except Exception as error:  # noqa: BLE001 - a failed reader is a result: the report shows its text
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
