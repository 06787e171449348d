"""What is timed in Python on any Avro file. Run as a program this is the process of one reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from avro_tables import BLOCK_BYTES, PROJECTED, STRINGS, WEATHER
from readers import (
    Reader,
    Rows,
    Run,
    Written,
    duckdb_entries,
    fastavro_entries,
    lakebed_reads,
    polars_entries,
    serve,
)

if TYPE_CHECKING:
    from corpus import Corpus


def _schema(corpus: Corpus) -> dict[str, Any]:
    return WEATHER if corpus.name.startswith("weather") else STRINGS


def _projected(make: Callable[[list[str]], Callable[[Corpus], Run]]) -> Callable[[Corpus], Run]:
    """The same reader, of the columns that this file's records have among those wanted."""
    return lambda corpus: make(PROJECTED[_schema(corpus)["name"]])(corpus)


def _lakebed_encode(corpus: Corpus, threads: int | None) -> Run:
    import lakebed

    data = lakebed.avro.read(corpus.path).to_arrow()
    codec, schema = corpus.codec, _schema(corpus)
    write = partial(lakebed.avro.write, schema=schema, codec=codec, threads=threads, block_bytes=BLOCK_BYTES)

    def run() -> tuple[Rows, Any]:
        return corpus.entries, Written(len(write(data) or b""))

    return run


def _fastavro_encode(corpus: Corpus) -> Run:
    import fastavro

    with Path(corpus.path).open("rb") as file:
        records = list(fastavro.reader(file))
    schema = fastavro.parse_schema(_schema(corpus))

    def run() -> tuple[Rows, Any]:
        sink = BytesIO()
        fastavro.writer(sink, schema, records, codec=corpus.codec, sync_interval=BLOCK_BYTES)
        return corpus.entries, Written(sink.tell())

    return run


def _polars_encode(corpus: Corpus) -> Run:
    """From the frame that another reader made of the file: Polars itself reads no zstandard."""
    import polars

    import lakebed

    frame = polars.DataFrame(lakebed.avro.read(corpus.path))
    codec: Any = {"null": "uncompressed"}.get(corpus.codec, corpus.codec)

    def run() -> tuple[Rows, Any]:
        sink = BytesIO()
        frame.write_avro(sink, codec)
        return corpus.entries, Written(sink.tell())

    return run


def _lakebed(threads: int | None) -> Callable[[list[str]], Callable[[Corpus], Run]]:
    return lambda columns: lakebed_reads("avro.read", columns, threads)


READERS = [
    Reader("lakebed", "entries", "lakebed", "1", lakebed_reads("avro.read")),
    Reader("lakebed, all cores", "entries", "lakebed", "all", lakebed_reads("avro.read", threads=None)),
    Reader("fastavro", "entries", "fastavro", "1", fastavro_entries),
    Reader("polars", "entries", "polars", "1", polars_entries()),
    Reader("duckdb", "entries", "duckdb", "1", duckdb_entries()),
    Reader("lakebed", "projected", "lakebed", "1", _projected(_lakebed(1))),
    Reader("lakebed, all cores", "projected", "lakebed", "all", _projected(_lakebed(None))),
    Reader("polars", "projected", "polars", "1", _projected(polars_entries)),
    Reader("duckdb", "projected", "duckdb", "1", _projected(duckdb_entries)),
    Reader("lakebed", "encode", "lakebed", "1", partial(_lakebed_encode, threads=1)),
    Reader("lakebed, all cores", "encode", "lakebed", "all", partial(_lakebed_encode, threads=None)),
    Reader("fastavro", "encode", "fastavro", "1", _fastavro_encode),
    Reader("polars", "encode", "polars", "1", _polars_encode),
]
"""All of them, in the order in which they are reported."""

if __name__ == "__main__":
    serve(READERS)
