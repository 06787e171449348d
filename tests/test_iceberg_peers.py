"""PyIceberg reads the same entries, of the engine's tables and of those of other writers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from iceberg_peers import assert_same_entries, peer_value, rows_of
from iceberg_shared import SharedTable, each_shared_iceberg_table
from pyiceberg_peer import Peer, first_line, peer

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table

# Some writers record lengths that their manifests do not have.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")


def assert_same(table: lakebed.Table, other: Peer) -> None:
    """The same entries at every snapshot; skips the test where PyIceberg cannot read them."""
    names = {field.field_id: field.name for spec in other.metadata.partition_specs for field in spec.fields}
    for snapshot in other.metadata.snapshots:
        try:
            expected = list(other.entries(snapshot.snapshot_id))
        except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
            pytest.skip(f"PyIceberg cannot read snapshot {snapshot.snapshot_id}: {first_line(error)}")
        read = table.at(snapshot=snapshot.snapshot_id).entries().to_arrow()
        # Doubles in partitions come at the width of floats from PyIceberg 0.12.
        fields = [field for field in read.schema.field("partition").type if field.type != pa.float64()]
        types = {field.name: field.type for field in fields}
        for row in expected:
            values = {names[number]: value for number, value in row["partition"].items()}
            row["partition"] = {name: peer_value(values.get(name), kind) for name, kind in types.items()}
        rows = [
            {**row, "partition": {name: row["partition"][name] for name in types}} for row in rows_of(read)
        ]
        assert_same_entries(rows, expected, f"snapshot {snapshot.snapshot_id}")


@each_golden_iceberg_table()
def test_pyiceberg_reads_the_engines_entries(table: GoldenTable):
    assert_same(table.open(), peer(str(table.path / table.info["metadata_file"]), table.file))


@each_shared_iceberg_table()
def test_pyiceberg_reads_the_entries_of_other_writers(table: SharedTable):
    opened = table.open()
    assert_same(opened, peer(str(table.current_file(opened)), table.file))


@each_golden_iceberg_table()
def test_pyiceberg_plans_the_same_deletes(table: GoldenTable):
    """Of the snapshots whose deletes it takes: those of position alone."""
    tables = pytest.importorskip("pyiceberg.table")
    other = peer(str(table.path / table.info["metadata_file"]), table.file)
    planner = tables.Table(("golden",), other.metadata, "", other.files, None)
    for snapshot in other.metadata.snapshots:
        at = table.open().at(snapshot=snapshot.snapshot_id)
        plan = at.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
        if any(one["content_offset"] is not None for row in plan for one in row["delete_files"]):
            # It drops what tells a deletion vector from position deletes of its partition.
            continue
        try:
            tasks = list(planner.scan(snapshot_id=snapshot.snapshot_id).plan_files())
        except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
            pytest.skip(f"PyIceberg cannot plan snapshot {snapshot.snapshot_id}: {first_line(error)}")
        expected = {task.file.file_path: {one.file_path for one in task.delete_files} for task in tasks}
        found = {row["file_path"]: {one["file_path"] for one in row["delete_files"]} for row in plan}
        assert found == expected, snapshot.snapshot_id
