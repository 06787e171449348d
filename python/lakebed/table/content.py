"""What a table's snapshot holds: views of its manifests and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._native import View
from lakebed.table.state import TableState
from lakebed.view import ViewScan, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class ContentViews(TableState):
    """Views of what the snapshot holds, a row for each manifest, entry or file."""

    def manifests(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per manifest of the snapshot, in the order of its lists.

        Args: where, as in `files`: what summaries of partitions can tell; the others as in all views.
        Returns: `path` utf8, `length` int64 [bytes], `content` int32 (0 data, 1 deletes), `spec_id` int32,
            `added_files_count`, `existing_files_count`, `deleted_files_count` and the same of rows int64
            (null: not recorded), `partition_lower` and `partition_upper` struct of the partition's types,
            `schema_id` (null for Iceberg, whose lists do not record it), `sequence_number`,
            `min_sequence_number` int64, then the format's own.
            Of Iceberg, only where `columns` names it: `header` struct<content utf8, format_version,
            partition_spec_id, schema_id int32>, from each manifest's header, null where it lacks them;
            null as a whole for one in ORC or Parquet.
        Raises: (when read) CorruptError (with `header`: a manifest whose header cannot be read).
        Cost: reads the manifest lists, no manifest; with `header` one read of 64 KiB for each.
        Source: Paimon's `ManifestFileMeta.java`; Iceberg specification, "Manifest Lists".
        """
        return ViewScan(
            self._native, "manifests", View.MANIFESTS, options(columns, where, None, limit, threads)
        )

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

        Args: where, as in `files`; the others as in all views.
        Returns: Paimon: `kind` int8 (0 add, 1 delete), `partition` struct of the partition's types, `bucket`,
            `total_buckets`, then the data file's fields, stats as stored (BinaryRow bytes and null counts).
            Iceberg: `status` int32 (0 existing, 1 added, 2 deleted), `snapshot_id`, `sequence_number`,
            `file_sequence_number` int64 (after inheritance), then the data file's fields, metrics as stored
            (map<int32, int64> and map<int32, binary> by field id). Last, `manifest` utf8.
        Units: sizes in bytes; Paimon's `creation_time` is the writer's local wall clock, without a zone.
        Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
        Cost: reads the manifests that `where` leaves; Paimon's entries that it drops are not decoded beyond
            what it tests.
        Source: Paimon's `ManifestEntry.java`, `DataFileMeta.java`; Iceberg specification, "Manifests" and
            "Inheritance".
        """
        return ViewScan(self._native, "entries", View.ENTRIES, options(columns, where, stats, limit, threads))

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

        Args: where, on any columns, nested ones by dotted paths, of Paimon on `bucket` too, of Iceberg on
            transforms (`bucket(16, id) = 3`) and on partition fields whose names no column has: files are
            left out in which, by partition and statistics, no row can match. The others as in all views.
        Returns: `content` int32 (0 data, 1 position deletes, 2 equality deletes), `file_path` utf8 (full),
            `file_format` utf8, `partition` struct of the partition's types (those of all Iceberg specs, by
            field id), `spec_id` int32, `bucket` int32, `level` int32, `record_count` int64 [rows],
            `file_size_in_bytes` int64, `schema_id` int64, `sequence_number` int64 (Paimon's largest,
            Iceberg's data sequence number), `created_at` timestamp[us] (local wall clock of the writer), then
            the format's own; what a format does not have is null. With `stats`, a last column `stats`:
            struct<column: struct<value_count, null_count, nan_count, column_size int64, lower_bound,
                upper_bound of the column's type>>.
            Paimon's files that `where` leaves may hold rows that match, by partition, bucket, statistics and
            indexes. Of a table with primary keys a file stays with those whose rows it may hide; files of
            level 0 that batch reads pass over are live all the same.
        Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
        Cost: as `entries`; for Paimon plus one hash of the identity of each deletion. Filters on values of a
            Paimon table with primary keys, or of data evolution, hold the files that keys leave in memory.
        Source: Paimon's `FileEntry.java` (merge), `DataFilePathFactory.java` (paths); Iceberg specification,
            "Scan Planning".
        """
        return ViewScan(self._native, "files", View.FILES, options(columns, where, stats, limit, threads))

    def deletes(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per deletion vector or delete file, with the data file that it applies to.

        Args: where, as in `files`, of the deletes' own partition (Paimon: and bucket) and metrics; the others
            as in all views.
        Returns: the columns of `files` as they apply to deletes. Paimon: `content` int32 (1 position
            deletes), `file_path` utf8 (full, of the index file), `file_format` utf8 ("deletion-vector"),
            `partition` struct of the partition's types, `bucket` int32, `record_count` int64 [rows deleted],
            `file_size_in_bytes` int64 (of the index file); `spec_id`, `level`, `schema_id`,
            `sequence_number` and `created_at` are null. Then `referenced_data_file` utf8 (full),
            `referenced_file_name` utf8, `content_offset` and `content_size_in_bytes` int64 (as recorded: what
            `lakebed.paimon.read_deletion_vector` takes), `cardinality` int64 (as recorded, null in old
            tables), `file_name` utf8.
            Iceberg: the rows of `files` whose `content` is 1 or 2, then `referenced_data_file` utf8 (where it
            is one file, by reference or by the bounds of the paths), `content_offset`,
            `content_size_in_bytes` (what `lakebed.iceberg.read_deletion_vector` takes), `cardinality` int64
            (of deletion vectors), `equality_ids` list<int32>, `file_sequence_number`, `snapshot_id` int64.
            Only where `columns` names it: `positions` list<int64>, the rows that a deletion vector deletes by
            their position in the data file, ascending; null for delete files. Of Iceberg likewise,
            `data_file_count` int64 and `data_files` list<utf8>: the data files of the snapshot that the
            delete applies to, as plans have it; none where they are gone.
        Raises: (when read) CorruptError (a vector, or one whose cardinality is not the recorded one).
        Cost: Paimon: the index manifest. With `referenced_data_file`, besides, the names and external paths
            of the manifests' entries; with `positions`, and with `record_count` where no cardinality is
            recorded, one read of each index file. Iceberg: the manifests of deletes; with `positions` one
            read for each vector, of its bytes alone, and batches of about a million positions; with
            `data_file_count` or `data_files` a plan of the whole table before the first row, and for
            `data_files` memory for all paths and 16 bytes for each pair of a delete and a data file.
        Source: Paimon's `IndexManifestEntry.java`, `DeletionVectorsIndexFile.java`; Iceberg's
            `ContentFileUtil.java`.
        """
        return ViewScan(self._native, "deletes", View.DELETES, options(columns, where, None, limit, threads))

    def indexes(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """(Paimon) One row per index file of the snapshot: deletion vectors, hashes of keys, global indexes.

        Args: where, as in `files`: what partition and bucket can tell; the others as in all views.
        Returns: `file_path` utf8 (full), `index_type` utf8 ("DELETION_VECTORS", "HASH" or the kind of a
            global index), `partition` struct of the partition's types, `bucket` int32, `file_size_in_bytes`
            int64, `row_count` int64 (data files with a vector, keys, or rows covered); of global indexes
            `row_range_start` and `row_range_end` int64 (row ids, the last one included), `index_field_id`
            int32, `index_field_name` utf8, `extra_field_ids` list<int32>; `file_name` and `external_path`
            utf8.
        Raises: SchemaError (no such column, or an Iceberg table), PredicateError, at once; errors of the data
            when read.
        Cost: the index manifest.
        Source: Paimon's `IndexManifestEntry.java`, `GlobalIndexMeta.java`.
        """
        return ViewScan(self._native, "indexes", View.INDEXES, options(columns, where, None, limit, threads))
