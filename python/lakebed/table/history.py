"""How a table came to be: views of its snapshots, refs and schemas, and of what each commit did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._native import View
from lakebed.table.state import TableState
from lakebed.view import ViewScan, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class HistoryViews(TableState):
    """Views of what the table was and is, before any of its files."""

    def snapshots(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per snapshot that exists, oldest first.

        Returns: `snapshot_id` int64, `parent_id` int64, `committed_at` timestamp[us, UTC], `operation` utf8,
            `schema_id` int64, `total_record_count` int64 [rows], `manifest_list` utf8 (null for Paimon: there
            are two, `base_manifest_list` and `delta_manifest_list`), `summary` map<utf8, utf8> (Paimon: the
            commit's properties), then the format's own: Paimon's `watermark` int64, `statistics` utf8,
            `commit_operation` utf8 ("MERGE", of newer writers), `log_offsets` map<int32, int64> (by bucket,
            of older ones) and others; Iceberg's `sequence_number`, `first_row_id`, `added_rows` int64 and
            others.
        Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
        Cost: Paimon: reads every snapshot file. Iceberg: reads the metadata file.
        Source: Paimon's `Snapshot.java`; Iceberg specification, "Snapshots".
        """
        return ViewScan(
            self._native, "snapshots", View.SNAPSHOTS, options(columns, where, None, limit, threads)
        )

    def refs(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
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
        return ViewScan(self._native, "refs", View.REFS, options(columns, where, None, limit, threads))

    def changelogs(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """(Paimon) One row per long-lived changelog, oldest first: a snapshot that expired, changelog kept.

        Returns: the columns of `snapshots`. Only the changelog's list need still be there; base and delta
            lists may be gone.
        Raises: SchemaError (no such column, or an Iceberg table), PredicateError, at once; errors of the data
            when read.
        Cost: reads every changelog file.
        Source: Paimon's `Changelog.java`.
        """
        return ViewScan(
            self._native, "changelogs", View.CHANGELOGS, options(columns, where, None, limit, threads)
        )

    def schemas(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per version of the schema, oldest first.

        Returns: `schema_id` int64, `fields` list<struct<id, name, type, required, doc>>, then the format's
            own: Paimon's keys and `options`, Iceberg's `identifier_field_ids`.
        Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
        Cost: Paimon: reads every schema file. Iceberg: reads the metadata file.
        Source: Paimon's `TableSchema.java`; Iceberg specification, "Schemas and Data Types".
        """
        return ViewScan(self._native, "schemas", View.SCHEMAS, options(columns, where, None, limit, threads))

    def growth(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per snapshot that led to the table's own, oldest first: what is live there, and what
        its commit added and removed.

        All numbers come from manifests and their lists, never from what a writer's summary claims, so they
        are those of `files` at that snapshot, summed up. Where a commit's own manifests do not account for
        what the lists count, the snapshot is compared with the one before, as `diff` does.

        Args: where, on these columns; the others as in `snapshots`.
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
        return ViewScan(self._native, "growth", View.GROWTH, options(columns, where, None, limit, threads))
