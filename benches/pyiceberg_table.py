"""A metadata-only table committed by PyIceberg: fabricated data files, real commits."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from iceberg_rows import PARTITIONED, data_files, schema
from pyiceberg.catalog.memory import InMemoryCatalog


def write(table_path: Path, entries: int, columns: int, commits: int) -> None:
    """Writes a table into that folder, one manifest a commit: about 1 ms an entry."""
    catalog = InMemoryCatalog("bench", warehouse=str(table_path.parent))
    catalog.create_namespace("bench")
    table = catalog.create_table(
        "bench.table",
        schema(columns),
        location=str(table_path),
        partition_spec=PARTITIONED,
        properties={"format-version": "2"},
    )
    files = data_files(entries, columns)
    while part := list(islice(files, -(-entries // commits))):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for file in part:
                append.append_data_file(file)
