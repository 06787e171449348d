"""An Iceberg table's metadata decoded by lakebed and written again, every file in its place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

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


def _header(file: Path) -> dict[str, str]:
    return {key: value.decode() for key, value in avro.read_metadata(file).items()}


def _write_manifest(file: Path) -> None:
    header = _header(file)
    iceberg.write_manifest(
        iceberg.read_manifest(file).to_arrow(),
        file,
        schema=json.loads(header["schema"]),
        spec={"spec-id": int(header["partition-spec-id"]), "fields": json.loads(header["partition-spec"])},
        format_version=int(header.get("format-version", 1)),
        content=header.get("content", "data"),
        codec=header.get("avro.codec", "null"),
        overwrite=True,
    )


def _write_list(copy: GoldenTable, file: Path) -> None:
    header = _header(file)
    records = iceberg.read_manifest_list(file).to_arrow()
    lengths = [copy.file(path).stat().st_size for path in records["manifest_path"].to_pylist()]
    position = records.schema.get_field_index("manifest_length")
    records = records.set_column(position, records.schema.field(position), pa.array(lengths, pa.int64()))
    iceberg.write_manifest_list(
        records,
        file,
        format_version=int(header.get("format-version", 1)),
        snapshot_id=int(header["snapshot-id"]),
        parent_snapshot_id=_number(header.get("parent-snapshot-id")),
        sequence_number=_number(header.get("sequence-number")) or 0,
        first_row_id=_number(header.get("first-row-id")),
        codec=header.get("avro.codec", "null"),
        overwrite=True,
    )


def _number(text: str | None) -> int | None:
    return None if text in (None, "null") else int(text)
