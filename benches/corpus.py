"""What the benches read, and the facts about it that a result is read by.

The tables hold metadata only: real writers committed them, the data files exist nowhere. Their manifests are
found with `json` and fastavro alone: what is measured never decides what is read.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fastavro

GENERATORS = Path(__file__).resolve().with_name("generators")


class MissingInputError(Exception):
    """A table can be neither found nor made here; the message says what is needed."""


@dataclass(frozen=True)
class Corpus:
    """One input and what it holds. Sizes in bytes.

    `format` says which readers it has: `iceberg` and `paimon` for tables, `avro` for any Avro file, `rows`
    for Paimon's BinaryRows, `metadata` for Iceberg's table metadata. `path` is what is opened: a Paimon
    table's folder, an Iceberg table's metadata file, or the file itself. `manifests` are the Avro files that
    it is made of, `entries` its rows; `live` are the files that some entry adds and no entry deletes, of what
    is no table all rows.
    """

    format: str
    writer: str
    path: str
    name: str
    manifests: tuple[str, ...]
    entries: int
    live: int
    columns: int
    codec: str
    block_bytes: int
    compressed_bytes: int
    inflated_bytes: int
    input: str = ""
    """What the benches call it."""
    delay: int = 0
    """What every request of its storage takes more [ms]."""
    endpoint: str = ""
    """The `host:port` of the S3 server, or of the late proxy before it, that holds the path."""

    @classmethod
    def of_bytes(
        cls,
        format: str,
        writer: str,
        path: Path,
        name: str,
        *,
        entries: int,
        columns: int,
        size: int,
    ) -> Corpus:
        """What is no Avro: `size` bytes in one piece, as they are."""
        return cls(
            format=format,
            writer=writer,
            path=str(path),
            name=name,
            manifests=(),
            entries=entries,
            live=entries,
            columns=columns,
            codec="null",
            block_bytes=size,
            compressed_bytes=size,
            inflated_bytes=size,
        )

    def describe(self) -> str:
        """One line for a reader of the results."""
        return (
            f"{self.input}: {self.entries:,} entries ({self.live:,} live) x {self.columns} columns "
            f"by {self.writer}, {self.codec}, {len(self.manifests)} manifests, "
            f"{self.compressed_bytes / 1e6:.1f} MB "
            f"({self.inflated_bytes / 1e6:.1f} MB inflated, blocks of {kilobytes(self.block_bytes)})"
        )


def kilobytes(size: int) -> str:
    """A block's size as reports write it."""
    return f"{size / 1000:.0f} kB" if size >= 10_000 else f"{size / 1000:.1f} kB"


@dataclass(frozen=True)
class Blocks:
    """What the blocks of some container files add up to; `block_bytes` is the median block once inflated."""

    entries: int
    codec: str
    block_bytes: int
    compressed_bytes: int
    inflated_bytes: int


def blocks(files: list[Path]) -> Blocks:
    """Cost: every block is inflated once."""
    entries, codecs, sizes = 0, set(), []
    for path in files:
        with path.open("rb") as file:
            reader = fastavro.block_reader(file)
            codecs.add(str(reader.metadata.get("avro.codec", "null")))
            block: Any  # fastavro's stubs know only an older form of it
            for block in reader:
                entries += block.num_records
                sizes.append(block.bytes_.getbuffer().nbytes)
    return Blocks(
        entries=entries,
        codec="+".join(sorted(codecs)),
        block_bytes=int(statistics.median(sizes)),
        compressed_bytes=sum(path.stat().st_size for path in files),
        inflated_bytes=sum(sizes),
    )


def records(path: Path) -> list[dict[str, Any]]:
    """All records of a small container file, such as a manifest list."""
    with path.open("rb") as file:
        return [record for record in fastavro.reader(file) if isinstance(record, dict)]


def generator(format_: str) -> Path:
    """The folder of the program that makes tables by that format's Java engine.

    Raises: MissingInputError: Maven or a JDK is not there.
    """
    for tool in ("mvn", "java", "javac"):
        if shutil.which(tool) is None:
            raise MissingInputError(
                f"{tool} is needed to make a table by {format_}'s Java and is not on PATH"
            )
    return GENERATORS / format_


Make = Callable[[Path, int, Path | None], Corpus]
"""From the cache's folder, the number of entries, and a table to use instead of one made here."""


@dataclass(frozen=True)
class Table:
    """An input that the benches can have, and what is run on it."""

    name: str
    tasks: tuple[str, ...]
    entries: int
    make: Make
    quick: tuple[str, ...] = ()
    """The tasks of it that the quick suite runs."""
    quick_entries: int = 10_000
    alone: tuple[str, ...] = ()
    """Tasks that lakebed alone runs here: the others would take many minutes, or all memory."""
    most_rounds: int = 9

    def corpus(self, cache: Path, entries: int, given: Path | None) -> Corpus:
        """What there is to read, made where it is not there yet. Raises: MissingInputError."""
        return replace(self.make(cache, entries, given), input=self.name)
