"""Every operation through a catalog: what it requires and changes, in files and in a bucket."""

from __future__ import annotations

from typing import Any

import pytest
from iceberg_operations import OPERATIONS, SCHEMA, begun
from trust import long_or

import lakebed

tables = pytest.importorskip("catalog_tables")
exceptions = pytest.importorskip("pyiceberg.exceptions")

# What PyIceberg's catalogs do not commit.
_REFUSED = {"upgrade"}


class Recording(tables.Between):  # type: ignore[misc,name-defined]
    """A catalog that remembers the last commit."""

    def __init__(self, catalog: Any) -> None:
        super().__init__(catalog, lambda _: None)
        self.given: tuple[Any, Any] = ((), ())

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> Any:
        self.given = (requirements, updates)
        return super().commit_table(table, requirements, updates)

    def names(self) -> tuple[list[str], list[str]]:
        requirements, updates = self.given
        return [asked.type for asked in requirements], [update.action for update in updates]


@pytest.fixture(scope="module", params=long_or(["near"], ["near", "far"]))
def begin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """A catalog, and the metadata of a table with some commits, of which each test makes one of its own."""
    folder = tmp_path_factory.mktemp("catalog")
    catalog = (tables.far if request.param == "far" else tables.sqlite)(folder)
    begun(lakebed.open_table(catalog.create_table("db.t", SCHEMA)))
    return catalog, catalog.load_table("db.t").metadata_location


@pytest.mark.parametrize("name", OPERATIONS)
def test_catalogs_are_reported_what_changes(
    request: pytest.FixtureRequest, begin: tuple[Any, str], name: str
) -> None:
    catalog, location = begin
    identifier = ("db", request.node.name)
    catalog.register_table(identifier, location)
    told = Recording(catalog)
    table = lakebed.open_table(told.load_table(identifier))
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
    now = lakebed.open_table(catalog.load_table(identifier))
    assert now.plan(columns=["file_path"]).to_arrow().num_rows > 0
    if operation.is_once:
        # What was required holds no longer: the commit is not made twice.
        with pytest.raises(exceptions.CommitFailedException):
            catalog.commit_table(catalog.load_table(identifier), *told.given)
