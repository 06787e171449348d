"""Other readers of the same manifests: pypaimon's entries and fastavro's records, value for value."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from lakebed import avro, paimon
from paimon_answers import Row, Schemas, assert_rows, by_file, is_avro
from shared_data import GoldenTable, each_golden_paimon_table

pypaimon_table = pytest.importorskip("pypaimon.table.file_store_table")
pypaimon_manifest = pytest.importorskip("pypaimon.manifest.manifest_file_manager")

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


@each_golden_paimon_table()
def test_pypaimon_reads_the_same_entries(table: GoldenTable):
    names = [name for name, _ in by_file(table.rows("entries"), "manifest")]
    if not names:
        pytest.skip(f"{table.name} has no manifest")
    if reason := _why_pypaimon_cannot(table, [table.path / "manifest" / name for name in names]):
        pytest.skip(f"pypaimon cannot read {table.name}: {reason}")
    peer = pypaimon_manifest.ManifestFileManager(pypaimon_table.FileStoreTable.from_path(str(table.path)))
    schemas = Schemas(table)
    for name in names:
        read = paimon.read_manifest(table.path / "manifest" / name).to_arrow()
        expected = [_peer_row(entry) for entry in peer.read(name, drop_stats=False)]
        assert_rows(_typed_rows(read, schemas), expected, f"{table.name}, {name}")


def _records(file: Path) -> list[dict[str, Any]]:
    with file.open("rb") as content:
        return [record for record in fastavro.reader(content) if isinstance(record, dict)]


@each_golden_paimon_table()
def test_fastavro_reads_the_same_records(table: GoldenTable):
    for file in _avro_files(table):
        expected = _records(file)
        assert_rows(avro.read(file).to_arrow().to_pylist(), expected, f"{table.name}, {file.name}")


@each_golden_paimon_table()
def test_fastavro_reads_the_same_manifests(table: GoldenTable):
    readers = {"entries": ("manifest", paimon.read_manifest), "lists": ("list", paimon.read_manifest_list)}
    for answers, (key, read) in readers.items():
        for name, _ in by_file(table.rows(answers), key):
            file = table.path / "manifest" / name
            if not is_avro(file):
                continue
            expected = [_without_underscores(record) for record in _records(file)]
            rows = read(file).to_arrow().to_pylist()
            assert_rows(rows, expected, f"{table.name}, {name}")
            # A column that the file does not have is null.
            for row, record in zip(rows, expected, strict=True):
                assert {value for column, value in row.items() if column not in record} <= {None}


def _why_pypaimon_cannot(table: GoldenTable, manifests: list[Path]) -> str | None:
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


def _peer_row(entry: Any) -> Row:
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


def _typed_rows(read: pa.Table, schemas: Schemas) -> list[Row]:
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


def _avro_files(table: GoldenTable) -> list[Path]:
    """Everything Avro beside the manifests: those themselves, their lists, index manifests."""
    folder = table.path / "manifest"
    return sorted(file for file in folder.iterdir() if is_avro(file)) if folder.is_dir() else []


def _without_underscores(record: Row) -> Row:
    """A record of a manifest or manifest list under the names of lakebed's columns."""
    flat = {**record, **record.get("_FILE", {})}
    return {
        name.removeprefix("_").lower(): _plain(value)
        for name, value in flat.items()
        if name not in ("_FILE", "_VERSION")
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _without_underscores(value)
    if isinstance(value, datetime):  # of a writer's wall clock, which has no zone
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    return value
