"""What a table's snapshot sums up to: views of its partitions, its buckets and its health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._arguments import positive
from lakebed._native import View
from lakebed._values import to_records
from lakebed._verdict import SMALL_BYTES, findings
from lakebed.table.state import TableState
from lakebed.view import ViewScan, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class GroupViews(TableState):
    """Views of live files summed up: memory grows with the groups, not with the files."""

    def partitions(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        small_bytes: int = SMALL_BYTES,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row per partition that has live files, in the order in which manifests first name them.

        Null, empty and blank partition values are partitions of their own, though they share a folder.

        Args: where, as in `files`: what it drops is not counted, but for deletion vectors of Paimon, which
            are counted by partition and bucket. small_bytes, data files with fewer bytes are small.
        Returns: `partition` struct of the partition's types, `spec_id` int32 (null for Paimon; Iceberg has a
            row for each spec that has the tuple), `file_count` int64, `record_count` int64 [rows, deleting
            ones included] and `file_size_in_bytes` int64 of the data files, `delete_file_count` int64 (delete
            files and deletion vectors), `delete_record_count` int64 [rows in those]. Paimon:
            `last_updated_at` timestamp[us] (creation of the newest file, local wall clock of its writer),
            `last_updated_snapshot_id` int64 (null: not recorded), `bucket_count` int64 (those with files),
            `total_buckets` int32 (as the newest file records it), `delete_row_count` int64 (null where a file
            does not say). Iceberg: `last_updated_at` timestamp[us, UTC] and `last_updated_snapshot_id` int64
            (of the newest snapshot that a file came with; null where those expired), then the counts of
            position deletes, deletion vectors and equality deletes by themselves, int64. Last of both
            `small_file_count` int64.
        Raises: CorruptError for a sum beyond 64 bits.
        Cost: as `files` without paths and statistics; memory grows with the partitions (Paimon: buckets), not
            with the files. Paimon's counts of deletes read the index manifest, and index files whose writer
            did not count.
        Source: Paimon's `PartitionEntry.java`; Iceberg's `PartitionsTable.java`.
        """
        small = positive("small_bytes", small_bytes, least=0)
        keywords = options(columns, where, None, limit, threads, small_bytes=small)
        return ViewScan(self._native, "partitions", View.PARTITIONS, keywords)

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
        return ViewScan(self._native, "buckets", View.BUCKETS, options(columns, where, None, limit, threads))

    def health(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        small_bytes: int = SMALL_BYTES,
        limit: int | None = None,
        threads: int | None = None,
    ) -> HealthScan:
        """One row about how the table is: what to compact, to expire, or to rewrite.

        Args: where, as in `partitions`: only files, deletes and manifests that it leaves are counted, all
            snapshots are. small_bytes, data files with fewer bytes are small.
        Returns: of the table `location` and `format` utf8, `format_version` int32 (null for Paimon),
            `snapshot_id` and `schema_id` int64, `committed_at` timestamp[us, UTC] (null where the snapshot
            expired), `snapshot_count` int64, `oldest_snapshot_at` and `newest_snapshot_at`. Of the data
            files `partition_count`, `bucket_count` (null for Iceberg), `file_count`, `record_count` [rows],
            `file_size_in_bytes` int64, `average_file_size_in_bytes` float64, `min_…` and
            `max_file_size_in_bytes`, `small_file_count`, `small_file_size_in_bytes`,
            `max_partition_file_count` (of the partition with most files) int64; Paimon's `max_level` and
            `level_0_file_count` int64, files that wait for compaction. Of the deletes `delete_file_count`
            and `delete_record_count` as in `partitions`, then `position_delete_file_count`,
            `position_delete_record_count` (null for Paimon), `deletion_vector_count`,
            `equality_delete_file_count`, `equality_delete_record_count` (null for Paimon), Paimon's
            `delete_row_count` [rows in data files that retract others], all int64, and
            `deleted_record_ratio` float64 (rows that positions and vectors delete, of all rows; what
            equality deletes delete is not known). Of the manifests `manifest_count`,
            `manifest_size_in_bytes`, `small_manifest_count` (below 1 MiB; writers merge them up to 8 MiB),
            `delete_manifest_count`, `entry_count` int64, `average_manifest_entry_count` float64, and
            `deleted_entry_count` int64, entries that say that a file is gone, which only rewritten manifests
            lose. Entry counts are null where old manifest lists do not have them; averages and extremes
            where there is nothing. Of the clustering `average_partition_manifest_count` float64 and
            `max_partition_manifest_count` int64, manifests of data files that a plan of one partition reads,
            by their bounds (of partitions without null values); `rewritten_manifest_count` int64,
            `average_rewritten_partition_manifest_count` and `max_rewritten_partition_manifest_count`, about
            what they would be after manifests are rewritten by partition, 8 MiB each.
        Raises: as `partitions`.
        Cost: as `partitions`; besides reads what `snapshots` and `manifests` read.
        """
        small = positive("small_bytes", small_bytes, least=0)
        keywords = options(columns, where, None, limit, threads, small_bytes=small)
        return HealthScan(self._native, "health", View.HEALTH, keywords)


class HealthScan(ViewScan):
    """A scan of a table's health, and of the problems that it shows."""

    def findings(self) -> list[dict[str, str]]:
        """The problems, and what to do about them, as `lakebed health` prints them.

        Returns: of each `column`, of `health`, that shows it; `what`, in words; `next_step`. Which columns
            the scan has does not matter.
        Raises, Cost: as `to_arrow` of all columns.
        """
        (row,) = to_records(self._with(columns=None, limit=None).to_arrow())
        small_bytes = self._options.small_bytes
        return [
            finding.to_dict()
            for finding in findings(row, SMALL_BYTES if small_bytes is None else small_bytes)
        ]
