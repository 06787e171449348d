"""Removing and moving files on stores, by each library: requests, odd names, and what a server refuses."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import object_store
import pyarrow as pa
import pytest
import small_tables
from file_rows import file_rows
from object_store import Answer, Asked

import lakebed
from lakebed import Table
from shared_data import SAMPLE_TABLE

LIBRARIES = ("obstore", "pyarrow", "fsspec")
NAMES = ("data-lost-0", "data-[0-9]*?", "data-lost 1%20", "data-lost-2#3", "data-ünï")
"""Of files that nothing names: to some libraries these are patterns, or escaped."""

NOW = timedelta(0)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    for library in LIBRARIES:
        pytest.importorskip("s3fs" if library == "fsspec" else library)
    with object_store.server() as address:
        yield address


class OnStore:
    """A partitioned Paimon table with a tag on a server, and files in one bucket that nothing names."""

    bucket = "dt=2026-01-01/bucket-0"

    def __init__(self, address: str, library: str, prefix: str) -> None:
        self.prefix, self.library = prefix, library
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "t")
            schema = pa.schema([("id", pa.int64()), ("dt", pa.string())])
            properties = {"bucket": "-1"}
            table = lakebed.create_table(folder, schema, "paimon", partition_by=["dt"], properties=properties)
            for dt in ("2026-01-01", "2026-01-02"):
                path = small_tables.data(folder, f"dt={dt}/bucket-0/data-a.parquet")
                table = table.append_files(file_rows(path, partition={"dt": dt}, bucket=0))
            (folder / "tag").mkdir()
            shutil.copy(folder / "snapshot" / "snapshot-2", folder / "tag" / "tag-kept")
            object_store.upload(address, folder, f"{prefix}/t")
        self.store = object_store.client("obstore", address, token=False)
        # Beside the files whose names are patterns, one that those match.
        for name in (*NAMES, "data-7x"):
            self.store.put(f"{prefix}/t/{self.bucket}/{name}.parquet", b"lost")
        self.uri = f"s3://{object_store.BUCKET}/{prefix}/t"

    def opened(self, address: str) -> Table:
        return lakebed.open_table(self.uri, storage=object_store.client(self.library, address))

    def names(self, below: str) -> set[str]:
        listed = [file for files in self.store.list(f"{self.prefix}/{below}") for file in files]
        return {file["path"].removeprefix(f"{self.prefix}/{below}/") for file in listed if file["size"]}


@pytest.mark.parametrize("library", LIBRARIES)
def test_many_are_removed_by_one_request_where_there_is_one(server: str, tmp_path: Path, library: str):
    made = OnStore(server, library, f"removed-{library}")
    before = made.names("t")
    with object_store.proxy(server) as (address, proxy):
        table = made.opened(address)
        rows = table.orphans(NOW).to_arrow()
        names = [Path(path).stem for path in rows["file_path"].to_pylist()]
        assert set(names) >= {*NAMES, "data-7x"}
        rows = rows.filter([name != "data-7x" for name in names])
        proxy.forget()
        done = lakebed.apply(rows, table, log=tmp_path / "log", younger=NOW)
    assert done.counts == {"removed": len(NAMES)}
    assert before - made.names("t") == {f"{made.bucket}/{name}.parquet" for name in NAMES}
    asked = [
        one
        for one in proxy.asked
        if one.method == "DELETE" or (one.method == "POST" and "delete" in one.path)
    ]
    assert len(asked) == (len(NAMES) if library == "pyarrow" else 1)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_quarantine_on_a_store_is_restored(server: str, tmp_path: Path, library: str):
    made = OnStore(server, library, f"moved-{library}")
    table, before = made.opened(server), made.names("t")
    rows = table.orphans(NOW).to_arrow()
    quarantine = f"{made.uri.removesuffix('/t')}/quarantine"
    done = lakebed.apply(rows, table, quarantine, log=tmp_path / "log", younger=NOW)
    assert done.counts == {"moved": len(NAMES) + 1}
    lost = {f"{made.bucket}/{name}.parquet" for name in (*NAMES, "data-7x")}
    assert (made.names("quarantine"), before - made.names("t")) == (lost, lost)
    made.store.put(f"{made.prefix}/t/{made.bucket}/data-7x.parquet", b"another")
    back = lakebed.restore(tmp_path / "log", table)
    assert back.counts == {"restored": len(NAMES), "failed": 1}
    assert made.names("t") == before
    assert bytes(made.store.get(f"{made.prefix}/t/{made.bucket}/data-7x.parquet").bytes()) == b"another"


def test_files_of_a_store_in_memory(tmp_path: Path):
    store = pytest.importorskip("obstore.store").MemoryStore()
    for file in SAMPLE_TABLE.rglob("*"):
        if file.is_file():
            store.put(f"t/{file.relative_to(SAMPLE_TABLE)}", file.read_bytes())
    path = "t/dt=2026-01-01/region=emea/bucket-0/data-lost.parquet"
    store.put(path, b"lost")
    table = lakebed.open_table("t", storage=store)
    rows = table.orphans(NOW).to_arrow()
    assert lakebed.apply(rows, table, "q", log=tmp_path / "log", younger=NOW).counts == {"moved": 1}
    (listed,) = (file for files in store.list("q") for file in files)
    assert listed["path"] == path.replace("t/", "q/", 1)
    assert lakebed.restore(tmp_path / "log", table).counts == {"restored": 1}
    time.sleep(0.01)
    assert lakebed.apply(table.orphans(NOW).to_arrow(), table, log=tmp_path / "2", younger=NOW).counts == {
        "removed": 1
    }


class OnlyReads:
    """A storage that says what files are, and has no other ability."""

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return Path(path).read_bytes()[start:end]

    def list(self, prefix: str) -> Any:
        return [one.name for one in Path(prefix).iterdir()] if Path(prefix).is_dir() else []

    def contents(self, prefix: str) -> Any:
        stats = [(one, one.stat()) for one in Path(prefix).iterdir()]
        return [(one.name, one.is_dir(), stat.st_size, int(stat.st_mtime * 1000)) for one, stat in stats]


def test_a_storage_that_removes_nothing_is_refused(tmp_path: Path):
    made = small_tables.paimon(tmp_path / "t", "bucket-0/data-a.parquet")
    (lost,) = small_tables.lost(tmp_path / "t" / "bucket-0" / "data-lost.parquet")
    table = lakebed.open_table(made.location, storage=OnlyReads())
    rows = table.orphans(NOW).to_arrow()
    assert rows.num_rows == 1
    with pytest.raises(lakebed.errors.UnsupportedError, match="removes no files"):
        lakebed.apply(rows, table, log=tmp_path / "log")
    assert Path(lost).exists()


DENIED = b"<Code>AccessDenied</Code><Message>no</Message>"


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_server_that_refuses_one_file_of_many(server: str, tmp_path: Path, library: str):
    """In its answer to the request for many, and to that for the file alone."""
    made = OnStore(server, library, f"refused-{library}")
    refused = f"{made.prefix}/t/{made.bucket}/data-7x.parquet"

    def breaks(asked: Asked, answer: Answer, _headers: dict[str, str]) -> Answer:
        headers = {"Content-Type": "application/xml"}
        # obstore asks in this way for a file alone too, and wants no word of files that it did not ask for.
        is_of_it = library != "obstore" or b"data-7x" in answer.body
        if asked.method == "POST" and "delete" in asked.path and is_of_it:
            errors = b"<Error><Key>" + refused.encode() + b"</Key>" + DENIED + b"</Error>"
            return Answer(200, headers, b"<DeleteResult>" + errors + b"</DeleteResult>")
        if asked.method == "DELETE" and "data-7x" in asked.path:
            return Answer(403, headers, b"<Error>" + DENIED + b"</Error>")
        return answer

    with object_store.proxy(server) as (address, proxy):
        table = made.opened(address)
        rows = table.orphans(NOW).to_arrow()
        proxy.breaks = breaks
        done = lakebed.apply(rows, table, log=tmp_path / "log", younger=NOW)
    assert done.counts == {"removed": len(NAMES), "failed": 1}
    (failed,) = (row for row in done.rows.to_pylist() if row["outcome"] == "failed")
    assert failed["file_path"].endswith("/data-7x.parquet")
    assert failed["reason"]
    assert not {f"{made.bucket}/{name}.parquet" for name in NAMES} & made.names("t")
