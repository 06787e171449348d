"""Another reader of Iceberg's manifests: fastavro, by field ids, with inheritance as the specification says.

It gives rows under lakebed's names, with times and decimals as the numbers they are stored as.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import fastavro
import pyarrow as pa
from arrow_values import assert_rows

Row = dict[str, Any]
ById = dict[Any, Any]

ENTRY_IDS = {0: "status", 1: "snapshot_id", 3: "sequence_number", 4: "file_sequence_number"}
FILE_IDS = {
    134: "content",
    100: "file_path",
    101: "file_format",
    103: "record_count",
    104: "file_size_in_bytes",
    108: "column_sizes",
    109: "value_counts",
    110: "null_value_counts",
    137: "nan_value_counts",
    125: "lower_bounds",
    128: "upper_bounds",
    131: "key_metadata",
    132: "split_offsets",
    135: "equality_ids",
    140: "sort_order_id",
    142: "first_row_id",
    143: "referenced_data_file",
    144: "content_offset",
    145: "content_size_in_bytes",
}
ENTRY_COLUMNS = [*ENTRY_IDS.values(), *FILE_IDS.values(), "spec_id"]
LIST_IDS = {
    500: "manifest_path",
    501: "manifest_length",
    502: "partition_spec_id",
    517: "content",
    515: "sequence_number",
    516: "min_sequence_number",
    503: "added_snapshot_id",
    504: "added_files_count",
    505: "existing_files_count",
    506: "deleted_files_count",
    512: "added_rows_count",
    513: "existing_rows_count",
    514: "deleted_rows_count",
    519: "key_metadata",
    520: "first_row_id",
}
MAPS = {108, 109, 110, 137, 125, 128}
DATA_FILE, PARTITION = 2, 102

# Names of fields in files without ids, those of older writers among them.
_IDS_BY_NAME = {
    **{name: number for ids in (ENTRY_IDS, FILE_IDS, LIST_IDS) for number, name in ids.items()},
    "data_file": DATA_FILE,
    "partition": PARTITION,
}
_LIST_IDS_BY_NAME = {
    **{name: number for number, name in LIST_IDS.items()},
    "added_data_files_count": 504,
    "existing_data_files_count": 505,
    "deleted_data_files_count": 506,
}
_EXACT = Context(prec=80)


def by_fastavro(source: Path) -> tuple[Any, list[Row]]:
    """The writer's schema and the records of an Avro file, values as they are stored."""
    with source.open("rb") as file, mock.patch.dict(fastavro.read.LOGICAL_READERS, clear=True):
        reader = fastavro.reader(file)
        return reader.writer_schema, [record for record in reader if isinstance(record, dict)]


def list_rows(source: Path) -> list[Row]:
    """The records of a manifest list, with the defaults of what is absent."""
    schema, records = by_fastavro(source)
    rows = [_by_id(schema, record, _LIST_IDS_BY_NAME) for record in records]
    defaults = {"content": 0, "sequence_number": 0, "min_sequence_number": 0}
    return [
        {name: _or(row.get(number), defaults.get(name)) for number, name in LIST_IDS.items()} for row in rows
    ]


def entry_rows(source: Path, manifest: Row) -> Iterator[Row]:
    """The entries of a manifest after inheritance from its record in the list; `partition` by field id."""
    schema, records = by_fastavro(source)
    next_row_id = manifest["first_row_id"] if manifest["content"] == 0 else None
    for record in records:
        entry = _by_id(schema, record, _IDS_BY_NAME)
        file = entry[DATA_FILE]
        row = {name: entry.get(number) for number, name in ENTRY_IDS.items()}
        row |= {name: _value(number, file.get(number)) for number, name in FILE_IDS.items()}
        row |= {"content": _or(row["content"], 0), "spec_id": manifest["partition_spec_id"]}
        row["snapshot_id"] = _or(row["snapshot_id"], manifest["added_snapshot_id"])
        if row["status"] == 1 or manifest["sequence_number"] == 0:
            for name in ("sequence_number", "file_sequence_number"):
                row[name] = _or(row[name], manifest["sequence_number"])
        if next_row_id is None:
            row["first_row_id"] = None
        elif row["first_row_id"] is None and row["status"] != 2:
            row["first_row_id"] = next_row_id
            next_row_id += row["record_count"]
        yield row | {"partition": file.get(PARTITION) or {}}


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _value(number: int, value: Any) -> Any:
    if number in MAPS and value is not None:
        pairs = (item.values() for item in value)
        return {key: bound for key, bound in pairs if bound is not None}
    return value


def _by_id(schema: Any, record: Row, names: dict[str, int]) -> ById:
    """A record with its fields, and those of records directly in it, by id; by name where that is absent."""
    values: ById = {}
    for field in _record(schema)["fields"]:
        value, kind = record[field["name"]], _record(field["type"])
        number = field.get("field-id", names.get(field["name"], field["name"]))
        values[number] = _by_id(kind, value, names) if isinstance(value, dict) else value
    return values


def _record(schema: Any) -> Any:
    """A schema, or the branch of a union that is not null."""
    if isinstance(schema, list):
        return next((branch for branch in schema if branch != "null"), "null")
    return schema


def stored_values(array: pa.Array) -> list[Any]:
    """The values of an array as peers have them: times as integers, UUIDs as texts, NaN as a text."""
    kind = array.type
    if pa.types.is_date(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int64())
    return ["NaN" if value != value else value for value in array.to_pylist()]


def peer_value(value: Any, kind: pa.DataType) -> Any:
    """A partition value of a peer in the form of `stored_values`, for a column of a type."""
    if value is None:
        return None
    if pa.types.is_decimal(kind) and isinstance(value, bytes):
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-kind.scale, _EXACT)
    if pa.types.is_string(kind) and not isinstance(value, str):
        text = value.hex() if isinstance(value, bytes) else value.hex
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    return "NaN" if value != value else value


def partition(by_id: dict[Any, Any], names: dict[int, str], types: dict[str, pa.DataType]) -> Row:
    """A partition by field id as one by name, with every field that the table has."""
    values = {names.get(number): value for number, value in by_id.items()}
    return {name: peer_value(values.get(name), kind) for name, kind in types.items()}


def rows_of(read: pa.Table) -> list[Row]:
    """Entries as peers have them."""
    rows = read.select(ENTRY_COLUMNS).to_pylist()
    partitions = read["partition"].combine_chunks()
    columns = {
        field.name: stored_values(column)
        for field, column in zip(partitions.type, partitions.flatten(), strict=True)
    }
    return [
        {name: dict(value) if is_map(name, value) else value for name, value in row.items()}
        | {"partition": {name: values[number] for name, values in columns.items()}}
        for number, row in enumerate(rows)
    ]


def is_map(name: str, value: Any) -> bool:
    return value is not None and re.search(r"_(sizes|counts|bounds)$", name) is not None


def assert_same_entries(rows: list[Row], expected: list[Row], where: str) -> None:
    """The same entries in any order: of which manifest comes first, the format says nothing."""
    rows, expected = (sorted(some, key=_order) for some in (rows, expected))
    assert_rows(rows, expected, where)


def _order(row: Row) -> str:
    return f"{row['file_path']} {row['status']} {row['lower_bounds']} {row['snapshot_id']}"


def metadata(file: Path) -> Row:
    """A table metadata file, which may be compressed."""
    content = file.read_bytes()
    parsed: Row = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    return parsed


def partition_names(table: Row) -> dict[int, str]:
    """Partition field id → its name in the newest spec that has it."""
    specs: Iterable[Any] = table.get("partition-specs") or [{"fields": table["partition-spec"]}]
    return {
        field.get("field-id", 1000 + position): field["name"]
        for spec in specs
        for position, field in enumerate(spec["fields"])
    }
