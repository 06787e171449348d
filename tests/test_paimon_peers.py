"""Other readers of the same manifests: pypaimon's entries and fastavro's records, value for value."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fastavro
import pytest
from arrow_values import assert_rows
from paimon_peers import peer_row, typed_rows, why_pypaimon_cannot

from lakebed import avro, paimon
from paimon_answers import Row, Schemas, by_file, is_avro
from shared_data import GoldenTable, each_golden_paimon_table

pypaimon_table = pytest.importorskip("pypaimon.table.file_store_table")
pypaimon_manifest = pytest.importorskip("pypaimon.manifest.manifest_file_manager")


@each_golden_paimon_table()
def test_pypaimon_reads_the_same_entries(table: GoldenTable):
    names = [name for name, _ in by_file(table.rows("entries"), "manifest")]
    if not names:
        pytest.skip(f"{table.name} has no manifest")
    if reason := why_pypaimon_cannot(table, [table.path / "manifest" / name for name in names]):
        pytest.skip(f"pypaimon cannot read {table.name}: {reason}")
    peer = pypaimon_manifest.ManifestFileManager(pypaimon_table.FileStoreTable.from_path(str(table.path)))
    schemas = Schemas(table)
    for name in names:
        read = paimon.read_manifest(table.path / "manifest" / name).to_arrow()
        expected = [peer_row(entry) for entry in peer.read(name, drop_stats=False)]
        assert_rows(typed_rows(read, schemas), expected, f"{table.name}, {name}")


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
