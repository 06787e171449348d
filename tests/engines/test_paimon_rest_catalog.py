"""Paimon's own REST catalog: tables that pypaimon has from it are read, commits are left to the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from java_engine import JavaEngine

import lakebed
from lakebed.errors import TableNotFoundError, UnsupportedError

pypaimon = pytest.importorskip("pypaimon")
tables = pytest.importorskip("catalog_tables")
pytestmark = pytest.mark.jvm

TOKEN = "c4n4ry-token"
VIEWS = ("files", "entries", "manifests", "snapshots", "schemas", "refs", "partitions", "buckets", "plan")
ROWS = pa.table({"id": [1, 2, 3], "region": ["emea", "emea", "us"]})


@pytest.fixture(scope="module")
def catalog(paimon_rest_java: JavaEngine, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("paimon-rest")
    address = paimon_rest_java.ask("serve", folder=str(folder), token=TOKEN)
    login = {"token.provider": "bear", "token": TOKEN}
    found = pypaimon.CatalogFactory.create(
        {"metastore": "rest", "uri": address, "warehouse": "lake", **login}
    )
    found.create_database("shop", True)
    return found


def created(catalog: Any, name: str) -> Any:
    schema = pypaimon.Schema.from_pyarrow_schema(ROWS.schema, partition_keys=["region"])
    catalog.create_table(name, schema, False)
    return catalog.get_table(name)


def test_the_rows_are_those_of_the_tables_folder(catalog: Any) -> None:
    there = created(catalog, "shop.orders")
    empty = lakebed.open_table(there)
    assert (empty.snapshot_id, empty.files().to_arrow().num_rows) == (None, 0)
    for _ in range(2):
        tables.paimon_append(there, ROWS)
    table = empty.refresh()
    assert (table.format, table.snapshot_id) == ("paimon", 2)
    folder = lakebed.open_table(Path(there.table_path.removeprefix("file:")))
    for view in VIEWS:
        rows = getattr(table, view)().to_arrow()
        assert rows.num_rows > 0, view
        assert rows.equals(getattr(folder, view)().to_arrow()), view
    splits = there.new_read_builder().new_scan().plan().splits()
    theirs = sorted(file.file_name for split in splits for file in split.files)
    assert sorted(table.plan(columns=["file_name"]).to_arrow()["file_name"].to_pylist()) == theirs
    tables.paimon_append(there, ROWS)
    assert table.refresh().snapshot_id == 3


def test_commits_are_the_catalogs(catalog: Any) -> None:
    there = created(catalog, "shop.kept")
    tables.paimon_append(there, ROWS)
    table = lakebed.open_table(there)
    file = file_rows("region=us/bucket-0/a")
    for commit in (
        lambda: table.append_files(file),
        lambda: table.rewrite_manifests(),
        lambda: table.create_tag("now"),
    ):
        with pytest.raises(UnsupportedError, match="catalog makes its commits"):
            commit()
    assert table.refresh().snapshot_id == 1


def test_a_table_that_the_catalog_dropped_is_an_error_that_tells_no_token(catalog: Any) -> None:
    there = created(catalog, "shop.dropped")
    tables.paimon_append(there, ROWS)
    table = lakebed.open_table(there)
    catalog.drop_table("shop.dropped", False)
    with pytest.raises(TableNotFoundError, match="dropped") as caught:
        table.refresh()
    assert TOKEN not in str(caught.value)
