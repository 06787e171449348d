"""What a manifest says of itself in its header is what its list says of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed import iceberg
from lakebed.errors import CorruptError, LakebedWarning

KEY = b"\x22partition-spec-id"


def made(path: Path) -> lakebed.Table:
    table = iceberg.create_table(path / "t", pa.schema([("id", pa.int64())]))
    files = pa.table({"file_path": ["data/f.parquet"], "record_count": [1], "file_size_in_bytes": [1]})
    return iceberg.append_files(table, files)


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
    ids=["absent", "crooked"],
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
