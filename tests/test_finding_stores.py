"""The tables below a prefix of an object store, which has no folders: as many requests as there would be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from object_store import (
    BUCKET,
    LIBRARIES,
    Answer,
    Asked,
    client,
    proxy,
    server,
    upload,
    variables,
)

import lakebed
from lakebed.errors import TableNotFoundError
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE

pytest.importorskip("obstore")
pytest.importorskip("s3fs")

ROOT = f"s3://{BUCKET}/wh"
FOUND = [
    {"location": f"{ROOT}/ice/orders", "format": "iceberg", "name": "ice.orders"},
    {"location": f"{ROOT}/shop.db/orders", "format": "paimon", "name": "shop.orders"},
]
FOLDERS = ["", "empty", "ice", "raw", "raw/dt=1", "raw/dt=2", "shop.db"]
IN_TABLES = ["ice/orders", "ice/orders/metadata", "shop.db/orders", "shop.db/orders/schema"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as address:
        upload(address, SAMPLE_TABLE / "schema", "wh/shop.db/orders/schema")
        upload(address, SAMPLE_TABLE / "snapshot", "wh/shop.db/orders/snapshot")
        upload(address, SAMPLE_ICEBERG_TABLE / "metadata", "wh/ice/orders/metadata")
        store = client("obstore", address, token=False)
        files = [f"raw/dt={day}/part-{number}.parquet" for day in (1, 2) for number in range(4)]
        # An object may be called as a folder is.
        for key in (*files, "readme", "ice"):
            store.put(f"wh/{key}", b"x")
        yield address


@pytest.fixture(scope="module", autouse=True)
def marker(address: str) -> None:
    """The object by which consoles make a folder."""
    client("pyarrow", address, token=False).create_dir(f"{BUCKET}/wh/empty")


def found(prefix: str, storage: Any, **options: Any) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = (
        lakebed.find_tables(prefix, storage=storage, **options).to_arrow().to_pylist()
    )
    return rows


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_are_found_and_opened(address: str, library: str) -> None:
    storage = client(library, address)
    assert found(ROOT, storage) == FOUND
    for row in FOUND:
        assert lakebed.open_table(row["location"], storage=storage).format == row["format"]
        name = row["location"].rpartition("/")[2]
        assert found(row["location"], storage) == [{**row, "name": name}]
    whole = [{**row, "name": f"wh.{row['name']}"} for row in FOUND]
    assert found(f"s3://{BUCKET}", storage) == whole


@pytest.mark.parametrize("library", [*LIBRARIES, None])
def test_a_uri_takes_what_the_environment_says(
    address: str, library: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # s3fs keeps clients of other tests, which looked for credentials when there were none.
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    for name, value in variables(address).items():
        monkeypatch.setenv(name, value)
    assert found(ROOT, library) == FOUND


def folders_of(asked: list[Asked]) -> list[str]:
    """The folders that were listed, each with a delimiter."""
    listed = []
    for request in asked:
        query = parse_qs(urlsplit(request.path).query)
        if request.method == "GET" and "list-type" in query:
            assert query["delimiter"] == ["/"], request
            listed.append(query["prefix"][0].rstrip("/").removeprefix("wh").strip("/"))
    return listed


@pytest.mark.parametrize("library", LIBRARIES)
def test_folders_are_listed_once_and_no_file_by_itself(address: str, library: str) -> None:
    with proxy(address) as (before, counted):
        storage = client(library, before)
        counted.forget()
        assert found(ROOT, storage) == FOUND
        assert sorted(folders_of(counted.asked)) == sorted(FOLDERS + IN_TABLES)
        others = [asked for asked in counted.asked if "list-type" not in asked.path]
        # What is in a folder that is listed as empty, pyarrow and s3fs ask once more.
        assert [asked for asked in others if asked.method != "HEAD"] == []
        assert len(others) <= (0 if library == "obstore" else 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_more_is_asked_at_once_than_was_said(address: str, library: str) -> None:
    with proxy(address, delay=0.02) as (before, counted):
        storage = client(library, before)
        counted.forget()
        assert found(ROOT, storage, concurrent_reads=2) == FOUND
        assert counted.most_at_once <= 2


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (500, "InternalError")])
@pytest.mark.parametrize("folder", ["raw/dt=2", "shop.db/orders/schema"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_folder_that_cannot_be_listed_is_an_error(
    address: str, library: str, folder: str, status: int, code: str
) -> None:
    place = f"wh/{folder}"

    def refused(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
        prefix = parse_qs(urlsplit(asked.path).query).get("prefix", [""])[0]
        if prefix.rstrip("/") != place:
            return answer
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>No.</Message></Error>"
        return Answer(status, {"Content-Type": "application/xml"}, body.encode())

    with proxy(address) as (before, counted):
        storage = client(library, before)
        counted.breaks = refused
        with pytest.raises(OSError) as caught:  # noqa: PT011 - looked at below
            found(ROOT, storage)
        assert isinstance(caught.value, PermissionError) is (status == 403)
        assert caught.value.filename == f"s3://{BUCKET}/{place}"
        assert "c4n4ry" not in str(caught.value)


@pytest.mark.parametrize("prefix", [f"{ROOT}/nowhere", f"{ROOT}/readme", f"{ROOT[:-1]}"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_prefix_below_which_nothing_is(address: str, library: str, prefix: str) -> None:
    with pytest.raises(TableNotFoundError, match="no folder at") as caught:
        found(prefix, client(library, address))
    assert caught.value.path == prefix


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_folder_of_nothing_has_no_tables(address: str, library: str) -> None:
    assert found(f"{ROOT}/empty", client(library, address)) == []
