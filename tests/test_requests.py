"""How many requests each call makes of its storage, on the tables that come with the project.

The numbers are those of today, so that a change of them is seen and meant. `docs/requests.md` has them for
users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from counting_storage import CountingStorage

import lakebed
from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE, sample_of

THREADS, WIDTH = 2, 6
"""Of decoding and of reading: fixed, since with a limit what is read ahead depends on them."""


@dataclass(frozen=True)
class Call:
    """A call, and the reads and listings that it makes after opening; with a limit, the most reads."""

    name: str
    reads: int
    listings: int = 0

    def rows(self, table: Any, ids: list[int], times: list[Any]) -> int:
        """How many rows it gives; `at` and `refresh` give a table, not rows."""
        view, _, options = self.name.removesuffix(")").partition("(")
        if view == "at":
            return int(table.at(timestamp=times[3]).snapshot_id == ids[3])
        if view == "refresh":
            return int(table.refresh().snapshot_id == ids[-1])
        if view == "diff":
            return int(table.diff(ids[0], ids[-1], threads=THREADS).to_arrow().num_rows)
        if view in JOBS:
            # A filter that leaves out what manifests name, and a listing of what lies there.
            more: dict[str, Any] = {"filter": "kind = 'manifest'"} if options.startswith("kind") else {}
            more |= {"listing": pa.table(LISTED)} if view == "orphans" else {}
            # By the tables' own rules it would have rows from some day on.
            more |= {"older_than": LONG_AGO} if view == "expire_plan" else {}
            return int(getattr(table, view)(threads=THREADS, **more).to_arrow().num_rows)
        if options == "header":
            return int(table.manifests(columns=["path", "header"]).to_arrow().num_rows)
        limit = {"limit": int(options.removeprefix("limit="))} if options else {}
        threads = {"threads": THREADS} if view in WIDE else {}
        return int(getattr(table, view)(**limit, **threads).to_arrow().num_rows)

    def __str__(self) -> str:
        return self.name


WIDE = ("files", "plan", "partitions")
JOBS = ("reachable", "orphans", "expire_plan", "growth", "file_history", "verify")
# A file of each table: a listing without any is refused.
OF_TABLES = [
    min(SAMPLE_TABLE.glob("manifest/manifest-list-*")),
    max(SAMPLE_ICEBERG_TABLE.glob("metadata/*.json")),
]
LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
LISTED = {"path": [str(file) for file in OF_TABLES], "modified": [LONG_AGO] * len(OF_TABLES)}
WITHOUT_ROWS = ("files(limit=0)", "orphans(listing=…)", "expire_plan(older_than=…)", "verify()")
OPENING = {"paimon": (5, 1), "iceberg": (8, 1)}
CALLS = {
    "paimon": [
        Call("files()", 12),
        # The files of its first three manifests are all deleted.
        Call("files(limit=1)", 11),
        Call("files(limit=0)", 0),
        Call("plan()", 12),
        Call("partitions()", 12),
        Call("diff(first, last)", 17),
        Call("at(timestamp=…)", 8, 1),
        Call("refresh()", 4, 1),
        Call("manifests()", 2),
        Call("snapshots()", 10, 1),
        Call("schemas()", 1, 1),
        Call("refs()", 4, 2),
        Call("reachable()", 46, 6),
        Call("reachable(kind = 'manifest')", 36, 6),
        Call("orphans(listing=…)", 50, 9),
        Call("expire_plan(older_than=…)", 51, 10),
        Call("growth()", 39, 1),
        Call("file_history()", 39, 1),
        Call("verify()", 46, 9),
    ],
    "iceberg": [
        Call("files()", 11),
        Call("files(limit=1)", 3),
        Call("files(limit=0)", 0),
        Call("plan()", 11),
        Call("partitions()", 11),
        Call("diff(first, last)", 13),
        Call("at(timestamp=…)", 0),
        Call("refresh()", 7),
        Call("manifests()", 1),
        Call("manifests(header)", 11),
        Call("snapshots()", 0),
        Call("schemas()", 0),
        Call("refs()", 0),
        Call("reachable()", 24),
        Call("reachable(kind = 'manifest')", 11),
        Call("orphans(listing=…)", 31),
        Call("expire_plan(older_than=…)", 31),
        Call("growth()", 23),
        Call("file_history()", 23),
        Call("verify()", 42),
    ],
}


def test_a_metadata_file_is_all_that_is_read_to_open_it() -> None:
    metadata = max((SAMPLE_ICEBERG_TABLE / "metadata").glob("*.metadata.json"))
    storage = CountingStorage()
    table = lakebed.open_table(str(metadata), storage=storage, relocate=SAMPLE_MOVED)
    assert table.format == "iceberg"
    assert ({path for path, _, _ in storage.reads}, len(storage.reads)) == ({str(metadata)}, 1)
    assert not storage.listings


def opened(format_name: str, width: int, seconds: float) -> tuple[Any, CountingStorage]:
    """The sample table of a format, behind a storage that counts."""
    storage = CountingStorage(seconds, concurrent_reads=width)
    return sample_of(format_name, storage), storage


def asked(format_name: str, call: Call, width: int = WIDTH, seconds: float = 0) -> CountingStorage:
    """What that call alone asked, its rows read to the end."""
    table, storage = opened(format_name, width, seconds)
    snapshots = table.snapshots().to_arrow()
    ids, times = (snapshots.column(name).to_pylist() for name in ("snapshot_id", "committed_at"))
    storage.forget()
    rows = call.rows(table, ids, times)
    limit = re.search(r"limit=(\d+)", call.name)
    assert rows == int(limit[1]) if limit else (rows > 0 or call.name in WITHOUT_ROWS)
    return storage


@pytest.mark.parametrize("format_name", OPENING)
def test_opening_asks_so_often(format_name: str) -> None:
    _, storage = opened(format_name, WIDTH, 0)
    assert (len(storage.reads), len(storage.listings)) == OPENING[format_name]


EACH_CALL = [pytest.param(name, call, id=f"{name}-{call}") for name, calls in CALLS.items() for call in calls]


@pytest.mark.parametrize(("format_name", "call"), EACH_CALL)
def test_a_call_asks_so_often(format_name: str, call: Call) -> None:
    storage = asked(format_name, call)
    assert len(storage.listings) == call.listings
    if call.name == "files(limit=1)":
        # How far the look-ahead comes before the reader stops is a matter of time.
        assert len(storage.reads) <= call.reads
    else:
        assert len(storage.reads) == call.reads


@pytest.mark.parametrize("format_name", OPENING)
def test_a_filter_on_the_views_columns_reads_nothing_more(format_name: str) -> None:
    table, storage = opened(format_name, WIDTH, 0)
    ids = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    storage.forget()
    added = table.diff(ids[0], ids[-1], columns=["file_path"], filter="change = 'added'").to_arrow()
    assert added.num_rows > 0
    assert added.column_names == ["file_path"]
    assert len(storage.reads) == next(call.reads for call in CALLS[format_name] if "diff" in call.name)


@pytest.mark.parametrize(("format_name", "call"), EACH_CALL)
def test_a_storage_is_never_asked_for_more_at_once_than_it_serves(format_name: str, call: Call) -> None:
    assert asked(format_name, call, width=2, seconds=0.002).most_at_once <= 2


@pytest.mark.parametrize(("format_name", "call"), EACH_CALL)
def test_no_manifest_is_asked_for_twice(format_name: str, call: Call) -> None:
    manifests = asked(format_name, call).manifests()
    assert len(manifests) == len(set(manifests))


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


def test_a_time_finds_the_snapshot_that_was_the_latest_then() -> None:
    table, _ = opened("paimon", WIDTH, 0)
    snapshots = table.snapshots().to_arrow()
    millis = [int(time.timestamp() * 1000) for time in snapshots.column("committed_at").to_pylist()]
    for snapshot_id, time, end in zip(
        snapshots.column("snapshot_id").to_pylist(), millis, [*millis[1:], millis[-1] + 9], strict=True
    ):
        for asked_for in (time, end - 1):
            assert table.at(timestamp=asked_for).snapshot_id == snapshot_id
    with pytest.raises(lakebed.errors.SnapshotNotFoundError):
        table.at(timestamp=millis[0] - 1)
