"""Commits that replace files of Iceberg tables, or delete rows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.iceberg import _actions
from lakebed.iceberg._commit import commit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.iceberg._actions import Isolation
    from lakebed.predicates import Predicate
    from lakebed.table import Table


def overwrite_files(
    table: Table,
    files: Any = None,
    *,
    removed: Any = (),
    where: str | Predicate | None = None,
    isolation: Isolation = "serializable",
    conflict_where: str | Predicate | None = None,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """Removes data files from a table and adds others, in one snapshot on its branch: operation `overwrite`,
    or `append` and `delete` where none is removed or added.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
            It goes to the latest snapshot of the table's branch (`table.at(branch="…")`), wherever it is. Its
            own snapshot is the one at which the change was begun.
        files: data files to add, in columns of the view `files`, of which `append_files` says which are
            needed.
        removed: data files to remove: paths, as the table names them or relative to its location, or Arrow
            data with the column `file_path` utf8.
        where: a filter on rows; data files are removed of which all rows match, by their partitions and
            metrics. As in SQL, null matches no comparison: a file with nulls in `x` has rows that `x <> 7`
            leaves, and one of nothing but nulls stays. NaN, which engines order differently, only matches
            `is_nan`, `IS NOT NULL`, and `<>` and `NOT IN` of other values; floats may be NaN where a file's
            metrics do not count them. Fields of structs are never known to match in all rows.
        isolation: what others may not have committed since `table`: "snapshot", no deletes that apply to the
            removed files, and of `where` no delete files and removed files that may be of its rows;
            "serializable", no data files either that may have such rows; None for no check.
        conflict_where: which rows that is about; None for `where` where no file is removed by path, else for
            all.
        properties: more keys of the snapshot's summary.
    Returns: the table at its new snapshot, opened as it was.
    Raises: CommitConflictError (what `isolation` forbids, and where the branch does not descend from the
        table's snapshot), UnsupportedError (a file of which the filter may match some rows and not others),
        PredicateError, ValueError (another `isolation`), SchemaError and LocationError of the files as
        `append_files` says, and SchemaError with `.record` (a path that is not a live data file of the table,
        or appears twice); CommitConflictError (every attempt was lost to another commit:
        `commit.retry.num-retries`, 1,000 unless set), SnapshotNotFoundError (the table's branch is gone),
        UnsupportedError (opened by its path though a catalog has it, or with `relocate=`), LocationError
        (metadata leads to where the table may not read), OSError. The table is then as before, unless the
        message says that the commit may have happened.
    Cost: with `where` reads the manifests that may have such files, with `removed` the paths of every live
        entry; manifests that have some of the files are written again; `isolation` reads the manifests of
        each snapshot since.
    Source: Iceberg's `BaseOverwriteFiles.java`, `ManifestFilterManager.java`, `MergingSnapshotProducer.java`.

    >>> table = overwrite_files(table, files, where="day = '2026-01-01'")
    """
    action = _actions.overwrite_files(
        table,
        files,
        removed=removed,
        where=where,
        isolation=isolation,
        conflict_where=conflict_where,
        properties=properties,
    )
    return commit(table, action)


def row_delta(
    table: Table,
    *,
    files: Any = None,
    delete_files: Any = None,
    removed: Any = (),
    removed_deletes: Any = (),
    isolation: Isolation = "serializable",
    conflict_where: str | Predicate | None = None,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """Deletes rows of a table by delete files or deletion vectors, and adds others, in one snapshot on its
    branch: operation `overwrite`, `delete` where no data files are added, `append` where nothing is deleted.

    A new deletion vector replaces the one that its data file has: it must mark all rows of that one, and of
    position delete files of the data file. Versions: 2 takes position and equality delete files, 3 equality
    delete files and deletion vectors.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
            It goes to the latest snapshot of the table's branch (`table.at(branch="…")`), wherever it is. Its
            own snapshot is the one at which the change was begun.
        files: data files to add, in columns of the view `files`, of which `append_files` says which are
            needed.
        delete_files: delete files to add, in columns of the view `deletes`, needed as those of `files` are,
            and `content` int32 (1 position deletes and vectors, 2 equality deletes), `equality_ids` list of
            int32 of the latter; of a vector `file_format` "PUFFIN", `referenced_data_file` utf8,
            `content_offset` and `content_size_in_bytes` int64 (bytes).
        removed: data files to remove: paths, as the table names them or relative to its location, or Arrow
            data with the column `file_path` utf8.
        removed_deletes: delete files to remove, in the same forms; vectors are removed by themselves.
        isolation: what others may not have committed since `table`: "snapshot", no deletes that apply to
            removed data files, and where data files are added no delete files at all; "serializable", no data
            files either; None for neither. Whatever it says, nobody may have removed a data file that new
            deletes refer to, or given one a vector that has a new one here.
        conflict_where: which rows that is about; None for all.
        properties: more keys of the snapshot's summary.
    Returns: the table at its new snapshot, opened as it was.
    Raises: SchemaError (delete files that say too little, refer to no live data file, or are vectors that
        mark fewer rows than those they replace; a removed path that is not a live file; with `.record`),
        UnsupportedError (deletes that the version does not have), CommitConflictError (what `isolation`
        forbids, and where the branch does not descend from the table's snapshot), PredicateError, ValueError
        (another `isolation`), SchemaError and LocationError of the files as `append_files` says;
        CommitConflictError (every attempt was lost to another commit: `commit.retry.num-retries`, 1,000
        unless set), SnapshotNotFoundError (the table's branch is gone), UnsupportedError (opened by its path
        though a catalog has it, or with `relocate=`), LocationError (metadata leads to where the table may
        not read), OSError. The table is then as before, unless the message says that the commit may have
        happened.
    Cost: reads the paths of every live entry where deletes refer to data files or files are removed, and of
        delete manifests; those that have what is removed are written again; `isolation` reads the manifests
        of each snapshot since.
    Source: Iceberg's `BaseRowDelta.java`, `MergingSnapshotProducer.java`; Iceberg specification, "Deletion
        Vectors".
    """
    action = _actions.row_delta(
        table,
        files=files,
        delete_files=delete_files,
        removed=removed,
        removed_deletes=removed_deletes,
        isolation=isolation,
        conflict_where=conflict_where,
        properties=properties,
    )
    return commit(table, action)


def replace_files(
    table: Table,
    removed: Any,
    files: Any = None,
    *,
    removed_deletes: Any = (),
    data_sequence_number: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """Puts the same rows of a table into other data files, in one snapshot on its branch: operation
    `replace`, the result of a compaction.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
            It goes to the latest snapshot of the table's branch (`table.at(branch="…")`), wherever it is. Its
            own snapshot is the one at which the change was begun.
        removed: data files to remove: paths, as the table names them or relative to its location, or Arrow
            data with the column `file_path` utf8. Rows that deletes have removed from them are in none of
            the new files.
        files: data files to add, in columns of the view `files`, of which `append_files` says which are
            needed.
        removed_deletes: delete files to remove, of which nothing is left, in the same forms as `removed`.
        data_sequence_number: that of the added files; with that of the snapshot that was read, equality
            deletes that others have added since still apply, and are not a conflict. None for the commit's
            own.
        properties: more keys of the snapshot's summary.
    Returns: the table at its new snapshot, opened as it was.
    Raises: CommitConflictError (others have added deletes since `table` that apply to the removed files:
        their rows would come back; the branch does not descend from the table's snapshot), SchemaError (added
        files with more rows than those removed, a number that the table does not have, nothing to replace;
        with `.record` a path that is not a live file, or appears twice), SchemaError and LocationError of the
        files as `append_files` says; CommitConflictError (every attempt was lost to another commit:
        `commit.retry.num-retries`, 1,000 unless set), SnapshotNotFoundError (the table's branch is gone),
        UnsupportedError (opened by its path though a catalog has it, or with `relocate=`), LocationError
        (metadata leads to where the table may not read), OSError. The table is then as before, unless the
        message says that the commit may have happened.
    Cost: reads the paths of every live entry; manifests that have some of the files are written again; reads
        the manifests of each snapshot since.
    Source: Iceberg's `BaseRewriteFiles.java`, `MergingSnapshotProducer.java`.
    """
    action = _actions.replace_files(
        table,
        removed,
        files,
        removed_deletes=removed_deletes,
        data_sequence_number=data_sequence_number,
        properties=properties,
    )
    return commit(table, action)
