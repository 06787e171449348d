"""A writer of many commits through a catalog, one acknowledged a line: a program of its own.

Arguments: what commits ("lakebed" or "pyiceberg"), the catalog's properties in JSON, a name for its files,
and how many commits.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException

import lakebed
from lakebed import iceberg


def names(writer: str, commits: int) -> list[str]:
    """The files that stay: each fifth is deleted again."""
    return [f"{writer}-{number}.parquet" for number in range(commits) if number % 5 != 4]


def acknowledge(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def by_lakebed(catalog: Any, writer: str, commits: int) -> None:
    table = lakebed.open_table(catalog.load_table("db.t"))
    for number in range(commits):
        path = f"data/{writer}-{number}.parquet"
        rows = {"file_path": [path], "record_count": [1], "file_size_in_bytes": [1]}
        table = iceberg.append_files(table, pa.table(rows))
        if number % 5 == 4:
            table = iceberg.delete_files(table, [path])
        if number % 4 == 1:
            table = iceberg.rewrite_manifests(table)
        acknowledge(number)


def by_pyiceberg(catalog: Any, writer: str, commits: int) -> None:
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    for number in range(commits):
        while True:
            table = catalog.load_table("db.t")
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/{writer}-{number}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(),
                record_count=1,
                file_size_in_bytes=1,
            )
            file.spec_id = 0
            try:
                with (
                    table.transaction() as transaction,
                    transaction.update_snapshot().fast_append() as append,
                ):
                    append.append_data_file(file)
            except CommitFailedException:
                continue
            break
        acknowledge(number)


if __name__ == "__main__":
    given = load_catalog("lake", **json.loads(sys.argv[2]))
    {"lakebed": by_lakebed, "pyiceberg": by_pyiceberg}[sys.argv[1]](given, sys.argv[3], int(sys.argv[4]))
