"""Manifests and manifest lists that Paimon's Java engine wrote, against that engine's own answers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from arrow_values import assert_rows

from lakebed import paimon
from paimon_answers import Row, Schemas, by_file, canonical, wanted
from shared_data import GoldenTable, each_golden_paimon_table

EMPTY_ROW = "000000000000000000000000"  # arity 0

# Entry fields of the answers that lakebed has under the same names.
NUMBERS = [
    "bucket",
    "total_buckets",
    "file_size",
    "row_count",
    "min_sequence_number",
    "max_sequence_number",
    "schema_id",
    "level",
    "delete_row_count",
    "first_row_id",
]
TEXTS = ["file_name", "extra_files", "value_stats_cols", "external_path", "write_cols"]
KINDS = ["ADD", "DELETE"]
FILE_SOURCES = ["APPEND", "COMPACT"]


@each_golden_paimon_table()
def test_manifest_lists(table: GoldenTable):
    for name, rows in by_file(table.rows("lists"), "list"):
        file = table.path / "manifest" / name
        expected = [_expected_list_row(row) for row in rows if row["pos"] is not None]
        read = paimon.read_manifest_list(file).to_arrow()
        assert_rows(_list_rows(read), expected, f"{table.name}, {name}")
        _assert_typed_partition_stats(table, name, read, rows)


@each_golden_paimon_table()
def test_manifests(table: GoldenTable):
    for name, rows in by_file(table.rows("entries"), "manifest"):
        file = table.path / "manifest" / name
        read = paimon.read_manifest(file).to_arrow()
        assert_rows(_entry_rows(read), [_expected_entry(row) for row in rows], f"{table.name}, {name}")


@each_golden_paimon_table()
def test_rows_inside_manifests(table: GoldenTable):
    schemas = Schemas(table)
    for name, rows in by_file(table.rows("entries"), "manifest"):
        file = table.path / "manifest" / name
        for row, entry in zip(rows, paimon.read_manifest(file).to_arrow().to_pylist(), strict=True):
            where = f"{table.name}, {name}, row {row['pos']}"
            partition, keys = (part(entry["schema_id"]) for part in (schemas.partition, schemas.trimmed_keys))
            _assert_row(entry["partition"], partition, row["partition"], f"{where}, column partition")
            for key in ("min_key", "max_key"):
                if row[f"{key}_hex"] != EMPTY_ROW:
                    _assert_row(entry[key], keys, row[key], f"{where}, column {key}")
            _assert_stats(entry["key_stats"], keys, row["key_stats"], f"{where}, column key_stats")
            columns = schemas.columns(entry["schema_id"], _stats_columns(entry))
            _assert_stats(entry["value_stats"], columns, row["value_stats"], f"{where}, column value_stats")


def _list_rows(read: pa.Table) -> list[Row]:
    return [_hex_row(row) for row in read.to_pylist()]


def _entry_rows(read: pa.Table) -> list[Row]:
    millis = read["creation_time"].cast(pa.timestamp("ms")).cast(pa.int64())
    return [
        {**_hex_row(row), "creation_time": time}
        for row, time in zip(read.to_pylist(), millis.to_pylist(), strict=True)
    ]


def _hex_row(row: Row) -> Row:
    """A row with its byte strings as hex, those of structs too."""
    return {name: _hex(value) for name, value in row.items()}


def _hex(value: Any) -> Any:
    if isinstance(value, dict):
        return _hex_row(value)
    return value.hex() if isinstance(value, bytes) else value


def _expected_list_row(row: Row) -> Row:
    numbers = {
        name: _integer(row[name])
        for name in row
        if name not in ("list", "role", "pos", "file_name", "partition_stats")
    }
    return {
        **numbers,
        "file_name": row["file_name"],
        "partition_stats": _expected_stats(row["partition_stats"]),
    }


def _expected_entry(row: Row) -> Row:
    return {
        **{name: _integer(row[name]) for name in NUMBERS},
        **{name: row[name] for name in TEXTS},
        "kind": KINDS.index(row["kind"]),
        "file_source": row["file_source"] and FILE_SOURCES.index(row["file_source"]),
        "partition": row["partition_hex"],
        "min_key": row["min_key_hex"],
        "max_key": row["max_key_hex"],
        "key_stats": _expected_stats(row["key_stats"]),
        "value_stats": _expected_stats(row["value_stats"]),
        "creation_time": _integer(row["creation_time_millis"]),
        "embedded_file_index": row["embedded_index_hex"],
    }


def _expected_stats(stats: Row) -> Row:
    counts = stats["null_counts"]
    return {
        "min_values": stats["min_hex"],
        "max_values": stats["max_hex"],
        "null_counts": counts and [_integer(count) for count in counts],
    }


def _assert_typed_partition_stats(table: GoldenTable, name: str, read: pa.Table, rows: list[Row]) -> None:
    schemas = Schemas(table)
    for row, stored in zip((row for row in rows if row["pos"] is not None), read.to_pylist(), strict=True):
        where = f"{table.name}, {name}, row {row['pos']}, column partition_stats"
        types = schemas.partition(stored["schema_id"])
        _assert_stats(stored["partition_stats"], types, row["partition_stats"], where)


def _assert_row(stored: bytes, types: pa.Schema, expected: Row, where: str) -> None:
    (row,) = canonical(paimon.decode_rows(pa.array([stored]), types))
    assert row == wanted(expected, pa.struct(types)), where


def _assert_stats(stored: Row, types: pa.Schema, expected: Row, where: str) -> None:
    """Bounds and null counts, decoded by the columns' types, against `cols`."""
    if "cols" not in expected:
        assert stored["min_values"].hex() == stored["max_values"].hex() == EMPTY_ROW, where
        return
    lower, upper = canonical(
        paimon.decode_rows(pa.array([stored["min_values"], stored["max_values"]]), types)
    )
    for position, column in enumerate(types):
        count = _nth(stored["null_counts"], position)
        got = [lower[column.name], upper[column.name], None if count is None else str(count)]
        want = expected["cols"][column.name]
        assert got == [*(wanted(bound, column.type) for bound in want[:2]), want[2]], f"{where}.{column.name}"
    assert list(expected["cols"]) == types.names, where


def _stats_columns(entry: Row) -> list[str] | None:
    """Names of the columns that value statistics are of, None for all of the file's schema."""
    names: list[str] | None = entry["value_stats_cols"]
    return entry["write_cols"] if names is None else names


def _nth(counts: list[int | None] | None, position: int) -> int | None:
    return counts[position] if counts else None


def _integer(text: str | None) -> int | None:
    return None if text is None else int(text)
