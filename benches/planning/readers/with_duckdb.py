"""DuckDB's `iceberg_metadata`, which lists the entries of manifests. Its plans of scans tell no files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from protocol import CannotError, serve

EXTENSIONS = ("avro", "iceberg")


def version() -> str:
    """That of DuckDB, whose extensions are packages: nothing is fetched from elsewhere."""
    import duckdb

    for name in EXTENSIONS:
        _extension(name)
    return duckdb.__version__


def _extension(name: str) -> str:
    import duckdb

    package = find_spec(f"duckdb_extension_{name}")
    folders = (package and package.submodule_search_locations) or ()
    file = f"extensions/v{duckdb.__version__}/{name}.duckdb_extension"
    found = next((path for folder in folders for path in Path(folder).glob(file)), None)
    if found is None:
        raise ImportError(f"no package duckdb-extension-{name} of DuckDB {duckdb.__version__}")
    return str(found)


def answer(path: str, _format: str, task: str) -> dict[str, Any]:
    """Live data files and their rows."""
    import duckdb

    if task != "plan":
        raise CannotError("lists entries, without partitions, sizes and metrics")
    connection = duckdb.connect()
    for name in EXTENSIONS:
        connection.load_extension(_extension(name))
    query = "SELECT count(*), sum(record_count) FROM iceberg_metadata(?)"
    live = "WHERE manifest_content = 'DATA' AND status <> 'DELETED'"
    files, rows = connection.sql(f"{query} {live}", params=[path]).fetchone() or (0, 0)
    return {"files": files, "rows": int(rows)}


if __name__ == "__main__":
    serve(
        ["iceberg"], "pip install 'duckdb<2' duckdb-extension-avro duckdb-extension-iceberg", version, answer
    )
