"""Tables as PyIceberg reads them, wherever their files stand; tests that import this need PyIceberg."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from iceberg_peers import ENTRY_IDS, FILE_IDS, Row

pyarrow_io = pytest.importorskip("pyiceberg.io.pyarrow")
serializers = pytest.importorskip("pyiceberg.serializers")

# What PyIceberg 0.12 does not keep of an entry.
NOT_KEPT = {"first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes"}
FILE_FIELDS = [name for name in FILE_IDS.values() if name not in NOT_KEPT]


class MappedFiles(pyarrow_io.PyArrowFileIO):  # type: ignore[misc, name-defined]
    """Files that stand elsewhere than the metadata says."""

    def __init__(self, file: Callable[[str], Path]) -> None:
        super().__init__()
        self._file = file

    def new_input(self, location: str) -> Any:
        return super().new_input(str(self._file(location)))


@dataclass(frozen=True)
class Peer:
    """A table as PyIceberg reads it."""

    metadata: Any
    files: MappedFiles

    def entries(self, snapshot_id: int) -> Iterator[Row]:
        """The entries of a snapshot under lakebed's names; `partition` by field id."""
        (snapshot,) = (row for row in self.metadata.snapshots if row.snapshot_id == snapshot_id)
        for manifest in snapshot.manifests(self.files):
            for entry in manifest.fetch_manifest_entry(self.files, discard_deleted=False):
                yield self._row(entry, manifest)

    def _row(self, entry: Any, manifest: Any) -> Row:
        file = entry.data_file
        row = {name: plain(getattr(entry, name)) for name in ENTRY_IDS.values()}
        row |= {name: plain(getattr(file, name)) for name in FILE_FIELDS}
        fields = self.metadata.specs()[manifest.partition_spec_id].fields
        values = {field.field_id: file.partition[position] for position, field in enumerate(fields)}
        return row | {"spec_id": manifest.partition_spec_id, "partition": values}


def plain(value: Any) -> Any:
    return getattr(value, "value", value)


def peer(location: str, file: Callable[[str], Path]) -> Peer:
    """A table of a metadata file; skips the test where PyIceberg does not take it."""
    files = MappedFiles(file)
    try:
        read = serializers.FromInputFile.table_metadata(pyarrow_io.PyArrowFileIO().new_input(location))
    except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
        pytest.skip(f"PyIceberg cannot open it: {first_line(error)}")
    return Peer(read, files)


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}"


def forget_manifests() -> None:
    """Empties PyIceberg's cache of manifest lists, which each version keeps in another place."""
    known = vars(importlib.import_module("pyiceberg.manifest"))
    if "clear_manifest_cache" in known:
        known["clear_manifest_cache"]()
    elif "_manifest_cache" in known:
        known["_manifest_cache"].clear()
    else:
        known["_manifests"].cache.clear()
