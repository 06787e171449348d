"""Avro files that no table knows of: a million rows of Avro's own `weather` schema, and one mostly of texts.

fastavro writes them, in blocks of 64 kB; their numbers are those of `random.Random`, from one seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
from corpus import Corpus, Table, blocks

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


def _file(cache: Path, rows: int, given: Path | None, name: str, codec: str) -> Corpus:
    """The cached file, or a new one: about 3 µs a row of weather, 15 µs a row of texts."""
    schema, made = (WEATHER, _weather) if name.startswith("weather") else (STRINGS, _strings)
    path = (given or cache / "avro") / f"{name}_{rows}.avro"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".partial")
        with unfinished.open("wb") as file:
            fastavro.writer(file, schema, made(rows), codec=codec, sync_interval=BLOCK_BYTES)
        unfinished.rename(path)
    found = blocks([path])
    return Corpus(
        format="avro",
        writer=f"fastavro {version('fastavro')}",
        path=str(path),
        name=name,
        manifests=(str(path),),
        live=found.entries,
        columns=len(schema["fields"]),
        **vars(found),
    )


TASKS = ("entries", "projected", "encode")
TABLES = [
    Table(
        f"{name}-{codec}",
        TASKS,
        rows,
        partial(_file, name=f"{name}-{codec}", codec=codec),
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
