"""What is timed in Python on Paimon tables: entries, views, plans, and entries that are written again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from corpus import Corpus
from paimon_tables import DATABASE, PLAN
from readers import (
    Counted,
    Run,
    fastavro_entries,
    lakebed_reads,
    lakebed_stream,
    lakebed_view,
    on_lakebed,
    ours,
    reader,
)

PROJECTED = ["kind", "partition", "bucket", "file_name", "file_size", "row_count"]
PROJECTED_AVRO = [
    *("_KIND", "_PARTITION", "_BUCKET"),
    *("_FILE._FILE_NAME", "_FILE._FILE_SIZE", "_FILE._ROW_COUNT"),
]
Condition = tuple[str, str, Any]
"""A column, a method of Paimon's predicates (`equal` or `lessThan`), and a literal."""
STATS = {"id": 1, "c5": 5}
"""The columns whose statistics are asked for, and their positions."""
GUARD: Condition = ("dt", "equal", "2020-02-03")
"""One partition of a hundred or more: a reader may drop the others' entries before their statistics."""
FILTERS: dict[str, Condition | None] = {
    "plan": None,
    "plan-partition": GUARD,
    "plan-range": ("id", "lessThan", 100_000_000),
}
"""The plans and their filters. `peers_java` has the same."""


def warehouse(corpus: Corpus) -> dict[str, str]:
    """The options of a catalog that has the table."""
    return {"warehouse": str(Path(corpus.path).parents[1])}


def _where(condition: Condition | None) -> dict[str, str]:
    """The keyword of lakebed's views."""
    if condition is None:
        return {}
    column, method, literal = condition
    return {"where": f"{column} {'=' if method == 'equal' else '<'} {literal!r}"}


def _pypaimon_manifests(corpus: Corpus) -> Callable[[], list[list[Any]]]:
    """What reads the entries of each manifest."""
    from pypaimon.manifest.manifest_file_manager import ManifestFileManager
    from pypaimon.table.file_store_table import FileStoreTable

    manager = ManifestFileManager(FileStoreTable.from_path(corpus.path))
    return lambda: [manager.read(Path(path).name, drop_stats=False) for path in corpus.manifests]


def _pypaimon_stats(corpus: Corpus) -> Run:
    """Null counts and typed bounds of two columns: entries first, whose statistics are then decoded."""
    read = _pypaimon_manifests(corpus)

    def stats(found: Any) -> list[Any]:
        lower, upper, nulls = found.min_values, found.max_values, found.null_counts
        return [(nulls[at], lower.get_field(at), upper.get_field(at)) for at in STATS.values()]

    def run() -> Any:
        return [[(one.file.file_name, stats(one.file.value_stats)) for one in entries] for entries in read()]

    return run


def pypaimon(
    corpus: Corpus,
    view: str,
    condition: Condition | None = None,
    options_of: Callable[[Corpus], dict[str, str]] = warehouse,
) -> Run:
    """The table itself (`open`), the splits of a scan with the files in them (`plan`), or a system table.

    Args: options_of, its catalog's.
    """
    from pypaimon import CatalogFactory

    catalog, name = CatalogFactory.create(options_of(corpus)), f"{DATABASE}.{corpus.name}"

    def run() -> Any:
        if view == "open":
            return Counted(None, catalog.get_table(name))
        if view != "plan":
            builder = catalog.get_table(f"{name}${view}").new_read_builder()
            return [builder.new_read().to_arrow(builder.new_scan().plan().splits())]
        builder = catalog.get_table(name).new_read_builder()
        if condition is not None:
            column, method, literal = condition
            predicates = builder.new_predicate_builder()
            methods = {"equal": predicates.equal, "lessThan": predicates.less_than}
            builder = builder.with_filter(methods[method](column, literal))
        splits = builder.new_scan().plan().splits()
        return Counted(sum(len(split.files) for split in splits), splits)

    return run


def pypaimon_rust(
    corpus: Corpus,
    view: str,
    condition: Condition | None = None,
    options_of: Callable[[Corpus], dict[str, str]] = warehouse,
) -> Run:
    """The same by pypaimon-rust, whose splits do not tell their files; system tables by its SQL."""
    from pypaimon_rust.datafusion import PaimonCatalog, SQLContext

    context, options = SQLContext(), options_of(corpus)
    context.register_catalog("paimon", options)
    catalog, name = PaimonCatalog(options), f"{DATABASE}.{corpus.name}"

    def run() -> Any:
        if view == "open":
            return Counted(None, catalog.get_table(name))
        if view != "plan":
            return context.sql(f"SELECT * FROM paimon.{DATABASE}.`{corpus.name}${view}`")
        builder = catalog.get_table(name).new_read_builder()
        if condition is not None:
            column, method, literal = condition
            builder = builder.with_filter({"method": method, "field": column, "literals": [literal]})
        return Counted(None, builder.new_scan().plan())

    return run


def _lakebed_encode(corpus: Corpus, threads: int | None) -> Run:
    import lakebed

    write = partial(lakebed.paimon.write_manifest, codec=corpus.codec, threads=threads)
    manifests = [lakebed.paimon.read_manifest(path).to_arrow() for path in corpus.manifests]
    return lambda: Counted(corpus.entries, size=sum(len(write(entries)) for entries in manifests))


def _pypaimon_encode(corpus: Corpus) -> Run:
    from pypaimon.manifest.manifest_file_manager import ManifestFileManager
    from pypaimon.table.file_store_table import FileStoreTable

    entries = _pypaimon_manifests(corpus)()
    # The same table's schema, in a folder that may be written to.
    folder = tempfile.TemporaryDirectory()
    shutil.copytree(Path(corpus.path) / "schema", Path(folder.name) / "schema")
    manager = ManifestFileManager(FileStoreTable.from_path(folder.name))

    def run() -> Counted:
        names = [f"manifest-{number}" for number in range(len(entries))]
        for name, some in zip(names, entries, strict=True):
            manager.write(name, some)
        sizes = [(Path(folder.name) / "manifest" / name).stat().st_size for name in names]
        return Counted(corpus.entries, size=sum(sizes))

    return run


_on_lakebed = partial(on_lakebed, library="pypaimon")
_entries = partial(lakebed_reads, name="paimon.read_manifest")
_GIL = "8 (GIL)"
READERS = {
    "paimon": [
        *ours("entries", _entries),
        reader("lakebed.avro", "entries", lakebed_reads, name="avro.read"),
        reader("fastavro", "entries", fastavro_entries),
        reader("pypaimon", "entries", _pypaimon_manifests),
        reader("pypaimon on lakebed", "entries", _on_lakebed, read=_pypaimon_manifests),
        *ours("projected", _entries, columns=PROJECTED),
        reader("lakebed.avro", "projected", lakebed_reads, name="avro.read", columns=PROJECTED_AVRO),
        reader("lakebed", "stats", lakebed_view, threads=1, stats=list(STATS)),
        reader("pypaimon", "stats", _pypaimon_stats),
        reader("lakebed", "guard", lakebed_view, threads=1, **_where(GUARD)),
        reader("pypaimon-rust plan", "guard", pypaimon_rust, "all", view="plan", condition=GUARD),
        reader("pypaimon plan", "guard", pypaimon, _GIL, view="plan", condition=GUARD),
        *ours("files", lakebed_view),
        reader("pypaimon-rust $files", "files", pypaimon_rust, "all", view="files"),
        reader("pypaimon-rust plan", "files", pypaimon_rust, "all", view="plan"),
        reader("pypaimon $files", "files", pypaimon, _GIL, view="files"),
        reader("pypaimon plan", "files", pypaimon, _GIL, view="plan"),
        reader("pypaimon plan on lakebed", "files", _on_lakebed, _GIL, read=pypaimon, view="plan"),
        reader("lakebed", "stream", lakebed_stream, "all"),
        reader("pypaimon-rust $files", "stream", pypaimon_rust, "all", view="files"),
        reader("pypaimon $files", "stream", pypaimon, _GIL, view="files"),
        *ours("churn", lakebed_view),
        reader("lakebed, streamed", "churn", lakebed_stream, "all"),
        reader("pypaimon-rust plan", "churn", pypaimon_rust, "all", view="plan"),
        reader("pypaimon plan", "churn", pypaimon, _GIL, view="plan"),
        *ours(PLAN[1], lakebed_stream, view="plan"),
        # The others have no plan in batches: there they would do again what they do in `plan`.
        *(
            one
            for task, condition in FILTERS.items()
            for one in (
                *ours(task, lakebed_view, view="plan", deletes="ids", **_where(condition)),
                reader("pypaimon-rust", task, pypaimon_rust, "all", view="plan", condition=condition),
                reader("pypaimon", task, pypaimon, _GIL, view="plan", condition=condition),
                reader(
                    "pypaimon on lakebed",
                    task,
                    _on_lakebed,
                    _GIL,
                    read=pypaimon,
                    view="plan",
                    condition=condition,
                ),
            )
        ),
        *ours("encode", _lakebed_encode),
        reader("pypaimon", "encode", _pypaimon_encode),
    ]
}
"""All of them by format, in the order in which they are reported."""
