"""Small Iceberg tables that a test makes: metadata, manifest lists and manifests."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro

import lakebed

Record = dict[str, Any]
Schema = dict[str, Any]

EXISTING, ADDED, DELETED = 0, 1, 2
UUID = "00000000-0000-4000-8000-000000000000"

_PRIMITIVES: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "uuid": {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"},
}


def optional(kind: Any) -> list[Any]:
    """A type of which a value may be absent."""
    return ["null", kind]


def field(number: int, name: str, kind: Any) -> Schema:
    """An Avro field with its id; optional ones are null by default."""
    default = {"default": None} if isinstance(kind, list) and "null" in kind else {}
    return {"name": name, "type": kind, "field-id": number} | default


def decimal(precision: int, scale: int) -> Schema:
    """The Avro type of a decimal: as few bytes as its precision takes."""
    size = next(n for n in range(1, 17) if 2 ** (8 * n - 1) > 10**precision - 1)
    name = f"decimal_{precision}_{scale}"
    logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return {"type": "fixed", "name": name, "size": size} | logical


def fixed(size: int) -> Schema:
    """The Avro type of fixed[size]."""
    return {"type": "fixed", "name": f"fixed_{size}", "size": size}


def avro_type(kind: str | Schema) -> Any:
    """The Avro type of an Iceberg type's text; what is an Avro type already is taken as it is."""
    return _PRIMITIVES.get(kind, kind) if isinstance(kind, str) else kind


def _map(key: int, value: int, kind: str) -> Schema:
    pair = [field(key, "key", "int"), field(value, "value", kind)]
    items = {"type": "record", "name": f"k{key}_v{value}", "fields": pair}
    return {"type": "array", "logicalType": "map", "items": items}


def file_fields(version: int, partition: Sequence[Schema]) -> list[Schema]:
    """The fields of a data file in the order that the engine writes them."""
    record = {"type": "record", "name": "r102", "fields": list(partition)}
    block_size = [field(105, "block_size_in_bytes", "long")] if version == 1 else []
    content = [] if version == 1 else [field(134, "content", "int")]
    lists = {"type": "array", "items": "long", "element-id": 133}
    ids = {"type": "array", "items": "int", "element-id": 136}
    vectors = [
        field(142, "first_row_id", optional("long")),
        field(143, "referenced_data_file", optional("string")),
        field(144, "content_offset", optional("long")),
        field(145, "content_size_in_bytes", optional("long")),
    ]
    return [
        *content,
        field(100, "file_path", "string"),
        field(101, "file_format", "string"),
        field(102, "partition", record),
        field(103, "record_count", "long"),
        field(104, "file_size_in_bytes", "long"),
        *block_size,
        field(108, "column_sizes", optional(_map(117, 118, "long"))),
        field(109, "value_counts", optional(_map(119, 120, "long"))),
        field(110, "null_value_counts", optional(_map(121, 122, "long"))),
        field(137, "nan_value_counts", optional(_map(138, 139, "long"))),
        field(125, "lower_bounds", optional(_map(126, 127, "bytes"))),
        field(128, "upper_bounds", optional(_map(129, 130, "bytes"))),
        field(131, "key_metadata", optional("bytes")),
        field(132, "split_offsets", optional(lists)),
        *([] if version == 1 else [field(135, "equality_ids", optional(ids))]),
        field(140, "sort_order_id", optional("int")),
        *(vectors if version == 3 else []),
    ]


def entry_schema(version: int = 2, partition: Sequence[Schema] = ()) -> Schema:
    """The Avro schema of a manifest; `partition` are the fields of its partition record."""
    numbers = [field(number, name, optional("long")) for number, name in SEQUENCES.items()]
    file = {"type": "record", "name": "r2", "fields": file_fields(version, partition)}
    fields = [
        field(0, "status", "int"),
        field(1, "snapshot_id", optional("long")),
        *([] if version == 1 else numbers),
        field(2, "data_file", file),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


SEQUENCES = {3: "sequence_number", 4: "file_sequence_number"}
COUNTS = {504: "added_files_count", 505: "existing_files_count", 506: "deleted_files_count"}
ROWS = {512: "added_rows_count", 513: "existing_rows_count", 514: "deleted_rows_count"}


def list_schema(version: int = 2) -> Schema:
    """The Avro schema of a manifest list."""
    summary = [
        field(509, "contains_null", "boolean"),
        field(518, "contains_nan", optional("boolean")),
        field(510, "lower_bound", optional("bytes")),
        field(511, "upper_bound", optional("bytes")),
    ]
    items = {"type": "record", "name": "r508", "fields": summary}
    counted = optional("int") if version == 1 else "int"
    rows = optional("long") if version == 1 else "long"
    order = [
        field(517, "content", "int"),
        field(515, "sequence_number", "long"),
        field(516, "min_sequence_number", "long"),
    ]
    fields = [
        field(500, "manifest_path", "string"),
        field(501, "manifest_length", "long"),
        field(502, "partition_spec_id", "int"),
        *([] if version == 1 else order),
        field(503, "added_snapshot_id", "long"),
        *(field(number, name, counted) for number, name in COUNTS.items()),
        *(field(number, name, rows) for number, name in ROWS.items()),
        field(507, "partitions", optional({"type": "array", "items": items, "element-id": 508})),
        field(519, "key_metadata", optional("bytes")),
        *([field(520, "first_row_id", optional("long"))] if version == 3 else []),
    ]
    return {"type": "record", "name": "manifest_file", "fields": fields}


def entry(status: int = ADDED, path: str = "a.parquet", **values: Any) -> Record:
    """A manifest entry; keywords are fields of the entry or of its file. Maps are given as objects."""
    outer = {name: values.pop(name, None) for name in ("snapshot_id", *SEQUENCES.values())}
    plain = {
        "content": 0,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {},
        "record_count": 1,
        "file_size_in_bytes": 100,
        "block_size_in_bytes": 67108864,
    }
    maps = {name: _pairs(value) for name, value in values.items() if isinstance(value, dict)}
    if "partition" in values:
        maps["partition"] = values["partition"]
    return {"status": status, **outer, "data_file": {**plain, **values, **maps}}


def _pairs(value: Record) -> list[Record]:
    return [{"key": key, "value": item} for key, item in value.items()]


def avro(schema: Schema, records: Sequence[Record], codec: str = "deflate", **options: Any) -> bytes:
    """An Avro file, by fastavro; `metadata=` are keys of the header, `sync_interval=` bytes of a block."""
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(copy.deepcopy(schema)), records, codec, **options)
    return sink.getvalue()


class MadeTable:
    """A table that a test writes. Its folder is its location."""

    def __init__(self, root: Path, *columns: tuple[int, str, Any], version: int = 2, **metadata: Any) -> None:
        """Starts a table without snapshots; columns are id, name and type, keywords are keys of its metadata
        (with underscores for hyphens), of which None takes one away. `spec=` gives fields of spec 0.
        """
        self.root = root
        self.version = version
        (root / "metadata").mkdir(parents=True)
        spec = metadata.pop("spec", [])
        fields = [{"id": n, "name": name, "required": False, "type": kind} for n, name, kind in columns]
        schema = {"type": "struct", "schema-id": 0, "fields": fields}
        self.metadata: Record = {
            "format-version": version,
            "table-uuid": UUID,
            "location": str(root),
            "last-sequence-number": 0,
            "last-updated-ms": 1000,
            "last-column-id": max((n for n, _, _ in columns), default=0),
            "current-schema-id": 0,
            "schemas": [schema],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": spec}],
            "last-partition-id": max((part["field-id"] for part in spec), default=999),
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": -1,
            "snapshots": [],
            **({"schema": schema, "partition-spec": spec} if version == 1 else {}),
            **({"next-row-id": 0} if version == 3 else {}),
        }
        self.set(**metadata)

    def set(self, **metadata: Any) -> None:
        """Changes keys of the metadata, of which None takes one away, and writes it."""
        for name, value in metadata.items():
            key = name.replace("_", "-")
            if value is None:
                self.metadata.pop(key, None)
            else:
                self.metadata[key] = value
        self.write("v1.metadata.json", json.dumps(self.metadata).encode())

    def write(self, name: str, content: bytes) -> Path:
        """Writes a file in the metadata folder."""
        path = self.root / "metadata" / name
        path.write_bytes(content)
        return path

    def manifest(
        self, *entries: Record, schema: Schema | None = None, name: str = "m.avro", **options: Any
    ) -> Record:
        """Writes a manifest; its record in a manifest list, counts those of the entries."""
        schema = schema or entry_schema(self.version)
        path = self.write(name, avro(schema, list(entries), **options))
        return self.list_record(path, *entries)

    def list_record(self, path: Path, *entries: Record) -> Record:
        """The record of a manifest that is there, with counts of its entries."""
        statuses = [entry["status"] for entry in entries]
        rows = [entry["data_file"]["record_count"] for entry in entries]
        order = (ADDED, EXISTING, DELETED)
        sums = [sum(n for n, s in zip(rows, statuses, strict=True) if s == status) for status in order]
        return {
            "manifest_path": str(path),
            "manifest_length": path.stat().st_size,
            "partition_spec_id": 0,
            "content": 0,
            "sequence_number": 1,
            "min_sequence_number": 1,
            "added_snapshot_id": 1,
            **dict(zip(COUNTS.values(), map(statuses.count, order), strict=True)),
            **dict(zip(ROWS.values(), sums, strict=True)),
        }

    def commit(
        self, *manifests: Record, schema: Schema | None = None, codec: str = "deflate", **snapshot: Any
    ) -> int:
        """Adds a snapshot over some manifests; keywords are keys of it, with underscores for hyphens."""
        number = len(self.metadata["snapshots"]) + 1
        content = avro(schema or list_schema(self.version), list(manifests), codec)
        path = self.write(f"snap-{number}.avro", content)
        whole = {
            "snapshot-id": number,
            "timestamp-ms": 1000 * number,
            "sequence-number": 0 if self.version == 1 else number,
            "summary": {"operation": "append"},
            "manifest-list": str(path),
            "schema-id": 0,
            **{key.replace("_", "-"): value for key, value in snapshot.items()},
        }
        known = {key: value for key, value in whole.items() if value is not None}
        log = self.metadata.get("snapshot-log", [])
        entry_of_log = {"timestamp-ms": whole["timestamp-ms"], "snapshot-id": whole["snapshot-id"]}
        self.set(
            snapshots=[*self.metadata["snapshots"], known],
            current_snapshot_id=whole["snapshot-id"],
            snapshot_log=[*log, entry_of_log],
            last_sequence_number=whole["sequence-number"],
            last_updated_ms=whole["timestamp-ms"],
        )
        return number

    def open(self) -> lakebed.Table:
        return lakebed.open_table(self.root)
