"""An Iceberg table's metadata decoded by lakebed and written again, every file in its place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from iceberg_golden import GoldenTable
from lakebed import avro, iceberg


def rewritten(table: GoldenTable, target: Path) -> GoldenTable:
    """A copy of a table with every manifest, manifest list and metadata file written again.

    Lengths that lists record are those of the new manifests.
    """
    shutil.copytree(table.path, target, ignore=shutil.ignore_patterns("expected"))
    (target / "expected").symlink_to(table.path / "expected")
    copy = GoldenTable(table.name, target)
    files = sorted(target.rglob("*.avro"))
    lists = [file for file in files if _is_list(file)]
    for file in files:
        if file not in lists:
            _write_manifest(file)
    for file in lists:
        _write_list(copy, file)
    for file in target.rglob("*.metadata.json"):
        iceberg.write_metadata(iceberg.read_metadata(file), file, overwrite=True)
    return copy


def _is_list(file: Path) -> bool:
    return any(field["name"] == "manifest_path" for field in avro.read_schema(file)["fields"])


def header(file: Path | bytes) -> dict[str, str]:
    """The keys of an Avro file, its schema and codec among them."""
    return {key: value.decode() for key, value in avro.read_metadata(file).items()}


def of_manifest(keys: dict[str, str]) -> dict[str, Any]:
    """What `write_manifest` takes, from a manifest's keys."""
    return {
        "schema": json.loads(keys["schema"]),
        "spec": {"spec-id": int(keys["partition-spec-id"]), "fields": json.loads(keys["partition-spec"])},
        "format_version": int(keys.get("format-version", 1)),
        "content": keys.get("content", "data"),
        "codec": keys.get("avro.codec", "null"),
    }


def of_list(keys: dict[str, str]) -> dict[str, Any]:
    """What `write_manifest_list` takes, from a manifest list's keys."""
    return {
        "format_version": int(keys.get("format-version", 1)),
        "snapshot_id": int(keys["snapshot-id"]),
        "parent_snapshot_id": json.loads(keys.get("parent-snapshot-id", "null")),
        "sequence_number": json.loads(keys.get("sequence-number", "0")) or 0,
        "first_row_id": json.loads(keys.get("first-row-id", "null")),
        "codec": keys.get("avro.codec", "null"),
    }


def _write_manifest(file: Path) -> None:
    entries = iceberg.read_manifest(file).to_arrow()
    iceberg.write_manifest(entries, file, **of_manifest(header(file)), overwrite=True)


def _write_list(copy: GoldenTable, file: Path) -> None:
    records = iceberg.read_manifest_list(file).to_arrow()
    lengths = [copy.file(path).stat().st_size for path in records["manifest_path"].to_pylist()]
    position = records.schema.get_field_index("manifest_length")
    records = records.set_column(position, records.schema.field(position), pa.array(lengths, pa.int64()))
    iceberg.write_manifest_list(records, file, **of_list(header(file)), overwrite=True)
