"""Tables in catalogs of PyIceberg and pypaimon, near and far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import catalog_files
import pytest
from local_storage import LocalStorage
from pypaimon_tables import ROWS, paimon_append, paimon_orders

__all__ = ["ROWS", "paimon_append", "paimon_orders"]

sql = pytest.importorskip("pyiceberg.catalog.sql")
pytest.importorskip("pypaimon")


def sqlite(folder: Path, **properties: str) -> Any:
    """A catalog of PyIceberg's in a file, its warehouse beside it."""
    given = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
    catalog = sql.SqlCatalog("lake", **(given | properties))
    catalog.create_namespace_if_not_exists("db")
    return catalog


def far(folder: Path) -> Any:
    """The same, with its warehouse in a bucket."""
    properties = {
        "py-io-impl": "catalog_files.FarFiles",
        "warehouse": catalog_files.BUCKET,
        catalog_files.ROOT: str(folder / "bucket"),
        "s3.secret-access-key": catalog_files.SECRET,
    }
    return sqlite(folder, **properties)


def orders(catalog: Any, commits: int = 2) -> Any:
    """A table with some commits."""
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import LongType, NestedField, StringType

    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "region", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
    table = catalog.create_table("db.orders", schema, partition_spec=spec)
    for _ in range(commits):
        table.append(ROWS)
    return table


def lake(folder: Path, commits: int = 2) -> tuple[Any, Any]:
    """A catalog as `sqlite` makes it, and its table as `orders` does."""
    catalog = sqlite(folder)
    return catalog, orders(catalog, commits)


def far_paimon(table: Any, folder: Path) -> Any:
    """The same table as if it were in a bucket."""
    files = catalog_files.FarPaimonFiles(str(folder))
    place = f"{catalog_files.BUCKET}/db.db/orders"
    return type(table)(files, table.identifier, place, table.table_schema)


class Bucket(LocalStorage):
    """A storage of the caller's own that reads in the bucket, which is this folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, path: str) -> Path:
        return self.folder / path.removeprefix(f"{catalog_files.BUCKET}/")


class Between:
    """A catalog of PyIceberg's in which something happens between lakebed's asking and its commit."""

    def __init__(self, catalog: Any, happens: Callable[[int], None]) -> None:
        self.catalog, self.happens, self.commits = catalog, happens, 0

    def load_table(self, name: Any) -> Any:
        table = self.catalog.load_table(name)
        table.catalog = self
        return table

    def commit_table(self, *given: Any) -> Any:
        self.commits += 1
        self.happens(self.commits)
        return self.catalog.commit_table(*given)
