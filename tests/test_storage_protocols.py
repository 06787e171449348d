"""What a storage can do is what its class says, found out once, when a table is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows
from local_storage import LocalStorage
from nested_reads import Calling

import lakebed
from lakebed.errors import UnsupportedError
from lakebed.file_io import IcebergFiles, PaimonFiles
from lakebed.storage import (
    ArrowStorage,
    ConcurrentStorage,
    DetailListingStorage,
    FolderListingStorage,
    FsspecStorage,
    ListableStorage,
    ObstoreStorage,
    PublishingStorage,
    ReadableStorage,
    Storage,
    TimedStorage,
    WritableStorage,
)
from lakebed.storage.protocols import abilities
from shared_data import SAMPLE_TABLE

SCHEMA = pa.schema([("id", pa.int32())])
FILES = file_rows("bucket-0/a.parquet")
READS = {Storage, ReadableStorage, ListableStorage, ConcurrentStorage}
LISTS = {FolderListingStorage, DetailListingStorage, TimedStorage}
PROTOCOLS = READS | LISTS | {WritableStorage, PublishingStorage}


@pytest.mark.parametrize(
    ("kind", "fulfilled"),
    [
        (ArrowStorage, READS | LISTS),
        (FsspecStorage, READS | LISTS),
        (ObstoreStorage, PROTOCOLS),
        (IcebergFiles, READS | {WritableStorage}),
        (PaimonFiles, READS | {DetailListingStorage, TimedStorage}),
    ],
)
def test_adapters_declare_what_they_fulfil(kind: type, fulfilled: set[type]) -> None:
    assert {protocol for protocol in PROTOCOLS if protocol in kind.__mro__} == fulfilled


def test_an_object_that_reads_and_lists_is_a_storage(tmp_path: Path) -> None:
    least = LocalStorage()
    assert isinstance(least, lakebed.Storage)
    assert isinstance(least, lakebed.ReadableStorage)
    assert isinstance(least, lakebed.ListableStorage)
    assert not isinstance(least, lakebed.WritableStorage)
    table = lakebed.open_table(SAMPLE_TABLE, storage=least)
    assert table.files().to_arrow().num_rows > 0
    assert lakebed.find_tables(SAMPLE_TABLE.parent, storage=least).to_arrow().num_rows > 0


@pytest.mark.parametrize(
    ("call", "method", "protocol"),
    [
        (lambda table: table.orphans().to_arrow(), "contents", "DetailListingStorage"),
        (lambda table: table.append_files(FILES), "publish", "PublishingStorage"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, call: Any, method: str, protocol: str) -> None:
    lakebed.create_table(tmp_path / "t", SCHEMA, "paimon")
    table = lakebed.open_table(tmp_path / "t", storage=LocalStorage())
    with pytest.raises(UnsupportedError, match=rf"\b{method}\b") as caught:
        call(table)
    assert f"lakebed.storage.{protocol}" in str(caught.value)
    assert caught.value.kind == "unsupported"
    assert getattr(lakebed.storage, protocol)


def test_a_place_that_only_reads_takes_no_copy(tmp_path: Path) -> None:
    class Writes(LocalStorage):
        def write(self, path: str, data: bytes) -> None:
            raise AssertionError(path)

        remove = write

    table = lakebed.open_table(SAMPLE_TABLE)
    for storage in (LocalStorage(), Writes()):
        with pytest.raises(UnsupportedError, match=r"lakebed\.storage\.PublishingStorage"):
            lakebed.rewrite_paths(table, {table.location: "/new"}, to=tmp_path / "to", storage=storage)


class Watched(Calling):
    """Notes which of its attributes are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name not in ("asked", "inside", "calls", "place"):
            self.asked.add(name)
        return super().__getattribute__(name)


def test_what_it_has_is_asked_when_a_table_is_opened(tmp_path: Path) -> None:
    lakebed.create_table(tmp_path / "t", SCHEMA, "paimon").append_files(FILES)
    storage = Watched()
    table = lakebed.open_table(tmp_path / "t", storage=storage)
    storage.asked.clear()
    assert table.files().to_arrow().num_rows == 1
    assert storage.asked == {"read"}
    table.orphans().to_arrow()
    assert storage.asked <= {"read", "list", "folders", "contents"}


class Handing:
    """A wrapper that hands on what it does not have itself."""

    def __init__(self, storage: Calling) -> None:
        self.storage = storage

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return self.storage.read(path, start, end)

    def list(self, prefix: str) -> Any:
        return self.storage.list(prefix)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "storage":
            raise AttributeError(name)
        return getattr(self.storage, name)


def test_a_wrapper_can_do_what_it_hands_on(tmp_path: Path) -> None:
    lakebed.create_table(tmp_path / "t", SCHEMA, "paimon")
    table = lakebed.open_table(tmp_path / "t", storage=Handing(Calling()))
    table = table.append_files(FILES)
    assert table.snapshot_id == 1
    assert abilities(Handing(Calling())) == abilities(Calling())


def test_a_method_that_is_none_is_no_ability() -> None:
    class Refusing(Calling):
        publish = None  # type: ignore[assignment]

    assert abilities(Calling()).publish
    assert not abilities(Refusing()).publish
    assert abilities(Refusing()).write


@pytest.mark.parametrize(("reads", "error"), [(0, ValueError), ("many", TypeError), (-1, ValueError)])
def test_a_number_of_reads_is_a_count(reads: Any, error: type[Exception]) -> None:
    least = LocalStorage()
    least.concurrent_reads = reads  # type: ignore[attr-defined]
    with pytest.raises(error, match="concurrent_reads"):
        lakebed.open_table(SAMPLE_TABLE, storage=least)
