"""What is timed behind late storages. Run as a program this is the process of one reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delayed import DelayedFileSystem, delay_methods, pyiceberg_properties
from latency_tables import TASKS
from paimon_tables import DATABASE
from readers import Reader, Rows, Run, serve

if TYPE_CHECKING:
    from corpus import Corpus

COUNTED = ("files", "plan")
"""Tasks whose rows are the live files; of `snapshots` they are checked here, the others tell none."""


def _rows(task: str, corpus: Corpus, found: int) -> Rows:
    """What the run tells: live files as they are, else all entries where the snapshots are right."""
    if task in COUNTED:
        return found
    return (corpus.entries if found == len(corpus.manifests) else 0) if task == "snapshots" else None


def lakebed_view(
    task: str, threads: int | None, storage_of: Callable[[Corpus], Any]
) -> Callable[[Corpus], Run]:
    """That view of a table on that storage, or the table itself."""

    def prepare(corpus: Corpus) -> Run:
        import lakebed

        storage = storage_of(corpus)

        def run() -> tuple[Rows, Any]:
            table = lakebed.open_table(corpus.path, storage=storage)
            if task == "open":
                return None, table
            # What is small has no threads to choose.
            options = {} if task == "snapshots" else {"threads": threads}
            found = getattr(table, task)(**options).to_arrow()
            return _rows(task, corpus, found.num_rows), found

        return run

    return prepare


def pyiceberg_view(task: str, properties_of: Callable[[Corpus], dict[str, str]]) -> Callable[[Corpus], Run]:
    """The same by PyIceberg; the properties say which FileIO it has."""

    def prepare(corpus: Corpus) -> Run:
        from pyiceberg import manifest
        from pyiceberg.table import StaticTable

        properties = properties_of(corpus)

        def run() -> tuple[Rows, Any]:
            # It keeps manifest lists from one table to the next; each run is to read its own.
            manifest.clear_manifest_cache()
            table = StaticTable.from_metadata(corpus.path, properties=properties)
            if task == "open":
                return None, table
            if task == "plan":
                planned = list(table.scan().plan_files())
                return len(planned), planned
            found = getattr(table.inspect, task)()
            return _rows(task, corpus, found.num_rows), found

        return run

    return prepare


def _late_warehouse(corpus: Corpus) -> dict[str, str]:
    from pypaimon.filesystem.local_file_io import LocalFileIO

    requests = ("new_input_stream", "get_file_status", "list_status", "exists")
    delay_methods(LocalFileIO, requests, corpus.delay)
    return {"warehouse": str(Path(corpus.path).parents[1])}


def pypaimon_view(task: str, options_of: Callable[[Corpus], dict[str, str]]) -> Callable[[Corpus], Run]:
    """The same by pypaimon; the options are its catalog's."""

    def prepare(corpus: Corpus) -> Run:
        from pypaimon import CatalogFactory

        catalog = CatalogFactory.create(options_of(corpus))
        name = f"{DATABASE}.{corpus.name}"

        def run() -> tuple[Rows, Any]:
            if task == "open":
                return None, catalog.get_table(name)
            if task == "plan":
                splits = catalog.get_table(name).new_read_builder().new_scan().plan().splits()
                return sum(len(split.files) for split in splits), splits
            builder = catalog.get_table(f"{name}${task}").new_read_builder()
            found = builder.new_read().to_arrow(builder.new_scan().plan().splits())
            return _rows(task, corpus, found.num_rows), found

        return run

    return prepare


def lakebed_readers(
    tasks: tuple[str, ...], storage_of: Callable[[Corpus], Any], label: str = "lakebed"
) -> list[Reader]:
    """lakebed on that storage, with threads as it comes and with 32."""
    return [
        reader
        for task in tasks
        for reader in (
            Reader(label, task, "lakebed", "default", lakebed_view(task, None, storage_of)),
            Reader(f"{label}, 32 threads", task, "lakebed", "32", lakebed_view(task, 32, storage_of)),
        )
        # It takes no threads to open a table, nor for what is small.
        if reader.threads == "default" or task not in ("open", "snapshots")
    ]


_LAKEBED = lakebed_readers(TASKS, lambda corpus: DelayedFileSystem(corpus.delay))
_PYICEBERG = [
    Reader(
        "pyiceberg",
        task,
        "pyiceberg",
        "as it comes",
        pyiceberg_view(task, lambda corpus: pyiceberg_properties(corpus.delay)),
    )
    for task in TASKS
]
_PYPAIMON = [
    Reader("pypaimon", task, "pypaimon", "as it comes", pypaimon_view(task, _late_warehouse))
    for task in TASKS
]
READERS = {"iceberg-delayed": [*_LAKEBED, *_PYICEBERG], "paimon-delayed": [*_LAKEBED, *_PYPAIMON]}
"""All of them by format, in the order in which they are reported."""

if __name__ == "__main__":
    serve([*READERS["iceberg-delayed"], *_PYPAIMON])
