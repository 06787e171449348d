"""Manifests of content entries and Mumbling bitmaps, written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import content_entries
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from content_entries import column, entry, manifest, rows
from raising import raises

from lakebed import _columnar, experimental
from lakebed.errors import CorruptError, LakebedError, SchemaError, UnsupportedError


@pytest.mark.parametrize("name", ["leaf-m0.parquet", "leaf-m0.avro", "root-4200.parquet", "bare-m0.parquet"])
def test_what_is_written_is_read_as_it_was(name: str) -> None:
    told = content_entries.writable()
    entries = experimental.read_content_entries(content_entries.file(name), metadata=told)
    written = experimental.write_content_entries(entries, metadata=told)
    assert written is not None
    again = experimental.read_content_entries(written, metadata=told)
    assert again.to_arrow() == entries.to_arrow()
    # Paths below the table's location are relative again, whatever reads them.
    stored = experimental.read_content_entries(written).to_arrow()["location"].to_pylist()
    assert not any(location.startswith(told["location"]) for location in stored)


def test_uuids_are_written_as_such_or_not_at_all() -> None:
    leaf = content_entries.file("leaf-m0.parquet")
    told = content_entries.metadata()
    entries = experimental.read_content_entries(leaf, metadata=told)
    if not content_entries.WRITES_UUIDS:
        with pytest.raises(UnsupportedError, match="writes UUIDs as mere bytes"):
            experimental.write_content_entries(entries, metadata=told)
        return
    written = experimental.write_content_entries(entries, metadata=told)
    columns = pq.read_metadata(pa.BufferReader(written)).schema
    kinds = [columns.column(number).logical_type.type for number in range(len(columns))]
    assert kinds.count("UUID") == 2


def test_a_large_manifest_has_row_groups_that_readers_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columnar, "_GROUP_BYTES", 5000)
    told = {"location": "s3://b/t", "schemas": [{"type": "struct", "fields": []}]}
    table = pa.table({name: values * 500 for name, values in GOOD.items()})
    written = experimental.write_content_entries(table, metadata=told)
    assert written is not None
    assert pq.read_metadata(pa.BufferReader(written)).num_row_groups > 10
    found = experimental.read_content_entries(written, listed={"record_count": 1000}).to_arrow()
    assert found["pos"].to_pylist() == list(range(1000))
    assert found["location"].to_pylist() == table["location"].to_pylist()


def test_all_that_an_entry_may_have_is_written(tmp_path: Path) -> None:
    told = {"location": "s3://b/t", "schemas": [{"type": "struct", "fields": []}]}
    column_file = {
        "format_version": 4,
        "field_ids": [3],
        "location": "s3://b/t/c",
        "file_format": "orc",
        "file_size_in_bytes": 7,
    }
    row = {
        "status": 1,
        "content_type": 0,
        "format_version": 4,
        "location": "s3://b/t/data/f",
        "file_format": "parquet",
        "record_count": 1,
        "file_size_in_bytes": 2,
        "latest_column_file_snapshot_id": 9,
        "column_files": [column_file | {"split_offsets": [4], "key_metadata": None}],
    }
    sink = tmp_path / "leaf.parquet"
    assert (
        experimental.write_content_entries(pa.Table.from_pylist([row]), sink, metadata=told, codec="zstd")
        is None
    )
    (found,) = rows(sink, metadata=told)
    assert {name: found[name] for name in row} == row
    (stored,) = rows(sink)
    assert (stored["location"], stored["column_files"][0]["location"]) == ("data/f", "c")
    with pytest.raises(FileExistsError):
        experimental.write_content_entries(pa.Table.from_pylist([row]), sink, metadata=told)
    with pytest.raises(ValueError, match='codec is "none"'):
        experimental.write_content_entries(pa.Table.from_pylist([row]), metadata=told, codec="lzma")


GOOD: dict[str, list[Any]] = {
    "status": [1, 1],
    "content_type": [0, 0],
    "format_version": [4, 4],
    "location": ["a", "b"],
    "file_format": ["orc", "orc"],
    "record_count": [1, 2],
    "file_size_in_bytes": [3, 4],
}
REFUSED: dict[str, tuple[dict[str, Any], str, int | None]] = {
    "a column of other manifests": ({"file_path": ["a", "b"]}, "file_path", None),
    "a status that there is not": ({"status": [1, 7]}, "status", 1),
    "position deletes": ({"content_type": [1, 0]}, "content_type", 0),
    "no location": ({"location": [None, "b"]}, "location", 0),
    "a text for a number": ({"record_count": ["1", "2"]}, "record_count", None),
    "no bitmap": ({"deleted_positions": [None, b"\x01"]}, "deleted_positions", 1),
    "a null element": ({"split_offsets": [[1, None], None]}, "split_offsets", None),
    "statistics of no column": (
        {"content_stats": [{"gone": {"value_count": 1}}, None]},
        "content_stats.gone",
        None,
    ),
    "no such statistic": ({"content_stats": [{"n": {"rows": 1}}, None]}, "content_stats.n.rows", None),
    "a bound of another type": (
        {"content_stats": [{"n": {"lower_bound": "x"}}, None]},
        "content_stats.n.lower_bound",
        None,
    ),
    "no such partition field": ({"partition": [{"city": "x"}, None]}, "partition.city", None),
    "half a vector": ({"deletion_vector": [{"location": "v"}, None]}, "deletion_vector.offset", 0),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_entry_can_hold_is_not_written(case: str, tmp_path: Path) -> None:
    changed, where, record = REFUSED[case]
    spec = {
        "spec-id": 0,
        "fields": [{"name": "part", "transform": "identity", "source-id": 1, "field-id": 1000}],
    }
    told = {"schemas": [{"type": "struct", "fields": [column(1, "n", "int")]}], "partition-specs": [spec]}
    sink = tmp_path / "leaf.parquet"
    experimental.write_content_entries(pa.table(GOOD), sink, metadata=told)
    kept = sink.read_bytes()
    with raises(SchemaError, field=where, record=record):
        experimental.write_content_entries(pa.table(GOOD | changed), sink, metadata=told, overwrite=True)
    assert sink.read_bytes() == kept


@pytest.mark.parametrize("kind", ["bitmap", "pfor"])
def test_bitmaps_are_those_of_the_vectors(kind: str) -> None:
    vectors = [vector for vector in content_entries.answers("mumbling") if vector["kind"] == kind]
    assert vectors
    for vector in vectors:
        if kind == "bitmap":
            stored, positions = bytes.fromhex(vector["hex"]), vector["positions"]
        else:
            stored, positions = of_descriptors(vector["values"], bytes.fromhex(vector["hex"]))
        if stored:
            assert experimental.decode_mumbling(stored).to_pylist() == positions
            assert experimental.encode_mumbling(positions) == stored


def of_descriptors(values: list[int], packed: bytes) -> tuple[bytes, list[int]]:
    """The bitmap of containers with so many first positions; none for values that are no sizes of those."""
    if not values or max(values) > 32 or values[-1] == 0:
        return b"", []
    positions = [256 * number + offset for number, size in enumerate(values) for offset in range(size)]
    header = b"\x01" + len(positions).to_bytes(3, "little") + len(values).to_bytes(2, "little")
    containers = b"".join(b"\xff" * 4 + b"\0" * 28 if size == 32 else bytes(range(size)) for size in values)
    return header + packed + containers, positions


def test_a_bitmap_that_is_none_is_refused() -> None:
    good = experimental.encode_mumbling([1, 5, 300])
    with pytest.raises(UnsupportedError, match="version 2"):
        experimental.decode_mumbling(b"\x02" + good[1:])
    for cut in range(len(good)):
        with pytest.raises(LakebedError):
            experimental.decode_mumbling(good[:cut])
    with pytest.raises(CorruptError, match="recorded cardinality is 4"):
        experimental.decode_mumbling(good[:1] + b"\x04" + good[2:])
    for outside in (-1, 2_097_152):
        with pytest.raises(SchemaError, match="is not a position"):
            experimental.encode_mumbling([outside])
    listed = {"manifest_info": {"dv": good[:-1]}}
    with raises(LakebedError, field="manifest_info.dv"):
        rows(manifest([entry()]), listed=listed)
