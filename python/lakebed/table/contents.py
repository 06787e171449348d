"""Views of what a table's snapshot is made of: manifests, entries, files, and what those sum up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lakebed._arguments import encodable, names, one_of, positive
from lakebed._keywords import FileKeywords, Keywords, MetadataTable, OverlapKeywords, TableKeywords
from lakebed._native import View
from lakebed.advice import SMALL_BYTES
from lakebed.view import HealthScan, PlanScan, ViewScan, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from lakebed.table import Table


@view(TableKeywords)
def manifests(self: Table, **given: Unpack[TableKeywords]) -> ViewScan:
    """One row per manifest of the snapshot, in the order of its lists.

    Args:
        where: a condition on the table's columns, SQL text or made with `lakebed.col`; manifests are left out
            of which the summaries of partitions show that no row of their files can match.
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
    return ViewScan(self, "manifests", View.MANIFESTS, given)


@view(FileKeywords)
def entries(self: Table, **given: Unpack[FileKeywords]) -> ViewScan:
    """One row per entry of the snapshot's manifests, as stored: nothing merged, nothing hidden.

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
    return ViewScan(self, "entries", View.ENTRIES, given)


@view(FileKeywords)
def files(self: Table, **given: Unpack[FileKeywords]) -> ViewScan:
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
        Paimon's files that `where` leaves may hold rows that match, by partition, bucket, statistics and
        indexes. Of a table with primary keys a file stays with those whose rows it may hide; files of
        level 0 that batch reads pass over are live all the same.
    Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
    Cost: as `entries`; for Paimon plus one hash of the identity of each deletion. Filters on values of a
        Paimon table with primary keys, or of data evolution, hold the files that keys leave in memory.
    Source: Paimon's `FileEntry.java` (merge), `DataFilePathFactory.java` (paths); Iceberg specification,
        "Scan Planning".
    """
    return ViewScan(self, "files", View.FILES, given)


@view(TableKeywords)
def deletes(self: Table, **given: Unpack[TableKeywords]) -> ViewScan:
    """One row per deletion vector or delete file, with the data file that it applies to.

    Args:
        where: a condition on the table's columns, SQL text or made with `lakebed.col`, tested against the
            deletes' own partition (Paimon: and bucket) and metrics.
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
        delete applies to, as plans have it; none where they do not exist any more.
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
    return ViewScan(self, "deletes", View.DELETES, given)


@view(TableKeywords)
def indexes(self: Table, **given: Unpack[TableKeywords]) -> ViewScan:
    """(Paimon) One row per index file of the snapshot: deletion vectors, hashes of keys, global indexes.

    Args:
        where: a condition on the table's columns, SQL text or made with `lakebed.col`; files are left out of
            whose partition and bucket no row can match.
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
    return ViewScan(self, "indexes", View.INDEXES, given)


@view(TableKeywords)
def partitions(self: Table, *, small_bytes: int = SMALL_BYTES, **given: Unpack[TableKeywords]) -> ViewScan:
    """One row per partition that has live files, in the order in which manifests first name them.

    Null, empty and blank partition values are partitions of their own, though they share a folder.

    Args:
        small_bytes: data files with fewer bytes are small.
        where: a condition on the table's columns, SQL text or made with `lakebed.col`; files in which, by
            partition and statistics, no row can match are not counted. Paimon's deletion vectors are left out
            by partition and bucket alone.
    Returns: `partition` struct of the partition's types, `spec_id` int32 (null for Paimon; Iceberg has a
        row for each spec that has the tuple), `file_count` int64, `record_count` int64 [rows, deleting
        ones included] and `file_size_in_bytes` int64 of the data files, `delete_file_count` int64 (delete
        files and deletion vectors), `delete_record_count` int64 [rows in those]. Paimon:
        `last_updated_at` timestamp[us] (creation of the newest file, local wall clock of its writer),
        `last_updated_snapshot_id` int64 (null: not recorded), `bucket_count` int64 (those with files),
        `total_buckets` int32 (as the newest file records it), `delete_row_count` int64 (null where a file
        does not say). Iceberg: `last_updated_at` timestamp[us, UTC] and `last_updated_snapshot_id` int64
        (of the newest snapshot that added a file; null where those expired), then the counts of
        position deletes, deletion vectors and equality deletes by themselves, int64. Last of both
        `small_file_count` int64.
    Raises: CorruptError for a sum beyond 64 bits.
    Cost: as `files` without paths and statistics; memory grows with the partitions (Paimon: buckets), not
        with the files. Paimon's counts of deletes read the index manifest, and index files whose writer
        did not count.
    Source: Paimon's `PartitionEntry.java`; Iceberg's `PartitionsTable.java`.
    """
    small = positive("small_bytes", small_bytes, least=0)
    return ViewScan(self, "partitions", View.PARTITIONS, given, small_bytes=small)


@view(TableKeywords)
def buckets(self: Table, **given: Unpack[TableKeywords]) -> ViewScan:
    """One row per bucket that has live files, in the order in which manifests first name them.

    Bucket -2 holds files that wait for their bucket. Iceberg's files are in no buckets but those of their
    partition: there is one row per partition, with a null `bucket`.

    Args:
        where: a condition on the table's columns, SQL text or made with `lakebed.col`; files in which, by
            partition and statistics, no row can match are not counted. Paimon's deletion vectors are left out
            by partition and bucket alone.
    Returns: `partition` struct of the partition's types, `bucket` int32, `file_count` int64, `record_count`
        int64 [rows, deleting ones included] and `file_size_in_bytes` int64 of the data files,
        `delete_file_count` int64 (delete files and deletion vectors), `delete_record_count` int64 [rows in
        those], `last_updated_at` timestamp[us] (of Paimon the creation of the newest file, local wall clock
        of its writer; of Iceberg timestamp[us, UTC] of the newest snapshot that added a file) and
        `total_buckets` int32 (as the newest file records it), then `min_level` and `max_level` int32 of its
        files, and `delete_row_count`.
    Source: Paimon's `BucketEntry.java`.
    """
    return ViewScan(self, "buckets", View.BUCKETS, given)


@view(Keywords)
def columns(self: Table, **given: Unpack[Keywords]) -> ViewScan:
    """One row per column of the table: what metrics of its live data files say, from manifests alone.

    Returns: `column_id` int32, `column` utf8 (of Iceberg each column that holds values, with the names of
        those that it is in: "address.city", "tags.element"; of Paimon the table's own), `type` utf8 (as
        `schemas` has it), `file_count` int64 (live data files), then the sums over those that record them,
        int64, null where none does: `value_count` (nulls included), `null_count`, `nan_count`,
        `column_size` [bytes]; `uncounted_file_count` int64, files that do not record how many values and
        nulls they have (of Iceberg also those written before the column was added), and
        `unbounded_file_count` int64, files with values but without bounds of them; `lower_bound` and
        `upper_bound` utf8, the least and the greatest that is recorded (dates and times as in ISO 8601,
        bytes as hex digits; writers cut long texts, so that a bound need not be a value); `ndv` int64,
        distinct values by the newest statistics that have them, and `ndv_snapshot_id` int64, the snapshot
        that those are of. Rows that deletes hide, and versions of rows that a merge replaces, are counted.
    Raises: SchemaError, PredicateError, at once; errors of the data when read.
    Cost: that of `files` with the statistics of all columns; memory is that of one row.
    Source: Iceberg specification, "Manifests", and Puffin's, "Blob types"; Paimon's `SimpleStats.java` and
        `Statistics.java`.
    """
    return ViewScan(self, "columns", View.COLUMNS, given)


@view(OverlapKeywords)
def overlap(self: Table, columns: Sequence[str] | None = None, **given: Unpack[OverlapKeywords]) -> ViewScan:
    """One row per partition and column of the table: how many data files may have a value of the column.

    That is by the bounds of files, and beside it how many files may have it if the partition's files are
    sorted by the column. A query of one value, or of a narrow range, reads about `average_depth` files of a
    partition, and those without bounds.

    Args:
        columns: names of the table's columns, nested ones by dotted paths; None for all that have metrics.
        where: a condition on the table's columns, SQL text or made with `lakebed.col`; only files are
            compared in which, by partition and statistics, some row may match.
    Returns: `partition` struct of the partition's types, `spec_id` int32 (null for Paimon), `column` utf8,
        `file_count` int64 (data files), `unbounded_file_count` int64 (those with values but without bounds,
        which may have every value and count for nothing else), `average_depth` float64 and `max_depth` int64,
        the files whose bounds a value is within, on average and at most over the bounds of the partition's
        files, and `sorted_depth` float64, that average at least if the files were sorted by the column: 1, or
        more where whole files have one value. Depths are null where no file has bounds. By columns, then by
        partitions in the order in which manifests first name them.
    Raises: SchemaError (no such column), PredicateError, at once; errors of the data when read.
    Cost: that of `files` with the statistics of these columns; memory is that of their bounds in all files.
    Source: none of an engine's; Snowflake's `SYSTEM$CLUSTERING_INFORMATION` gives depths so.

    >>> table.overlap(["customer", "ordered_at"], filter="average_depth > 2 * sorted_depth")
    """
    asked = names("columns", columns)
    return ViewScan(self, "overlap", View.overlap(asked), given)


@view(TableKeywords)
def compaction_plan(
    self: Table,
    engine: Literal["spark"] = "spark",
    options: Mapping[str, str] | None = None,
    **given: Unpack[TableKeywords],
) -> ViewScan:
    """One row per data file that the engine's compaction would rewrite, in its groups.

    Args:
        engine: whose compaction; "spark" is Iceberg's procedure `rewrite_data_files` with the strategy
            `binpack`, and Paimon's `compact` with the strategy `full`, which Flink's is too.
        options: names and texts of the engine's own options, for example {"min-input-files": "2"}, of Paimon
            those that choose files; what is not named is as the table's properties and the engine have it.
        where: a condition on the table's columns, of Paimon on its partitions, SQL text or made with
            `lakebed.col`, for the engine's.
    Returns: `group` int32 (from 1; a group is written in one), `partition` struct of the partition's types,
        Iceberg's `spec_id`, Paimon's `bucket` and `level` int32, `file_path` utf8, `record_count`,
        `file_size_in_bytes` int64, `delete_file_count` int32 (deletes that apply to the file),
        `deleted_record_count` int64 (rows that deletes of this file alone delete, which the engine's ratio
        counts), `removed_delete_count` int32 (deletion vectors, which are removed with the file; other
        deletes stay until nothing needs them), `reason` utf8. By groups. Reasons of both formats are
        "small", "deleted rows" and, where all are rewritten, "all"; of Iceberg "large" and "delete files";
        of Paimon "overlap" (keys of other files are in the file's range), "delete rows" (rows that retract
        others), "between others" (files of a bucket stay in their order) and "level": the file is kept, and
        its level changes.
        Exact of Iceberg where the files of each partition fit one group, of 100 GiB by default. More groups
        the engine fills in the order in which its threads read manifests: which file is in which, and which
        few are left over, is chance. Of a Paimon table without buckets likewise where files of one size are
        at the end of a group.
    Raises: at once SchemaError (a ValueError) for an option or a condition that the engine refuses,
        UnsupportedError for Iceberg's `max-files-to-rewrite` and for Paimon tables with other compactions
        (postponed buckets, data evolution, clustering, chain tables, keys across partitions, records that
        expire, file formats by level), PredicateError; errors of the data when read.
    Cost: that of `plan`, of Paimon `files`, and of `deletes`; memory is that of the former.
    Source: Iceberg's `BinPackRewriteFilePlanner.java`, `SizeBasedFileRewritePlanner.java`; Paimon's
        `AppendCompactCoordinator.java`, `BucketedAppendCompactManager.java`, `MergeTreeCompactTask.java`.
    """
    one_of("engine", engine, ("spark",))
    asked = [(str(name), str(text)) for name, text in (options or {}).items()]
    return ViewScan(self, "compaction_plan", View.compaction_plan(asked), given)


@view(TableKeywords)
def health(self: Table, *, small_bytes: int | None = None, **given: Unpack[TableKeywords]) -> HealthScan:
    """One row about how the table is: what to compact, to expire, or to rewrite.

    Args:
        small_bytes: data files with fewer bytes are small. None for 32 MiB, or for what the table's own
            rewrites leave alone, where that is less: three quarters of Iceberg's
            `write.target-file-size-bytes`, of Paimon's `target-file-size` what `compaction.small-file-ratio`
            says.
        where: a condition on the table's columns, SQL text or made with `lakebed.col`; only files, deletes
            and manifests are counted that may have rows which match, and all snapshots.
    Returns: of the table `location` and `format` utf8, `format_version` int32 (null for Paimon),
        `snapshot_id` and `schema_id` int64, `committed_at` timestamp[us, UTC] (null where the snapshot
        expired), `snapshot_count` int64, `oldest_snapshot_at` and `newest_snapshot_at`, `unused_key_count`
        int64 (keys of encrypted metadata to which no snapshot and no other key refers; null for Paimon). Of
        the data files `partition_count`, `bucket_count` (null for Iceberg), `file_count`, `record_count`
        [rows], `file_size_in_bytes` int64, `average_file_size_in_bytes` float64, `min_…` and
        `max_file_size_in_bytes`, `small_file_count`, `small_file_size_in_bytes`, `max_partition_file_count`
        (of the partition with most files) int64; Paimon's `max_level` and `level_0_file_count` int64, files
        that wait for compaction. Of the deletes `delete_file_count` (delete files and deletion vectors) and
        `delete_record_count` [rows in those], then `position_delete_file_count`,
        `position_delete_record_count` (null for Paimon), `deletion_vector_count`,
        `equality_delete_file_count`, `equality_delete_record_count` (null for Paimon), Paimon's
        `delete_row_count` [rows in data files that retract others], all int64. Of the deletes that apply to
        no live data file, and are among the others too, `dangling_delete_file_count`,
        `dangling_delete_record_count`, `dangling_delete_size_in_bytes` (of files, of vectors alone),
        `dangling_deletion_vector_count`, `dangling_equality_delete_file_count` (null for Paimon) int64. They
        are those that no plan of the whole table lists: by sequence number, spec, partition, referenced data
        file and bounds; what plans would refuse is not among them. `deleted_record_ratio` float64 (rows that
        other positions and vectors delete, of all rows; what equality deletes delete is not known). Of the
        manifests `manifest_count`, `manifest_size_in_bytes`, `small_manifest_count` (below 1
        MiB; writers merge them up to 8 MiB), `delete_manifest_count`, `entry_count` int64,
        `average_manifest_entry_count` float64, and `deleted_entry_count` int64, entries that say that a file
        is deleted, which only rewritten manifests lose. Entry counts are null where old manifest lists do not
        have them; averages and extremes where there is nothing. Of the clustering
        `average_partition_manifest_count` float64 and `max_partition_manifest_count` int64, manifests of data
        files that a plan of one partition reads, by their bounds (of partitions without null values);
        `rewritten_manifest_count` int64, `average_rewritten_partition_manifest_count` and
        `max_rewritten_partition_manifest_count`, about what they would be after manifests are rewritten by
        partition, 8 MiB each.
    Raises: as `partitions`.
    Cost: as `partitions`; besides reads what `snapshots` and `manifests` read. Where there are deletes, some
        hundred bytes of each are held while the data files are read, with `where` all of these.
    """
    return HealthScan(self, given, positive("small_bytes", small_bytes, least=0))


@view(FileKeywords)
def plan(
    self: Table,
    *,
    deletes: Literal["list", "ids"] = "list",
    row_limit: int | None = None,
    **given: Unpack[FileKeywords],
) -> PlanScan:
    """One row per data file that an engine must read, with the deletes that apply to it and what of
    `where` is left to test in its rows.

    Args:
        deletes: "list": each delete in full; "ids": as a number into `plan(…).deletes`, which costs four
            bytes where a file has the same deletes as many others.
        row_limit: rows of the table: the plan ends with the file by which those whose rows are all returned
            (no deletes, no residual) hold so many; Paimon's tables whose files are merged, or spread a row,
            are planned whole.
        limit: at most so many files.
    Returns: the columns of `files`, of data files alone, then `delete_files`
        list<struct<content int32, file_path utf8, content_offset int64, content_size int64 [bytes],
        record_count int64 [rows], sequence_number int64>> or `delete_ids` list<int32>, and `residual`
        utf8 (SQL; null: nothing is left to test). A file without deletes has an empty list. A deletion
        vector, or position deletes by sequence number, are first, then equality deletes. Of a position
        delete file of several data files the rows decide; it is listed with each file of its partition.
        Iceberg: residuals are of its own logic, in which `<>`, `NOT IN`, `NOT LIKE` and the like match
        null; a filter that means SQL's says `IS NOT NULL` beside them. Deletes that, by their own
        partition and metrics, delete no row that matches are left out.
        Paimon: `files` as `where` leaves them, without those of level 0 of tables with deletion vectors
        or the merge engine `first-row`, and without those that wait for their bucket; files of a bucket
        that are to be merged stay together. The delete of a file is its deletion vector, `record_count`
        as recorded (null in old tables).
    Raises: ValueError for other `deletes`; when read, CorruptError (two deletion vectors of one file, one
        that is older than it, an equality delete without columns). A delete of one file alone whose spec
        or partition is not that of the file applies all the same, as in Iceberg's Java up to 1.11; 1.12
        refuses such a table. `verify` finds all of these.
    Cost: reads the delete manifests whole before the first row, unless `columns` leaves the deletes out,
        then data manifests as they are asked for. Memory is that of the deletes and one batch. Each file
        costs a binary search in the deletes of its partition.
        Paimon: the index manifest before the first row, then as `files`.
    Source: Iceberg specification, "Scan Planning"; Iceberg's `DeleteFileIndex.java`; Paimon's
        `SnapshotReaderImpl.java`.
    """
    by_id = one_of("deletes", deletes, ("list", "ids")) == "ids"
    rows = positive("row_limit", row_limit, least=0)
    return PlanScan(self, given, delete_ids=by_id, row_limit=rows)


@view(Keywords)
def metadata_table(self: Table, name: MetadataTable | str, **given: Unpack[Keywords]) -> ViewScan:
    """One of the engine's own metadata tables, with its column names, order, types and texts.

    Args:
        name: one of `metadata_tables`.
    Raises: SchemaError (no such metadata table or column), PredicateError; errors of the data when read.
    Units: Paimon's TIMESTAMP(3) columns are timestamp[us] without a zone; instants are printed in UTC, where
        the engine takes the zone of its machine.
    Cost: that of the view of the same kind.
    Source: Paimon's package `org.apache.paimon.table.system`; Iceberg's `MetadataTableType.java`.
    """
    return ViewScan(self, "metadata_table", View.metadata_table(encodable("name", name)), given, of=name)
