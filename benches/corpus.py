"""What the benches read, and the facts about it that a result is read by.

The tables hold metadata only: real writers committed them, the data files exist nowhere. Their manifests are
found with `json` and fastavro alone: what is measured never decides what is read.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
        cls, format: str, writer: str, path: Path, name: str, *, entries: int, columns: int, size: int
    ) -> Corpus:
        """What is no Avro: `size` bytes in one piece, as they are."""
        what = (format, writer, str(path), name, (), entries, entries, columns)
        return cls(*what, codec="null", block_bytes=size, compressed_bytes=size, inflated_bytes=size)

    @classmethod
    def of_files(
        cls,
        format: str,
        writer: str,
        path: Path,
        name: str,
        files: list[Path],
        columns: int,
        live: int | None,
    ) -> Corpus:
        """What those container files are; `block_bytes` is the median block. All are inflated once.

        Args: live, all entries where it is None.
        """
        entries, codecs, sizes = 0, set(), []
        for file in files:
            with file.open("rb") as stream:
                reader = fastavro.block_reader(stream)
                codecs.add(str(reader.metadata.get("avro.codec", "null")))
                block: Any  # fastavro's stubs know only an older form of it
                for block in reader:
                    entries += block.num_records
                    sizes.append(block.bytes_.getbuffer().nbytes)
        live = entries if live is None else live
        what = (format, writer, str(path), name, tuple(map(str, files)), entries, live, columns)
        codec, size = "+".join(sorted(codecs)), sum(file.stat().st_size for file in files)
        return cls(*what, codec, int(statistics.median(sizes)), size, sum(sizes))

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


def once(path: Path, write: Callable[[Path], object]) -> Path:
    """That file or folder, written if it is not there: under another name until it is whole."""
    if not path.exists():
        unfinished = path.with_name(f"{path.name}_partial")
        shutil.rmtree(unfinished, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(unfinished)
        unfinished.rename(path)
    return path


def in_place(folder: Path, write: Callable[[Path], object]) -> Path:
    """The same of a table whose metadata names its folder in full: a file in it says that it is whole."""
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        write(folder)
        (folder / "complete").touch()
    return folder


@contextmanager
def restored(hint: Path, folders: Callable[[], Iterable[Path]]) -> Iterator[None]:
    """Takes away what was written to the folders of a table meanwhile, and gives its hint the text before."""
    before, text = _files(folders()), hint.read_text()
    try:
        yield
    finally:
        hint.write_text(text)
        for path in _files(folders()) - before:
            Path(path).unlink()


def _files(folders: Iterable[Path]) -> set[str]:
    return {entry.path for folder in folders for entry in os.scandir(folder) if entry.is_file()}


def synced(path: Path, content: bytes) -> None:
    """Writes a file, and has the disk keep it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


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
            raise MissingInputError(f"{tool} is needed to make a table by {format_}'s Java, not on PATH")
    return GENERATORS / format_


Make = Callable[..., Corpus]
"""From the cache's folder, the number of entries, a table to use instead of one made here, and options."""


@dataclass(frozen=True)
class Table:
    """An input that the benches can have, and what is run on it."""

    name: str
    tasks: tuple[str, ...]
    entries: int
    make: Make
    options: dict[str, Any] = field(default_factory=dict)
    quick: tuple[str, ...] = ()
    """The tasks of it that the quick suite runs."""
    quick_entries: int = 10_000
    alone: tuple[str, ...] = ()
    """Tasks that lakebed alone runs here: the others would take many minutes, or all memory."""
    most_rounds: int = 9

    def corpus(self, cache: Path, entries: int, given: Path | None) -> Corpus:
        """What there is to read, made where it is not there yet. Raises: MissingInputError."""
        return replace(self.make(cache, entries, given, **self.options), input=self.name)
