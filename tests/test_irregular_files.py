"""What is no regular file is not read: a device never ends, and a pipe that nobody writes to never begins."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

import lakebed
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


@pytest.mark.parametrize("make", IRREGULAR)
@pytest.mark.parametrize("pattern", ["manifest-list-*", "manifest-[!l]*"])
def test_metadata_that_leads_to_one_is_refused_at_once(
    pattern, make, sample_table: Path, monkeypatch
) -> None:
    monkeypatch.chdir(sample_table)
    for path in (sample_table / "manifest").glob(pattern):
        path.unlink()
        make(path)
    with pytest.raises(LocationError, match="not a regular file") as caught:
        lakebed.open_table(sample_table).files().to_arrow()
    assert caught.value.path is not None


@pytest.mark.parametrize("make", IRREGULAR)
def test_a_snapshot_that_is_one_is_refused_at_once(make, sample_table: Path, monkeypatch) -> None:
    monkeypatch.chdir(sample_table)
    for path in (sample_table / "snapshot").glob("snapshot-*"):
        path.unlink()
        make(path)
    with pytest.raises(LakebedError):
        lakebed.open_table(sample_table).files().to_arrow()


def test_a_link_to_a_file_is_a_file(sample_table: Path, tmp_path: Path) -> None:
    rows = lakebed.open_table(sample_table).files().to_arrow()
    for path in list((sample_table / "manifest").iterdir()):
        moved = Path(shutil.move(path, tmp_path / path.name))
        path.symlink_to(moved)
    assert lakebed.open_table(sample_table).files().to_arrow() == rows


class Generous:
    """Local files, of which more is given than was asked for."""

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        content = Path(path).read_bytes()
        return content[start:end] + b"\0" * (0 if end is None else end)

    def list(self, prefix: str) -> list[str]:
        return [path.name for path in Path(prefix).iterdir()] if Path(prefix).is_dir() else []


def test_a_storage_that_gives_more_than_was_asked_for_is_refused() -> None:
    with pytest.raises(LakebedError, match="were asked for"):
        lakebed.open_table(SAMPLE_ICEBERG_TABLE, storage=Generous())
