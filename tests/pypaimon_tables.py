"""Tables of pypaimon's own catalog, of any of its versions; importing this needs pypaimon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pypaimon = pytest.importorskip("pypaimon")

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "region": ["emea", "apac", "emea"]})


def paimon_orders(folder: Path, commits: int = 2, options: dict[str, str] | None = None) -> Any:
    """A table of pypaimon's catalog in a folder, with some commits."""
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(folder)})
    catalog.create_database("db", True)
    schema = pypaimon.Schema.from_pyarrow_schema(
        ROWS.schema, partition_keys=["region"], options=options or {}
    )
    catalog.create_table("db.orders", schema, True)
    table = catalog.get_table("db.orders")
    for _ in range(commits):
        paimon_append(table)
    return catalog.get_table("db.orders")


def paimon_append(table: Any, rows: pa.Table = ROWS) -> None:
    """A commit of pypaimon's."""
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(rows)
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


def linked(table: Path, folder: Path) -> Any:
    """A table that stands elsewhere, as a catalog in a folder has it."""
    (folder / "golden.db").mkdir(parents=True, exist_ok=True)
    link = folder / "golden.db" / table.name
    if not link.exists():
        link.symlink_to(table)
    return pypaimon.CatalogFactory.create({"warehouse": str(folder)}).get_table(f"golden.{table.name}")
