"""What is timed on a late S3 server. Run as a program this is the process of one reader."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import late_s3
from latency_readers import lakebed_readers, pyiceberg_view, pypaimon_view
from latency_s3_tables import TASKS
from paimon_tables import DATABASE
from plan_readers import polars_iceberg_plan
from readers import Reader, Rows, Run, duckdb_extensions, serve, tables

if TYPE_CHECKING:
    from corpus import Corpus


def _arrow(corpus: Corpus) -> Any:
    return late_s3.filesystem(corpus.endpoint)


def _obstore(corpus: Corpus) -> Any:
    from obstore.fsspec import FsspecStore

    return FsspecStore(
        "s3",
        config={
            "endpoint": f"http://{corpus.endpoint}",
            "access_key_id": late_s3.KEY,
            "secret_access_key": late_s3.SECRET,
            "region": late_s3.REGION,
        },
        client_options={"allow_http": True},
    )


def _file_io(corpus: Corpus) -> dict[str, str]:
    return {
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
        "s3.endpoint": f"http://{corpus.endpoint}",
        "s3.access-key-id": late_s3.KEY,
        "s3.secret-access-key": late_s3.SECRET,
        "s3.region": late_s3.REGION,
    }


def _warehouse(corpus: Corpus) -> dict[str, str]:
    return {
        "warehouse": f"s3://{late_s3.BUCKET}",
        "s3.endpoint": f"http://{corpus.endpoint}",
        "s3.access-key": late_s3.KEY,
        "s3.secret-key": late_s3.SECRET,
        "s3.region": late_s3.REGION,
        "s3.path-style-access": "true",
    }


def _duckdb(corpus: Corpus) -> Run:
    """The entries of the current snapshot, of which all are live; nothing is kept between runs."""
    connection = duckdb_extensions("avro", "httpfs", "iceberg")
    connection.execute("SET enable_external_file_cache = false")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{late_s3.KEY}', SECRET '{late_s3.SECRET}', "
        f"REGION '{late_s3.REGION}', ENDPOINT '{corpus.endpoint}', URL_STYLE 'path', USE_SSL false)"
    )
    query = "SELECT * FROM iceberg_metadata(?)"
    return lambda: tables([connection.sql(query, params=[corpus.path]).to_arrow_table()])


def _pyiceberg_core(_corpus: Corpus) -> Run:
    raise NotImplementedError(
        "it plans over no storage: `read_manifest_entries` takes bytes, and its table provider for "
        "DataFusion plans within a query that reads the data files"
    )


def _pypaimon_rust(task: str) -> Callable[[Corpus], Run]:
    def prepare(corpus: Corpus) -> Run:
        from pypaimon_rust.datafusion import PaimonCatalog, SQLContext

        options = _warehouse(corpus)
        context = SQLContext()
        context.register_catalog("paimon", options)
        catalog = PaimonCatalog(options)
        name = f"{DATABASE}.{corpus.name}"

        def run() -> tuple[Rows, Any]:
            if task == "open":
                return None, catalog.get_table(name)
            if task == "plan":
                # Its splits do not tell their files.
                return None, catalog.get_table(name).new_read_builder().new_scan().plan()
            rows, found = tables(context.sql(f"SELECT * FROM paimon.{DATABASE}.`{corpus.name}${task}`"))
            return (rows if task == "files" else None), found

        return run

    return prepare


_LAKEBED = lakebed_readers(TASKS, _arrow)
if find_spec("obstore") is not None:
    _LAKEBED += lakebed_readers(TASKS, _obstore, "lakebed, obstore")
_ICEBERG = [
    *(
        Reader("pyiceberg", task, "pyiceberg", "as it comes", pyiceberg_view(task, _file_io))
        for task in TASKS
    ),
    Reader("duckdb", "files", "duckdb", "as it comes", _duckdb),
    Reader("polars-iceberg", "plan", "polars-iceberg", "as it comes", polars_iceberg_plan(None, _file_io)),
    Reader("pyiceberg-core", "plan", "pyiceberg-core", "", _pyiceberg_core),
]
_PAIMON = [
    reader
    for task in TASKS
    for reader in (
        Reader("pypaimon", task, "pypaimon", "as it comes", pypaimon_view(task, _warehouse)),
        Reader("pypaimon-rust", task, "pypaimon-rust", "as it comes", _pypaimon_rust(task)),
    )
]
READERS = {"iceberg-s3": [*_LAKEBED, *_ICEBERG], "paimon-s3": [*_LAKEBED, *_PAIMON]}
"""All of them by format, in the order in which they are reported."""

if __name__ == "__main__":
    serve([*READERS["iceberg-s3"], *_PAIMON])
