"""The same entries in Parquet manifests and in Avro ones, both of tables of version 4 by Iceberg Java.

The corpus is the table with Avro manifests, so that the floors are theirs; the one in Parquet is beside it.
`x lakebed` of the reader `lakebed of Avro` says how many times faster Parquet is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from corpus import Corpus, Table, in_place
from iceberg_readers import FILTERS, PROJECTED, STATS, lakebed_entries
from iceberg_tables import NEXT_VERSION, describe, generate
from readers import Run, lakebed_view, reader

FORMAT = "iceberg-parquet"
AVRO, PARQUET = "avro", "parquet"


def _both(cache: Path, entries: int, given: Path | None) -> Corpus:
    """Manifests of 10,000 entries. Args: given, a folder with a table of each container."""
    root = given or cache / "iceberg" / f"both_{entries}"
    sizes = {"entries": entries, "per-manifest": min(entries, 10_000), "format-version": 4}
    for container in (AVRO, PARQUET):

        def write(table: Path, container: str = container) -> None:
            options = {"location": table.as_uri().replace("///", "/"), "container": container, **sizes}
            generate(cache, options, NEXT_VERSION)

        if given is None:
            in_place(root / container, write)
    return describe(root / AVRO, format_=FORMAT)


def _in(container: str, corpus: Corpus, prepare: Callable[..., Run], **options: Any) -> Run:
    """What reads the table with manifests in that container."""

    def there(path: str) -> str:
        file = Path(path)
        return str(file.parents[2] / container / "metadata" / file.name.replace(f".{AVRO}", f".{container}"))

    manifests = tuple(there(path) for path in corpus.manifests)
    return prepare(replace(corpus, path=there(corpus.path), manifests=manifests), **options)


_TASKS: dict[str, tuple[Callable[..., Run], dict[str, Any]]] = {
    "entries": (lakebed_entries, {}),
    "projected": (lakebed_entries, {"columns": PROJECTED}),
    "stats": (lakebed_view, {"stats": list(STATS)}),
    "files": (lakebed_view, {}),
    **{task: (lakebed_view, {"view": "plan", "deletes": "ids", **where}) for task, where in FILTERS.items()},
}
TABLES = [Table(FORMAT, tuple(_TASKS), 1_000_000, _both, quick=("entries", "projected", "stats"))]
READERS = {
    FORMAT: [
        reader(label, task, partial(_in, container), prepare=prepare, threads=1, **options)
        for task, (prepare, options) in _TASKS.items()
        for label, container in (("lakebed", PARQUET), ("lakebed of Avro", AVRO))
    ]
}
"""All of them by format, in the order in which they are reported."""
