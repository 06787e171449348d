"""What a table's snapshot sums up to: views of its partitions and buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed.table.standing import Standing
from lakebed.view import View, ViewScan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class GroupViews(Standing):
    """Views of live files summed up: memory grows with the groups, not with the files."""

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

        Args: where, as in `files`: what it drops is not counted, but for deletion vectors of Paimon, which
            are counted by partition and bucket.
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
