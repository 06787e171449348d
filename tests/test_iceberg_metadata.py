"""One `metadata.json` alone: every version and writer, compressed or not, and every way to be broken."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from raising import raises

import lakebed
from lakebed.errors import CorruptError, LakebedError, LimitError, TruncatedError, UnsupportedError
from shared_data import each_shared_file

FIELD = {"id": 1, "name": "a", "required": True, "type": "long"}
SNAPSHOT = {
    "snapshot-id": 9007199254740993,
    "sequence-number": 2,
    "timestamp-ms": 1602638573590,
    "manifest-list": "s3://bucket/t/metadata/snap.avro",
    "summary": {"operation": "append"},
}
METADATA: dict[str, Any] = {
    "format-version": 2,
    "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "s3://bucket/t",
    "last-sequence-number": 2,
    "last-updated-ms": 1602638573590,
    "last-column-id": 1,
    "current-schema-id": 0,
    "schemas": [{"type": "struct", "schema-id": 0, "fields": [FIELD]}],
    "default-spec-id": 0,
    "partition-specs": [{"spec-id": 0, "fields": []}],
    "last-partition-id": 999,
    "default-sort-order-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "current-snapshot-id": 9007199254740993,
    "snapshots": [SNAPSHOT],
}


def parsed(path: Path) -> Any:
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def read(source: Any) -> dict[str, Any] | LakebedError:
    """What is read, or why it is not."""
    try:
        return lakebed.iceberg.read_metadata(source)
    except LakebedError as error:
        return error


@each_shared_file("iceberg/**/*.json")
def test_metadata_of_every_writer_is_read_as_stored_or_refused(file: Path):
    stored, found = parsed(file), read(file)
    if not isinstance(found, LakebedError):
        assert found == stored
        return
    is_later = stored.get("format-version", 0) > 3
    assert isinstance(found, UnsupportedError if is_later else CorruptError)
    assert found.path == str(file)
    assert "\n" not in str(found)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_compression_is_known_by_the_first_bytes(tmp_path: Path, compress):
    content = compress(json.dumps(METADATA, indent=2).encode())
    (tmp_path / "v1.gz.metadata.json").write_bytes(content)
    for source in (content, memoryview(content), tmp_path / "v1.gz.metadata.json"):
        assert lakebed.iceberg.read_metadata(source) == METADATA


WITHOUT_TIME = SNAPSHOT | {"timestamp-ms": "now"}
WITHOUT_NAMES = {"type": "struct", "fields": [{"id": 1}]}


def changed(**changes: Any) -> dict[str, Any]:
    """The metadata with other values; keys that are None are left out."""
    renamed = {key.replace("_", "-"): value for key, value in changes.items()}
    return {key: value for key, value in (METADATA | renamed).items() if value is not None}


@pytest.mark.parametrize(
    ("metadata", "error", "kind", "field"),
    [
        (changed(format_version=5), UnsupportedError, "version", "format-version"),
        (changed(table_uuid=None), CorruptError, "required", "table-uuid"),
        (changed(current_schema_id=7), CorruptError, "required", "current-schema-id"),
        (changed(last_column_id=2**40), CorruptError, "json", "last-column-id"),
        (changed(current_snapshot_id=2**63), CorruptError, "json", "current-snapshot-id"),
        (changed(current_snapshot_id=1e18), CorruptError, "json", "current-snapshot-id"),
        (changed(last_sequence_number=1), CorruptError, "mismatch", "last-sequence-number"),
        (changed(snapshots=[{"snapshot-id": 1}]), CorruptError, "required", "snapshots[0]"),
        (changed(snapshots=[WITHOUT_TIME]), CorruptError, "json", "snapshots[0].timestamp-ms"),
        (changed(schemas=[WITHOUT_NAMES]), CorruptError, "required", "schemas[0]"),
        (changed(refs={"b": {"snapshot-id": 1, "type": "twig"}}), CorruptError, "json", "refs.b"),
    ],
)
def test_what_is_wrong_is_named_and_placed(metadata, error, kind, field):
    content = json.dumps(metadata).encode()
    with raises(error, kind=kind) as caught:
        lakebed.iceberg.read_metadata(content)
    assert caught.value.field.startswith(field)
    assert "\n" not in str(caught.value)
    assert caught.value.offset is None or caught.value.offset < len(content)


def test_a_cut_file_is_wrong_at_its_end(tmp_path: Path):
    content = json.dumps(METADATA).encode()
    path = tmp_path / "v1.metadata.json"
    for end in range(0, len(content), 7):
        path.write_bytes(content[:end])
        with raises(TruncatedError, offset=end, path=str(path)):
            lakebed.iceberg.read_metadata(path)


@pytest.mark.parametrize("cut", [1, 9, 12, 100, -1, -8])
def test_a_cut_gzip_file_is_refused(cut):
    with pytest.raises(CorruptError):
        lakebed.iceberg.read_metadata(gzip.compress(json.dumps(METADATA).encode())[:cut])


def test_limits_bound_what_is_inflated():
    bomb = gzip.compress(json.dumps(changed(unknown=" " * 5_000_000)).encode())
    for limits in (lakebed.Limits(max_file_bytes=1_000_000), lakebed.Limits(max_value_bytes=1_000_000)):
        with pytest.raises(LimitError):
            lakebed.iceberg.read_metadata(bomb, limits=limits)


@pytest.mark.parametrize("key", ["properties", "schema", "snapshots", "refs"])
def test_nesting_without_end_is_an_error(key: str):
    content = json.dumps(METADATA)[:-1] + f', "{key}": {"[" * 200_000}{"]" * 200_000}}}'
    error = read(content.encode())
    assert isinstance(error, CorruptError)
    assert len(str(error)) < 1000
