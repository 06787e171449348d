"""Avro files that no table knows of: a million rows of Avro's own `weather` schema, and one mostly of texts.

fastavro writes them, in blocks of 64 kB; their numbers are those of `random.Random`, from one seed. Below
them is what is timed in Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
from corpus import Corpus, Table, once
from readers import (
    Counted,
    Run,
    duckdb_entries,
    fastavro_entries,
    lakebed_reads,
    ours,
    polars_entries,
    reader,
)

SEED = 7
BLOCK_BYTES = 64_000

WEATHER: dict[str, Any] = {
    "type": "record",
    "name": "Weather",
    "namespace": "test",
    "doc": "A weather reading.",
    "fields": [
        {"name": "station", "type": "string"},
        {"name": "time", "type": "long"},
        {"name": "temp", "type": "int"},
    ],
}
STRINGS: dict[str, Any] = {
    "type": "record",
    "name": "Visit",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "user", "type": ["null", "string"]},
        {"name": "url", "type": "string"},
        {"name": "referrer", "type": ["null", "string"]},
        {"name": "agent", "type": "string"},
        {"name": "country", "type": "string"},
        {"name": "city", "type": ["null", "string"]},
        {"name": "message", "type": "string"},
    ],
}
PROJECTED = {"Weather": ["station", "temp"], "Visit": ["id", "country"]}
"""The columns of a projected read, by the record's name."""

_AGENTS = [f"Mozilla/5.0 (X11; Linux x86_64; rv:{number}.0) Gecko/20100101" for number in range(90, 140)]
_CITIES = ["Köln", "東京", "São Paulo", "Oslo", "Kraków", "Αθήνα", "Lagos", "Hà Nội"]
_WORDS = ["order", "paid", "shipped", "über", "returned", "naïve", "cart", "checkout", "café", "done"]


def _weather(rows: int) -> Iterator[dict[str, Any]]:
    random_ = random.Random(SEED)
    for number in range(rows):
        station = f"{random_.randrange(11_000, 12_000):06}-{random_.randrange(99_999):05}"
        yield {
            "station": station,
            "time": 1_700_000_000_000 + number * 997,
            "temp": random_.randrange(-400, 400),
        }


def _strings(rows: int) -> Iterator[dict[str, Any]]:
    random_ = random.Random(SEED)

    def maybe(text: str) -> str | None:
        return text if random_.random() < 0.8 else None

    for number in range(rows):
        page = f"https://shop.example/{random_.choice(_WORDS)}/{random_.randrange(10**9)}"
        yield {
            "id": str(UUID(int=random_.getrandbits(128))),
            "user": maybe(f"user-{random_.randrange(10**7):08}"),
            "url": f"{page}?session={random_.getrandbits(64):016x}",
            "referrer": maybe(page),
            "agent": random_.choice(_AGENTS),
            "country": "DEJPBRNOPLGRNGVN"[2 * (number % 8) :][:2],
            "city": maybe(random_.choice(_CITIES)),
            "message": " ".join(random_.choices(_WORDS, k=12)),
        }


def _schema(name: str) -> dict[str, Any]:
    return WEATHER if name.startswith("weather") else STRINGS


def _file(cache: Path, rows: int, given: Path | None, name: str, codec: str) -> Corpus:
    """The cached file, or a new one: about 3 µs a row of weather, 15 µs a row of texts."""
    schema, name = _schema(name), f"{name}-{codec}"
    made = _weather if schema is WEATHER else _strings

    def write(unfinished: Path) -> None:
        with unfinished.open("wb") as file:
            fastavro.writer(file, schema, made(rows), codec=codec, sync_interval=BLOCK_BYTES)

    path = once((given or cache / "avro") / f"{name}_{rows}.avro", write)
    writer = f"fastavro {version('fastavro')}"
    return Corpus.of_files("avro", writer, path, name, [path], len(schema["fields"]), None)


TABLES = [
    Table(
        f"{name}-{codec}",
        ("entries", "projected", "encode"),
        rows,
        _file,
        {"name": name, "codec": codec},
        quick=quick,
        quick_entries=rows // 5,
    )
    for name, codec, rows, quick in (
        ("weather", "snappy", 1_000_000, ("entries",)),
        ("weather", "deflate", 1_000_000, ()),
        ("weather", "null", 1_000_000, ()),
        ("strings", "deflate", 200_000, ("entries",)),
        ("strings", "zstandard", 200_000, ()),
    )
]


def _projected(corpus: Corpus, of: Callable[..., Run], **options: Any) -> Run:
    """The same reader, of the columns that this file's records have among those wanted."""
    return of(corpus, columns=PROJECTED[_schema(corpus.name)["name"]], **options)


def _lakebed_encode(corpus: Corpus, threads: int | None) -> Run:
    import lakebed

    data = lakebed.avro.read(corpus.path).to_arrow()
    options = {"codec": corpus.codec, "threads": threads, "block_bytes": BLOCK_BYTES}
    write = partial(lakebed.avro.write, schema=_schema(corpus.name), **options)
    return lambda: Counted(corpus.entries, size=len(write(data) or b""))


def _fastavro_encode(corpus: Corpus) -> Run:
    (records,) = fastavro_entries(corpus)()
    schema = fastavro.parse_schema(_schema(corpus.name))

    def run() -> Counted:
        sink = BytesIO()
        fastavro.writer(sink, schema, records, codec=corpus.codec, sync_interval=BLOCK_BYTES)
        return Counted(corpus.entries, size=sink.tell())

    return run


def _polars_encode(corpus: Corpus) -> Run:
    """From the frame that another reader made of the file: Polars itself reads no zstandard."""
    import polars

    import lakebed

    frame = polars.DataFrame(lakebed.avro.read(corpus.path))
    codec: Any = {"null": "uncompressed"}.get(corpus.codec, corpus.codec)

    def run() -> Counted:
        sink = BytesIO()
        frame.write_avro(sink, codec)
        return Counted(corpus.entries, size=sink.tell())

    return run


_entries = partial(lakebed_reads, name="avro.read")
READERS = {
    "avro": [
        *ours("entries", _entries),
        reader("fastavro", "entries", fastavro_entries),
        reader("polars", "entries", polars_entries),
        reader("duckdb", "entries", duckdb_entries),
        *ours("projected", _projected, of=_entries),
        reader("polars", "projected", _projected, of=polars_entries),
        reader("duckdb", "projected", _projected, of=duckdb_entries),
        *ours("encode", _lakebed_encode),
        reader("fastavro", "encode", _fastavro_encode),
        reader("polars", "encode", _polars_encode),
    ]
}
"""All of them by format, in the order in which they are reported."""
