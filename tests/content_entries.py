"""Manifests of content entries: the golden ones, and others made with pyarrow, which keeps field ids."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import iceberg_golden
import lakebed
from lakebed import experimental

Row = dict[str, Any]


def golden() -> Path:
    return iceberg_golden.golden("experimental_content_entry").path


def file(name: str) -> Path:
    """One of the golden manifests."""
    return golden() / "metadata" / name


def read(source: Any, **options: Any) -> lakebed.Scan:
    """Its entries, by the metadata of its table."""
    return experimental.read_content_entries(source, metadata=metadata(), **options)


def column(number: int, name: str, kind: Any) -> Row:
    """A column of a schema, as metadata have it."""
    return {"id": number, "name": name, "required": False, "type": kind}


def answers(name: str) -> list[Row]:
    """What Iceberg's reader said, with numbers of floats as text."""
    with gzip.open(golden() / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line, parse_float=str) for line in lines]


def metadata() -> Row:
    """What the metadata of the golden manifests' table would say."""
    told = json.loads((golden() / "schemas.json").read_text("utf-8"))
    return {
        "location": told["table_location"],
        "current-schema-id": told["table_schema"]["schema-id"],
        "schemas": [told["table_schema"]],
        "partition-specs": told["specs"],
    }


WRITES_UUIDS = int(pa.__version__.partition(".")[0]) >= 21
"""Whether this pyarrow writes UUIDs as such."""


def writable() -> Row:
    """The same without the column of UUIDs where pyarrow does not write it."""
    told = metadata()
    if not WRITES_UUIDS:
        (schema,) = told["schemas"]
        schema["fields"] = [column for column in schema["fields"] if column["type"] != "uuid"]
    return told


def leaves() -> dict[int, str]:
    """The columns of that table that have statistics, by id."""
    (schema,) = metadata()["schemas"]
    flat = {column["id"]: column["name"] for column in schema["fields"] if isinstance(column["type"], str)}
    return dict(sorted((flat | {10: "st.leaf", 11: "st.a.b"}).items()))


def field(number: int, name: str, kind: pa.DataType, *, required: bool = False) -> pa.Field:
    return pa.field(name, kind, not required, metadata={"PARQUET:field_id": str(number)})


def elements(number: int, kind: pa.DataType) -> pa.DataType:
    return pa.list_(field(number, "element", kind, required=True))


TRACKING = field(
    147,
    "tracking",
    pa.struct(
        [
            field(0, "status", pa.int32(), required=True),
            field(1, "snapshot_id", pa.int64()),
            field(3, "sequence_number", pa.int64()),
            field(4, "file_sequence_number", pa.int64()),
            field(5, "dv_snapshot_id", pa.int64()),
            field(142, "first_row_id", pa.int64()),
            field(6, "deleted_positions", pa.binary()),
            field(7, "replaced_positions", pa.binary()),
        ]
    ),
    required=True,
)
FILE = [
    field(134, "content_type", pa.int32(), required=True),
    field(157, "format_version", pa.int32(), required=True),
    field(100, "location", pa.string(), required=True),
    field(101, "file_format", pa.string(), required=True),
    field(103, "record_count", pa.int64(), required=True),
    field(104, "file_size_in_bytes", pa.int64(), required=True),
]
SPEC = field(141, "spec_id", pa.int32())
_COUNTS = {504: "added", 505: "existing", 506: "deleted", 520: "replaced"}
_ROWS = {512: "added", 513: "existing", 514: "deleted", 521: "replaced"}
MANIFEST_INFO = field(
    150,
    "manifest_info",
    pa.struct(
        [
            *(
                field(number, f"{name}_files_count", pa.int32(), required=True)
                for number, name in _COUNTS.items()
            ),
            *(
                field(number, f"{name}_rows_count", pa.int64(), required=True)
                for number, name in _ROWS.items()
            ),
            field(516, "min_sequence_number", pa.int64(), required=True),
            field(522, "dv", pa.binary()),
        ]
    ),
)
COLUMN_FILE = pa.struct(
    [
        field(161, "format_version", pa.int32(), required=True),
        field(162, "field_ids", elements(163, pa.int32()), required=True),
        field(164, "location", pa.string(), required=True),
        field(165, "file_format", pa.string(), required=True),
        field(166, "file_size_in_bytes", pa.int64(), required=True),
        field(167, "key_metadata", pa.binary()),
        field(168, "split_offsets", elements(169, pa.int64())),
    ]
)


def entry(status: int = 1, **values: Any) -> Row:
    """An entry: values of tracking by their names, and of the file."""
    named = [part.name for part in TRACKING.type]
    tracking = {name: values.pop(name) for name in named if name in values}
    file = {
        "content_type": 0,
        "format_version": 4,
        "location": "data/f.parquet",
        "file_format": "parquet",
        "record_count": 10,
        "file_size_in_bytes": 1000,
    }
    return {"tracking": {"status": status, **tracking}, **file, **values}


def manifest_info(dv: bytes | None = None, **counts: int) -> Row:
    named = [part.name for part in MANIFEST_INFO.type if part.name != "dv"]
    return {name: counts.get(name, 0) for name in named} | {"dv": dv}


def manifest(rows: list[Row], *further: pa.Field, file: list[pa.Field] = FILE, **options: Any) -> bytes:
    """A manifest in Parquet of the fields that every entry has, and further ones."""
    table = pa.Table.from_pylist(rows, pa.schema([TRACKING, *file, *further]))
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def rows(source: Any, **options: Any) -> list[Row]:
    """The entries of a manifest, valid for their types."""
    table = experimental.read_content_entries(source, **options).to_arrow()
    table.validate(full=True)
    found: list[Row] = table.to_pylist()
    return found
