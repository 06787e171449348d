"""Commits of what compactions and deletes have written, and compactions of manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._arguments import positive
from lakebed.paimon._commit import commit, options, paths_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakebed.table import Table


def compact_files(
    table: Table,
    removed: Any,
    added: Any,
    *,
    changelog: Any = None,
    index_files: Any = None,
    removed_index_files: Iterable[str] = (),
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Replaces the files that a compaction has read by those that it has written.

    The snapshot has the kind COMPACT.

    Args:
        table: a Paimon table on a storage with commits; the commit builds on the latest snapshot of its
            branch.
        removed: the files that were read: paths, absolute or relative to the table, or Arrow data with a
            column `file_path`. A file that only moves to another level is in `removed` and in `added`.
        added: the files that were written, with the same rows: anything with `__arrow_c_stream__`, a row per
            file, in columns of the view `files`. Required: `file_path`, `record_count`,
            `file_size_in_bytes`; `partition` (a struct) in partitioned tables; `bucket` where buckets are
            fixed or dynamic; keys and sequence numbers in tables with primary keys. Optional: the other
            columns, and `stats`; `level` is that of the table's merge tree, `file_source` is 1 by default,
            and `first_row_id` may be given.
        changelog: files in the same columns that record what changed, for readers of changes; only for
            tables with primary keys.
        index_files: new index files of deletion vectors: anything with `__arrow_c_stream__`, a row per file,
            in columns of `read_index_manifest`, with `partition` as a struct. Vectors of the removed files
            are removed with them.
        removed_index_files: names or paths of the index files that these replace.
        commit_user: who commits; None for a new UUID.
        identifier: the user's number of this commit. If a snapshot of the same user, number and kind exists,
            nothing is committed and the table is returned at that snapshot. None for batch writers.
        properties: pairs of texts that the snapshot keeps.
        watermark: the event time before which all rows have arrived; the snapshot has the larger of this and
            the previous one.
    Returns: the table at the new snapshot; at the latest one where nothing changes.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column or value that does
        not fit, a file that is in the table already or that its manifests delete, a path that appears twice,
        a vector of a file that is not live or that would be lost), CommitConflictError (a removed file that
        is no longer live, since another commit has removed it; an index file that another has replaced, a
        data file that another has given a vector; keys that another has added to the same level),
        UnsupportedError (a storage without commits, a table with data evolution, rows that a global index
        covers), CorruptError and its subclasses (the table's own files). OSError; CommitConflictError after
        200 lost races. Written files are then removed.
    Cost: reads all entries; writes a manifest, two lists, a snapshot, and an index manifest where index files
        change.
    Source: Paimon's `FileStoreCommitImpl.java`, `ConflictDetection.java`, `CompactIncrement.java`.
    """
    removed_index = paths_of(removed_index_files)
    if index_files is None and len(removed_index):
        raise TypeError("removed_index_files go with index_files, which may be empty")
    change = _native.PaimonChange.compact_files(
        paths_of(removed), _arrow.writable(added), rows_of(changelog), rows_of(index_files), removed_index
    )
    return commit(table, change, made_by=options(commit_user, identifier, properties, watermark))


def replace_deletion_vectors(
    table: Table,
    index_files: Any,
    removed: Iterable[str] = (),
    *,
    commit_user: str | None = None,
    identifier: int | None = None,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
) -> Table:
    """Replaces index files of deletion vectors by others, in a snapshot of kind OVERWRITE.

    Args:
        table: a Paimon table on a storage with commits; the commit builds on the latest snapshot of its
            branch.
        index_files: the new index files, which must exist: anything with `__arrow_c_stream__`, a row per
            file, in columns of `read_index_manifest`, with `partition` as a struct. Required: `file_name`,
            `file_size`, `row_count`, `bucket`, `deletions_vectors_ranges`, and `partition` in partitioned
            tables.
        removed: names or paths of the index files that these replace. A data file has one vector, and where
            buckets are fixed a bucket has one index file: what has a new one must be among these.
        commit_user: who commits; None for a new UUID.
        identifier: the user's number of this commit. If a snapshot of the same user, number and kind exists,
            nothing is committed and the table is returned at that snapshot. None for batch writers.
        properties: pairs of texts that the snapshot keeps.
        watermark: the event time before which all rows have arrived; the snapshot has the larger of this and
            the previous one.
    Returns: the table at the new snapshot; at the latest one where there are no files.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column or value that does
        not fit, a vector of a file that is not live, one that would be lost, so that deleted rows came back,
        two of one file), CommitConflictError (an index file that another commit has replaced, a data file
        that another has given a vector), UnsupportedError (a storage without commits, index files of other
        kinds), CorruptError and its subclasses (the table's own files). OSError; CommitConflictError after
        200 lost races. Written files are then removed.
    Cost: reads the entries of these partitions, and the index manifest, which is written again.
    Source: Paimon's `IndexManifestFileHandler.java`, `ConflictDetection.java`.
    """
    files = _arrow.writable(index_files)
    change = _native.PaimonChange.replace_deletion_vectors(files, paths_of(removed))
    return commit(table, change, made_by=options(commit_user, identifier, properties, watermark))


def compact_manifests(
    table: Table,
    *,
    target_bytes: int | None = None,
    sort: bool = False,
    memory_bytes: int = 256 << 20,
    commit_user: str | None = None,
) -> Table:
    """Rewrites the manifests of the latest snapshot without deleted files, in a snapshot of kind COMPACT.

    Args:
        table: a Paimon table on a storage with commits; the commit builds on the latest snapshot of its
            branch.
        target_bytes: the size of manifests; None for option `manifest.target-file-size` (8 MB). Larger ones
            without deleted files are kept as they are, unless they are sorted.
        sort: sort entries by partition and bucket, so that filters can skip manifests.
        memory_bytes: of entries that are sorted, about how many bytes are held in memory; the others are on
            disk meanwhile, in the folder for temporary files.
        commit_user: who commits; None for a new UUID.
    Returns: the table at the new snapshot, which has the same files; at the latest one where there is nothing
        to do.
    Raises: UnsupportedError (a storage without commits, manifest lists in another format than
        `manifest.format`, ORC or Parquet that pyarrow cannot write), CorruptError and its subclasses (the
        table's own files), OSError, CommitConflictError after 200 lost races. Written files are then removed.
    Cost: reads all entries and writes them, in memory of some blocks; sorting takes about twice
        `memory_bytes`. Identities of all deleted files are held.
    Source: Paimon's `ManifestFileMerger.java`, `CompactManifestProcedure.java`.
    """
    positive("target_bytes", target_bytes)
    positive("memory_bytes", memory_bytes)
    change = _native.PaimonChange.compact_manifests(target_bytes, sort, memory_bytes)
    return commit(table, change, made_by=options(commit_user))
