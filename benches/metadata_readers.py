"""What is timed on Iceberg's table metadata. Run as a program this is the process of one reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import metadata_tables
from readers import Reader, Rows, Run, serve

if TYPE_CHECKING:
    from corpus import Corpus

Read = Callable[[str], int]
"""From the path to the newest snapshot's id, or to the number of rows of a view."""


def _lakebed_open() -> Read:
    import lakebed

    return lambda path: lakebed.open_table(path).snapshot_id or 0


def _lakebed_snapshots() -> Read:
    import lakebed

    return lambda path: lakebed.open_table(path).snapshots().to_arrow().num_rows


def _lakebed_history() -> Read:
    import lakebed

    return lambda path: lakebed.open_table(path).metadata_table("history").to_arrow().num_rows


def _pyiceberg_open() -> Read:
    from pyiceberg.table import StaticTable

    def opened(path: str) -> int:
        snapshot = StaticTable.from_metadata(path).current_snapshot()
        return snapshot.snapshot_id if snapshot else 0

    return opened


def _pyiceberg_snapshots() -> Read:
    from pyiceberg.table import StaticTable

    return lambda path: int(StaticTable.from_metadata(path).inspect.snapshots().num_rows)


def _pyiceberg_history() -> Read:
    from pyiceberg.table import StaticTable

    return lambda path: int(StaticTable.from_metadata(path).inspect.history().num_rows)


def _json_open() -> Read:
    def loaded(path: str) -> int:
        found: int = json.loads(Path(path).read_bytes())["current-snapshot-id"]
        return found

    return loaded


def _opens(of: Callable[[], Read]) -> Callable[[Corpus], Run]:
    """A run of `open`, which tells all snapshots where the newest one is right, else none."""

    def prepare(corpus: Corpus) -> Run:
        read, newest = _warm(of), metadata_tables.snapshot_id(corpus.entries)

        def run() -> tuple[Rows, Any]:
            return (corpus.entries if read(corpus.path) == newest else 0), None

        return run

    return prepare


def _views(of: Callable[[], Read]) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        read = _warm(of)
        return lambda: (read(corpus.path), None)

    return prepare


def _warm(of: Callable[[], Read]) -> Read:
    """It has read a table of two snapshots, and so imported what it needs."""
    read = of()
    with TemporaryDirectory() as folder:
        small = Path(folder) / "metadata" / "v1.metadata.json"
        metadata_tables.generate(small, megabytes=0)
        read(str(small))
    return read


READERS = [
    Reader("lakebed", "open", "lakebed", "1", _opens(_lakebed_open)),
    Reader("pyiceberg", "open", "pyiceberg", "1", _opens(_pyiceberg_open)),
    Reader("json.loads", "open", "python", "1", _opens(_json_open)),
    Reader("lakebed", "snapshots", "lakebed", "1", _views(_lakebed_snapshots)),
    Reader("pyiceberg", "snapshots", "pyiceberg", "1", _views(_pyiceberg_snapshots)),
    Reader("lakebed", "history", "lakebed", "1", _views(_lakebed_history)),
    Reader("pyiceberg", "history", "pyiceberg", "1", _views(_pyiceberg_history)),
]
"""All of them, in the order in which they are reported."""

if __name__ == "__main__":
    serve(READERS)
