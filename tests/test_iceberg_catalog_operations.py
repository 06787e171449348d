"""Every operation through a catalog: what it requires and changes, in files and in a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iceberg_operations import OPERATIONS, SCHEMA, begun

import lakebed

tables = pytest.importorskip("catalog_tables")
exceptions = pytest.importorskip("pyiceberg.exceptions")

# What PyIceberg's catalogs do not commit.
_REFUSED = {"upgrade"}


class Told:
    """A catalog that remembers what it was told last."""

    def __init__(self, catalog: Any) -> None:
        self.catalog, self.given = catalog, ((), ())

    def load_table(self, name: Any) -> Any:
        table = self.catalog.load_table(name)
        table.catalog = self
        return table

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> Any:
        self.given = (requirements, updates)
        return self.catalog.commit_table(table, requirements, updates)

    def names(self) -> tuple[list[str], list[str]]:
        requirements, updates = self.given
        return [one.type for one in requirements], [one.action for one in updates]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("place", ["near", "far"])
def test_catalogs_are_told_what_changes(tmp_path: Path, name: str, place: str) -> None:
    catalog = (tables.far if place == "far" else tables.sqlite)(tmp_path)
    catalog.create_table("db.t", SCHEMA)
    told = Told(catalog)
    table = begun(lakebed.open_table(told.load_table("db.t")))
    operation = OPERATIONS[name]
    if name in _REFUSED:
        # PyIceberg 0.12 writes no version 3.
        with pytest.raises((OSError, ValueError, NotImplementedError)):
            operation.make(table)
        return
    operation.make(table)
    requirements, updates = told.names()
    assert updates == list(operation.updates)
    assert requirements[0] == "assert-table-uuid"
    assert list(dict.fromkeys(requirements[1:])) == list(operation.requirements)
    now = lakebed.open_table(catalog.load_table("db.t"))
    assert now.plan().to_arrow().num_rows > 0
    if operation.requirements:
        # What was required holds no longer: the commit is not made twice.
        with pytest.raises(exceptions.CommitFailedException):
            catalog.commit_table(catalog.load_table("db.t"), *told.given)
