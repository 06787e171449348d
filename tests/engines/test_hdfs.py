"""Tables of both formats on HDFS, by way of WebHDFS: the rows of the local tables."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from java_engine import JavaEngine

import lakebed
from lakebed.errors import TableNotFoundError, UnsupportedError
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("requests")
pytestmark = pytest.mark.jvm

WRITTEN = next(iter(SAMPLE_MOVED))
VIEWS = ("files", "entries", "manifests", "snapshots", "schemas", "refs", "partitions", "plan")


@pytest.fixture(scope="module")
def files(hdfs_java: JavaEngine, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A file system with a table of each format."""
    folder = tmp_path_factory.mktemp("hdfs")
    copies = {str(SAMPLE_TABLE): "/wh/shop.db/orders", str(SAMPLE_ICEBERG_TABLE): "/wh/ice/orders"}
    host, port = hdfs_java.ask("serve", folder=str(folder), copies=copies).split(":")
    return fsspec.filesystem("webhdfs", host=host, port=int(port), user="lakebed", skip_instance_cache=True)


def address(files: Any) -> str:
    """Where it is, as a URI has it."""
    return f"webhdfs://{urlsplit(files.url).netloc}"


def rows(table: lakebed.Table) -> dict[str, list[str]]:
    """Rows of views, without where the table is."""
    views = {view: getattr(table, view)().to_arrow().to_pylist() for view in VIEWS}
    return {view: [str(row).replace(table.location, "") for row in rows] for view, rows in views.items()}


@pytest.mark.parametrize("spelled", ["hdfs://namenode:8020", "webhdfs", ""])
def test_the_rows_are_those_of_the_local_tables(files: Any, spelled: str) -> None:
    root = (address(files) if spelled == "webhdfs" else spelled) + "/wh"
    orders = lakebed.open_table(f"{root}/shop.db/orders", storage=files)
    assert rows(orders) == rows(lakebed.open_table(SAMPLE_TABLE))
    ice = f"{root}/ice/orders"
    iceberg = lakebed.open_table(ice, storage=files, relocate={WRITTEN: ice})
    local = lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate=SAMPLE_MOVED)
    for view in VIEWS:
        assert getattr(iceberg, view)().to_arrow().equals(getattr(local, view)().to_arrow()), view


def test_a_uri_alone_is_enough(files: Any) -> None:
    table = lakebed.open_table(f"{address(files)}/wh/shop.db/orders")
    assert rows(table) == rows(lakebed.open_table(SAMPLE_TABLE))


def test_tables_are_found(files: Any) -> None:
    found = lakebed.find_tables(f"{address(files)}/wh", storage=files).to_arrow().to_pylist()
    got = [(row["format"], row["name"]) for row in found]
    assert got == [("iceberg", "ice.orders"), ("paimon", "shop.orders")]


def test_what_is_not_there_and_what_cannot_be_done(files: Any) -> None:
    with pytest.raises(TableNotFoundError, match="/wh/none"):
        lakebed.open_table(f"{address(files)}/wh/none", storage=files)
    table = lakebed.open_table("/wh/shop.db/orders", storage=files)
    with pytest.raises(UnsupportedError, match="writes a file only if none exists"):
        table.rewrite_manifests()
    files.rm("/wh/ice/orders/metadata", recursive=True)
    with pytest.raises(TableNotFoundError):
        lakebed.open_table("/wh/ice/orders", storage=files)


def test_a_server_that_has_ended_is_an_error_with_the_path(files: Any, hdfs_java: JavaEngine) -> None:
    table = lakebed.open_table("/wh/shop.db/orders", storage=files)
    hdfs_java.close()
    with pytest.raises(OSError, match=r"/wh/shop\.db/orders/manifest/"):
        table.files().to_arrow()
