"""What a timed reader is, and its process.

`serve` is the main of a module of readers, `<module>.py LABEL TASK`: the corpus as JSON on the first
line of standard input; one line of answer when all imports and warm objects are there, then one line per
further input line: `{"seconds", "processor", "rows", "bytes"}` (of writers) or `{"error"}`.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

from corpus import Corpus

Rows = int | None
Run = Callable[[], tuple[Rows, Any]]
"""Entries or files in the result (None: it does not tell), and the result, kept until the clock stops."""


@dataclass(frozen=True)
class Written:
    """The result of a run that writes: the size of all its files [bytes]."""

    size: int


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


def tables(found: list[Any]) -> tuple[Rows, Any]:
    """The answer of a run that ends with Arrow tables."""
    return sum(table.num_rows for table in found), found


def lakebed_reads(
    name: str, columns: list[str] | None = None, threads: int | None = 1
) -> Callable[[Corpus], Run]:
    """That function of lakebed on one manifest after another: `paimon.read_manifest`, or `avro.read`, which
    knows no table format.
    """

    def prepare(corpus: Corpus) -> Run:
        import lakebed

        read = attrgetter(name)(lakebed)
        one = partial(read, columns=columns, threads=threads)
        return lambda: tables([one(path).to_arrow() for path in corpus.manifests])

    return prepare


def lakebed_files(threads: int | None, where: str | None = None) -> Callable[[Corpus], Run]:
    """The live files of the table, from its path; all of them, or those that a filter leaves."""

    def prepare(corpus: Corpus) -> Run:
        import lakebed

        return lambda: tables(
            [lakebed.open_table(corpus.path).files(where=where, threads=threads).to_arrow()]
        )

    return prepare


def lakebed_stream(corpus: Corpus) -> Run:
    """The same batch by batch, none kept."""
    import lakebed

    def run() -> tuple[Rows, Any]:
        reader = lakebed.open_table(corpus.path).files().to_arrow_batch_reader()
        return sum(batch.num_rows for batch in reader), None

    return run


def fastavro_entries(corpus: Corpus) -> Run:
    """All records as dicts."""
    import fastavro

    def run() -> tuple[Rows, Any]:
        records: list[Any] = []
        for path in corpus.manifests:
            with Path(path).open("rb") as file:
                records.extend(fastavro.reader(file))
        return len(records), records

    return run


def polars_entries(columns: list[str] | None = None) -> Callable[[Corpus], Run]:
    """A frame for each file."""

    def prepare(corpus: Corpus) -> Run:
        import polars

        def run() -> tuple[Rows, Any]:
            frames = [polars.read_avro(path, columns=columns) for path in corpus.manifests]
            return sum(frame.height for frame in frames), frames

        return run

    return prepare


def duckdb_extensions(*names: str, config: dict[str, Any] | None = None) -> Any:
    """A connection with those extensions, each a package of its own, in the order in which they need another.

    Raises: FileNotFoundError: one is not installed for this DuckDB.
    """
    import duckdb

    places = find_spec("duckdb_ext")
    folders = list(places.submodule_search_locations or []) if places else []
    connection = duckdb.connect(config=config or {})
    for name in names:
        of_name = f"extensions/v{duckdb.__version__}/*/{name}.duckdb_extension"
        extension = next((path for folder in folders for path in Path(folder).glob(of_name)), None)
        if extension is None:
            raise FileNotFoundError(f"duckdb-ext-{name} is not installed for DuckDB {duckdb.__version__}")
        connection.load_extension(str(extension))
    return connection


def duckdb_entries(columns: list[str] | None = None) -> Callable[[Corpus], Run]:
    """An Arrow table for each file, on one thread; DuckDB's reader of Avro is an extension."""

    def prepare(corpus: Corpus) -> Run:
        connection = duckdb_extensions("avro", config={"threads": 1})
        query = f"SELECT {', '.join(columns or ['*'])} FROM read_avro(?)"
        return lambda: tables(
            [connection.sql(query, params=[path]).to_arrow_table() for path in corpus.manifests]
        )

    return prepare


def _measure(run: Run) -> dict[str, Any]:
    gc.collect()
    start, before = time.perf_counter(), time.process_time()
    rows, result = run()
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    answer = {"seconds": seconds, "processor": processor, "rows": rows}
    return answer | {"bytes": result.size} if isinstance(result, Written) else answer


def serve(readers: list[Reader]) -> None:
    """Answers for the reader that the command line names, until standard input ends."""
    import pyarrow  # noqa: F401 - most results are its own: what it takes is part of no reader's peak

    label, task = sys.argv[1:]
    corpus = Corpus(**json.loads(sys.stdin.readline()))
    reader = next(reader for reader in readers if (reader.label, reader.task) == (label, task))
    try:
        run = reader.prepare(corpus)
        print("{}", flush=True)
        for _ in sys.stdin:
            print(json.dumps(_measure(run)), flush=True)
    except Exception as error:  # noqa: BLE001 - a failed reader is a result: the report shows its text
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
