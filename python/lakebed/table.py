"""A table: where it is, which snapshot it stands at, and its views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import _html, _native
from lakebed._arguments import milliseconds, names, positive
from lakebed.predicates import to_sql
from lakebed.scan import Scan
from lakebed.view import View, ViewScan, place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from lakebed.predicates import Predicate


class Table:
    """A table that stands at one snapshot. `open_table` makes one; `at` gives the same table at another.

    The views take the same keywords and return a lazy `Scan`:

        columns: names of the columns wanted, in this order; what is not asked for is not decoded.
        where: SQL-like text, or a condition made with `lakebed.col`, on the view's columns and its
            partition's.
        stats: (`entries`, `files`) names of table columns whose typed bounds and counts are wanted.
        limit: rows at most.
        threads: None for all cores.

    They raise SchemaError for a column that is not there and PredicateError for a `where` that cannot be
    bound, at once; errors of the data come when the scan is read.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def format(self) -> str:
        """The table format: "paimon" or "iceberg"."""
        return self._native.format

    @property
    def location(self) -> str:
        """Where the table is, without credentials."""
        return self._native.location

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot the table stands at; None for a table without one."""
        return self._native.snapshot_id

    @property
    def branch(self) -> str:
        """The branch the table stands on, "main" for the table itself."""
        return self._native.branch

    @property
    def tag(self) -> str | None:
        """The tag the table was asked to stand at, or None."""
        return self._native.tag

    @property
    def properties(self) -> dict[str, str]:
        """Paimon: the options of the schema; Iceberg: the table's properties."""
        return self._native.properties

    def at(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
        timestamp: datetime | int | None = None,
        watermark: int | None = None,
    ) -> Table:
        """The same table at another snapshot; snapshots, tags and times are those of the branch it stands on.

        Args: exactly one of
            snapshot: an id. A tag does not stand in for a snapshot that expired: ask for the tag.
            tag: a name. Paimon's tags hold their snapshot, so that may have expired.
            branch: a name; "main" goes back to the table itself. Gives the branch's latest snapshot (none
                where nothing was committed to it) and latest schema; the others, their snapshot's schema.
            timestamp: the snapshot that was the latest then. An int counts milliseconds since 1970 UTC; a
                datetime without zone is local time of this machine, as everywhere in Python. Iceberg goes by
                the log of `main`.
            watermark: (Paimon) the earliest snapshot with this watermark or a later one, in the writer's own
                unit.
        Raises: SnapshotNotFoundError (naming what is there); UnsupportedError for a watermark of Iceberg's;
            TypeError for none or several.
        Cost: Paimon: reads one snapshot and one schema; by `timestamp` lists the snapshots and reads some of
            them, by `watermark` all of them up to the one found. Iceberg: reads the metadata file again.
        Source: Paimon's `TimeTravelUtil.java`, `SnapshotManager.java`; Iceberg's `SnapshotUtil.java`.
        """
        places = (snapshot, tag, branch, timestamp, watermark)
        if sum(place is not None for place in places) != 1:
            raise TypeError("at() takes exactly one of snapshot, tag, branch, timestamp, watermark")
        millis = None if timestamp is None else milliseconds(timestamp)
        return Table(
            self._native.at(snapshot=snapshot, tag=tag, branch=branch, timestamp=millis, watermark=watermark)
        )

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
        Cost: Paimon: reads every snapshot file. Iceberg: reads the metadata file.
        Source: Paimon's `Snapshot.java`; Iceberg specification, "Snapshots".
        """
        return ViewScan(self._native, View("snapshots", columns, where, None, limit, threads))

    def refs(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per branch and tag: `main`, the other branches, then the tags of the branch the table
        stands on, each by name.

        Returns: `name` utf8, `type` utf8 ("branch" | "tag"), `snapshot_id` int64 (a branch's latest; null
            where nothing was committed to it), `max_reference_age_in_ms` int64 (how long it is kept; null
            for ever), `min_snapshots_to_keep` int32 and `max_snapshot_age_in_ms` int64 (null for Paimon,
            which has no such rules), then the format's own, among them Paimon's `schema_id` int64 and
            `committed_at` timestamp[us, UTC] of the snapshot, `created_at` timestamp[us] (wall clock of the
            tag's writer, only where it is kept for a time).
        Cost: Paimon: lists branches and tags; reads one snapshot per branch, and every tag. Iceberg: nothing
            that opening has not read.
        Source: Paimon's `Tag.java`, `BranchManager.java`; Iceberg's metadata table `refs`.
        """
        return ViewScan(self._native, View("refs", columns, where, None, limit, threads))

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
        Cost: reads every changelog file.
        Source: Paimon's `Changelog.java`.
        """
        return ViewScan(self._native, View("changelogs", columns, where, None, limit, threads))

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
        Cost: Paimon: reads every schema file. Iceberg: reads the metadata file.
        Source: Paimon's `TableSchema.java`; Iceberg specification, "Schemas and Data Types".
        """
        return ViewScan(self._native, View("schemas", columns, where, None, limit, threads))

    def manifests(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per manifest of the snapshot, in the order of its lists.

        Returns: `path` utf8, `length` int64 [bytes], `content` int32 (0 data, 1 deletes), `spec_id` int32,
            `added_files_count`, `existing_files_count`, `deleted_files_count` and the same of rows int64
            (null: not recorded), `partition_lower` and `partition_upper` struct of the partition's types,
            `schema_id`, `sequence_number`, `min_sequence_number` int64, then the format's own.
        Cost: reads the manifest lists, no manifest.
        Source: Paimon's `ManifestFileMeta.java`; Iceberg specification, "Manifest Lists".
        """
        return ViewScan(self._native, View("manifests", columns, where, None, limit, threads))

    def entries(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        stats: Sequence[str] | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per entry of the snapshot's manifests, as stored: nothing merged, nothing hidden.

        Returns: Paimon: `kind` int8 (0 add, 1 delete), `partition` struct of the partition's types, `bucket`,
            `total_buckets`, then the data file's fields, stats as stored (BinaryRow bytes and null counts).
            Iceberg: `status` int32 (0 existing, 1 added, 2 deleted), `snapshot_id`, `sequence_number`,
            `file_sequence_number` int64 (after inheritance), then the data file's fields, metrics as stored
            (map<int32, int64> and map<int32, binary> by field id). Last, `manifest` utf8.
        Units: sizes in bytes; Paimon's `creation_time` is the writer's local wall clock, without a zone.
        Cost: reads the manifests that `where` leaves; Paimon's entries that it drops are not decoded beyond
            what it tests.
        Source: Paimon's `ManifestEntry.java`, `DataFileMeta.java`; Iceberg specification, "Manifests" and
            "Inheritance".
        """
        return ViewScan(self._native, View("entries", columns, where, stats, limit, threads))

    def files(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        stats: Sequence[str] | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per live file: of Paimon additions less deletions, of Iceberg what is added or existing,
        delete files and deletion vectors included.

        Returns: `content` int32 (0 data, 1 position deletes, 2 equality deletes), `file_path` utf8 (full),
            `file_format` utf8, `partition` struct of the partition's types (those of all Iceberg specs, by
            field id), `spec_id` int32, `bucket` int32, `level` int32, `record_count` int64 [rows],
            `file_size_in_bytes` int64, `schema_id` int64, `sequence_number` int64 (Paimon's largest,
            Iceberg's data sequence number), `created_at` timestamp[us] (local wall clock of the writer), then
            the format's own; what a format does not have is null. With `stats`, a last column `stats`:
            struct<column: struct<value_count, null_count, nan_count, column_size int64, lower_bound,
                upper_bound of the column's type>>.
        Cost: as `entries`; for Paimon plus one hash of the identity of each deletion.
        Source: Paimon's `FileEntry.java` (merge), `DataFilePathFactory.java` (paths); Iceberg specification,
            "Scan Planning".
        """
        return ViewScan(self._native, View("files", columns, where, stats, limit, threads))

    def deletes(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per deletion vector or delete file, with the data file that it applies to.

        Args: where, on partition columns and `bucket`; the others as in all views.
        Returns: the columns of `files` as they apply to deletes. Paimon: `content` int32 (1 position
            deletes), `file_path` utf8 (full, of the index file), `file_format` utf8 ("deletion-vector"),
            `partition` struct of the partition's types, `bucket` int32, `record_count` int64 [rows deleted],
            `file_size_in_bytes` int64 (of the index file); `spec_id`, `level`, `schema_id`,
            `sequence_number` and `created_at` are null. Then `referenced_data_file` utf8 (full),
            `referenced_file_name` utf8, `content_offset` and `content_size_in_bytes` int64 (as recorded: what
            `lakebed.paimon.read_deletion_vector` takes), `cardinality` int64 (as recorded, null in old
            tables), `file_name` utf8. Only where `columns` names it: `positions` list<int64>, the deleted
            rows by their position in the data file, ascending.
            Iceberg: the rows of `files` whose `content` is 1 or 2, then `referenced_data_file` utf8 (where it
            is one file, by reference or by the bounds of the paths), `content_offset`,
            `content_size_in_bytes`, `cardinality` int64 (of deletion vectors), `equality_ids` list<int32>,
            `file_sequence_number`, `snapshot_id` int64.
        Raises: (when read) CorruptError (a vector, or one whose cardinality is not the recorded one).
        Cost: the index manifest. With `referenced_data_file`, besides, the names and external paths of the
            manifests' entries; with `positions`, and with `record_count` where no cardinality is recorded,
            one read of each index file.
        Source: Paimon's `IndexManifestEntry.java`, `DeletionVectorsIndexFile.java`; Iceberg's
            `ContentFileUtil.java`.
        """
        return ViewScan(self._native, View("deletes", columns, where, None, limit, threads))

    def indexes(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """(Paimon) One row per index file of the snapshot: deletion vectors, hashes of keys, global indexes.

        Args: where, on partition columns and `bucket`; the others as in all views.
        Returns: `file_path` utf8 (full), `index_type` utf8 ("DELETION_VECTORS", "HASH" or the kind of a
            global index), `partition` struct of the partition's types, `bucket` int32, `file_size_in_bytes`
            int64, `row_count` int64 (data files with a vector, keys, or rows covered); of global indexes
            `row_range_start` and `row_range_end` int64 (row ids, the last one included), `index_field_id`
            int32, `index_field_name` utf8, `extra_field_ids` list<int32>; `file_name` and `external_path`
            utf8.
        Cost: the index manifest.
        Source: Paimon's `IndexManifestEntry.java`, `GlobalIndexMeta.java`.
        """
        return ViewScan(self._native, View("indexes", columns, where, None, limit, threads))

    def partitions(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per partition that has live files, in the order in which manifests first name them.

        Null, empty and blank partition values are partitions of their own, though they share a folder.

        Args: where, on the partition's columns and `bucket`: what it drops is not counted.
        Returns: `partition` struct of the partition's types, `spec_id` int32 (null for Paimon; Iceberg has a
            row for each spec that has the tuple), `file_count` int64, `record_count` int64 [rows, deleting
            ones included] and `file_size_in_bytes` int64 of the data files, `delete_file_count` int64 (delete
            files and deletion vectors), `delete_record_count` int64 [rows in those]. Paimon:
            `last_updated_at` timestamp[us] (creation of the newest file, local wall clock of its writer),
            `last_updated_snapshot_id` int64 (null: not recorded), `bucket_count` int64 (those with files),
            `total_buckets` int32 (as the newest file records it), `delete_row_count` int64 (null where a file
            does not say). Iceberg: `last_updated_at` timestamp[us, UTC] and `last_updated_snapshot_id` int64
            (of the newest snapshot that a file came with; null where those expired), then the counts of
            position deletes, deletion vectors and equality deletes by themselves, int64.
        Raises: CorruptError for a sum beyond 64 bits.
        Cost: as `files` without paths and statistics; memory grows with the partitions (Paimon: buckets), not
            with the files. Paimon's counts of deletes read the index manifest, and index files whose writer
            did not count.
        Source: Paimon's `PartitionEntry.java`; Iceberg's `PartitionsTable.java`.
        """
        return ViewScan(self._native, View("partitions", columns, where, None, limit, threads))

    def buckets(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per bucket that has live files, in the order in which manifests first name them.

        Bucket -2 holds files that wait for their bucket. Iceberg's files are in no buckets but those of their
        partition: there is one row per partition, with a null `bucket`.

        Args, Raises, Cost: as `partitions`.
        Returns: `partition` struct of the partition's types, `bucket` int32, then as in `partitions`
            `file_count`, `record_count`, `file_size_in_bytes`, `delete_file_count`, `delete_record_count`,
            `last_updated_at` and `total_buckets`, then `min_level` and `max_level` int32 of its files, and
            `delete_row_count`.
        Source: Paimon's `BucketEntry.java`.
        """
        return ViewScan(self._native, View("buckets", columns, where, None, limit, threads))

    @property
    def metadata_tables(self) -> list[str]:
        """The names of the engine's own metadata tables: "options" stands for `orders$options`."""
        return self._native.metadata_tables

    def metadata_table(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> Scan:
        """One of the engine's own metadata tables, with its column names, order, types and texts.

        Args: name, one of `metadata_tables`; where, on the metadata table's own columns; the others as in
            all views.
        Raises: SchemaError (no such metadata table or column), PredicateError; errors of the data when read.
        Units: Paimon's TIMESTAMP(3) columns are timestamp[us] without a zone; instants are printed in UTC,
            where the engine takes the zone of its machine.
        Cost: that of the view of the same kind.
        Source: Paimon's package `org.apache.paimon.table.system`; Iceberg's `MetadataTableType.java`.
        """
        scan = self._native.metadata_scan(
            name,
            names("columns", columns),
            to_sql(where),
            positive("limit", limit, least=0),
            positive("threads", threads),
        )
        return Scan(scan, f"metadata table {name} of {self.location!r}")

    def __repr__(self) -> str:
        return f"<lakebed {self.format} table {self.location!r} {place(self._native)}>"

    def _repr_html_(self) -> str:
        rows = [("location", self.location), ("stands", place(self._native))]
        about = _html.table(("", ""), rows, caption=f"{self.format} table")
        options = sorted(self.properties.items())
        return about + (_html.table(("option", "value"), options) if options else "")
