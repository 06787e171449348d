"""Single files are read through any storage, each function as from the bytes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from raising import raises

import lakebed
from lakebed import avro, iceberg, paimon
from lakebed.errors import LakebedError, UnsupportedError
from lakebed.scan import Scan
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE, data_root

# Each with the position 4, as Paimon writes it after its first byte.
PAIMON_VECTOR = bytes.fromhex("0100000016 5e43f2d0 3a300000 01000000 0000 0000 10000000 0400 875ca5d7")
ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


def one(root: Path, pattern: str) -> bytes:
    return min(root.glob(pattern)).read_bytes()


def index_manifest() -> bytes:
    root = data_root("golden", "paimon")
    assert root is not None
    return one(root, "append_dv/manifest/index-manifest-*")


def puffin_vector() -> bytes:
    """As in a Puffin file: a length, the bitmap of Paimon's 64-bit form, a checksum."""
    return bytes.fromhex(
        "00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0200 0300 7a813847"
    )


CONTENTS: dict[str, Callable[[], bytes]] = {
    "avro.read": lambda: avro.write(ROWS) or b"",
    "avro.read_blocks": lambda: avro.write(ROWS) or b"",
    "avro.read_metadata": lambda: avro.write(ROWS, sync=b"0" * 16) or b"",
    "avro.read_schema": lambda: avro.write(ROWS) or b"",
    "paimon.read_deletion_vector": lambda: PAIMON_VECTOR,
    "paimon.read_hash_index": lambda: b"\0\0\0\1\0\0\0\2",
    "paimon.read_index_manifest": index_manifest,
    "paimon.read_manifest": lambda: one(SAMPLE_TABLE, "manifest/manifest-[0-9a-f]*-0"),
    "paimon.read_manifest_list": lambda: one(SAMPLE_TABLE, "manifest/manifest-list-*"),
    "paimon.read_schema": lambda: one(SAMPLE_TABLE, "schema/schema-0"),
    "paimon.read_snapshot": lambda: one(SAMPLE_TABLE, "snapshot/snapshot-1"),
    "iceberg.read_deletion_vector": puffin_vector,
    "iceberg.read_manifest": lambda: one(SAMPLE_ICEBERG_TABLE, "metadata/*-m0.avro"),
    "iceberg.read_manifest_list": lambda: one(SAMPLE_ICEBERG_TABLE, "metadata/snap-*"),
    "iceberg.read_metadata": lambda: one(SAMPLE_ICEBERG_TABLE, "metadata/v1.metadata.json"),
}
PLACES = {"paimon.read_deletion_vector": (1, 22), "iceberg.read_deletion_vector": (0, 44)}
EACH = pytest.mark.parametrize("name", CONTENTS)


class Own:
    """A storage of one's own, with one file."""

    def __init__(self, content: Any) -> None:
        self.content = content
        self.asked: list[tuple[str, int | None, int | None]] = []

    def read(self, path: str, start: int | None = None, end: int | None = None) -> Any:
        """What is there."""
        self.asked.append((path, start, end))
        return self.content[start:end]

    def list(self, prefix: str) -> list[str]:
        """Nobody asks."""
        raise AssertionError(prefix)


def read(name: str, source: Any, **how: Any) -> Any:
    module, function = name.split(".")
    given = getattr(getattr(lakebed, module), function)(source, *PLACES.get(name, ()), **how)
    return given.to_arrow() if isinstance(given, Scan) else given


def test_every_function_that_reads_a_file_takes_a_storage() -> None:
    modules = (avro, paimon, iceberg)
    readers = {
        f"{module.__name__.removeprefix('lakebed.')}.{name}"
        for module in modules
        for name in module.__all__
        if name.startswith("read")
    }
    assert readers == CONTENTS.keys()
    for name in readers:
        module, function = name.split(".")
        parameter = inspect.signature(getattr(getattr(lakebed, module), function)).parameters["storage"]
        assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None)


@EACH
def test_a_storage_of_ones_own_is_read(name: str) -> None:
    content = CONTENTS[name]()
    expected = read(name, content)
    for made in (bytes, memoryview, bytearray):
        own = Own(made(content))
        assert read(name, "own://bucket/file", storage=own) == expected
        assert [path for path, _, _ in own.asked] == ["own://bucket/file"]
    # Of a vector its bytes alone.
    assert (own.asked[0][1] is not None) is (name in PLACES)


@EACH
def test_a_filesystem_and_a_library_by_name_are_read(name: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(CONTENTS[name]())
    expected = read(name, file)
    assert read(name, file, storage=pafs.LocalFileSystem()) == expected
    assert read(name, str(file), storage="fsspec") == expected
    with raises(FileNotFoundError, match="nothing", filename=str(tmp_path / "nothing")):
        read(name, tmp_path / "nothing", storage="pyarrow")


@EACH
def test_errors_name_the_file_that_a_storage_read(name: str) -> None:
    uri = "own://key:c4n4ry@bucket/file?sig=c4n4ry"
    with raises(LakebedError, path="own://bucket/file") as caught:
        read(name, uri, storage=Own(b"{ no such file"))
    assert "c4n4ry" not in str(caught.value)


def test_a_reader_shows_the_file_that_a_storage_read() -> None:
    own = Own(CONTENTS["avro.read"]())
    scan = avro.read("own://key:c4n4ry@bucket/file", storage=own)
    assert "records of 'own://bucket/file'" in repr(scan)


@EACH
def test_what_is_no_path_has_no_storage(name: str) -> None:
    with pytest.raises(TypeError, match="storage= reads a path or URI, not bytes"):
        read(name, b"", storage=Own(b""))
    with pytest.raises(TypeError, match="storage= takes"):
        read(name, "/file", storage=7)
    with pytest.raises(UnsupportedError, match="pass storage="):
        read(name, "nosuch://bucket/file")


def test_what_a_storage_raises_comes_as_it_is() -> None:
    class Failing(Own):
        def read(self, path: str, start: int | None = None, end: int | None = None) -> Any:
            raise PermissionError(13, "no", path)

    with raises(PermissionError, filename="own://bucket/file"):
        paimon.read_manifest_list("own://bucket/file", storage=Failing(b""))
