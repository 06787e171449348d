"""Manifest lists against the engine's own answers, and of every writer against fastavro's reading by ids."""

from __future__ import annotations

from pathlib import Path

from iceberg_peers import LIST_IDS, list_rows
from iceberg_shared import SharedTable, each_shared_iceberg_table
from raising import raises

from iceberg_answers import assert_same_rows, canonical_rows
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed import iceberg
from lakebed.errors import UnsupportedError
from shared_data import each_shared_file

OTHER_KEYS = ("snapshot_id", "ord")  # of the answer, not of the list


@each_golden_iceberg_table()
def test_the_engines_answers(table: GoldenTable):
    for snapshot in table.rows("snapshots"):
        if (location := snapshot["manifest_list"]) is None:
            continue
        read = iceberg.read_manifest_list(table.plain(location)).to_arrow()
        answers = [
            {name: value for name, value in row.items() if name not in OTHER_KEYS}
            for row in table.manifest_rows(snapshot["snapshot_id"])
        ]
        assert_same_rows(canonical_rows(read), answers, f"{table.name}, {location}")


@each_shared_iceberg_table()
def test_fastavro_reads_the_same(table: SharedTable):
    for file in sorted((table.path / "metadata").glob("snap-*.avro")):
        read = iceberg.read_manifest_list(file).to_arrow()
        assert read.select(list(LIST_IDS.values())).to_pylist() == list_rows(file), file.name


@each_shared_file("iceberg/manifest_lists/**/*.avro")
def test_lists_of_other_writers(file: Path):
    with file.open("rb") as content:
        encrypted = content.read(4) == b"AGS1"
    if encrypted:
        with raises(UnsupportedError, match="encrypted", path=str(file)):
            iceberg.read_manifest_list(file).to_arrow()
        return
    rows = iceberg.read_manifest_list(file).to_arrow().to_pylist()
    assert rows
    assert [{name: row[name] for name in LIST_IDS.values()} for row in rows] == list_rows(file)
