//! `health`: sums over the files of all partitions.

use arrow_array::cast::AsArray;

use super::super::groups::{BucketGroups, BucketSums};
use super::super::partition::PartitionType;
use crate::error::Result;
use crate::health::{HealthTotals, ManifestBounds};

/// Paimon has neither position nor equality deletes.
const ZERO: HealthTotals = HealthTotals {
    position_delete_file_count: None,
    position_delete_record_count: None,
    equality_delete_file_count: None,
    equality_delete_record_count: None,
    ..HealthTotals::ZERO
};

/// Sums over the live files of all groups.
pub(crate) fn totals(
    groups: &BucketGroups,
    bounds: &ManifestBounds,
    partition: &PartitionType,
) -> Result<HealthTotals> {
    let partitions = groups.partitions(|_| true)?;
    let tuples = partition.decode(&groups.partition_rows(&partitions))?;
    let manifests = bounds.counts(tuples.as_struct(), &vec![None; partitions.len()])?;
    ZERO.and_partitions(partitions.iter().map(of_partition), manifests)
}

fn of_partition(group: &BucketSums) -> HealthTotals {
    HealthTotals {
        partition_count: Some(1),
        bucket_count: Some(group.buckets),
        file_count: Some(group.files),
        record_count: Some(group.records),
        file_size_in_bytes: Some(group.bytes),
        max_partition_file_count: Some(group.files),
        max_level: Some(i64::from(group.max_level)),
        level_0_file_count: Some(group.level_0_files),
        deletion_vector_count: Some(group.vectors),
        deletion_vector_record_count: group.vector_rows,
        delete_row_count: group.delete_rows,
        ..ZERO.with_sizes(group.sizes)
    }
}
