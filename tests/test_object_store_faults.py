"""What a server does wrong reaches the user as an error with the path, or not at all; never as fewer rows."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from object_store import (
    BUCKET,
    KEY,
    LIBRARIES,
    SECRET,
    TOKEN,
    Answer,
    Asked,
    Break,
    Proxy,
    client,
    proxy,
    server,
    upload,
)
from trust import QUICK, long_or

import lakebed
from lakebed.file_io import IcebergFiles
from lakebed.storage import ArrowStorage
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

pytest.importorskip("obstore")
pytest.importorskip("s3fs")
PyArrowFileIO = pytest.importorskip("pyiceberg.io.pyarrow").PyArrowFileIO

PAIMON, ICEBERG = f"s3://{BUCKET}/wh/shop.db/orders", f"s3://{BUCKET}/ice/orders"
SECONDS = 0.5
"""What clients wait for an answer."""


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[str, Proxy]]:
    with server() as address:
        for folder, uri in ((SAMPLE_TABLE, PAIMON), (SAMPLE_ICEBERG_TABLE, ICEBERG)):
            upload(address, folder, uri.removeprefix(f"s3://{BUCKET}/"))
        with proxy(address) as before:
            yield before


def status(code: int, name: str) -> Break:
    """An answer of the server's own, which tells the request's headers again."""

    def answer(asked: Asked, _: Answer, headers: dict[str, str]) -> Answer:
        told = "".join(f"<Header>{value}</Header>" for value in headers.values())
        body = f'<?xml version="1.0"?><Error><Code>{name}</Code><Message>No.</Message>{told}</Error>'
        return Answer(code, {"Content-Type": "application/xml"}, body.encode())

    return answer


def slow(proxy: Proxy) -> Break:
    # Much later than clients wait, which on a busy machine is longer than they were told; they hang up first.
    def answer(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
        proxy.ended.wait(20 * SECONDS)
        return answer

    return answer


def _length(headers: dict[str, str], length: int, **others: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in headers.items()
        if name.lower() not in ("content-length", "content-range")
    }
    return {
        **kept,
        "Content-Length": str(length),
        **{name.replace("_", "-"): text for name, text in others.items()},
    }


def cut(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
    """The connection ends in the middle of what was announced."""
    return answer._replace(headers=_length(answer.headers, len(answer.body)), sent=len(answer.body) // 2)


def cut_in_range(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
    """As `cut`, with all headers that the server gave."""
    return answer._replace(sent=len(answer.body) // 2)


def whole(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
    """The server does not know ranges, and gives other bytes before those asked for."""
    body = b"x" * 100 + answer.body
    return Answer(200, _length(answer.headers, len(body)), body)


def elsewhere(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
    """Another range than was asked for."""
    body = answer.body[10:]
    size = len(answer.body)
    return Answer(206, _length(answer.headers, len(body), Content_Range=f"bytes 10-{size - 1}/{size}"), body)


def short(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
    """A range that is shorter than the one asked for, whole by itself."""
    body = answer.body[: len(answer.body) // 2]
    headers = _length(answer.headers, len(body), Content_Range=f"bytes 0-{len(body) - 1}/{len(answer.body)}")
    return Answer(206, headers, body)


def empty(asked: Asked, answer: Answer, _: dict[str, str]) -> Answer:
    """No bytes, and success."""
    return Answer(206, _length(answer.headers, 0), b"")


FAULTS: dict[str, Callable[[Proxy], Break]] = {
    "403": lambda _: status(403, "AccessDenied"),
    "404": lambda _: status(404, "NoSuchKey"),
    "500": lambda _: status(500, "InternalError"),
    "503": lambda _: status(503, "SlowDown"),
    # Clients wait several times, for seconds.
    **({} if QUICK else {"slow": slow}),
    "cut": lambda _: cut,
    "cut in a range": lambda _: cut_in_range,
    "whole": lambda _: whole,
    "elsewhere": lambda _: elsewhere,
    "short": lambda _: short,
    "empty": lambda _: empty,
}
# How many answers are broken; clients wait before they ask again.
TIMES = {None: "always"} if QUICK else {1: "once", None: "always"}


@cache
def opened(format_name: str, library: str, address: str) -> tuple[lakebed.Table, pa.Table]:
    """A table, and the rows that it has when nothing is broken."""
    storage = client(library, address, seconds=SECONDS)
    if format_name == "paimon":
        table = lakebed.open_table(PAIMON, storage=storage)
    else:
        written = next(iter(SAMPLE_MOVED))
        table = lakebed.open_table(ICEBERG, storage=storage, relocate={written: ICEBERG})
    return table, table.entries().to_arrow()


def said(error: BaseException | None) -> str:
    """All that an error tells, with its causes."""
    text = ""
    while error is not None:
        text += "".join(traceback.TracebackException.from_exception(error).format_exception_only())
        text += f"{error!r} {error} {vars(error)}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return text


def tried(work: Callable[[], Any]) -> Any:
    """What comes of it, or the error."""
    try:
        return work()
    except (OSError, lakebed.errors.CorruptError) as error:
        return error


def of_objects(table: lakebed.Table, answer: Break, times: int | None) -> tuple[Break, str]:
    """Breaks answers that hold one manifest, the first ones or all."""
    manifest = table.manifests().to_arrow().column("path").to_pylist()[0].rpartition("/")[2]
    left = [times]

    def breaks(asked: Asked, given: Answer, headers: dict[str, str]) -> Answer:
        if not asked.path.partition("?")[0].endswith(manifest) or left[0] == 0:
            return given
        if asked.method == "HEAD" and answer in (cut, cut_in_range, whole, elsewhere, short, empty):
            return given  # they are about bodies
        left[0] = None if left[0] is None else left[0] - 1
        return answer(asked, given, headers)

    return breaks, manifest


@pytest.mark.parametrize("times", TIMES, ids=TIMES.get)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_manifest_that_is_not_given(
    proxied: tuple[str, Proxy], library: str, fault: str, times: int | None
) -> None:
    address, before = proxied
    format_name = "paimon" if times is None else "iceberg"
    before.forget()
    table, expected = opened(format_name, library, address)
    before.breaks, manifest = of_objects(table, FAULTS[fault](before), times)
    found = tried(lambda: table.entries().to_arrow())
    before.forget()
    if not isinstance(found, Exception):
        # The library asked again.
        assert found == expected
        assert times == 1
        return
    text = said(found)
    assert manifest in str(found)
    assert "c4n4ry" not in text
    assert isinstance(found, FileNotFoundError) is (fault == "404")
    assert isinstance(found, PermissionError) is (fault == "403")
    if isinstance(found, lakebed.errors.CorruptError) and fault != "404":
        assert fault in ("whole", "elsewhere", "short", "empty"), text


def test_what_was_not_given_is_none_of_what_memory_held(proxied: tuple[str, Proxy]) -> None:
    """pyarrow takes a short range as whole; behind it was, at times, the file as it was read before."""
    address, before = proxied
    path = f"{PAIMON}/snapshot/snapshot-1"
    secrets = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
    files = PyArrowFileIO({"s3.endpoint": f"http://{address}", **secrets})
    before.forget()
    for storage in (
        ArrowStorage(client("pyarrow", address), f"s3://{BUCKET}", BUCKET),
        IcebergFiles(files, PAIMON),
    ):
        whole = storage.read(path)
        before.breaks = lambda asked, *given: given[0] if asked.method == "HEAD" else short(asked, *given)
        found = storage.read(path), storage.read(path, 10, 30)
        before.forget()
        half = len(whole) // 2
        assert found == (whole[:half].ljust(len(whole), b"\xff"), whole[10:20].ljust(20, b"\xff"))


@pytest.mark.parametrize("fault", sorted({"403", "500", "503", "slow", "cut"} & FAULTS.keys()))
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("location", long_or([PAIMON, ICEBERG], [PAIMON, ICEBERG], [PAIMON]))
def test_a_listing_that_is_not_given(
    proxied: tuple[str, Proxy], library: str, fault: str, location: str
) -> None:
    """A table whose folders cannot be listed is none that is not there."""
    address, before = proxied
    before.forget()
    answer = FAULTS[fault](before)

    def breaks(asked: Asked, given: Answer, headers: dict[str, str]) -> Answer:
        return answer(asked, given, headers) if "list-type" in asked.path else given

    storage = client(library, address, seconds=SECONDS)
    before.breaks = breaks
    # Nowhere is a hint: what is there is what listing says.
    found = tried(lambda: lakebed.open_table(f"{location}/nowhere", storage=storage))
    before.forget()
    assert isinstance(found, OSError)
    assert not isinstance(found, FileNotFoundError)
    assert f"{location}/nowhere" in str(found)
    assert "c4n4ry" not in said(found)


def echo(form: str) -> Break:
    """An answer that tells the request's headers again, in no form that is its own."""

    def answer(asked: Asked, _: Answer, headers: dict[str, str]) -> Answer:
        told = {name.lower(): value for name, value in headers.items()}
        body = {
            "json": json.dumps({"error": "access_denied", "headers": told}, indent=1),
            "text": f"denied: {told}",
            "xml": f"<denied>{told}</denied>",
        }[form]
        return Answer(403, {"Content-Type": "text/plain"}, body.encode())

    return answer


@pytest.mark.parametrize("form", ["json", "text", "xml"])
@pytest.mark.parametrize("given", ["by a provider", "in headers"])
def test_what_no_option_of_a_store_holds_is_known_by_no_error(
    proxied: tuple[str, Proxy], given: str, form: str
) -> None:
    from obstore.store import HTTPStore, S3Store

    address, before = proxied
    before.forget()
    before.breaks = echo(form)
    once: Any = {"max_retries": 0}
    if given == "in headers":
        location = f"http://{address}/t"
        headers = {"Authorization": f"Bearer {TOKEN}", "X-Own": TOKEN}
        options: Any = {"allow_http": True, "default_headers": headers}
        store: Any = HTTPStore(f"http://{address}", client_options=options, retry_config=once)
    else:
        location = f"s3://{BUCKET}/t"
        credentials: Any = {
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "token": TOKEN,
            "expires_at": None,
        }
        store = S3Store(
            BUCKET,
            endpoint=f"http://{address}",
            region="us-east-1",
            credential_provider=lambda: credentials,
            client_options={"allow_http": True},
            retry_config=once,
        )
    works: list[Callable[[], Any]] = [
        lambda: lakebed.avro.read(f"{location}/x.avro", storage=store),
        lambda: lakebed.find_tables(location, storage=store).to_arrow(),
    ]
    # The web has no listings without WebDAV.
    for work in works[: 1 if given == "in headers" else 2]:
        found = tried(work)
        assert isinstance(found, PermissionError)
        assert "403 Forbidden: " + ("access_denied" if form == "json" else "…") in str(found)
        assert location in str(found)
        assert "c4n4ry" not in said(found)
    assert before.asked
    before.forget()
