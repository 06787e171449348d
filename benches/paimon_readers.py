"""What is timed in Python on Paimon tables. Run as a program this is the process of one reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paimon_tables import DATABASE
from readers import (
    Reader,
    Rows,
    Run,
    fastavro_entries,
    lakebed_files,
    lakebed_reads,
    lakebed_stream,
    serve,
    tables,
)

if TYPE_CHECKING:
    from corpus import Corpus

PROJECTED = ["kind", "partition", "bucket", "file_name", "file_size", "row_count"]
PROJECTED_AVRO = [
    "_KIND",
    "_PARTITION",
    "_BUCKET",
    "_FILE._FILE_NAME",
    "_FILE._FILE_SIZE",
    "_FILE._ROW_COUNT",
]

Condition = tuple[str, str, Any]
"""A column, a method of Paimon's predicates (`equal` or `lessThan`), and a literal."""
STATS = {"id": 1, "c5": 5}
"""The columns whose statistics are asked for, and their positions."""
GUARD: Condition = ("dt", "equal", "2020-02-03")
"""One partition of a hundred or more: a reader may drop the others' entries before their statistics."""


def _warehouse(corpus: Corpus) -> str:
    return str(Path(corpus.path).parents[1])


_lakebed_reads = partial(lakebed_reads, "paimon.read_manifest")


def _pypaimon_entries(corpus: Corpus) -> Run:
    from pypaimon import CatalogFactory
    from pypaimon.manifest.manifest_file_manager import ManifestFileManager

    table = CatalogFactory.create({"warehouse": _warehouse(corpus)}).get_table(f"{DATABASE}.{corpus.name}")
    manager = ManifestFileManager(table)

    def run() -> tuple[Rows, Any]:
        entries: list[Any] = []
        for path in corpus.manifests:
            entries.extend(manager.read(Path(path).name, drop_stats=False))
        return len(entries), entries

    return run


def _lakebed_stats(corpus: Corpus) -> Run:
    import lakebed

    columns = list(STATS)
    return lambda: tables([lakebed.open_table(corpus.path).files(stats=columns, threads=1).to_arrow()])


def _pypaimon_stats(corpus: Corpus) -> Run:
    """Null counts and typed bounds of two columns: entries first, whose statistics are then decoded."""
    entries_of = _pypaimon_entries(corpus)

    def stats(found: Any) -> list[Any]:
        lower, upper, nulls = found.min_values, found.max_values, found.null_counts
        return [(nulls[at], lower.get_field(at), upper.get_field(at)) for at in STATS.values()]

    def run() -> tuple[Rows, Any]:
        _, entries = entries_of()
        found = [(entry.file.file_name, stats(entry.file.value_stats)) for entry in entries]
        return len(found), found

    return run


def _pypaimon_files(corpus: Corpus) -> Run:
    from pypaimon import CatalogFactory

    catalog = CatalogFactory.create({"warehouse": _warehouse(corpus)})

    def run() -> tuple[Rows, Any]:
        builder = catalog.get_table(f"{DATABASE}.{corpus.name}$files").new_read_builder()
        return tables([builder.new_read().to_arrow(builder.new_scan().plan().splits())])

    return run


def pypaimon_plan(condition: Condition | None = None) -> Callable[[Corpus], Run]:
    """The splits of a scan, with the files in them."""

    def prepare(corpus: Corpus) -> Run:
        from pypaimon import CatalogFactory

        catalog = CatalogFactory.create({"warehouse": _warehouse(corpus)})

        def run() -> tuple[Rows, Any]:
            builder = catalog.get_table(f"{DATABASE}.{corpus.name}").new_read_builder()
            if condition is not None:
                column, method, literal = condition
                predicates = builder.new_predicate_builder()
                methods = {"equal": predicates.equal, "lessThan": predicates.less_than}
                builder = builder.with_filter(methods[method](column, literal))
            splits = builder.new_scan().plan().splits()
            return sum(len(split.files) for split in splits), splits

        return run

    return prepare


def _pypaimon_rust_files(corpus: Corpus) -> Run:
    from pypaimon_rust.datafusion import SQLContext

    context = SQLContext()
    context.register_catalog("paimon", {"warehouse": _warehouse(corpus)})
    query = f"SELECT * FROM paimon.{DATABASE}.`{corpus.name}$files`"
    return lambda: tables(context.sql(query))


def pypaimon_rust_plan(condition: Condition | None = None) -> Callable[[Corpus], Run]:
    """The same by pypaimon-rust, whose splits do not tell their files."""

    def prepare(corpus: Corpus) -> Run:
        from pypaimon_rust.datafusion import PaimonCatalog

        catalog = PaimonCatalog({"warehouse": _warehouse(corpus)})

        def run() -> tuple[Rows, Any]:
            builder = catalog.get_table(f"{DATABASE}.{corpus.name}").new_read_builder()
            if condition is not None:
                column, method, literal = condition
                builder = builder.with_filter({"method": method, "field": column, "literals": [literal]})
            return None, builder.new_scan().plan()

        return run

    return prepare


READERS = [
    Reader("lakebed", "entries", "lakebed", "1", _lakebed_reads(None, 1)),
    Reader("lakebed, all cores", "entries", "lakebed", "all", _lakebed_reads(None, None)),
    Reader("lakebed.avro", "entries", "lakebed", "1", lakebed_reads("avro.read")),
    Reader("fastavro", "entries", "fastavro", "1", fastavro_entries),
    Reader("pypaimon", "entries", "pypaimon", "1", _pypaimon_entries),
    Reader("lakebed", "projected", "lakebed", "1", _lakebed_reads(PROJECTED, 1)),
    Reader("lakebed.avro", "projected", "lakebed", "1", lakebed_reads("avro.read", PROJECTED_AVRO)),
    Reader("lakebed, all cores", "projected", "lakebed", "all", _lakebed_reads(PROJECTED, None)),
    Reader("lakebed", "stats", "lakebed", "1", _lakebed_stats),
    Reader("pypaimon", "stats", "pypaimon", "1", _pypaimon_stats),
    Reader("lakebed", "guard", "lakebed", "1", lakebed_files(1, f"{GUARD[0]} = '{GUARD[2]}'")),
    Reader("pypaimon-rust plan", "guard", "pypaimon-rust", "all", pypaimon_rust_plan(GUARD)),
    Reader("pypaimon plan", "guard", "pypaimon", "8 (GIL)", pypaimon_plan(GUARD)),
    Reader("lakebed", "files", "lakebed", "1", lakebed_files(1)),
    Reader("lakebed, all cores", "files", "lakebed", "all", lakebed_files(None)),
    Reader("pypaimon-rust $files", "files", "pypaimon-rust", "all", _pypaimon_rust_files),
    Reader("pypaimon-rust plan", "files", "pypaimon-rust", "all", pypaimon_rust_plan()),
    Reader("pypaimon $files", "files", "pypaimon", "8 (GIL)", _pypaimon_files),
    Reader("pypaimon plan", "files", "pypaimon", "8 (GIL)", pypaimon_plan()),
    Reader("lakebed", "stream", "lakebed", "all", lakebed_stream),
    Reader("pypaimon-rust $files", "stream", "pypaimon-rust", "all", _pypaimon_rust_files),
    Reader("pypaimon $files", "stream", "pypaimon", "8 (GIL)", _pypaimon_files),
    Reader("lakebed", "churn", "lakebed", "1", lakebed_files(1)),
    Reader("lakebed, all cores", "churn", "lakebed", "all", lakebed_files(None)),
    Reader("lakebed, streamed", "churn", "lakebed", "all", lakebed_stream),
    Reader("pypaimon-rust plan", "churn", "pypaimon-rust", "all", pypaimon_rust_plan()),
    Reader("pypaimon plan", "churn", "pypaimon", "8 (GIL)", pypaimon_plan()),
]
"""All of them, in the order in which they are reported."""

if __name__ == "__main__":
    serve(READERS)
