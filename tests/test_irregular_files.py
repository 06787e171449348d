"""What is no regular file is not read: a device never ends, and a pipe that nobody writes to never begins."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from local_storage import LocalStorage

import lakebed
from iceberg_golden import golden_iceberg_tables
from lakebed.errors import LakebedError, LocationError
from shared_data import SAMPLE_ICEBERG_TABLE

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices"),
    pytest.mark.timeout(20),
]


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


IRREGULAR = [device, os.mkfifo, bound]


def replaced(folder: Path, pattern: str, make: Callable[[Path], None], monkeypatch) -> list[Path]:
    monkeypatch.chdir(folder)
    paths = list(folder.glob(pattern))
    for path in paths:
        path.unlink()
        make(path)
    return paths


@pytest.mark.parametrize("make", IRREGULAR)
@pytest.mark.parametrize("pattern", ["manifest-list-*", "manifest-[!l]*"])
def test_metadata_that_leads_to_one_is_refused_at_once(
    pattern, make, sample_table: Path, monkeypatch
) -> None:
    replaced(sample_table / "manifest", pattern, make, monkeypatch)
    with pytest.raises(LocationError, match="not a regular file") as caught:
        lakebed.open_table(sample_table).files().to_arrow()
    assert caught.value.path is not None


@pytest.mark.parametrize("make", IRREGULAR)
def test_a_snapshot_that_is_one_is_refused_at_once(make, sample_table: Path, monkeypatch) -> None:
    replaced(sample_table / "snapshot", "snapshot-*", make, monkeypatch)
    with pytest.raises(LakebedError):
        lakebed.open_table(sample_table).files().to_arrow()


def test_a_link_to_a_file_is_a_file(sample_table: Path, tmp_path: Path) -> None:
    rows = lakebed.open_table(sample_table).files().to_arrow()
    for path in list((sample_table / "manifest").iterdir()):
        moved = Path(shutil.move(path, tmp_path / path.name))
        path.symlink_to(moved)
    assert lakebed.open_table(sample_table).files().to_arrow() == rows


class Generous(LocalStorage):
    """Local files, of which more is given than was asked for."""

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return super().read(path, start, end) + b"\0" * (0 if end is None else end)


def test_a_storage_that_gives_more_than_was_asked_for_is_refused() -> None:
    with pytest.raises(LakebedError, match="were asked for"):
        lakebed.open_table(SAMPLE_ICEBERG_TABLE, storage=Generous())


def opened_by(storage: str) -> object:
    """A storage over local files of another library, wrapped or not."""
    import fsspec
    import pyarrow.fs as pafs
    from fsspec.implementations.dirfs import DirFileSystem

    local = fsspec.filesystem("file")
    return {
        "core": lambda: None,
        "pyarrow": pafs.LocalFileSystem,
        "pyarrow below": lambda: pafs.SubTreeFileSystem("/", pafs.LocalFileSystem()),
        "fsspec": lambda: local,
        "fsspec below": lambda: DirFileSystem("/", local),
        "fsspec in pyarrow": lambda: pafs.PyFileSystem(pafs.FSSpecHandler(local)),
    }[storage]()


STORAGES = ["core", "pyarrow", "pyarrow below", "fsspec", "fsspec below", "fsspec in pyarrow"]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("make", IRREGULAR)
@pytest.mark.parametrize(
    "pattern",
    [
        "metadata/version-hint.text",
        "metadata/*.json",
        "metadata/snap-*",
        "metadata/*-m?.avro",
        "data/*.puffin",
    ],
)
def test_metadata_of_iceberg_that_leads_to_one_is_refused_at_once(
    pattern: str, make, storage: str, tmp_path: Path, monkeypatch
) -> None:
    table = next(table for table in golden_iceberg_tables() if table.name == "dv_v3")
    copy = Path(shutil.copytree(table.path, tmp_path / "t"))
    folder, _, name = pattern.rpartition("/")
    assert replaced(copy / folder, name, make, monkeypatch)
    moved = dict.fromkeys(table.relocate, str(copy))

    def read() -> None:
        opened = lakebed.open_table(copy, storage=opened_by(storage), relocate=moved)
        opened.plan().to_arrow()
        opened.metadata_table("position_deletes").to_arrow()

    with pytest.raises(LocationError, match="not a regular file") as caught:
        read()
    assert caught.value.path is not None


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("make", IRREGULAR)
def test_a_table_that_is_one_is_not_only_not_found(make, storage: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "t")
    for name in (None, "paimon", "iceberg"):
        with pytest.raises(LocationError, match="not a regular file"):
            lakebed.open_table(tmp_path / "t", format=name, storage=opened_by(storage))


@pytest.mark.parametrize("make", IRREGULAR)
@pytest.mark.parametrize(
    "read", [lakebed.avro.read, lakebed.avro.read_metadata, lakebed.iceberg.read_manifest]
)
def test_a_single_file_that_is_one_is_refused_at_once(read, make, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "f.avro")
    with pytest.raises(LocationError, match="not a regular file"):
        read(tmp_path / "f.avro").to_arrow()


class Metered(LocalStorage):
    """Local files, and how many bytes of each were asked for at most."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        content = super().read(path, start, end)
        self.taken[path] = max(self.taken.get(path, 0), len(content))
        return content


def test_a_manifest_that_grew_is_no_longer_than_limits_allow(sample_table: Path) -> None:
    """Its list records how long it was, so one byte more says that it has grown."""
    manifests = {
        str(path): path.stat().st_size for path in (sample_table / "manifest").glob("manifest-[!l]*")
    }
    metered = Metered()
    lakebed.open_table(sample_table, storage=metered).files().to_arrow()
    assert metered.taken.items() >= manifests.items()
    most = 10_000
    for path in manifests:
        with Path(path).open("ab") as file:
            file.truncate(10 * most)
    metered = Metered()
    limits = lakebed.Limits(max_file_bytes=most)
    with pytest.raises(LakebedError, match="max_file_bytes"):
        lakebed.open_table(sample_table, storage=metered, limits=limits).files().to_arrow()
    assert max(metered.taken.values()) <= most + 1
