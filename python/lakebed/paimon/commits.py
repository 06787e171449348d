"""Commits to tables on the local file system and on object stores with conditional puts."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._arguments import encodable, names, positive
from lakebed.errors import SchemaError
from lakebed.limits import LIMITS, Limits
from lakebed.paimon._committing import committable, made, who_commits
from lakebed.storage import resolve
from lakebed.storage.paths import without_climbing
from lakebed.table import Table, table_of
from lakebed.table.opening import Opening

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    partition_by: Sequence[str] = (),
    partition_keys: Sequence[str] = (),
    primary_keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    limits: Limits = LIMITS,
    storage: object | None = None,
) -> Table:
    """A new table without snapshots: its folder, and in it `schema/schema-0`.

    Args:
        location: a folder, which need not be there, or a URI; there must be no table in it.
        schema: the columns: anything with `__arrow_c_schema__`, whose fields may name a Paimon type in their
            metadata (`paimon.type`: `VARCHAR(10)`); or the `fields` of a schema file, a list of dicts of
            `name` and `type`, which get their ids here unless they have some. Columns of primary keys are
            never null.
        partition_by: names of the columns that partition the table, in the order of its folders; the same
            word as `lakebed.iceberg.create_table` has.
        partition_keys: the same by Paimon's own word; one of the two.
        primary_keys: names of the key columns, those of the partition included.
        options: Paimon's: `{"bucket": "4", "bucket-key": "id"}`. `manifest.format` may be `orc` or `parquet`,
            which Paimon reads up to 2.0.
        comment: of the table.
        limits: of the table that is returned.
        storage: as `open_table` takes it; one that commits are made on, as in `append_files`.
    Raises: SchemaError (types, keys or buckets that make no table), UnsupportedError (a storage that commits
        are not made on, a format or codec of manifests that is not written), LocationError (a location with
        control characters), FileExistsError (there is a table), TypeError, OSError. Nothing is left behind
        then, but an empty file where the storage fails on the way, and what was written where it does not
        report whether it has.
    Source: Paimon's `SchemaManager.java`, `SchemaValidation.java`.

    >>> create_table("/data/orders", pa.schema([("id", pa.int64()), ("day", pa.date32())]),
    ...              partition_by=["day"])
    <lakebed paimon table '/data/orders' ...>
    """
    path, adapter = resolve(location, storage)
    path = path if adapter else without_climbing(path)
    columns = _arrow.named(schema) if hasattr(schema, "__arrow_c_schema__") else json.dumps(list(schema))
    pairs = [
        (encodable("options", key), encodable("options", str(value)))
        for key, value in (options or {}).items()
    ]
    if partition_by and partition_keys:
        raise TypeError("partition_by and partition_keys mean the same: give one")
    partitioned = names("partition_by", partition_by) or names("partition_keys", partition_keys) or []
    keys = (partitioned, list(primary_keys))
    native = _native.paimon_create_table(path, adapter, columns, *keys, pairs, comment, limits)
    return table_of(native, Opening(adapter, path, limits=limits))


def append_files(
    table: Table,
    files: Any,
    *,
    changelog: Any = None,
    check_files: bool = True,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Adds data files, which are written already, to the table's branch.

    Args:
        table: a Paimon table on the local file system; or one that was opened with a store of obstore, where
            the store has conditional puts (S3 and compatible stores, GCS, Azure), or with a `Storage` that
            has `publish`. The commit builds on the latest snapshot of its branch, whichever snapshot the
            table is at.
        files: anything with `__arrow_c_stream__`, a row a file, in columns of the view `files`. Required:
            `file_path` (absolute, or relative to the table: where the table's layout has the file, or outside
            the table), `record_count`, `file_size_in_bytes`; `partition` (a struct of the partition columns)
            in partitioned tables; `bucket` where buckets are fixed; `min_key`, `max_key`,
            `min_sequence_number` and `sequence_number` in tables with primary keys. Optional: what else a
            file has, and `stats`, as the view gives them with `stats=[…]`: bounds are cut to the length that
            the table keeps. `schema_id` is of the schema that the file was written by, by default the latest;
            `level` above 0 is for files with keys, which must not overlap others there. The commit gives row
            ids, and sequence numbers where rows are tracked.
        changelog: files in the same columns that say what changed, for who reads changes; of tables with
            primary keys.
        check_files: False reads no manifest, as Paimon's own writers do, so that it is not found out that a
            file is in the table already, was deleted from it, or counts buckets otherwise than its partition:
            for files whose names nobody else has.
        commit_user: who commits, None for a new UUID.
        identifier: the user's number of this commit. A snapshot of the same user, number and kind is not
            committed again: the table is returned standing at it, once all snapshots are read to find it.
            None for batch writers.
        properties: free pairs of texts that the snapshot keeps.
        watermark: the event time below which no more rows come; the snapshot has the larger of this and the
            one before.
    Returns: the table at the new snapshot; at the latest one where there are no files.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column that files do not
        have, that is absent or of another type, a null or a value that does not fit, a path inside the table
        that is not the file's, a file that is in the table already or that manifests still tell to be
        deleted, a partition with another number of buckets), UnsupportedError (a storage that commits are
        not made on, dynamic buckets, manifest lists in another format than `manifest.format`, and in ORC or
        Parquet a pyarrow that cannot write it), CorruptError and its kin (the table's own files). OSError;
        CommitConflictError after 200 lost races, and for keys that another commit has put into the same
        level. What was written is removed then, unless a store did not say whether the snapshot is there.
    Cost: reads the names of files in manifests that may have these partitions, side by side; writes one
        manifest (more above `manifest.target-file-size`), two lists and a snapshot, each synced, in memory of
        one manifest.
        On a store also one put that is to be refused: a server that passes over its condition is found out.
    Source: Paimon's `FileStoreCommitImpl.java`, `RenamingSnapshotCommit.java`.

    >>> append_files(table, pa.table({"file_path": ["bucket-0/data-1.parquet"], "record_count": [3],
    ...                               "file_size_in_bytes": [1024]})).snapshot_id
    1
    """
    who = who_commits(commit_user, identifier, properties, watermark)
    added, changes = _arrow.writable(files), None if changelog is None else _arrow.writable(changelog)
    native = _native.paimon_append_files(committable(table), added, changes, check_files, who)
    return made(table, native)


def delete_files(
    table: Table,
    files: Any,
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Takes files out of the table; the files themselves stay where they are until snapshots expire.

    Args:
        table: as in `append_files`.
        files: paths, absolute or relative to the table, or Arrow with a column `file_path`, such as
            `table.files(where=…)`. In tables with primary keys older versions of their rows come to light.
        commit_user: as in `append_files`.
        identifier: as there; the kind is OVERWRITE.
        properties: as there.
        watermark: as there.
    Returns: the table at the new snapshot; at the latest one where there are no paths. Deletion
        vectors of the files go with them.
    Raises: before anything is written: SchemaError (a path that is not a live file's, or given twice, with
        its row), UnsupportedError (a storage that commits are not made on, a table with data evolution, rows
        that a global index covers). Others as `append_files`.
    Cost: reads all entries; as `append_files`.
    Source: Paimon's `FileStoreCommitImpl.java`.
    """
    who = who_commits(commit_user, identifier, properties, watermark)
    return made(table, _native.paimon_delete_files(committable(table), paths_of(files), who))


def overwrite_partition(
    table: Table,
    files: Any,
    partition: Mapping[str, Any] | None,
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Puts files in the place of all that are live in some partitions.

    Args:
        table: as in `append_files`.
        files: as in `append_files`, all of these partitions.
        partition: values of some or all partition columns; partitions that have them are overwritten. `{}` is
            the whole table, None each partition that a file is of (Paimon's dynamic overwrite).
        commit_user: as in `append_files`.
        identifier: as there; the kind is OVERWRITE.
        properties: as there.
        watermark: as there.
    Returns: the table at the new snapshot. Index files of these partitions are gone.
    Raises: as `append_files`; SchemaError for a column that is not the partition's, and for a file of another
        partition.
    Cost: as `delete_files`.
    Source: Paimon's `FileStoreCommitImpl.java` (`overwritePartition`).
    """
    who = who_commits(commit_user, identifier, properties, watermark)
    one = None if partition is None else _partition(table, partition)
    native = _native.paimon_overwrite_partition(committable(table), _arrow.writable(files), one, who)
    return made(table, native)


def compact_manifests(
    table: Table,
    *,
    target_bytes: int | None = None,
    sort: bool = False,
    memory_bytes: int = 256 << 20,
    commit_user: str | None = None,
) -> Table:
    """Writes the manifests of the latest snapshot anew, without entries of files that are deleted.

    Args:
        table: as in `append_files`.
        target_bytes: the size of manifests; None for option `manifest.target-file-size` (8 MB). Larger ones
            without deleted files stay as they are, unless they are sorted.
        sort: put entries in the order of their partitions and buckets, so that filters leave out manifests.
        memory_bytes: of entries that are sorted, about how many bytes are held in memory; more than that lies
            on disk meanwhile, in the folder for temporary files.
        commit_user: as in `append_files`; the kind is COMPACT.
    Returns: the table at the new snapshot, whose files are those of the one before; at the latest
        one where nothing is to be done.
    Raises: as `append_files`.
    Cost: reads all entries and writes them, in memory of some blocks; to be sorted, about twice
        `memory_bytes`. Identities of deleted files are all held.
    Source: Paimon's `ManifestFileMerger.java`, `CompactManifestProcedure.java`.
    """
    positive("target_bytes", target_bytes)
    positive("memory_bytes", memory_bytes)
    who = who_commits(commit_user, None, None, None)
    native = _native.paimon_compact_manifests(committable(table), target_bytes, sort, memory_bytes, who)
    return made(table, native)


def _partition(table: Table, partition: Mapping[str, Any]) -> Any:
    """Values of partition columns as an array of one struct."""
    import pyarrow as pa

    kind = table.files(columns=["partition"]).schema.field("partition").type
    types = {field.name: field.type for field in kind}
    unknown = [name for name in partition if name not in types]
    if unknown:
        raise SchemaError(
            f"the table is not partitioned by {unknown[0]!r}", kind="unknown-column", field=unknown[0]
        )
    columns = [_column(name, value, types[name]) for name, value in partition.items()]
    if not columns:
        return pa.array([{}], pa.struct([]))
    return pa.StructArray.from_arrays(columns, names=list(partition))


def _column(name: str, value: Any, kind: Any) -> Any:
    """A partition column's value as an array. Raises: SchemaError where it is none of its type."""
    import pyarrow as pa

    # Nanoseconds have no room for all that Python's datetime has.
    wide = isinstance(value, datetime) and pa.types.is_timestamp(kind) and kind.unit == "ns"
    try:
        return pa.array([value], pa.timestamp("us", kind.tz) if wide else kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"partition column {name!r} of type {kind} has no value {value!r}: {error}"
        raise SchemaError(message, kind="type", field=name) from error


def paths_of(files: Any) -> Any:
    """Paths as an array of texts."""
    import pyarrow as pa

    if not hasattr(files, "__arrow_c_stream__"):
        return pa.array(list(files), pa.string())
    reader = _arrow.writable(files)
    if "file_path" not in reader.schema.names:
        raise SchemaError("files need a column 'file_path'", kind="unknown-column", field="file_path")
    column = reader.read_all()["file_path"].cast(pa.string())
    return column.combine_chunks() if column.num_chunks else pa.array([], pa.string())
