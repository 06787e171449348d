"""Commits to an Iceberg table, and what they left behind, as tests look at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed
from lakebed import iceberg


def appends(location: str, name: str, commits: int, rewrites: bool = False) -> Iterator[int]:
    """A program for `writers.py`: appends a file in each commit."""
    table = lakebed.open_table(location)
    yield -1
    for number in range(commits):
        path = f"data/{name}-{number}.parquet"
        rows = {"file_path": [path], "record_count": [1], "file_size_in_bytes": [1]}
        table = iceberg.append_files(table, pa.table(rows))
        if rewrites and number % 5 == 4:
            table = iceberg.rewrite_manifests(table)
        yield number


def live(table: lakebed.Table) -> list[str]:
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    return sorted(path.removeprefix(f"{table.location}/") for path in paths)


def metadata(table: lakebed.Table) -> dict[str, Any]:
    """The latest metadata file there is."""
    folder = Path(table.location, "metadata")
    newest = max(folder.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    return iceberg.read_metadata(newest)


def metadata_names(table: lakebed.Table) -> set[str]:
    return {path.name for path in Path(table.location, "metadata").iterdir()}
