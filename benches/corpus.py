"""A table that the benches read, and the facts about its manifests that a result is read by.

The tables hold metadata only: real writers committed them, the data files exist nowhere. Their manifests are
found with `json` and fastavro alone: what is measured never decides what is read.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro


class MissingInputError(Exception):
    """A table can be neither found nor made here; the message says what is needed."""


@dataclass(frozen=True)
class Corpus:
    """One table and what its manifests hold. Sizes in bytes.

    `path` is what `open_table` takes: a Paimon table's folder, an Iceberg table's metadata file. `live` are
    the files that some entry adds and no entry deletes.
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

    def describe(self) -> str:
        """One line for a reader of the results."""
        return (
            f"{self.entries:,} entries ({self.live:,} files live) x {self.columns} columns by {self.writer}, "
            f"{self.codec}, {len(self.manifests)} manifests, {self.compressed_bytes / 1e6:.1f} MB "
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


def generator_folder(format_: str) -> Path:
    """Where the program lies, or would, that makes tables by that format's Java engine."""
    shared = os.environ.get("LAKEBED_SHARED") or str(Path(__file__).resolve().parents[1].parent / "shared")
    return Path(shared) / "tools" / "bigtables" / format_


def generator(format_: str) -> Path:
    """The folder of that program. Raises: MissingInputError: it, Maven or a JDK is not there."""
    folder = generator_folder(format_)
    if not folder.is_dir():
        raise MissingInputError(f"no table generator at {folder}: set LAKEBED_SHARED, or use --given")
    for tool in ("mvn", "java", "javac"):
        if shutil.which(tool) is None:
            raise MissingInputError(
                f"{tool} is needed to make a table by {format_}'s Java and is not on PATH"
            )
    return folder


@dataclass(frozen=True)
class Table:
    """A table that the benches can have, and what is run on it."""

    name: str
    tasks: tuple[str, ...]
    entries: int
    make: Callable[[Path, int, Path | None], Corpus]
    """From the cache's folder, the number of entries, and a table to use instead of one made here."""
    most_rounds: int = 9
