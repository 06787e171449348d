"""How many requests each call makes of its storage, on the tables that come with the project.

The numbers are those of today, so that a change of them is seen and meant. `docs/requests.md` has them for
users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from counting_storage import CountingStorage

import lakebed
from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

THREADS, WIDTH = 2, 6
"""Of decoding and of reading: fixed, since with a limit what is read ahead depends on them."""


@dataclass(frozen=True)
class Call:
    """A call, the reads and listings that it makes after opening, and how many reads are of what was read."""

    view: str
    options: dict[str, Any]
    reads: int
    listings: int = 0
    again: int = 0

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.view}({shown})"


WIDE = ("files", "plan", "partitions")
OPENING = {"paimon": (4, 1), "iceberg": (9, 1)}
CALLS = {
    "paimon": [
        # Manifests with DELETE entries are read for these first, and with the others again.
        Call("files", {}, 14, again=2),
        Call("files", {"limit": 1}, 8),
        Call("files", {"limit": 0}, 0),
        Call("plan", {}, 14, again=2),
        Call("partitions", {}, 14, again=2),
        Call("manifests", {}, 2),
        Call("snapshots", {}, 10, 1),
        Call("schemas", {}, 1, 1),
        Call("refs", {}, 4, 2),
    ],
    "iceberg": [
        Call("files", {}, 11),
        Call("files", {"limit": 1}, 8),
        Call("files", {"limit": 0}, 0),
        Call("plan", {}, 11),
        Call("partitions", {}, 11),
        Call("manifests", {}, 1),
        Call("snapshots", {}, 0),
        Call("schemas", {}, 0),
        Call("refs", {}, 0),
    ],
}


def opened(format_name: str) -> tuple[Any, CountingStorage]:
    """The sample table of a format, behind a storage that counts."""
    storage = CountingStorage(concurrent_reads=WIDTH)
    if format_name == "paimon":
        return lakebed.open_table(str(SAMPLE_TABLE), storage=storage), storage
    return lakebed.open_table(str(SAMPLE_ICEBERG_TABLE), storage=storage, relocate=SAMPLE_MOVED), storage


def asked(format_name: str, call: Call) -> CountingStorage:
    """What that call alone asked, its rows read to the end."""
    table, storage = opened(format_name)
    storage.forget()
    options = call.options | ({"threads": THREADS} if call.view in WIDE else {})
    rows = getattr(table, call.view)(**options).to_arrow().num_rows
    limit = call.options.get("limit")
    assert rows == limit if limit is not None else rows > 0
    return storage


@pytest.mark.parametrize("format_name", OPENING)
def test_opening_asks_so_often(format_name: str) -> None:
    _, storage = opened(format_name)
    assert (len(storage.reads), len(storage.listings)) == OPENING[format_name]


EACH_CALL = [pytest.param(name, call, id=f"{name}-{call}") for name, calls in CALLS.items() for call in calls]


@pytest.mark.parametrize(("format_name", "call"), EACH_CALL)
def test_a_call_asks_so_often(format_name: str, call: Call) -> None:
    storage = asked(format_name, call)
    assert len(storage.listings) == call.listings
    if call.options.get("limit"):
        # How far the look-ahead comes before the reader stops is a matter of time.
        assert len(storage.reads) <= call.reads
    else:
        assert len(storage.reads) == call.reads


@pytest.mark.parametrize(("format_name", "call"), EACH_CALL)
def test_so_many_reads_are_of_what_was_read(format_name: str, call: Call) -> None:
    reads = asked(format_name, call).reads
    assert len(reads) - len(set(reads)) == call.again


@pytest.mark.parametrize(("format_name", "call"), EACH_CALL)
def test_no_more_reads_are_in_flight_than_the_storage_serves(format_name: str, call: Call) -> None:
    assert asked(format_name, call).most_at_once <= WIDTH


def test_the_docs_have_the_numbers() -> None:
    text = (PROJECT / "docs" / "requests.md").read_text("utf-8")
    found = re.findall(r"^\| `([^`]+)` +\| +(\d+) \| +(\d+) \| +(\d+) \| +(\d+) \|$", text, re.MULTILINE)
    paimon, iceberg = (
        {
            "open_table(path)": OPENING[name],
            **{str(call): (call.reads, call.listings) for call in CALLS[name]},
        }
        for name in ("paimon", "iceberg")
    )
    assert {call: tuple(map(int, numbers)) for call, *numbers in found} == {
        call: (*paimon[call], *iceberg[call]) for call in paimon
    }
