"""Changes of an Iceberg table's properties, statistics and format version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed._arguments import names
from lakebed.iceberg.committing import Change, commit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.limits import Limits
    from lakebed.table import Table


def set_properties(
    table: Table,
    properties: Mapping[str, str] | None = None,
    *,
    remove: Sequence[str] = (),
    limits: Limits | None = None,
) -> Table:
    """Sets properties of a table, and removes others.

    Args: table, as in `append_files`; properties, keys and values; remove, keys that go, if they are there;
        limits, what reading the table may cost, None for what it was opened with.
    Returns: the table at the head of its branch.
    Raises: SchemaError for a key that is not a property (`format-version`, `uuid`, `current-schema` and
        others that follow from what the table is), and one that is both set and removed; as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `PropertiesUpdate.java`, `TableProperties.java`.
    """
    given = {key: str(value) for key, value in (properties or {}).items()}
    change = {"properties": {"set": given, "remove": names("remove", remove)}}
    return commit(table, Change("settings", json.dumps(change)), limits)


def upgrade(table: Table, format_version: int, *, limits: Limits | None = None) -> Table:
    """Makes a table one of a later version of the format; no file is written again but the metadata.

    Snapshots that are there stay readable as they are. In version 3 rows of older files get ids with the next
    commit, and position deletes are added as deletion vectors alone.

    Args: table, as in `append_files`; format_version, 2 or 3; limits, what reading the table may cost,
        None for what it was opened with.
    Returns: the table at the head of its branch; the same where it is of that version.
    Raises: UnsupportedError (a version that is not written, or below the table's); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Format version changes"; Iceberg's `TableMetadata.java`.
    """
    return commit(table, Change("settings", json.dumps({"upgrade": format_version})), limits)


def set_statistics(
    table: Table, statistics: Mapping[str, Any], *, of_partitions: bool = False, limits: Limits | None = None
) -> Table:
    """Names a file of statistics of a snapshot, in the place of the one that the snapshot has.

    Args: table, as in `append_files`; statistics, the file's record in the metadata, as `statistics` or
        `partition-statistics` of `read_metadata` have it: `snapshot-id`, `statistics-path`,
        `file-size-in-bytes`, and of a whole table `file-footer-size-in-bytes` and `blob-metadata`. The file
        is written already, and is not looked at; of_partitions, statistics of each partition instead; limits,
        what reading the table may cost, None for what it was opened with.
    Returns: the table at the head of its branch.
    Raises: SchemaError (a key that is absent or of another type, no such snapshot); as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Table Statistics", "Partition Statistics"; Iceberg's
        `SetStatistics.java`, `SetPartitionStatistics.java`.
    """
    change = {"set_statistics": {"kind": _kind(of_partitions), "file": dict(statistics)}}
    return commit(table, Change("settings", json.dumps(change)), limits)


def remove_statistics(
    table: Table, snapshot_id: int, *, of_partitions: bool = False, limits: Limits | None = None
) -> Table:
    """Takes the statistics of a snapshot out of the metadata, if it has some; the file stays.

    Args: table, as in `append_files`; snapshot_id, the snapshot; of_partitions and limits, as in
        `set_statistics`.
    Returns: the table at the head of its branch.
    Raises: as `append_files`.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetStatistics.java`, `SetPartitionStatistics.java`.
    """
    change = {"remove_statistics": {"kind": _kind(of_partitions), "snapshot_id": snapshot_id}}
    return commit(table, Change("settings", json.dumps(change)), limits)


def _kind(of_partitions: bool) -> str:
    return "partitions" if of_partitions else "table"
