"""What is timed in Python on Paimon tables. Run as a program this is the process of one reader."""

from __future__ import annotations

from collections.abc import Callable
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


def _warehouse(corpus: Corpus) -> str:
    return str(Path(corpus.path).parents[1])


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
    Reader("lakebed", "entries", "lakebed", "1", lakebed_reads("paimon.read_manifest")),
    Reader("lakebed.avro", "entries", "lakebed", "1", lakebed_reads("avro.read")),
    Reader("fastavro", "entries", "fastavro", "1", fastavro_entries),
    Reader("pypaimon", "entries", "pypaimon", "1", _pypaimon_entries),
    Reader("lakebed", "projected", "lakebed", "1", lakebed_reads("paimon.read_manifest", PROJECTED)),
    Reader("lakebed.avro", "projected", "lakebed", "1", lakebed_reads("avro.read", PROJECTED_AVRO)),
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
