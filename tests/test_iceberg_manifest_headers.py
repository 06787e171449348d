"""What a manifest says of itself in its header is what its list says of it, and is shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_rows import file_rows

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.errors import CorruptError, LakebedWarning

KEY = b"\x22partition-spec-id"


def made(path: Path) -> lakebed.Table:
    table = lakebed.create_table(path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    return table.append_files(file_rows("data/f.parquet"))


def patch(table: lakebed.Table, old: bytes, new: bytes) -> None:
    """Changes the header of the only manifest, whose length stays what it was."""
    (path,) = table.manifests().to_arrow()["path"].to_pylist()
    content = Path(path).read_bytes()
    assert content.count(old) == 1
    assert len(old) == len(new)
    Path(path).write_bytes(content.replace(old, new))


@pytest.mark.parametrize("view", ["files", "entries", "plan"])
def test_another_partition_spec_is_refused(view: str, tmp_path: Path) -> None:
    table = made(tmp_path)
    patch(table, KEY + b"\x020", KEY + b"\x027")
    with pytest.raises(CorruptError, match="partition-spec-id is 7, its list has 0") as caught:
        getattr(table, view)().to_arrow()
    assert caught.value.kind == "mismatch"
    assert caught.value.field == "partition_spec_id"
    assert caught.value.path is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [(KEY, b"\x22partition-spec-ix"), (KEY + b"\x020", KEY + b"\x02x")],
    ids=["absent", "malformed"],
)
def test_a_header_that_does_not_say_it_is_believed_to_agree(old: bytes, new: bytes, tmp_path: Path) -> None:
    table = made(tmp_path)
    rows = table.entries().to_arrow()
    patch(table, old, new)
    assert table.entries().to_arrow() == rows


def test_a_later_format_version_than_the_tables_is_a_warning(tmp_path: Path) -> None:
    table = made(tmp_path)
    rows = table.entries().to_arrow()
    patch(table, b"\x1cformat-version\x022", b"\x1cformat-version\x023")
    with pytest.warns(LakebedWarning, match="the header's format-version is 3, the table's is 2"):
        assert table.entries().to_arrow() == rows


ENCRYPTED = {"format_version": 4, "partition_spec_id": 0, "schema_id": 0}
"""What encrypted manifests in Parquet hold, which peers do not read by a key."""


def said(content: bytes) -> dict[str, Any]:
    """What the header or footer of a manifest holds, as fastavro or pyarrow reads it."""
    if content.startswith(b"PAR1"):
        footer = pq.read_metadata(io.BytesIO(content)).metadata
        header = {key.decode(): value.decode() for key, value in footer.items()}
    else:
        header = fastavro.reader(io.BytesIO(content)).metadata
    schema = json.loads(header["schema"])
    numbers = {
        "format_version": header.get("format-version"),
        "partition_spec_id": header.get("partition-spec-id"),
        "schema_id": header.get("schema-id", schema.get("schema-id")),
    }
    known = {name: None if number is None else int(number) for name, number in numbers.items()}
    return {"content": header.get("content"), **known}


@each_golden_iceberg_table()
def test_headers_are_shown_where_they_are_named(table: GoldenTable) -> None:
    opened = table.open()
    rows = opened.manifests(columns=["path", "content", "header"]).to_arrow().to_pylist()
    assert [row["path"] for row in rows] == opened.manifests().to_arrow()["path"].to_pylist()
    for row in rows:
        content = table.plain(row["path"])
        encrypted = {**ENCRYPTED, "content": ("data", "deletes")[row["content"]]}
        assert row["header"] == (encrypted if content is None else said(content)), row["path"]
    assert "header" not in opened.manifests().to_arrow().column_names


def test_the_key_of_the_header_goes_before_the_id_in_its_schema(tmp_path: Path) -> None:
    table = made(tmp_path)
    (header,) = table.manifests(columns=["header"]).to_arrow()["header"].to_pylist()
    assert header == {"content": "data", "format_version": 2, "partition_spec_id": 0, "schema_id": 0}
    patch(table, b"\x12schema-id\x020", b"\x12schema-id\x027")
    (header,) = table.manifests(columns=["header"]).to_arrow()["header"].to_pylist()
    assert header["schema_id"] == 7


def test_a_header_longer_than_one_read_is_read_whole(tmp_path: Path) -> None:
    columns = pa.schema([(f"a_rather_long_name_of_column_{number:06}", pa.int64()) for number in range(2000)])
    table = lakebed.create_table(tmp_path / "t", columns, "iceberg")
    table = table.append_files(file_rows("data/f.parquet"))
    rows = table.manifests(columns=["length", "header"]).to_arrow().to_pylist()
    assert [row["header"]["schema_id"] for row in rows] == [0]
    assert rows[0]["length"] > 2 * 64 * 1024


def test_a_header_that_cannot_be_read_is_an_error_where_it_is_named(tmp_path: Path) -> None:
    table = made(tmp_path)
    (path,) = table.manifests().to_arrow()["path"].to_pylist()
    Path(path).write_bytes(Path(path).read_bytes()[:100])
    assert table.manifests().to_arrow().num_rows == 1
    with pytest.raises(CorruptError) as caught:
        table.manifests(columns=["header"]).to_arrow()
    assert caught.value.path == path
