"""Commits that add and remove data files."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed.errors import SchemaError
from lakebed.paimon._commit import commit, options, paths_of, rows_of
from lakebed.predicates import to_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.predicates import Predicate
    from lakebed.table import Table


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
    """Adds existing data files to the table's branch, in a snapshot of kind APPEND.

    Args:
        table: a Paimon table on a local disk, on a store of obstore that has conditional puts (S3 and
            compatible stores, GCS, Azure), or on a `Storage` that has `publish`. The commit builds on the
            latest snapshot of its branch, whichever snapshot the table is at.
        files: anything with `__arrow_c_stream__`, a row per file, in columns of the view `files`. Required:
            `file_path` (absolute, or relative to the table: where the table's layout has the file, or outside
            the table), `record_count`, `file_size_in_bytes`; `partition` (a struct of the partition columns)
            in partitioned tables; `bucket` where buckets are fixed; `min_key`, `max_key`,
            `min_sequence_number` and `sequence_number` in tables with primary keys. Optional: the other
            columns, and `stats` as the view gives them with `stats=[…]`: bounds are cut to the length that
            the table keeps. `schema_id` is of the schema that the file was written with, by default the
            latest; `level` above 0 is for files with keys, which must not overlap others there. The commit
            assigns row ids, and sequence numbers where rows are tracked.
        changelog: files in the same columns that record what changed, for readers of changes; only for
            tables with primary keys.
        check_files: False reads no manifest, as Paimon's own writers do. It is then not noticed if a file is
            in the table already, was deleted from it, or has another number of buckets than its partition:
            only for files whose names are new.
        commit_user: who commits; None for a new UUID.
        identifier: the user's number of this commit. If a snapshot of the same user, number and kind exists,
            nothing is committed and the table is returned at that snapshot; all snapshots are read to find
            it. None for batch writers.
        properties: pairs of texts that the snapshot keeps.
        watermark: the event time before which all rows have arrived; the snapshot has the larger of this and
            the previous one.
    Returns: the table at the new snapshot; at the latest one where there are no files.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column that files do not
        have, a required one that is missing, another type, a null or a value that does not fit, a path in the
        table that is not the file's, a file that is in the table already or that its manifests delete, a
        partition with another number of buckets), UnsupportedError (a storage without commits, dynamic
        buckets, manifest lists in another format than `manifest.format`, ORC or Parquet that pyarrow cannot
        write), CorruptError and its subclasses (the table's own files). OSError; CommitConflictError after
        200 lost races, and for keys that another commit has added to the same level. Written files are then
        removed, unless a store did not say whether the snapshot exists.
    Cost: reads the file names of manifests that may have these partitions, in parallel; writes one manifest
        (more above `manifest.target-file-size`), two lists and a snapshot, each synced, in memory of one
        manifest. On a store also one put that must be refused, which detects servers that ignore the
        condition.
    Source: Paimon's `FileStoreCommitImpl.java`, `RenamingSnapshotCommit.java`.

    >>> append_files(table, pa.table({"file_path": ["bucket-0/data-1.parquet"], "record_count": [3],
    ...                               "file_size_in_bytes": [1024]})).snapshot_id
    1
    """
    change = _native.PaimonChange.append_files(_arrow.writable(files), rows_of(changelog), check_files)
    return commit(table, change, made_by=options(commit_user, identifier, properties, watermark))


def delete_files(
    table: Table,
    files: Any = None,
    *,
    where: str | Predicate | None = None,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Removes data files from the table, in a snapshot of kind OVERWRITE.

    The files themselves stay until snapshots expire. Deletion vectors of the files are removed with them. In
    tables with primary keys, older versions of their rows become visible.

    Args:
        table: a Paimon table on a storage with commits; the commit builds on the latest snapshot of its
            branch.
        files: paths, absolute or relative to the table, or Arrow data with a column `file_path`, such as
            `table.files(where=…)`.
        where: a condition on partition columns alone, as SQL text or made with `lakebed.col`. All files of
            partitions that match it in the latest snapshot are removed, also of partitions that another
            commit has just added, and the index files of these partitions. As in SQL, null matches no
            comparison; NaN, which engines order differently, only matches `is_nan`, `IS NOT NULL`, and `<>`
            and `NOT IN` of other values. With `files` too, both are removed.
        commit_user: who commits; None for a new UUID.
        identifier: the user's number of this commit. If a snapshot of the same user, number and kind exists,
            nothing is committed and the table is returned at that snapshot. None for batch writers.
        properties: pairs of texts that the snapshot keeps.
        watermark: the event time before which all rows have arrived; the snapshot has the larger of this and
            the previous one.
    Returns: the table at the new snapshot; at the latest one where nothing is removed.
    Raises: before anything is written: SchemaError with `.record` (a path that is not of a live file, or that
        appears twice), UnsupportedError (a storage without commits, single files of a table with data
        evolution, rows that a global index covers; a condition on another column, with its name in
        `.field`), PredicateError, CorruptError and its subclasses (the table's own files), TypeError (neither
        `files` nor `where`). OSError; CommitConflictError after 200 lost races. Written files are then
        removed.
    Cost: reads all entries; with `where` alone those of manifests that may have such partitions. Writes a
        manifest, two lists, a snapshot, and an index manifest where index files change.
    Source: Paimon's `FileStoreCommitImpl.java`.

    >>> delete_files(table, where="day < DATE '2026-01-01'")
    <lakebed paimon table '/data/orders' ...>
    """
    if files is None and where is None:
        raise TypeError("delete_files takes files, where, or both")
    return commit(
        table,
        _native.PaimonChange.overwrite_files(None, None if files is None else paths_of(files), to_sql(where)),
        made_by=options(commit_user, identifier, properties, watermark),
    )


def overwrite_files(
    table: Table,
    files: Any = None,
    *,
    removed: Any = None,
    where: str | Predicate | None = None,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Removes data files and adds others, in one snapshot.

    Its kind is OVERWRITE, or APPEND where none are removed. The removed files themselves stay until snapshots
    expire; their deletion vectors are removed with them.

    Args:
        table: a Paimon table on a storage with commits; the commit builds on the latest snapshot of its
            branch.
        files: the added files: anything with `__arrow_c_stream__`, a row per file, in columns of the view
            `files`. Required: `file_path`, `record_count`, `file_size_in_bytes`; `partition` (a struct) in
            partitioned tables; `bucket` where buckets are fixed; keys and sequence numbers (`min_key`,
            `max_key`, `min_sequence_number`, `sequence_number`) in tables with primary keys. Optional: the
            other columns, and `stats`.
        removed: the removed files: paths, absolute or relative to the table, or Arrow data with a column
            `file_path`.
        where: a condition on partition columns alone, as SQL text or made with `lakebed.col`. All files of
            partitions that match it in the latest snapshot are removed, and the index files of these
            partitions. As in SQL, null matches no comparison; NaN only matches `is_nan`, `IS NOT NULL`, and
            `<>` and `NOT IN` of other values. Added files may be in any partition.
        commit_user: who commits; None for a new UUID.
        identifier: the user's number of this commit. If a snapshot of the same user, number and kind exists,
            nothing is committed and the table is returned at that snapshot. None for batch writers.
        properties: pairs of texts that the snapshot keeps.
        watermark: the event time before which all rows have arrived; the snapshot has the larger of this and
            the previous one.
    Returns: the table at the new snapshot; at the latest one where nothing changes.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column or value that does
        not fit, a file that is in the table already or that its manifests delete, a partition with another
        number of buckets, a removed path that is not of a live file or appears twice), UnsupportedError (a
        storage without commits, dynamic buckets, single files of a table with data evolution, rows that a
        global index covers; a condition on another column, with its name in `.field`), PredicateError,
        CorruptError and its subclasses (the table's own files). OSError; CommitConflictError after 200 lost
        races, and for keys that another commit has added to the same level. Written files are then removed.
    Cost: reads all entries; without `removed` those of manifests that may have such partitions. Writes a
        manifest, two lists, a snapshot, and an index manifest where index files change.
    Source: Paimon's `FileStoreCommitImpl.java`, `ConflictDetection.java`.

    >>> overwrite_files(table, files, where="day = DATE '2026-01-01'").snapshot_id
    2
    """
    change = _native.PaimonChange.overwrite_files(
        rows_of(files), None if removed is None else paths_of(removed), to_sql(where)
    )
    return commit(table, change, made_by=options(commit_user, identifier, properties, watermark))


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
    """Replaces all live files of some partitions, in a snapshot of kind OVERWRITE.

    Args:
        table: a Paimon table on a storage with commits; the commit builds on the latest snapshot of its
            branch.
        files: the new files, all in these partitions: anything with `__arrow_c_stream__`, a row per file, in
            columns of the view `files`. Required: `file_path`, `record_count`, `file_size_in_bytes`;
            `partition` (a struct) in partitioned tables; `bucket` where buckets are fixed; keys and sequence
            numbers in tables with primary keys. Optional: the other columns, and `stats`.
        partition: values of some or all partition columns; partitions that have them are overwritten. `{}` is
            the whole table, None every partition that one of the files is in (Paimon's dynamic overwrite).
        commit_user: who commits; None for a new UUID.
        identifier: the user's number of this commit. If a snapshot of the same user, number and kind exists,
            nothing is committed and the table is returned at that snapshot. None for batch writers.
        properties: pairs of texts that the snapshot keeps.
        watermark: the event time before which all rows have arrived; the snapshot has the larger of this and
            the previous one.
    Returns: the table at the new snapshot, without the index files of these partitions; at the latest one
        where nothing changes.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column or value that does
        not fit, a column that the table is not partitioned by, a file in another partition, a file that is in
        the table already or that its manifests delete), UnsupportedError (a storage without commits, dynamic
        buckets), CorruptError and its subclasses (the table's own files). OSError; CommitConflictError after
        200 lost races. Written files are then removed.
    Cost: reads all entries, for None those of manifests that may have such partitions. Writes a manifest, two
        lists, a snapshot, and an index manifest where index files change.
    Source: Paimon's `FileStoreCommitImpl.java` (`overwritePartition`).
    """
    values = None if partition is None else _partition(table, partition)
    change = _native.PaimonChange.overwrite_partition(_arrow.writable(files), values)
    return commit(table, change, made_by=options(commit_user, identifier, properties, watermark))


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
