"""Every Iceberg table there is, of whatever writer: it decodes, and other readers see the same entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from iceberg_peers import Row, assert_same_entries, entry_rows, metadata, partition, partition_names, rows_of
from iceberg_shared import SharedTable, at_each_snapshot, each_shared_iceberg_table

import lakebed
from lakebed.errors import LakebedError, MissingFileError
from shared_data import SHARED_DATA, each

# Some writers record lengths that their manifests do not have.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
VIEWS = ["files", "entries", "manifests", "snapshots", "refs", "schemas", "partitions", "buckets", "deletes"]


@each_shared_iceberg_table(refused=True)
def test_refused_tables(table: SharedTable):
    with pytest.raises(LakebedError) as caught:
        table.open()
    assert str(table.path) in (caught.value.path or "")
    assert len(str(caught.value).splitlines()) == 1


@each_shared_iceberg_table()
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_decodes(table: SharedTable, view: str):
    scan = getattr(table.open(), view)()
    read = scan.to_arrow()
    read.validate(full=True)
    assert read.schema == scan.schema


@each_shared_iceberg_table()
def test_every_metadata_table_decodes(table: SharedTable):
    now = table.open()
    assert now.metadata_tables
    for name in now.metadata_tables:
        scan = now.metadata_table(name)
        try:
            read = scan.to_arrow()
        except MissingFileError:
            # Delete files are not among the metadata.
            assert name == "position_deletes"
            continue
        read.validate(full=True)
        assert read.schema == scan.schema, name


@each_shared_iceberg_table()
def test_manifests_are_those_of_the_list(table: SharedTable):
    for at, snapshot, _ in at_each_snapshot(table):
        paths = at.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
        assert paths == [row["manifest_path"] for row in table.manifests(snapshot)]


@each_shared_iceberg_table()
def test_fastavro_reads_the_same_entries(table: SharedTable):
    for at, snapshot, current in at_each_snapshot(table):
        read = at.entries().to_arrow()
        types = {field.name: field.type for field in read.schema.field("partition").type}
        names = partition_names(current)
        expected = [
            row | {"partition": partition(row["partition"], names, types)}
            for manifest in table.manifests(snapshot)
            for row in entry_rows(table.file(manifest["manifest_path"]), manifest)
        ]
        assert_same_entries(rows_of(read), expected, f"{table.name}, snapshot {snapshot['snapshot-id']}")


def _json_files() -> list[Path]:
    return sorted((SHARED_DATA / "iceberg" / "json").glob("*/*.json"))


@each("file", _json_files(), [f"{f.parent.name}-{f.stem}" for f in _json_files()], "Iceberg metadata files")
def test_metadata_files_of_every_writer(file: Path):
    expected = metadata(file)
    if (reason := why_metadata_is_refused(expected)) is None:
        table = lakebed.open_table(file)
        assert table.format == "iceberg"
        snapshots = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
        assert snapshots == [row["snapshot-id"] for row in expected.get("snapshots") or []]
        assert len(table.schemas().to_arrow()) == len(expected.get("schemas") or [expected.get("schema")])
        return
    with pytest.raises(LakebedError, match=re.escape(reason)) as caught:
        lakebed.open_table(file)
    assert caught.value.path == str(file)
    assert len(str(caught.value).splitlines()) == 1


REQUIRED = {
    1: ["location", "last-updated-ms", "last-column-id"],
    2: ["table-uuid", "location", "schemas", "partition-specs", "sort-orders", "default-sort-order-id"],
    3: ["table-uuid", "location", "schemas", "partition-specs", "sort-orders", "next-row-id"],
}


def why_metadata_is_refused(table: Row) -> str | None:
    """A word of the error that this metadata must give; None where it must be read."""
    version = table["format-version"]
    if version not in REQUIRED:
        return str(version)
    if absent := [key for key in REQUIRED[version] if key not in table]:
        return absent[0]
    schemas = [schema.get("schema-id", 0) for schema in table.get("schemas") or []]
    current = table.get("current-schema-id")
    return str(current) if current is not None and schemas and current not in schemas else None
