"""The same entries in two tables: in Parquet manifests, or in encrypted ones, beside plain Avro ones.

Iceberg Java writes them as version 4; what is encrypted is a copy of its Avro manifests.
The corpus is the table with plain Avro manifests, so that the floors are theirs; the other one is beside it.
`x lakebed` of the reader `lakebed of plain Avro` says how many times faster the other one is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from corpus import Corpus, Table, in_place
from encrypted_tables import encrypted_copy, unwrap
from iceberg_readers import FILTERS, PROJECTED, STATS, lakebed_entries
from iceberg_tables import NEXT_VERSION, describe, generate
from readers import Run, lakebed_view, reader

PARQUET, ENCRYPTED = "iceberg-parquet", "iceberg-encrypted"
AVRO = "avro"
FOLDERS = {PARQUET: "parquet", ENCRYPTED: "encrypted"}


def _both(cache: Path, entries: int, given: Path | None, format_name: str) -> Corpus:
    """Manifests of 10,000 entries. Args: given, a folder with both tables."""
    root = given or cache / "iceberg" / f"both_{entries}"
    sizes = {"entries": entries, "per-manifest": min(entries, 10_000), "format-version": 4}

    def write(table: Path) -> None:
        if table.name == FOLDERS[ENCRYPTED]:
            encrypted_copy(Path(describe(root / AVRO).path), table)
            return
        options = {"location": table.as_uri().replace("///", "/"), "container": table.name, **sizes}
        generate(cache, options, NEXT_VERSION)

    for folder in (AVRO, FOLDERS[format_name]):
        if given is None:
            in_place(root / folder, write)
    return describe(root / AVRO, format_=format_name)


def _of(folder: str, corpus: Corpus, prepare: Callable[..., Run], **options: Any) -> Run:
    """What reads the table in that folder."""

    def there(path: str) -> str:
        file = Path(path)
        found = file.parents[2] / folder / "metadata" / file.name
        parquet = found.with_suffix(f".{folder}")
        return str(parquet if parquet.exists() else found)

    manifests = tuple(there(path) for path in corpus.manifests)
    return prepare(replace(corpus, path=there(corpus.path), manifests=manifests), **options)


_VIEWS: dict[str, tuple[Callable[..., Run], dict[str, Any]]] = {
    "stats": (lakebed_view, {"stats": list(STATS)}),
    "files": (lakebed_view, {}),
    **{task: (lakebed_view, {"view": "plan", "deletes": "ids", **where}) for task, where in FILTERS.items()},
}
_ENTRIES = {"view": "entries"}
_TASKS: dict[str, dict[str, tuple[Callable[..., Run], dict[str, Any]]]] = {
    PARQUET: {
        "entries": (lakebed_entries, {}),
        "projected": (lakebed_entries, {"columns": PROJECTED}),
        **_VIEWS,
    },
    # Single manifests are read without the keys of a table.
    ENCRYPTED: {
        "entries": (lakebed_view, _ENTRIES),
        "projected": (lakebed_view, {**_ENTRIES, "columns": PROJECTED}),
        **_VIEWS,
    },
}
TABLES = [
    Table(
        name, tuple(tasks), 1_000_000, _both, {"format_name": name}, quick=("entries", "projected", "stats")
    )
    for name, tasks in _TASKS.items()
]
_KEYS: dict[str, dict[str, Any]] = {ENCRYPTED: {"keys": unwrap}}
READERS = {
    name: [
        reader(label, task, partial(_of, folder), prepare=prepare, threads=1, **options, **keys)
        for task, (prepare, options) in tasks.items()
        for label, folder, keys in (
            ("lakebed", FOLDERS[name], _KEYS.get(name, {})),
            ("lakebed of plain Avro", AVRO, {}),
        )
    ]
    for name, tasks in _TASKS.items()
}
"""All of them by format, in the order in which they are reported."""
