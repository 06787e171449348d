"""What a timed reader is, and its process: `readers.py MODULE LABEL TASK`, one of that module's `READERS`.

The corpus is the first line of standard input, as JSON. One line of answer says that all imports and warm
objects are there, then there is one per further input line: `{"seconds", "processor", "rows", "bytes"}` (of
writers) or `{"error"}`.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from corpus import Corpus


class Counted(NamedTuple):
    """A result that tells its rows (None: it does not), and of files that were written the size [bytes]."""

    rows: int | None
    kept: Any = None
    size: int | None = None


Run = Callable[[], "Sequence[Sized] | Counted"]
"""What is timed. Its result is kept until the clock stops: parts, whose lengths are the rows, or counted."""


@dataclass(frozen=True)
class Reader:
    """One reader for one task; `prepare` imports, opens catalogs and returns what is timed."""

    label: str
    task: str
    prepare: Callable[[Corpus], Run]
    threads: str = "1"

    @property
    def version(self) -> str:
        """That of the distribution that the label begins with, or an empty text where there is none."""
        try:
            return version(self.label.split()[0].split(".")[0].strip(","))
        except PackageNotFoundError:
            return ""


def reader(label: str, task: str, prepare: Callable[..., Run], shown: str = "1", /, **options: Any) -> Reader:
    """A reader whose `prepare` has those options. Args: shown, its threads in the report."""
    return Reader(label, task, partial(prepare, **options), shown)


def ours(task: str, prepare: Callable[..., Run], /, **options: Any) -> list[Reader]:
    """lakebed on one thread, and on all cores."""
    return [
        reader("lakebed", task, prepare, threads=1, **options),
        reader("lakebed, all cores", task, prepare, "all", threads=None, **options),
    ]


def lakebed_reads(
    corpus: Corpus, name: str, columns: list[str] | None = None, threads: int | None = 1
) -> Run:
    """That function of lakebed on one manifest after another: `paimon.read_manifest`, or `avro.read`, which
    knows no table format.
    """
    import lakebed

    read = partial(attrgetter(name)(lakebed), columns=columns, threads=threads)
    return lambda: [read(path).to_arrow() for path in corpus.manifests]


def lakebed_view(corpus: Corpus, view: str = "files", keys: Any = None, **options: Any) -> Run:
    """A view of the table, from its path: all rows, or those that a filter leaves."""
    import lakebed

    return lambda: [getattr(lakebed.open_table(corpus.path, keys=keys), view)(**options).to_arrow()]


def lakebed_stream(corpus: Corpus, view: str = "files", **options: Any) -> Run:
    """The same batch by batch, none kept."""
    import lakebed

    def run() -> Counted:
        found = getattr(lakebed.open_table(corpus.path), view)(**options).to_arrow_batch_reader()
        return Counted(sum(batch.num_rows for batch in found))

    return run


def on_lakebed(corpus: Corpus, library: str, read: Callable[..., Run], **options: Any) -> Run:
    """A run of a library's with lakebed below it."""
    below = import_module(f"lakebed.{library}")
    run = read(corpus, **options)

    def installed() -> Any:
        with below.installed():
            return run()

    return installed


def fastavro_entries(corpus: Corpus) -> Run:
    """All records as dicts."""
    import fastavro

    def records(path: str) -> list[Any]:
        with Path(path).open("rb") as file:
            return list(fastavro.reader(file))

    return lambda: [records(path) for path in corpus.manifests]


def polars_entries(corpus: Corpus, columns: list[str] | None = None) -> Run:
    """A frame for each file."""
    import polars

    return lambda: [polars.read_avro(path, columns=columns) for path in corpus.manifests]


def duckdb_extensions(*names: str, config: dict[str, Any] | None = None) -> Any:
    """A connection with those extensions, each a package of its own, in the order in which they need another.

    Raises: FileNotFoundError: one is not installed for this DuckDB.
    """
    import duckdb

    connection = duckdb.connect(config=config or {})
    for name in names:
        package = find_spec(f"duckdb_extension_{name}")
        folders = (package and package.submodule_search_locations) or ()
        of_name = f"extensions/v{duckdb.__version__}/{name}.duckdb_extension"
        extension = next((path for folder in folders for path in Path(folder).glob(of_name)), None)
        if extension is None:
            raise FileNotFoundError(
                f"duckdb-extension-{name} is not installed for DuckDB {duckdb.__version__}"
            )
        connection.load_extension(str(extension))
    return connection


def duckdb_entries(corpus: Corpus, columns: list[str] | None = None) -> Run:
    """An Arrow table for each file, on one thread; DuckDB's reader of Avro is an extension."""
    connection = duckdb_extensions("avro", config={"threads": 1})
    query = f"SELECT {', '.join(columns or ['*'])} FROM read_avro(?)"
    return lambda: [connection.sql(query, params=[path]).to_arrow_table() for path in corpus.manifests]


def rows_of(result: Sequence[Sized] | Counted) -> int | None:
    """How many entries or files a result has, None where it does not tell."""
    return result.rows if isinstance(result, Counted) else sum(map(len, result))


def _measure(run: Run) -> dict[str, Any]:
    gc.collect()
    start, before = time.perf_counter(), time.process_time()
    result = run()
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    answer = {"seconds": seconds, "processor": processor, "rows": rows_of(result)}
    written = result.size if isinstance(result, Counted) else None
    return answer if written is None else answer | {"bytes": written}


def serve(ready: Callable[[Corpus], Callable[[], dict[str, Any]]]) -> None:
    """Makes a case ready on the corpus of the first line, then answers each line until the input ends."""
    corpus = Corpus(**json.loads(sys.stdin.readline()))
    try:
        measured = ready(corpus)
        print("{}", flush=True)
        for _ in sys.stdin:
            print(json.dumps(measured()), flush=True)
    except Exception as error:  # noqa: BLE001 - a failed reader is a result: the report shows its text
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


def main() -> None:
    """Serves the reader that the command line names."""
    import pyarrow  # noqa: F401 - most results are its own: what it takes is part of no reader's peak

    module, label, task = sys.argv[1:]
    readers = import_module(module).READERS

    def ready(corpus: Corpus) -> Callable[[], dict[str, Any]]:
        one = next(one for one in readers[corpus.format] if (one.label, one.task) == (label, task))
        return partial(_measure, one.prepare(corpus))

    serve(ready)


if __name__ == "__main__":
    # Its functions are those that modules of readers import.
    import_module("readers").main()
