"""Engines as judges of Paimon tables: golden ones as they are, and written again by lakebed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pytest
from arrow_values import assert_rows
from covering import each_covering_paimon_table
from java_engine import JavaEngine
from json_files import changed
from paimon_peers import peer_row, why_pypaimon_cannot
from paimon_rewrite import LIST_SIZES, rewritten

import lakebed
from iceberg_answers import difference
from paimon_answers import Row, by_file, is_avro
from shared_data import GoldenTable, each_golden_paimon_table

# An answer → the column that names its files, and where `read` has them.
STORED = {
    "lists": ("list", "lists"),
    "entries": ("manifest", "manifests"),
    "index_entries": ("index_manifest", "index_manifests"),
}
# What the answers have besides: the file, and values decoded by their types.
DECODED = {"pos", "partition", "min_key", "max_key", "cols", "evolved", "deleted_positions"}


@pytest.mark.jvm
@each_covering_paimon_table()
def test_java_answers_what_it_answered(table: GoldenTable, paimon_java: JavaEngine):
    read = paimon_java.ask("read", table=table.path)
    for answers, (key, part) in STORED.items():
        if table.lines(answers) is None:
            continue
        expected = dict(by_file(table.rows(answers), key))
        assert read[part].keys() == expected.keys()
        for name, rows in expected.items():
            stored = [_stored(row, key) for row in rows if row["pos"] is not None]
            assert_rows(read[part][name], stored, f"{table.name}, {name}")
    for name, rows in read["system"].items():
        if (table.expected / "sys" / f"{name}.jsonl").is_file():
            expected_rows = sorted(map(_plain, table.rows(f"sys/{name}")), key=repr)
            assert_rows(sorted(map(_plain, rows), key=repr), expected_rows, f"{table.name}, {name}")
        elif (table.expected / "sys" / f"{name}.error").is_file():
            assert "error" in rows, f"{table.name}, {name}"


def _stored(value: Any, key: str = "") -> Any:
    """A row of the answers as `read` has it: bytes as they are stored."""
    if isinstance(value, dict):
        left_out = {*DECODED, key, "role"}
        return {name: _stored(part) for name, part in value.items() if name not in left_out}
    return [_stored(part) for part in value] if isinstance(value, list) else value


def _plain(row: Row) -> Row:
    """A row of a metadata table without times and lists, whose texts differ in digits and brackets."""
    return {
        name: value
        for name, value in row.items()
        if not name.endswith("time") and not isinstance(value, list) and not str(value).startswith("[")
    }


@pytest.mark.jvm
@each_covering_paimon_table()
def test_java_reads_what_is_written_again(table: GoldenTable, tmp_path: Path, paimon_java: JavaEngine):
    copy = _rewritten(table, tmp_path)
    expected, found = (paimon_java.ask("read", table=one) for one in (table.path, copy))
    for read, folder in ((expected, table.path), (found, copy)):
        _check_sizes(read, folder / "manifest")
        # Those of a branch come in the order in which the file system lists them.
        read["snapshots"].sort(key=repr)
        for name, rows in read["system"].items():
            # The engine gives them in the order of its threads.
            if name != "snapshots" and isinstance(rows, list):
                rows.sort(key=repr)
    assert found == expected, difference(found, expected)


@each_covering_paimon_table()
def test_pypaimon_reads_what_is_written_again(table: GoldenTable, tmp_path: Path):
    manifests = pytest.importorskip("pypaimon.manifest.manifest_file_manager").ManifestFileManager
    tables = pytest.importorskip("pypaimon.table.file_store_table").FileStoreTable
    names = [name for name, _ in by_file(table.rows("entries"), "manifest")]
    if reason := why_pypaimon_cannot(table, [table.path / "manifest" / name for name in names]):
        pytest.skip(f"pypaimon cannot read {table.name}: {reason}")
    expected, found = (tables.from_path(str(one)) for one in (table.path, _rewritten(table, tmp_path)))
    for name in names:
        rows, wanted = (
            [peer_row(entry) for entry in manifests(one).read(name, drop_stats=False)]
            for one in (found, expected)
        )
        assert_rows(rows, wanted, f"{table.name}, {name}")


@each_covering_paimon_table()
def test_fastavro_reads_what_is_written_again(table: GoldenTable, tmp_path: Path):
    copy = _rewritten(table, tmp_path)
    for file in sorted(copy.glob("manifest/*")):
        rows, wanted = (
            [_known(record) for record in _records(one)]
            for one in (file, table.path / "manifest" / file.name)
        )
        assert_rows(rows, wanted, f"{table.name}, {file.name}")


def _records(file: Path) -> list[dict[str, Any]]:
    with file.open("rb") as content:
        return [record for record in fastavro.reader(content) if isinstance(record, dict)]


def _known(value: Any) -> Any:
    """A record without what is null, since older writers lack some fields, and without a manifest's size."""

    def known(parts: dict[str, Any]) -> dict[str, Any]:
        sizes = {"_FILE_SIZE"} if "_NUM_ADDED_FILES" in parts else set()
        return {name: part for name, part in parts.items() if part is not None and name not in sizes}

    return changed(value, known)


def _rewritten(table: GoldenTable, folder: Path) -> Path:
    manifests = table.path / "manifest"
    if manifests.is_dir() and not all(map(is_avro, manifests.iterdir())):
        pytest.skip(f"{table.name} has manifests that are not Avro")
    return rewritten(table.path, folder / table.name)


def _check_sizes(read: Any, folder: Path) -> None:
    """Holds the sizes that snapshots and lists record against the files', and takes them out."""
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()} if folder.is_dir() else {}
    recorded = [
        (snapshot[name], snapshot.pop(size))
        for snapshot in read["snapshots"]
        for name, size in LIST_SIZES.items()
        if size in snapshot
    ]
    rows = [row for rows in read["lists"].values() for row in rows] + read["system"]["manifests"]
    recorded += [(row["file_name"], row.pop("file_size")) for row in rows]
    for name, size in recorded:
        # Expired files are known by their records alone.
        assert name not in sizes or sizes[name] == int(size), name


@pytest.mark.jvm
@each_golden_paimon_table("file_index*", "pk_levels")
def test_indexes_of_columns_are_those_that_java_reads(table: GoldenTable, paimon_java: JavaEngine):
    """Paimon 1.4 has no table `$file_indexes`; it reads the heads that later versions make it of."""
    heads = paimon_java.ask("file_indexes", table=table.path)
    found: dict[str, dict[str, str]] = {}
    for row in lakebed.open_table(table.path).metadata_table("file_indexes").to_arrow().to_pylist():
        name = row["file_path"].rpartition("/")[2]
        start = heads[name][f"{row['column_name']} {row['index_type']}"].strip("()").split(",")[0]
        assert row["is_empty"] == (start == "-1")
        assert (row["index_file_path"] is None) == (row["storage_type"] == "EMBEDDED")
        where = f"({start},{row['index_size_in_bytes']})"
        found.setdefault(name, {})[f"{row['column_name']} {row['index_type']}"] = where
    assert found == heads
    assert bool(found) == table.name.startswith("file_index")
