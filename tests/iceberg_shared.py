"""Iceberg tables of every writer, as metadata without data, in folders other than where they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from iceberg_peers import LIST_IDS, Row, list_rows, metadata

import lakebed
from shared_data import SHARED_DATA, each

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class SharedTable:
    """A table's metadata without its data, in a folder other than where it was written."""

    name: str
    path: Path

    @cached_property
    def metadata(self) -> list[Row]:
        """Every metadata file there is."""
        return [metadata(file) for file in sorted((self.path / "metadata").glob("*.metadata.json"))]

    @cached_property
    def relocate(self) -> dict[str, str]:
        """Every prefix that paths of this table's metadata have → the folder."""
        written = set()
        for table in self.metadata:
            for snapshot in table.get("snapshots") or []:
                written |= set(self._manifest_paths(snapshot))
        prefixes = {path.rpartition("/metadata/")[0] for path in written}
        locations = {table["location"] for table in self.metadata if "location" in table}
        return {prefix: str(self.path) for prefix in prefixes | locations}

    def _manifest_paths(self, snapshot: Row) -> Iterator[str]:
        yield from snapshot.get("manifests") or []
        if path := snapshot.get("manifest-list"):
            yield path
            yield from (row["manifest_path"] for row in list_rows(self.file(path)))

    def file(self, written: str) -> Path:
        """Where a metadata file is that is written of."""
        return self.path / "metadata" / written.rpartition("/")[2]

    def current_file(self, now: lakebed.Table) -> Path:
        """The metadata file that the table was opened by, last of its own log."""
        log = now.metadata_table("metadata_log_entries").to_arrow()
        return self.file(log["file"].to_pylist()[-1])

    def open(self) -> lakebed.Table:
        return lakebed.open_table(self.path, relocate=self.relocate)

    def manifests(self, snapshot: Row) -> list[Row]:
        """The records of a snapshot's manifest list; of inline manifests, what is known of them."""
        if path := snapshot.get("manifest-list"):
            return list_rows(self.file(path))
        unknown = dict.fromkeys(LIST_IDS.values())
        known = {"content": 0, "sequence_number": 0, "partition_spec_id": 0}
        return [
            {**unknown, **known, "manifest_path": path, "added_snapshot_id": snapshot["snapshot-id"]}
            for path in snapshot["manifests"]
        ]

    def why_refused(self) -> str | None:
        """What this table has that Iceberg does not allow."""
        ids = [row["snapshot-id"] for table in self.metadata for row in table.get("snapshots") or []]
        return "a snapshot id of more than 64 bits" if any(id_ > LARGEST_ID for id_ in ids) else None


def shared_tables() -> list[SharedTable]:
    root = SHARED_DATA / "iceberg" / "tables"
    folders = sorted(path.parent for path in root.glob("*/metadata"))
    return [SharedTable(str(folder.relative_to(root)), folder) for folder in folders]


def each_shared_iceberg_table(*, refused: bool = False) -> pytest.MarkDecorator:
    """Parametrises `table` over the tables that can be read, or over those that must be refused."""
    tables = [table for table in shared_tables() if (table.why_refused() is not None) == refused]
    return each("table", tables, [table.name for table in tables], "Iceberg tables")


def shared_table(name: str) -> SharedTable:
    """A table by its name; skips the test where it is not there."""
    found = [table for table in shared_tables() if table.name == name]
    if not found:
        pytest.skip(f"no table {name}: {SHARED_DATA} is absent or lacks it (LAKEBED_SHARED)")
    return found[0]


def at_each_snapshot(table: SharedTable) -> Iterator[tuple[lakebed.Table, Row, Row]]:
    """The table at each of its snapshots, with the snapshot and the metadata as they were parsed here."""
    now = table.open()
    current = metadata(table.current_file(now))
    for snapshot in current.get("snapshots") or []:
        yield now.at(snapshot=snapshot["snapshot-id"]), snapshot, current
