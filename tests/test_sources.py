"""A file is read alike from a path, from bytes of any kind, from an open file, and through a storage."""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import CorruptError, TruncatedError
from shared_data import SAMPLE_TABLE

MANIFEST = min(path for path in (SAMPLE_TABLE / "manifest").iterdir() if "list" not in path.name)
MANIFEST_LIST = max((SAMPLE_TABLE / "manifest").glob("manifest-list-*"), key=lambda path: path.stat().st_size)


def mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "str": str,
    "path": lambda path: path,
    "uri": lambda path: path.as_uri(),
    "bytes": Path.read_bytes,
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "slice": lambda path: memoryview(b"xx" + path.read_bytes())[2:],
    "arrow-buffer": lambda path: pa.py_buffer(path.read_bytes()),
    "mmap": mapped,
    "bytes-io": lambda path: io.BytesIO(path.read_bytes()),
    "pyarrow-file": lambda path: pa.OSFile(str(path)),
}


@pytest.fixture(params=SOURCES.values(), ids=list(SOURCES))
def source(request) -> Callable[[Path], Any]:
    return request.param


def test_avro_rows_schema_and_metadata(source):
    rows = lakebed.avro.read(source(MANIFEST))
    assert rows.to_arrow().num_rows > 0
    assert rows.to_arrow().equals(lakebed.avro.read(MANIFEST).to_arrow())
    assert lakebed.avro.read_schema(source(MANIFEST)) == lakebed.avro.read_schema(MANIFEST)
    assert lakebed.avro.read_metadata(source(MANIFEST)) == lakebed.avro.read_metadata(MANIFEST)
    assert lakebed.avro.read_blocks(source(MANIFEST)).equals(lakebed.avro.read_blocks(MANIFEST))


def test_paimon_files(source):
    manifest = lakebed.paimon.read_manifest(source(MANIFEST)).to_arrow()
    assert manifest.equals(lakebed.paimon.read_manifest(MANIFEST).to_arrow())
    lists = lakebed.paimon.read_manifest_list(source(MANIFEST_LIST)).to_arrow()
    assert lists.num_rows > 0
    assert lists.equals(lakebed.paimon.read_manifest_list(MANIFEST_LIST).to_arrow())
    assert lakebed.paimon.read_snapshot(source(SAMPLE_TABLE / "snapshot" / "snapshot-1"))["id"] == 1
    assert lakebed.paimon.read_schema(source(SAMPLE_TABLE / "schema" / "schema-0"))["id"] == 0


def test_bytes_are_not_copied():
    content = MANIFEST.read_bytes()
    before = pa.total_allocated_bytes()
    scan = lakebed.avro.read(content)
    assert pa.total_allocated_bytes() - before < 1024
    assert scan.schema.names


def test_the_header_and_the_blocks_agree_with_the_rows():
    rows = lakebed.avro.read(MANIFEST).to_arrow()
    blocks = lakebed.avro.read_blocks(MANIFEST)
    assert sum(blocks["row_count"].to_pylist()) == rows.num_rows
    names = [field["name"] for field in lakebed.avro.read_schema(MANIFEST)["fields"]]
    assert rows.schema.names == names
    assert lakebed.avro.read(MANIFEST, columns=names[1:3]).to_arrow().equals(rows.select(names[1:3]))


def test_every_call_takes_limits():
    small = lakebed.Limits(max_rows=1)
    with pytest.raises(lakebed.errors.LimitError, match="max_rows"):
        lakebed.avro.read(MANIFEST, limits=small).to_arrow()
    with pytest.raises(lakebed.errors.LimitError, match="max_rows"):
        lakebed.open_table(SAMPLE_TABLE, limits=small).entries().to_arrow()


@pytest.mark.parametrize("source", [None, 7, io.StringIO("text"), object()])
def test_what_is_not_a_file_is_refused(source):
    with pytest.raises(TypeError):
        lakebed.avro.read(source)


def test_errors_of_a_file_name_it_and_the_place():
    with pytest.raises(FileNotFoundError):
        lakebed.avro.read("/no/such/file").to_arrow()
    with pytest.raises(TruncatedError) as truncated:
        lakebed.avro.read(MANIFEST.read_bytes()[:-1]).to_arrow()
    assert truncated.value.kind == "truncated"
    with pytest.raises(CorruptError) as magic:
        lakebed.avro.read(b"not an avro file").to_arrow()
    assert (magic.value.kind, magic.value.offset) == ("magic", 0)


def test_a_uri_is_fetched_through_its_storage():
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/wh/manifest", MANIFEST.read_bytes())
    assert lakebed.avro.read("memory://wh/manifest").to_arrow().equals(lakebed.avro.read(MANIFEST).to_arrow())


def test_a_table_reads_alike_through_any_storage(tmp_path: Path):
    fsspec = pytest.importorskip("fsspec")
    from pyarrow import fs

    memory = fsspec.filesystem("memory")
    memory.put(str(SAMPLE_TABLE), "/wh/orders", recursive=True)
    local = lakebed.open_table(SAMPLE_TABLE).files(columns=["partition", "record_count"]).to_arrow()
    for path, storage in [
        ("memory://wh/orders", None),
        ("memory://wh/orders", memory),
        (str(SAMPLE_TABLE), fs.LocalFileSystem()),
        (SAMPLE_TABLE.name, fs.SubTreeFileSystem(str(SAMPLE_TABLE.parent), fs.LocalFileSystem())),
        (SAMPLE_TABLE.as_uri(), None),
    ]:
        table = lakebed.open_table(path, storage=storage)
        assert table.files(columns=["partition", "record_count"]).to_arrow().equals(local), path
