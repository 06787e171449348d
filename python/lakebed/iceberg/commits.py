"""Commits to Iceberg tables, on the local file system or through their catalogs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._arguments import encodable, names
from lakebed.errors import UnsupportedError
from lakebed.iceberg import _actions
from lakebed.iceberg._commit import commit
from lakebed.limits import LIMITS, Limits
from lakebed.opening import open_table
from lakebed.storage import resolve
from lakebed.storage.paths import scheme_of, without_climbing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.predicates import Predicate
    from lakebed.table import Table


@dataclass(frozen=True)
class TableDefinition:
    """A new table, as the core takes it."""

    schema: Any
    partition_by: Sequence[str]
    format_version: int
    properties: Sequence[tuple[str, str]]


def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    partition_by: Sequence[str] = (),
    format_version: int = 2,
    properties: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """Makes an Iceberg table without a catalog, and without a snapshot, in a local folder that holds none.

    Args:
        location: the folder, which need not be there; paths of the table start with it, so it becomes
            absolute.
        schema: anything with `__arrow_c_schema__`. Field ids are given out anew, columns that may not be null
            are required; times in seconds or milliseconds become microseconds, 8- and 16-bit integers int;
            nanoseconds and null columns need version 3.
        partition_by: partition fields: "region", "day(ts)", "month(ts)", "year(ts)", "hour(ts)",
            "bucket(16, id)", "truncate(4, name)"; nested columns by their full names.
        format_version: 1, 2 or 3.
        properties: the table's, such as `write.metadata.compression-codec`.
        limits: what looking for a table that is there may cost.
    Returns: the table.
    Raises: FileExistsError (there is a table), UnsupportedError (a type that the version does not have, a
        column that the transform does not take), SchemaError (no such column, no such transform); with
        `.field`; LocationError (a location with control characters), OSError. Nothing is left behind then.
    Cost: writes two small files.
    Source: Iceberg's `HadoopTables.java`, `AssignFreshIds.java`, `PartitionSpec.java`.
    """
    # Before it is opened: that may ask a server.
    if scheme_of(os.fspath(location)) not in ("", "file"):
        raise UnsupportedError(
            "tables are made on the local file system alone: elsewhere by a catalog, catalog.create_table(…)",
            kind="unsupported",
            path=_native.without_credentials(os.fspath(location)),
        )
    folder, _ = resolve(location)
    path = str(Path(without_climbing(folder)).absolute())
    fields = names("partition_by", partition_by) or []
    pairs = [
        (encodable("properties", key), encodable("properties", value))
        for key, value in (properties or {}).items()
    ]
    definition = TableDefinition(_arrow.named(schema), fields, format_version, pairs)
    _native.iceberg_create_table(path, definition, os.urandom(16), limits)
    return open_table(path, format="iceberg", limits=limits)


def append_files(
    table: Table, files: Any, *, merge: bool = True, properties: Mapping[str, str] | None = None
) -> Table:
    """Adds data files to a table, in one snapshot on its branch: operation `append`.

    The files are written already, and are not looked at.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
            It goes to the latest snapshot of the table's branch (`table.at(branch="…")`), wherever it is.
        files: anything with `__arrow_c_stream__` and columns of the view `files`: `file_path` utf8 (absolute,
            or relative to the table's location), `record_count` and `file_size_in_bytes` int64 (rows, bytes);
            `partition`, a struct with the fields of the spec, where the table is partitioned; and, where they
            are known, `file_format` utf8 (else the path's ending), `spec_id` int32 (else the table's
            default), `split_offsets`, `sort_order_id`, `key_metadata`, and metrics: either `stats` as
            `Table.files(stats=[…])` gives it, or the maps by field id of `read_manifest`. What the commit
            assigns (sequence numbers, snapshot and row ids) is not taken from them.
        merge: merge small manifests, as `commit.manifest-merge.enabled`,
            `commit.manifest.min-count-to-merge` and `commit.manifest.target-size-bytes` say; False for the
            fastest commit, which leaves those that are there alone.
        properties: more keys of the snapshot's summary.
    Returns: the table at its new snapshot, with the storage, allowed prefixes and limits that it was opened
        with.
    Raises: SchemaError (a column or partition field that is not there or not a file's, another type, a null
        where there must be a value, a value that does not fit; with `.field` and `.record`) and LocationError
        (a path that readers of the table refuse to open: with control characters, `..`, a slash at its end),
        before anything is written; CommitConflictError (every attempt was lost to another commit:
        `commit.retry.num-retries`, 1,000 unless set), SnapshotNotFoundError (the table's branch is gone),
        UnsupportedError (opened by its path though a catalog has it, or with `relocate=`), LocationError
        (metadata leads to where the table may not read), OSError. The table is then as before, unless the
        message says that the commit may have happened.
    Cost: reads the metadata file and the manifest list; writes one manifest per spec (several where one would
        be larger than the target size), a manifest list and the metadata; where manifests are merged, reads
        those. Another commit in between costs the same again.
    Source: Iceberg's `FastAppend.java`, `MergeAppend.java`, `SnapshotProducer.java`,
        `HadoopTableOperations.java`.

    >>> table = create_table("/lake/trips", pa.schema([("id", pa.int64()), ("city", pa.string())]))
    >>> files = {"file_path": ["data/1.parquet"], "record_count": [3], "file_size_in_bytes": [812]}
    >>> table = append_files(table, pa.table(files))
    """
    return commit(table, _actions.append_files(files, merge=merge, properties=properties))


def delete_files(table: Table, files: Any, *, properties: Mapping[str, str] | None = None) -> Table:
    """Removes whole data files from a table, in one snapshot on its branch: operation `delete`.

    The files themselves stay, for older snapshots. Deletion vectors of the files are removed with them;
    position and equality delete files stay, though they may apply to nothing any more.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
            It goes to the latest snapshot of the table's branch (`table.at(branch="…")`), wherever it is.
        files: paths, as the table names them or relative to its location, or Arrow data with the column
            `file_path` utf8.
        properties: more keys of the snapshot's summary.
    Returns: the table at its new snapshot, opened as it was.
    Raises: SchemaError with `.record` (a path that is not a live data file of the table, or appears twice);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads the paths of every live entry; manifests that have some of the files are written again.
    Source: Iceberg's `StreamingDelete.java`, `ManifestFilterManager.java`.
    """
    return commit(table, _actions.delete_files(files, properties=properties))


def rewrite_manifests(
    table: Table,
    *,
    target_bytes: int = 8 << 20,
    by: Sequence[str] | None = None,
    where: str | Predicate | None = None,
    memory_bytes: int = 256 << 20,
    codec: str | None = None,
    block_bytes: int = 64_000,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """Rewrites manifests of data files, their entries sorted by partition, in one snapshot on the table's
    branch: operation `replace`. Entries of deleted files are left out; manifests of delete files stay.
    Entries keep their snapshots, sequence numbers and row ids.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
            It goes to the latest snapshot of the table's branch (`table.at(branch="…")`), wherever it is.
        target_bytes: how large a manifest is to be, about.
        by: what entries are sorted by, the first name first: partition fields, and columns of `read_manifest`
            with single values, such as `file_path` or `sequence_number`. None for all partition fields.
        where: SQL or `lakebed.col(…)`, on the table's columns and its partition fields: only manifests
            that may have files which match are rewritten, whole: those of `Table.manifests` with this filter.
        memory_bytes: about how many bytes of entries are held in memory; more than that is sorted on disk,
            in the folder for temporary files.
        codec: of the manifests that are written: "deflate", "null", "snappy", "zstandard", "bzip2" or "xz";
            None for what the table's property `write.manifest.compression-codec` says.
        block_bytes: bytes of entries, not compressed, at which a block ends.
        properties: more keys of the snapshot's summary.
    Returns: the table at its new snapshot, opened as it was; as it is now without such manifests.
    Raises: SchemaError (no such field or column), PredicateError, ValueError (a size below 1);
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads and writes every live entry of a data file, in memory of about twice `memory_bytes`.
    Source: Iceberg's `BaseRewriteManifests.java`, `RewriteManifestsSparkAction.java`.
    """
    action = _actions.rewrite_manifests(
        target_bytes=target_bytes,
        by=by,
        where=where,
        memory_bytes=memory_bytes,
        codec=codec,
        block_bytes=block_bytes,
        properties=properties,
    )
    return commit(table, action)
