"""Changes of a table's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed import _arrow
from lakebed._native import FileChangeKind, PaimonChange
from lakebed.commits import paimon
from lakebed.commits.change import PLAIN, Change, CommitOptions, only
from lakebed.commits.iceberg import file_change
from lakebed.commits.inputs import paths_of, rows_of
from lakebed.errors import PredicateError
from lakebed.predicates import Column, Predicate, to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakebed._native import IcebergAction
    from lakebed.commits.changes import Changes, F, R
    from lakebed.commits.iceberg import Isolation
    from lakebed.table import Table


def append_files(
    self: Changes[R, F],
    files: Any,
    *,
    changelog: Any = None,
    check_files: bool = True,
    merge: bool = True,
    options: CommitOptions = PLAIN,
) -> R:
    """Adds data files, which are written already and are not looked at, to the table's branch, in one
    snapshot: of Iceberg's operation `append`, of Paimon's kind APPEND.

    The commit builds on the latest snapshot of the branch (`table.at(branch="…")`), whichever snapshot the
    table is at.

    Args:
        files: anything with `__arrow_c_stream__`, a row per file, in columns of the view `files`. Required:
            `file_path` utf8 (absolute, or relative to the table), `record_count` [rows] and
            `file_size_in_bytes` int64; `partition`, a struct, where the table is partitioned; of Paimon
            `bucket` where buckets are fixed, and `min_key`, `max_key`, `min_sequence_number` and
            `sequence_number` in tables with primary keys. Optional: the other columns, and statistics:
            `stats`, as the views give them with `stats=[…]`, of Iceberg also the maps by field id of
            `lakebed.iceberg.read_manifest`. Without them, Iceberg takes `file_format` from the path's ending
            and `spec_id` from the table, Paimon `schema_id` from the table. What the commit assigns (snapshot
            and row ids, sequence numbers) is not taken from them.
        changelog: (Paimon) files in the same columns that record what changed, for readers of changes; only
            for tables with primary keys.
        check_files: (Paimon) False reads no manifest, as Paimon's own writers do. It is then not noticed if a
            file is in the table already, was deleted from it, or has another number of buckets than its
            partition: only for files whose names are new.
        merge: (Iceberg) merge small manifests, as `commit.manifest-merge.enabled`,
            `commit.manifest.min-count-to-merge` and `commit.manifest.target-size-bytes` say; False for the
            fastest commit, which leaves those that are there alone.
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, opened as it was; at the latest one where there are no files
        (Paimon).
    Raises: before anything is written: SchemaError with `.field` and `.record` (a column that files do not
        have, a required one that is missing, another type, a null or a value that does not fit; of Paimon a
        path that is not where the table's layout has the file, a file that is in the table already or that
        its manifests delete, a partition with another number of buckets), LocationError (a path that readers
        refuse to open: with control characters, `..`, a slash at its end), UnsupportedError (Paimon's dynamic
        buckets, manifest lists in another format than `manifest.format`, ORC or Parquet that pyarrow cannot
        write).
    Cost: Iceberg: reads the metadata file and the manifest list; writes one manifest per spec (several where
        one would be larger than the target size), a manifest list and the metadata; where manifests are
        merged, reads those. Paimon: reads the file names of manifests that may have these partitions, side by
        side; writes one manifest (more above `manifest.target-file-size`), two lists and a snapshot, in
        memory of one manifest. On a store also one put that must be refused, which detects servers that
        ignore conditions. Another commit in between costs the same again.
    Source: Iceberg's `FastAppend.java`, `MergeAppend.java`, `SnapshotProducer.java`; Paimon's
        `FileStoreCommitImpl.java`.

    >>> table = table.append_files(pa.table({"file_path": ["data/1.parquet"], "record_count": [3],
    ...                                      "file_size_in_bytes": [812]}))
    """

    def of_iceberg(table: Table) -> IcebergAction:
        only("append_files", table, changelog=(changelog, None), check_files=(check_files, True))
        return file_change(FileChangeKind.APPEND, options, data=_arrow.writable(files), merge=merge)

    def of_paimon(table: Table) -> PaimonChange:
        only("append_files", table, merge=(merge, True))
        return PaimonChange.append_files(_arrow.writable(files), rows_of(changelog), check_files)

    return self._changed(Change("append_files", of_iceberg, of_paimon, options))


def delete_files(
    self: Changes[R, F],
    files: Any = None,
    *,
    where: str | Predicate | None = None,
    options: CommitOptions = PLAIN,
) -> R:
    """Removes whole data files from the table, in one snapshot: of Iceberg's operation `delete`, of Paimon's
    kind OVERWRITE.

    The files themselves stay, for older snapshots. Deletion vectors of the files are removed with them;
    Iceberg's position and equality delete files stay, though they may apply to nothing any more. In Paimon's
    tables with primary keys older versions of their rows become visible.

    Args:
        files: paths, as the table names them or relative to its location, or Arrow data with the column
            `file_path` utf8, such as `table.files(…)`. SQL text or a condition made with `lakebed.col` is
            taken as `where`.
        where: a condition on rows: files are removed of which all rows match. Iceberg tells by their
            partitions and metrics, and refuses a file of which some rows may match and others not. Paimon
            takes conditions on partition columns alone, of which it removes all files, and the index files.
            Files that another commit has just added are removed too. As in SQL, null matches no comparison;
            NaN, which engines order differently, only matches `is_nan`, `IS NOT NULL`, and `<>` and `NOT IN`
            of other values.
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, opened as it was; of Paimon at the latest one where nothing is
        removed.
    Raises: before anything is written: SchemaError with `.record` (a path that is not of a live data file, or
        that appears twice), PredicateError, UnsupportedError (of Iceberg a file of which the condition may
        match some rows and not others; of Paimon a condition on another column, with its name in `.field`,
        single files of a table with data evolution, rows that a global index covers), TypeError (neither
        `files` nor `where`).
    Cost: reads the paths of every live entry; with `where` alone those of manifests that may have such files.
        Iceberg: manifests that have some of the files are written again. Paimon: writes a manifest, two
        lists, a snapshot, and an index manifest where index files change.
    Source: Iceberg's `StreamingDelete.java`, `ManifestFilterManager.java`; Paimon's
        `FileStoreCommitImpl.java`.

    >>> table = table.delete_files(where="day < DATE '2026-01-01'")
    """
    if isinstance(files, str | Predicate | Column):
        if isinstance(files, str) and "/" in files and " " not in files:
            message = f"{files} is no condition: delete_files takes paths in a list, [{files!r}]"
            raise PredicateError(message, kind="predicate")
        if where is not None:
            raise TypeError("delete_files takes one condition")
        files, where = None, files
    if files is None and where is None:
        raise TypeError("delete_files takes files, where, or both")

    def of_iceberg(table: Table) -> IcebergAction:
        if where is None:
            return file_change(FileChangeKind.DELETE, options, removed=files)
        since = table.snapshot_id
        return file_change(FileChangeKind.OVERWRITE, options, removed=files, where=where, since=since)

    def of_paimon(_: Table) -> PaimonChange:
        return PaimonChange.overwrite_files(None, paths_of(files), to_sql(where))

    return self._changed(Change("delete_files", of_iceberg, of_paimon, options))


def overwrite_files(
    self: Changes[R, F],
    files: Any = None,
    *,
    removed: Any = None,
    where: str | Predicate | None = None,
    isolation: Isolation = "serializable",
    conflict_where: str | Predicate | None = None,
    options: CommitOptions = PLAIN,
) -> R:
    """Removes data files and adds others, in one snapshot: of Iceberg's operation `overwrite`, of Paimon's
    kind OVERWRITE; of that of an append or a delete where none is removed or added.

    Args:
        files: data files to add, in columns of the view `files`, as `append_files` takes them: `file_path`,
            `record_count`, `file_size_in_bytes`, and where the table has them `partition`, `bucket` and keys.
        removed: data files to remove: paths, as the table names them or relative to its location, or Arrow
            data with the column `file_path` utf8.
        where: a condition on rows; data files are removed of which all rows match. Iceberg tells by their
            partitions and metrics: a file with nulls in `x` has rows that `x <> 7` leaves, and one of nothing
            but nulls stays; floats may be NaN where a file's metrics do not count them; fields of structs are
            never known to match in all rows. Paimon takes conditions on partition columns alone, in the
            latest snapshot. As in SQL, null matches no comparison; NaN, which engines order differently, only
            matches `is_nan`, `IS NOT NULL`, and `<>` and `NOT IN` of other values.
        isolation: (Iceberg) what others may not have committed since the table's snapshot, at which the
            change was begun. "snapshot": no deletes that apply to the removed files, and with `where` no
            delete files, and no removals of files, that may concern rows which match. "serializable": no data
            files either that may have such rows. None: no check.
        conflict_where: (Iceberg) which rows that is about; None for `where` where no file is removed by path,
            else for all.
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, opened as it was; at the latest one where nothing changes
        (Paimon).
    Raises: CommitConflictError (Iceberg: what `isolation` forbids, and where the branch does not descend from
        the table's snapshot); before anything is written: SchemaError and LocationError of the files to add,
        as `append_files` raises them, SchemaError with `.record` (a path that is not of a live data file, or
        that appears twice), PredicateError, ValueError (another `isolation`), UnsupportedError (of Iceberg a
        file of which the condition may match some rows and not others; of Paimon a condition on another
        column, with its name in `.field`, single files of a table with data evolution, rows that a global
        index covers).
    Cost: with `where` reads the manifests that may have such files, with `removed` the paths of every live
        entry. Iceberg: manifests that have some of the files are written again; `isolation` reads the
        manifests of each snapshot since. Paimon: writes a manifest, two lists, a snapshot, and an index
        manifest where index files change.
    Source: Iceberg's `BaseOverwriteFiles.java`, `ManifestFilterManager.java`; Paimon's
        `FileStoreCommitImpl.java`, `ConflictDetection.java`.

    >>> table = table.overwrite_files(files, where="day = DATE '2026-01-01'")
    """

    def of_iceberg(table: Table) -> IcebergAction:
        return file_change(
            FileChangeKind.OVERWRITE,
            options,
            data=files,
            removed=removed,
            where=where,
            since=table.snapshot_id,
            isolation=isolation,
            conflict_where=conflict_where,
        )

    def of_paimon(table: Table) -> PaimonChange:
        beside = (isolation, "serializable")
        only("overwrite_files", table, isolation=beside, conflict_where=(conflict_where, None))
        return PaimonChange.overwrite_files(rows_of(files), paths_of(removed), to_sql(where))

    return self._changed(Change("overwrite_files", of_iceberg, of_paimon, options))


def overwrite_partitions(
    self: Changes[R, F],
    files: Any,
    partition: Mapping[str, Any] | None = None,
    *,
    options: CommitOptions = PLAIN,
) -> R:
    """(Paimon) Replaces all live files of some partitions, in a snapshot of kind OVERWRITE.

    Args:
        files: the new files, all in these partitions, as `append_files` takes them: `file_path`,
            `record_count`, `file_size_in_bytes`, `partition`, and where the table has them `bucket` and keys.
        partition: values of some or all partition columns; partitions that have them are overwritten. `{}` is
            the whole table, None every partition that one of the files is in (Paimon's dynamic overwrite).
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, without the index files of these partitions; at the latest one
        where nothing changes.
    Raises: before anything is written: SchemaError with `.field` and `.record` (what `append_files` refuses,
        a column that is not the partition's, a file of another partition), UnsupportedError (an Iceberg
        table).
    Cost: reads the entries of manifests that may have these partitions; writes a manifest, two lists, a
        snapshot, and an index manifest where index files change.
    Source: Paimon's `FileStoreCommitImpl.java` (`overwritePartition`).
    """

    def of_paimon(table: Table) -> PaimonChange:
        one = None if partition is None else paimon.partition_of(table, partition)
        return PaimonChange.overwrite_partitions(_arrow.writable(files), one)

    return self._changed(Change("overwrite_partitions", None, of_paimon, options))


def add_deletes(
    self: Changes[R, F],
    deletes: Any = None,
    *,
    files: Any = None,
    removed: Any = (),
    removed_deletes: Iterable[str] | Any = (),
    isolation: Isolation = "serializable",
    conflict_where: str | Predicate | None = None,
    options: CommitOptions = PLAIN,
) -> R:
    """Deletes rows by delete files or deletion vectors, which are written already, in one snapshot: of
    Iceberg's operation `overwrite` (`delete` where no data files are added, `append` where nothing is
    deleted), of Paimon's kind OVERWRITE.

    Args:
        deletes: Iceberg: delete files, in columns of the view `deletes`: `file_path`, `record_count`,
            `file_size_in_bytes`, `partition`, `content` (1 position deletes and vectors, 2 equality deletes),
            `equality_ids` of those; of a vector `file_format` "PUFFIN", `referenced_data_file`,
            `content_offset` and `content_size_in_bytes`. Version 2 takes position and equality delete files,
            3 equality delete files and vectors. A new vector replaces the one that its data file has: it must
            mark all rows of that one, and of position delete files of the data file. Paimon: index files of
            vectors, in columns of `lakebed.paimon.read_index_manifest`, with `partition` as a struct.
        files: (Iceberg) data files to add, in columns of the view `files`: `file_path`, `record_count`,
            `file_size_in_bytes`, and `partition` where the table is partitioned.
        removed: (Iceberg) data files to remove: paths, or Arrow data with the column `file_path` utf8.
        removed_deletes: delete files to remove, likewise; Iceberg's vectors are replaced by themselves. Of
            Paimon, names or paths of the index files that the new ones replace: a data file has one vector,
            and where buckets are fixed a bucket has one index file.
        isolation: (Iceberg) what others may not have committed since the table's snapshot: "snapshot", no
            deletes that apply to removed data files, and where data files are added no delete files at all;
            "serializable", no data files either; None for neither. Whatever it says, nobody may have removed
            a data file that new deletes refer to, or given one a vector that has a new one here.
        conflict_where: (Iceberg) which rows that is about; None for all.
        options: `CommitOptions`, what the new snapshot records of its commit.
    Returns: the table at its new snapshot, opened as it was.
    Raises: CommitConflictError (what `isolation` forbids; of Paimon an index file that another commit has
        replaced, a data file that another has given a vector); before anything is written: SchemaError with
        `.field` and `.record` (deletes that say too little, refer to no live data file, or are vectors that
        mark fewer rows than those they replace), UnsupportedError (deletes that the version does not have; of
        Paimon index files of other kinds).
    Cost: Iceberg: reads the paths of every live entry where deletes refer to data files or files are removed,
        and of delete manifests; those that have what is removed are written again. Paimon: reads the entries
        of these partitions, and the index manifest, which is written again.
    Source: Iceberg's `BaseRowDelta.java`, `MergingSnapshotProducer.java`; Iceberg specification, "Deletion
        Vectors"; Paimon's `IndexManifestFileHandler.java`, `ConflictDetection.java`.
    """

    def of_iceberg(table: Table) -> IcebergAction:
        return file_change(
            FileChangeKind.ROW_DELTA,
            options,
            data=files,
            deletes=deletes,
            removed=removed,
            removed_deletes=removed_deletes,
            since=table.snapshot_id,
            isolation=isolation,
            conflict_where=conflict_where,
        )

    def of_paimon(table: Table) -> PaimonChange:
        only("add_deletes", table, files=(files, None), removed=(removed, ()))
        beside = (isolation, "serializable")
        only("add_deletes", table, isolation=beside, conflict_where=(conflict_where, None))
        if deletes is None:
            raise TypeError("add_deletes takes deletes, which may be empty")
        return PaimonChange.add_deletes(_arrow.writable(deletes), paths_of(removed_deletes))

    return self._changed(Change("add_deletes", of_iceberg, of_paimon, options))
