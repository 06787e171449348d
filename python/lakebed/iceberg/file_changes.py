"""Commits to Iceberg tables in which files go and others come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from lakebed.iceberg.committing import Change, FileChange, StagedCommit, files_of, paths, staged
from lakebed.iceberg.committing import commit as commit_change
from lakebed.predicates import to_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.limits import Limits
    from lakebed.predicates import Predicate
    from lakebed.table import Table

    Isolation = Literal["serializable", "snapshot"] | None


@overload
def overwrite_files(
    table: Table,
    files: Any = ...,
    *,
    removed: Any = ...,
    where: str | Predicate | None = ...,
    isolation: Isolation = ...,
    conflict_where: str | Predicate | None = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[True] = ...,
    limits: Limits | None = ...,
) -> Table: ...
@overload
def overwrite_files(
    table: Table,
    files: Any = ...,
    *,
    removed: Any = ...,
    where: str | Predicate | None = ...,
    isolation: Isolation = ...,
    conflict_where: str | Predicate | None = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[False],
    limits: Limits | None = ...,
) -> StagedCommit: ...
def overwrite_files(
    table: Table,
    files: Any = None,
    *,
    removed: Any = (),
    where: str | Predicate | None = None,
    isolation: Isolation = "serializable",
    conflict_where: str | Predicate | None = None,
    properties: Mapping[str, str] | None = None,
    commit: bool = True,
    limits: Limits | None = None,
) -> Table | StagedCommit:
    """Takes data files out of a table and adds others, in one snapshot on its branch: operation `overwrite`,
    or `append` and `delete` where nothing goes or comes.

    Args:
        table: as in `append_files`. Its snapshot is the one that the change was begun at.
        files: data files that come, as in `append_files`.
        removed: data files that go, as in `delete_files`.
        where: a filter on rows; data files go of which all rows match, by their partitions and metrics. As in
            SQL, null matches no comparison: a file with nulls in `x` has rows that `x <> 7` leaves, and one
            of nothing but nulls stays. NaN, which engines order differently, only matches `is_nan`,
            `IS NOT NULL`, and `<>` and `NOT IN` of other values; floats may be NaN where a file's metrics do
            not count them. Fields of structs are never known to match in all rows.
        isolation: what others may not have committed since `table`: "snapshot", no deletes that apply to the
            files that go, and of `where` no delete files and removed files that may be of its rows;
            "serializable", no data files either that may hold such rows; None for no check.
        conflict_where: which rows that is about; None for `where` where nothing goes by path, else for all.
        properties: as in `append_files`.
        commit: as in `append_files`.
        limits: as in `append_files`.
    Returns: as `append_files`.
    Raises: CommitConflictError also for what `isolation` forbids, and where the branch was not made from the
        table's snapshot; UnsupportedError also for a file of which the filter may match some
        rows and not others, PredicateError; SchemaError with `.record` as `delete_files`; as `append_files`.
    Cost: with `where` reads the manifests that may hold such files, with `removed` the paths of every live
        entry; manifests that hold some of the files are written again; `isolation` reads the manifests of
        each snapshot since.
    Source: Iceberg's `BaseOverwriteFiles.java`, `ManifestFilterManager.java`, `MergingSnapshotProducer.java`.

    >>> table = overwrite_files(table, files, where="day = '2026-01-01'")
    """
    about = None if conflict_where is None else to_sql(conflict_where)
    of_files = FileChange(
        "overwrite",
        files_of(files),
        removed=paths(removed),
        filter=None if where is None else to_sql(where),
        since=table.snapshot_id,
        isolation=isolation,
        conflict_filter=about,
    )
    change = Change("files", of_files, properties)
    return commit_change(table, change, limits) if commit else staged(table, change, limits)


@overload
def row_delta(
    table: Table,
    *,
    files: Any = ...,
    delete_files: Any = ...,
    removed: Any = ...,
    removed_deletes: Any = ...,
    isolation: Isolation = ...,
    conflict_where: str | Predicate | None = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[True] = ...,
    limits: Limits | None = ...,
) -> Table: ...
@overload
def row_delta(
    table: Table,
    *,
    files: Any = ...,
    delete_files: Any = ...,
    removed: Any = ...,
    removed_deletes: Any = ...,
    isolation: Isolation = ...,
    conflict_where: str | Predicate | None = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[False],
    limits: Limits | None = ...,
) -> StagedCommit: ...
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
    commit: bool = True,
    limits: Limits | None = None,
) -> Table | StagedCommit:
    """Deletes rows of a table by delete files or deletion vectors, and adds others, in one snapshot on its
    branch: operation `overwrite`, `delete` where no data files come, `append` where nothing is deleted.

    A new deletion vector takes the place of the one that its data file has: it must mark all rows of that
    one, and of position delete files of the data file. Versions: 2 takes position and equality delete files,
    3 equality delete files and deletion vectors.

    Args:
        table: as in `overwrite_files`.
        files: data files that come, as in `append_files`.
        delete_files: delete files that come, in columns of the view `deletes`, as `append_files` has it of
            data files: `content` (1 position deletes and vectors, 2 equality deletes), `equality_ids` of
            those; of a vector `file_format` "PUFFIN", `referenced_data_file`, `content_offset` and
            `content_size_in_bytes`.
        removed: data files that go, as in `delete_files`.
        removed_deletes: delete files that go, likewise; vectors go by themselves.
        isolation: what others may not have committed since `table`: "snapshot", no deletes that apply to data
            files that go, and where data files come no delete files at all; "serializable", no data files
            either; None for neither. Whatever it says, nobody may have removed a data file that new deletes
            refer to, or given one a vector that has a new one here.
        conflict_where: which rows that is about; None for all.
        properties: as in `append_files`.
        commit: as in `append_files`.
        limits: as in `append_files`.
    Returns: as `append_files`.
    Raises: SchemaError also for delete files that say too little, refer to no live data file, or are vectors
        that mark fewer rows than those they replace; UnsupportedError also for deletes that the version does
        not have; CommitConflictError as `overwrite_files`; as `append_files`.
    Cost: reads the paths of every live entry where deletes refer to data files or files go, and of delete
        manifests; those that hold what goes are written again; as `overwrite_files`.
    Source: Iceberg's `BaseRowDelta.java`, `MergingSnapshotProducer.java`; Iceberg specification, "Deletion
        Vectors".
    """
    about = None if conflict_where is None else to_sql(conflict_where)
    of_files = FileChange(
        "row_delta",
        files_of(files),
        files_of(delete_files),
        paths(removed),
        paths(removed_deletes),
        since=table.snapshot_id,
        isolation=isolation,
        conflict_filter=about,
    )
    change = Change("files", of_files, properties)
    return commit_change(table, change, limits) if commit else staged(table, change, limits)


@overload
def replace_files(
    table: Table,
    removed: Any,
    files: Any = ...,
    *,
    removed_deletes: Any = ...,
    data_sequence_number: int | None = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[True] = ...,
    limits: Limits | None = ...,
) -> Table: ...
@overload
def replace_files(
    table: Table,
    removed: Any,
    files: Any = ...,
    *,
    removed_deletes: Any = ...,
    data_sequence_number: int | None = ...,
    properties: Mapping[str, str] | None = ...,
    commit: Literal[False],
    limits: Limits | None = ...,
) -> StagedCommit: ...
def replace_files(
    table: Table,
    removed: Any,
    files: Any = None,
    *,
    removed_deletes: Any = (),
    data_sequence_number: int | None = None,
    properties: Mapping[str, str] | None = None,
    commit: bool = True,
    limits: Limits | None = None,
) -> Table | StagedCommit:
    """Puts the same rows of a table into other data files, in one snapshot on its branch: operation
    `replace`, the result of a compaction.

    Args:
        table: as in `overwrite_files`.
        removed: data files that go, as in `delete_files`; rows that deletes have taken out of them are in
            none of the new ones.
        files: data files that come, as in `append_files`.
        removed_deletes: delete files that go, of which nothing is left.
        data_sequence_number: that of the files that come; of the snapshot that was read, equality deletes
            that others have added since still apply, and are not a conflict. None for the commit's own.
        properties: as in `append_files`.
        commit: as in `append_files`.
        limits: as in `append_files`.
    Returns: as `append_files`.
    Raises: CommitConflictError also where others have added deletes since `table` that apply to the files
        that go: their rows would come back; SchemaError also for files with more rows than those that go, or
        a number that the table does not have; as `delete_files`.
    Cost: as `overwrite_files`.
    Source: Iceberg's `BaseRewriteFiles.java`, `MergingSnapshotProducer.java`.
    """
    of_files = FileChange(
        "replace",
        files_of(files),
        removed=paths(removed),
        removed_deletes=paths(removed_deletes),
        data_sequence_number=data_sequence_number,
        since=table.snapshot_id,
    )
    change = Change("files", of_files, properties)
    return commit_change(table, change, limits) if commit else staged(table, change, limits)
