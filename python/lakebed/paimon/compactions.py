"""Commits of what compactions and deletes have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed.paimon._committing import committable, made, who_commits
from lakebed.paimon.commits import paths_of

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
    """Puts the files that a compaction has written in the place of those that it has read.

    Args:
        table: as in `append_files`.
        removed: the files before, as in `delete_files`. One that only moves to another level is in both.
        added: the files after it, as in `append_files`, which hold the same rows; `level` is that of the
            table's merge tree, `file_source` is 1 unless they say otherwise, and `first_row_id` may be given.
        changelog: as in `append_files`.
        index_files: new index files of deletion vectors, as in `replace_deletion_vectors`. Vectors of the
            files before go with them.
        removed_index_files: as `removed` there.
        commit_user: as in `append_files`.
        identifier: as there; the kind is COMPACT.
        properties: as there.
        watermark: as there.
    Returns: the table at the new snapshot; at the latest one where nothing changes.
    Raises: before anything is written: CommitConflictError (a file before that is no longer live, since
        another commit has taken it away; keys that another has put into the same level), UnsupportedError (a
        table with data evolution, and as `delete_files`), others as `append_files` and
        `replace_deletion_vectors`.
    Cost: reads all entries; as `append_files`.
    Source: Paimon's `FileStoreCommitImpl.java`, `ConflictDetection.java`, `CompactIncrement.java`.
    """
    who = who_commits(commit_user, identifier, properties, watermark)
    removed, removed_index = paths_of(removed), paths_of(removed_index_files)
    changes = None if changelog is None else _arrow.writable(changelog)
    index = None if index_files is None else _arrow.writable(index_files)
    if index is None and len(removed_index):
        raise TypeError("removed_index_files go with index_files, which may be empty")
    native = _native.paimon_compact_files(
        committable(table), removed, _arrow.writable(added), changes, index, removed_index, who
    )
    return made(table, native)


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
    """Puts index files of deletion vectors, which are written already, in the place of others.

    Args:
        table: as in `append_files`.
        index_files: anything with `__arrow_c_stream__`, a row a file, in columns of `read_index_manifest`,
            but for `partition`, which is a struct as in `append_files`. Required: `file_name`, `file_size`,
            `row_count`, `bucket`, `deletions_vectors_ranges`, and `partition` in partitioned tables.
        removed: names or paths of index files. A data file has one vector, and a bucket, where buckets are
            fixed, one index file: what has a new one must be among these.
        commit_user: as in `append_files`.
        identifier: as there; the kind is OVERWRITE.
        properties: as there.
        watermark: as there.
    Returns: the table at the new snapshot; at the latest one where there are no files.
    Raises: before anything is written: SchemaError with `.field` and `.record` (a vector of a file that is
        not live, one that would be lost, so that deleted rows came back, two of one file),
        CommitConflictError (an index file that another commit has replaced, a data file that another has
        given a vector), UnsupportedError (index files of other kinds). Others as `append_files`.
    Cost: reads the entries of these partitions, and the index manifest, which is written anew.
    Source: Paimon's `IndexManifestFileHandler.java`, `ConflictDetection.java`.
    """
    who = who_commits(commit_user, identifier, properties, watermark)
    files = _arrow.writable(index_files)
    return made(
        table, _native.paimon_replace_deletion_vectors(committable(table), files, paths_of(removed), who)
    )
