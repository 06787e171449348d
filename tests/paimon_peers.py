"""Manifest entries as pypaimon has them, and lakebed's brought to the same form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakebed import avro, paimon
from paimon_answers import Row, Schemas, is_avro
from shared_data import GoldenTable

# Fields that pypaimon keeps under the names of lakebed's columns.
PLAIN_FIELDS = [
    "file_name",
    "file_size",
    "row_count",
    "min_sequence_number",
    "max_sequence_number",
    "schema_id",
    "level",
    "extra_files",
    "delete_row_count",
    "file_source",
    "value_stats_cols",
    "external_path",
    "first_row_id",
    "write_cols",
    "write_cols_sequences",
]


def peer_row(entry: Any) -> Row:
    """An entry of pypaimon under lakebed's names."""
    file = entry.file
    return {
        **{name: getattr(file, name) for name in PLAIN_FIELDS},
        "kind": entry.kind,
        "bucket": entry.bucket,
        "total_buckets": entry.total_buckets,
        "partition": _row(entry.partition.values),
        "min_key": _row(file.min_key.values),
        "max_key": _row(file.max_key.values),
        "key_stats": _peer_stats(file.key_stats),
        "value_stats": _peer_stats(file.value_stats),
        "creation_time": file.creation_time and file.creation_time.get_millisecond(),
        "embedded_file_index": file.embedded_index,
    }


def _peer_stats(stats: Any) -> Row:
    rows = {"min_values": stats.min_values.data, "max_values": stats.max_values.data}
    return {**rows, "null_counts": stats.null_counts}


def typed_rows(read: pa.Table, schemas: Schemas) -> list[Row]:
    """What `read_manifest` gives, with its BinaryRows as values."""
    # pypaimon reads partitions and keys by the latest schema.
    latest = schemas.latest()["id"]
    types = {
        "partition": schemas.partition(latest),
        "min_key": schemas.trimmed_keys(latest),
        "max_key": schemas.trimmed_keys(latest),
    }
    typed = {name: _python_rows(read[name], kind) for name, kind in types.items()}
    millis = read["creation_time"].cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    return [
        {**row, **{name: typed[name][number] for name in typed}, "creation_time": millis[number]}
        for number, row in enumerate(read.to_pylist())
    ]


def _python_rows(stored: pa.ChunkedArray, types: pa.Schema) -> list[list[Any]]:
    """Rows as pypaimon has them: datetimes to the microsecond."""
    if not types.names:
        return [[] for _ in range(len(stored))]
    rows = paimon.decode_rows(stored.combine_chunks(), types)
    columns = [_micros(column).to_pylist() for column in rows.flatten()]
    return [_row(row) for row in zip(*columns, strict=True)]


def _micros(column: pa.Array) -> pa.Array:
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column
    return column.cast(pa.timestamp("us", kind.tz), safe=False)


def _row(values: Iterable[Any]) -> list[Any]:
    """Values of which NaN equals itself."""
    return ["NaN" if value != value else value for value in values]


def why_pypaimon_cannot(table: GoldenTable, manifests: list[Path]) -> str | None:
    """What pypaimon 2.1 does not take, if the table has it."""
    if not all(map(is_avro, manifests)):
        return "its manifests are not Avro"
    if Schemas(table).latest()["options"].get("manifest.compression") == "zstandard":
        return "it knows the codec as zstd only"
    for manifest in manifests:
        (file,) = (f for f in avro.read_schema(manifest)["fields"] if f["name"] == "_FILE")
        if "_VALUE_STATS_COLS" not in {field["name"] for field in file["type"]["fields"]}:
            return "its manifests come from before _VALUE_STATS_COLS"
    return None
