"""What takes the place of functions of PyIceberg's."""

from __future__ import annotations

import json
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

from pyiceberg import manifest as manifests
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.table import DataScan
from pyiceberg.table.inspect import InspectTable
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from lakebed._below import NotTheSameError, Replacement
from lakebed.iceberg.reading import read_manifest_list
from lakebed.pyiceberg import inspection, scans
from lakebed.pyiceberg.columns import (
    FileInMemory,
    default_at,
    file_bytes,
    header_schema,
)
from lakebed.pyiceberg.installing import BELOW
from lakebed.pyiceberg.records import columns_of, entries

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTED = (
    "manifest_path", "manifest_length", "partition_spec_id", "content", "sequence_number",
    "min_sequence_number", "added_snapshot_id", "added_files_count", "existing_files_count",
    "deleted_files_count", "added_rows_count", "existing_rows_count", "deleted_rows_count", "partitions",
    "key_metadata",
)  # fmt: skip
_LIST = MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION]


def replacements() -> list[Replacement]:
    """What takes the place of what."""
    fetch_own, list_own = ManifestFile.fetch_manifest_entry, manifests.read_manifest_list
    # Before 0.10 PyIceberg's own code makes both tables.
    has_files = hasattr(InspectTable, "_get_files_from_manifest")
    entries_own = InspectTable.entries
    files_own: Any = InspectTable._get_files_from_manifest if has_files else entries_own

    @wraps(fetch_own)
    def fetch_manifest_entry(self: Any, io: Any, discard_deleted: bool = True) -> list[Any]:
        if not BELOW.is_installed:
            return fetch_own(self, io, discard_deleted)
        data = file_bytes(io, self.manifest_path)
        columns = columns_of(data, self)
        if columns is None:
            return fetch_own(self, FileInMemory(data), discard_deleted)  # type: ignore[arg-type]
        return entries(columns, columns.live_rows() if discard_deleted else range(len(columns)))

    @wraps(list_own)
    def read_manifest_list_(input_file: Any) -> Iterator[Any]:
        if not BELOW.is_installed:
            yield from list_own(input_file)
            return
        with input_file.open() as stream:
            data = bytes(stream.read())
        listed = BELOW.answered("manifest lists", lambda: _listed(data))
        yield from list_own(FileInMemory(data)) if listed is None else listed  # type: ignore[arg-type]

    @wraps(files_own)
    def _get_files_from_manifest(self: Any, manifest_list: Any, data_file_filter: Any = None) -> Any:
        def made() -> Any:
            data = file_bytes(self.tbl.io, manifest_list.manifest_path)
            return inspection.files(self, data, manifest_list, data_file_filter)

        table = BELOW.answered("inspect", made) if BELOW.is_installed else None
        return files_own(self, manifest_list, data_file_filter) if table is None else table

    @wraps(entries_own)
    def entries_(self: Any, snapshot_id: int | None = None) -> Any:
        table = (
            BELOW.answered("inspect", lambda: inspection.entries(self, snapshot_id))
            if BELOW.is_installed
            else None
        )
        return entries_own(self, snapshot_id) if table is None else table

    found = [
        Replacement(ManifestFile, "fetch_manifest_entry", fetch_manifest_entry),
        Replacement(manifests, "read_manifest_list", read_manifest_list_),
        _plan(),
    ]
    if has_files:
        found.append(Replacement(InspectTable, "_get_files_from_manifest", _get_files_from_manifest))
        found.append(Replacement(InspectTable, "entries", entries_))
    return found


def _plan() -> Replacement:
    """What plans: since 0.12 of manifests that it is given, before of those of the scan's snapshot."""
    names = ("_plan_files_local", "plan_files")
    name = next(one for one in names if one in vars(scans.PLANNER))
    own = vars(scans.PLANNER)[name]

    @wraps(own)
    def plan_files(self: Any, manifests: Any, *args: Any, **named: Any) -> Any:
        if not BELOW.is_installed:
            return own(self, manifests, *args, **named)
        every = list(manifests)
        made = BELOW.answered("plans", lambda: scans.plan_files(self, every, *args, **named))
        return own(self, every, *args, **named) if made is None else made

    @wraps(own)
    def plan_scan(self: Any) -> Any:
        snapshot = self.snapshot() if BELOW.is_installed else None
        if not snapshot:
            return own(self)
        made = BELOW.answered("plans", lambda: scans.plan_files(self, list(snapshot.manifests(self.io))))
        return own(self) if made is None else made

    return Replacement(scans.PLANNER, name, plan_scan if scans.PLANNER is DataScan else plan_files)


def _listed(data: bytes) -> list[Any]:
    """The manifests of a list as PyIceberg has them."""
    no_content = _no_content(header_schema(data))
    table = read_manifest_list(data, columns=_LISTED).to_arrow()
    columns = [table.column(name).to_pylist() for name in _LISTED]
    made = []
    for row in zip(*columns, strict=True):
        values = list(row)
        if values[3] is None or values[3] > 1 or None in values[4:6]:
            raise NotTheSameError("an unknown content, or nulls where there are none")
        values[3] = ManifestContent(values[3]) if no_content is None else no_content
        if values[13] is not None:
            values[13] = [PartitionFieldSummary(*one.values()) for one in values[13]]
        made.append(ManifestFile(*values))
    return made


@lru_cache(maxsize=64)
def _no_content(schema: str) -> Any:
    """What manifests hold in a list that does not say it, as those of version 1; None for one that does.

    Raises: NotTheSameError where PyIceberg refuses the schema.
    """
    try:
        stored = AvroSchemaConversion().avro_to_iceberg(json.loads(schema))
        types: Any = {-1: ManifestFile, 508: PartitionFieldSummary}
        return default_at(resolve_reader(stored, _LIST, types, {517: ManifestContent}), 3)
    except Exception as error:
        raise NotTheSameError(f"a schema that PyIceberg does not take ({type(error).__name__})") from error
