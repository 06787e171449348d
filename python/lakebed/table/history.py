"""Views of what a table was and is: its snapshots, refs, schemas, and files that were added and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._keywords import FileKeywords, Keywords
from lakebed._native import View
from lakebed.version import place_of
from lakebed.view import ViewScan, view

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lakebed.table import Table
    from lakebed.version import AnyVersion


@view(Keywords)
def snapshots(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row per snapshot that exists, oldest first.

    Returns: `snapshot_id` int64, `parent_id` int64, `committed_at` timestamp[us, UTC], `operation` utf8,
        `schema_id` int64, `total_record_count` int64 [rows], `manifest_list` utf8 (null for Paimon: there
        are two, `base_manifest_list` and `delta_manifest_list`), `summary` map<utf8, utf8> (Paimon: the
        commit's properties; a filter tests an element as `summary['key'] = 'value'`), `engine`,
        `engine_version`, `application` (the name of an application, or the id of an application or job) and
        `user` utf8 (Paimon: the commit user, if it is not random), each null where the writer does not say,
        then the format's own: Paimon's `watermark` int64, `statistics` utf8,
        `commit_operation` utf8 ("MERGE", of newer writers), `log_offsets` map<int32, int64> (by bucket,
        of older ones) and others; Iceberg's `sequence_number`, `first_row_id`, `added_rows` int64 and
        others.
    Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
    Cost: Paimon: reads every snapshot file. Iceberg: reads the metadata file.
    Source: Paimon's `Snapshot.java`; Iceberg specification, "Snapshots".
    """
    return ViewScan(self, "snapshots", View.SNAPSHOTS, given)


@view(Keywords)
def refs(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row per branch and tag: `main`, the other branches, then the tags of the branch the table
    is on, each by name.

    Returns: `name` utf8, `type` utf8 ("branch" | "tag"), `snapshot_id` int64 (a branch's latest; null
        where nothing was committed to it), `max_reference_age_in_ms` int64 (how long it is kept; null
        for ever), `min_snapshots_to_keep` int32 and `max_snapshot_age_in_ms` int64 (null for Paimon,
        which has no such rules), then the format's own, among them Paimon's `schema_id` int64 and
        `committed_at` timestamp[us, UTC] of the snapshot, `created_at` timestamp[us] (wall clock of the
        tag's writer, only where it is kept for a time).
    Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
    Cost: Paimon: lists branches and tags; reads one snapshot per branch, and every tag. Iceberg: nothing
        that opening has not read.
    Source: Paimon's `Tag.java`, `BranchManager.java`; Iceberg's metadata table `refs`.
    """
    return ViewScan(self, "refs", View.REFS, given)


@view(Keywords)
def changelogs(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """(Paimon) One row per long-lived changelog, oldest first: a snapshot that expired, changelog kept.

    Returns: the columns of `snapshots`. Only the changelog's list need still be there; base and delta
        lists may be missing.
    Raises: SchemaError (no such column, or an Iceberg table), PredicateError, at once; errors of the data
        when read.
    Cost: reads every changelog file.
    Source: Paimon's `Changelog.java`.
    """
    return ViewScan(self, "changelogs", View.CHANGELOGS, given)


@view(Keywords)
def schemas(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row per version of the schema, oldest first.

    Returns: `schema_id` int64, `fields` list<struct<id, name, type, required, doc>>, then the format's
        own: Paimon's keys and `options`, Iceberg's `identifier_field_ids`.
    Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
    Cost: Paimon: reads every schema file. Iceberg: reads the metadata file.
    Source: Paimon's `TableSchema.java`; Iceberg specification, "Schemas and Data Types".
    """
    return ViewScan(self, "schemas", View.SCHEMAS, given)


@view(Keywords)
def growth(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row for the table's own snapshot and each of its ancestors, oldest first: what is live
    there, and what its commit added and removed.

    All numbers are read from manifests and their lists, never from what a writer's summary claims, so they
    are those of `files` at that snapshot, summed up. Where a commit's own manifests do not account for
    what the lists count, the snapshot is compared with the one before, as `diff` does.

    Returns: `snapshot_id`, `parent_id` int64, `committed_at` timestamp[us, UTC], `operation` utf8, then
        int64, of what is live: `file_count`, `record_count` [rows, deleting ones included] and
        `file_size_in_bytes` of data files, `delete_file_count` (delete files and deletion vectors) and
        `delete_record_count` [rows in those]; then the same numbers of what the commit added
        (`added_file_count`, …) and removed (`removed_file_count`, …). How many deletes Paimon's oldest
        snapshot added and removed is null where the one before has expired.
    Raises: when read, as `files`; MissingFileError for a snapshot whose manifest lists expired.
    Cost: the snapshots, the manifest lists of each, and once each manifest that a commit wrote, for three
        columns; for the oldest snapshot all of its manifests. Paimon: each index manifest, and the index
        files whose writer did not count.
    Source: Iceberg specification, "Manifests" (status) and "Manifest Lists" (counts); Paimon's
        `Snapshot.java` (delta manifest list), `FileEntry.java`.
    """
    return ViewScan(self, "growth", View.GROWTH, given)


@view(FileKeywords)
def diff(
    self: Table, snapshot_a: AnyVersion, snapshot_b: AnyVersion, **given: Unpack[FileKeywords]
) -> ViewScan:
    """One row per file that is live in exactly one of two snapshots: those removed, then those added.

    A file is the same in both if its path is, for Iceberg with its content and, of a deletion vector, its
    offset; for Paimon with the other parts of its identity, the level among them. That a manifest was
    rewritten is not a difference, nor is which of the two snapshots is the older. A file that a snapshot
    names twice counts twice.

    Args:
        snapshot_a: a snapshot: its id, the name of a tag or branch (of a tag, where there are both), a time,
            or a `Version` or its keywords in a dict.
        snapshot_b: the other one.
    Returns: `change` utf8 ("removed": live in `snapshot_a` only, "added": in `snapshot_b` only), then the
        columns of `files`, in the types of the schema of this table. Iceberg's delete files
        and deletion vectors are among them. A file of Paimon's that only an entry of the kind DELETE
        names is shown as that entry has it: it may lack statistics that `files` has, and give other
        sequence numbers.
    Raises: SnapshotNotFoundError (naming what is there); when read, MissingFileError for a snapshot whose
        manifest lists expired.
    Cost: the manifest lists of both; manifests that both have are not read. The others are read once for
        the identities of their files, and those in which something differs once more for the rows. Memory
        grows with the files that they name.
    Source: Paimon's `FileEntry.java` (merge); Iceberg's `DataFileSet.java`, `DeleteFileSet.java`.
    """
    between = View.diff(place_of("snapshot_a", snapshot_a), place_of("snapshot_b", snapshot_b))
    return ViewScan(self, "diff", between, given, of=f"of {snapshot_a!r} and {snapshot_b!r}")


@view(FileKeywords)
def appends(self: Table, after: AnyVersion | None = None, **given: Unpack[FileKeywords]) -> ViewScan:
    """One row per data file that appends added after a snapshot, up to the one the table is at: what
    an incremental read has to read. The oldest append is first.

    Compactions, overwrites and deletes are passed over, so a file may be removed by now; `diff` says
    which files there are.

    Args:
        after: a snapshot: its id, the name of a tag or branch, a time, or a `Version` or its keywords in a
            dict; what that snapshot itself appended is left out. It may have expired, as long as the next one
            has not. None for all appends that are still known.
    Returns: the columns of `files`.
    Raises: SnapshotNotFoundError where the table's snapshot was not made from `after`, or one in between
        has expired, naming those that exist.
    Cost: Paimon: reads the snapshots in between and the delta lists of appends; Iceberg: reads the
        metadata file again, and one manifest list per append. Then the manifests of the appends that
        `where` leaves.
    Source: Paimon's `IncrementalDeltaStartingScanner.java`; Iceberg's `BaseIncrementalAppendScan.java`.
    """
    since = View.appends(None if after is None else place_of("after", after))
    return ViewScan(self, "appends", since, given, of="" if after is None else f"after {after!r}")


@view(FileKeywords)
def changes(
    self: Table, after: AnyVersion | None = None, to: AnyVersion | None = None, **given: Unpack[FileKeywords]
) -> ViewScan:
    """One row for each data file by which a commit after a snapshot added or removed rows, the oldest commit
    first: the tasks of a changelog, with the deletes that whoever reads it needs.

    A file that was "added": all its rows but those that `delete_files` delete were. One that was "removed":
    all its rows but those that `delete_files_before` had deleted were. "deletes": the file was there before
    and is after; rows that `delete_files` delete and `delete_files_before` do not were removed, those of
    which the opposite is true were added again. Commits that only put rows into other files (Iceberg's
    "replace", Paimon's "COMPACT") are passed over. Of Paimon's tables with primary keys rows say themselves
    what they are (`_VALUE_KIND`), and those of older files may be replaced by them, as its delta reads have
    it; what changelog producers write is in `entries` of snapshots.

    Args:
        after: a snapshot, as of `appends`, of which the table's is a descendant, and which has not expired;
            what its own commit did is left out. None for all commits that are known, and whose parent is.
        to: the last snapshot; None for the one the table is at.
        where: a condition on the table's columns (Paimon: on its partition columns alone), SQL text or made
            with `lakebed.col`; files are left out in which no row can match.
    Returns: `change` utf8 ("added" | "removed" | "deletes"), `snapshot_id` int64, `committed_at`
        timestamp[us, UTC], `operation` utf8, `change_ordinal` int32 (the place of the commit among those
        whose changes are asked for, from 0), then the columns of `files` but for Iceberg's `snapshot_id`, in
        the types of the schema of this table, then `delete_files` and `delete_files_before`, lists as
        `plan` has them.
    Raises: as `appends`; when read, as `plan` for the snapshots in between.
    Cost: for commits without deletes that of `diff` of each and the one before; where one of the two has
        deletes also a plan of both, and memory for the files that have some.
    Source: Iceberg's `BaseIncrementalChangelogScan.java` (which refuses deletes), `ChangelogScanTask.java`,
        `DeletedRowsScanTask.java`; Paimon's `IncrementalDeltaStartingScanner.java`.

    >>> tasks = table.changes(after="last_run").to_arrow()
    """
    table = self if to is None else self.at(to)
    since = View.changes(None if after is None else place_of("after", after))
    return ViewScan(table, "changes", since, given, of="" if after is None else f"after {after!r}")


@view(FileKeywords)
def file_history(self: Table, **given: Unpack[FileKeywords]) -> ViewScan:
    """One row for each file that the commit of a snapshot added or removed, of the table's snapshot and
    its ancestors, oldest first.

    Which snapshot added a file, and which removed it: `filter="file_path = '…'"`. What a commit did is
    what its own manifests say; where they do not account for what the lists count, it is what `diff` of
    the snapshot before and this one says. Files of snapshots that expired have no row.

    Args:
        where: a condition on the table's columns (Paimon: on its partition columns alone), SQL text or made
            with `lakebed.col`; files are left out in which no row can match.
    Returns: `change` utf8 ("added" | "removed"), `snapshot_id` int64, `committed_at` timestamp[us, UTC],
        `operation` utf8, then the columns of `files` but for Iceberg's `snapshot_id`, in the types of the
        schema of this table. An entry that removes a file may lack statistics.
    Raises: when read, as `files`.
    Cost: the snapshots and the manifest lists of each; once each manifest that a commit wrote and that
        what is asked of partitions leaves. Memory is bounded.
    Source: as `growth`.
    """
    return ViewScan(self, "file_history", View.FILE_HISTORY, given)
