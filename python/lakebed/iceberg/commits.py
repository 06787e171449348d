"""Commits to Iceberg tables, on the local file system or through their catalogs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from lakebed import _arrow, _native
from lakebed._arguments import encodable, names, positive
from lakebed.errors import UnsupportedError
from lakebed.iceberg.committing import Change, FileChange, StagedCommit, files_of, paths, staged
from lakebed.iceberg.committing import commit as commit_change
from lakebed.limits import LIMITS, Limits
from lakebed.opening import open_table
from lakebed.predicates import to_sql
from lakebed.storage import resolve
from lakebed.storage.paths import scheme_of, without_climbing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.predicates import Predicate
    from lakebed.table import Table


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
    _native.iceberg_create_table(
        path, _arrow.named(schema), fields, format_version, pairs, os.urandom(16), limits
    )
    return open_table(path, format="iceberg", limits=limits)


@overload
def append_files(
    table: Table,
    files: Any,
    *,
    merge: bool = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[True] = ...,
    limits: Limits | None = ...,
) -> Table: ...
@overload
def append_files(
    table: Table,
    files: Any,
    *,
    merge: bool = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[False],
    limits: Limits | None = ...,
) -> StagedCommit: ...
def append_files(
    table: Table,
    files: Any,
    *,
    merge: bool = True,
    properties: Mapping[str, str] | None = None,
    commit: bool = True,
    limits: Limits | None = None,
) -> Table | StagedCommit:
    """Adds data files to a table, in one snapshot on its branch: operation `append`.

    The files are written already, and are not looked at.

    Args:
        table: a table on the local file system, or one that a catalog of PyIceberg loaded: the catalog then
            makes the commit, of files that are written through the table's `FileIO`. The commit builds on the
            latest snapshot of the table's branch (`table.at(branch="…")`), wherever it
            stands.
        files: anything with `__arrow_c_stream__` and columns of the view `files`: `file_path` (absolute, or
            relative to the table's location), `record_count` and `file_size_in_bytes`; `partition`, a struct
            with the fields of the spec, where the table is partitioned; and, where they are known,
            `file_format` (else the path's ending), `spec_id` (else the table's default), `split_offsets`,
            `sort_order_id`, `key_metadata`, and metrics: either `stats` as `Table.files(stats=[…])` gives it,
            or the maps by field id of `read_manifest`. What the commit gives out (sequence numbers, snapshot
            and row ids) is not taken from them.
        merge: bring small manifests together, as `commit.manifest-merge.enabled`,
            `commit.manifest.min-count-to-merge` and `commit.manifest.target-size-bytes` say; False for the
            fastest commit, which leaves those that are there alone.
        properties: more keys of the snapshot's summary.
        commit: False for the files of the commit alone, for a catalog to make it.
        limits: what reading the table may cost; None for what it was opened with.
    Returns: the table at its new snapshot, with the storage, allowed prefixes and limits that it was opened
        with; with `commit=False` a `StagedCommit`.
    Raises: SchemaError (a column or partition field that is not there or not a file's, another type, a null
        where there must be a value, a value that does not fit; with `.field` and `.record`) and LocationError
        (a path that readers of the table refuse to open: with control characters, `..`, a slash at its end),
        before anything is written; LocationError also for metadata that leads to where the table may not
        read; UnsupportedError (a table of a catalog's that was opened by its path, with `commit=True`;
        one on another storage, which its catalog did not give, or opened by `relocate=`);
        SnapshotNotFoundError (the table's branch is gone); CommitConflictError where all
        attempts that `commit.retry.num-retries` allows (1,000 unless told) were lost to others; OSError. The
        table is then as before, but where the message says that the commit may have happened.
    Cost: reads the metadata file and the manifest list; writes one manifest per spec (several where one would
        be larger than the target size), a manifest list and the metadata; where manifests are merged, reads
        those. Another commit in between costs the same again.
    Source: Iceberg's `FastAppend.java`, `MergeAppend.java`, `SnapshotProducer.java`,
        `HadoopTableOperations.java`.

    >>> table = create_table("/lake/trips", pa.schema([("id", pa.int64()), ("city", pa.string())]))
    >>> files = {"file_path": ["data/1.parquet"], "record_count": [3], "file_size_in_bytes": [812]}
    >>> table = append_files(table, pa.table(files))
    """
    change = Change("files", FileChange("append", files_of(files), merge=merge), properties)
    return commit_change(table, change, limits) if commit else staged(table, change, limits)


@overload
def delete_files(
    table: Table,
    files: Any,
    *,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[True] = ...,
    limits: Limits | None = ...,
) -> Table: ...
@overload
def delete_files(
    table: Table,
    files: Any,
    *,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[False],
    limits: Limits | None = ...,
) -> StagedCommit: ...
def delete_files(
    table: Table,
    files: Any,
    *,
    properties: Mapping[str, str] | None = None,
    commit: bool = True,
    limits: Limits | None = None,
) -> Table | StagedCommit:
    """Removes whole data files from a table, in one snapshot on its branch: operation `delete`.

    The files themselves stay, for older snapshots. Deletion vectors of the files go with them; position and
    equality delete files stay, though they may apply to nothing any more.

    Args:
        table: as in `append_files`.
        files: paths, as the table names them or relative to its location, or Arrow data with the column
            `file_path`.
        properties: as in `append_files`.
        commit: as in `append_files`.
        limits: as in `append_files`.
    Returns: as `append_files`.
    Raises: SchemaError with `.record` (a path that is not a live data file of the table, or appears twice);
        as `append_files`.
    Cost: reads the paths of every live entry; manifests that hold some of the files are written again.
    Source: Iceberg's `StreamingDelete.java`, `ManifestFilterManager.java`.
    """
    change = Change("files", FileChange("delete", removed=paths(files)), properties)
    return commit_change(table, change, limits) if commit else staged(table, change, limits)


@overload
def rewrite_manifests(
    table: Table,
    *,
    target_bytes: int = ...,
    by: Sequence[str] | None = ...,
    where: str | Predicate | None = ...,
    memory_bytes: int = ...,
    codec: str | None = ...,
    block_bytes: int = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[True] = ...,
    limits: Limits | None = ...,
) -> Table: ...
@overload
def rewrite_manifests(
    table: Table,
    *,
    target_bytes: int = ...,
    by: Sequence[str] | None = ...,
    where: str | Predicate | None = ...,
    memory_bytes: int = ...,
    codec: str | None = ...,
    block_bytes: int = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[False],
    limits: Limits | None = ...,
) -> StagedCommit | None: ...
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
    commit: bool = True,
    limits: Limits | None = None,
) -> Table | StagedCommit | None:
    """Writes manifests of data files anew, their entries sorted by partition, in one snapshot on the table's
    branch: operation `replace`. Entries of deleted files are left out; manifests of delete files stay.
    Entries keep their snapshots, sequence numbers and row ids.

    Args:
        table: as in `append_files`.
        target_bytes: how large a manifest is to be, about.
        by: what entries are sorted by, the first name first: partition fields, and columns of `read_manifest`
            with single values, such as `file_path` or `sequence_number`. None for all partition fields.
        where: SQL or `lakebed.col(…)`, on the table's columns and its partition fields: of all manifests
            those alone that may hold files which match, as `Table.manifests` has it, whole.
        memory_bytes: about how many bytes of entries are held in memory; more than that lies on disk
            meanwhile, in the folder for temporary files, sorted.
        codec: that of the manifests written, as in `write_manifest`; None for what the table's property
            `write.manifest.compression-codec` says.
        block_bytes: bytes of entries, not compressed, at which a block ends.
        properties: as in `append_files`.
        commit: as in `append_files`.
        limits: as in `append_files`.
    Returns: as `append_files`; without such manifests the table itself, or None.
    Raises: SchemaError (no such field or column), PredicateError; as `append_files`.
    Cost: reads and writes every live entry of a data file, in memory of about twice `memory_bytes`.
    Source: Iceberg's `BaseRewriteManifests.java`, `RewriteManifestsSparkAction.java`.
    """
    positive("target_bytes", target_bytes)
    positive("block_bytes", block_bytes)
    positive("memory_bytes", memory_bytes)
    given = (target_bytes, names("by", by), to_sql(where), memory_bytes)
    change = Change("rewrite_manifests", given, properties, codec, block_bytes)
    return commit_change(table, change, limits) if commit else change.stage(table, limits)
