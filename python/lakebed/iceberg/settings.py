"""Changes of an Iceberg table's properties, statistics and format version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.iceberg import _actions
from lakebed.iceberg._commit import commit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.table import Table


def set_properties(
    table: Table, properties: Mapping[str, str] | None = None, *, remove: Sequence[str] = ()
) -> Table:
    """Sets properties of a table, and removes others.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        properties, keys and values; remove, keys to remove, if they are there.
    Returns: the table at the head of its branch.
    Raises: SchemaError for a key that is not a property (`format-version`, `uuid`, `current-schema` and
        others that follow from what the table is), and one that is both set and removed;
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `PropertiesUpdate.java`, `TableProperties.java`.
    """
    return commit(table, _actions.set_properties(properties, remove=remove))


def upgrade(table: Table, format_version: int) -> Table:
    """Makes a table one of a later version of the format; no file is written but the metadata.

    Snapshots that are there stay readable as they are. In version 3 rows of older files get ids with the next
    commit, and position deletes are added as deletion vectors alone.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        format_version, 2 or 3.
    Returns: the table at the head of its branch; as it is now where it has that version.
    Raises: UnsupportedError (a version that is not written, or below the table's);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Format version changes"; Iceberg's `TableMetadata.java`.
    """
    return commit(table, _actions.upgrade(format_version))


def set_statistics(table: Table, statistics: Mapping[str, Any], *, of_partitions: bool = False) -> Table:
    """Names a file of statistics of a snapshot, in the place of the one that the snapshot has.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        statistics, the file's record in the metadata, as `statistics` or `partition-statistics` of
        `read_metadata` have it: `snapshot-id`, `statistics-path`, `file-size-in-bytes`, and of a whole table
        `file-footer-size-in-bytes` and `blob-metadata`. The file is written already, and is not looked at;
        of_partitions, statistics of each partition instead.
    Returns: the table at the head of its branch.
    Raises: SchemaError (a key that is absent or of another type, no such snapshot);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Table Statistics", "Partition Statistics"; Iceberg's
        `SetStatistics.java`, `SetPartitionStatistics.java`.
    """
    return commit(table, _actions.set_statistics(statistics, of_partitions=of_partitions))


def remove_statistics(table: Table, snapshot_id: int, *, of_partitions: bool = False) -> Table:
    """Removes the statistics of a snapshot from the metadata, if it has some; the file stays.

    Args: table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit;
        snapshot_id, the snapshot; of_partitions, its statistics of each partition instead.
    Returns: the table at the head of its branch.
    Raises: CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg's `SetStatistics.java`, `SetPartitionStatistics.java`.
    """
    return commit(table, _actions.remove_statistics(snapshot_id, of_partitions=of_partitions))
