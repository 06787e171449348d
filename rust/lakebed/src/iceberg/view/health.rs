//! `health`: sums over the files of all partitions.

use arrow_array::cast::AsArray;

use crate::error::Result;
use crate::health::{HealthTotals, ManifestBounds};
use crate::iceberg::groups::{PartitionGroups, PartitionSums};

/// Iceberg has no buckets, no levels, and no rows that delete.
const ZERO: HealthTotals = HealthTotals {
    bucket_count: None,
    level_0_file_count: None,
    delete_row_count: None,
    ..HealthTotals::ZERO
};

/// Sums over the live files of all groups.
pub(crate) fn totals(groups: &PartitionGroups, bounds: &ManifestBounds) -> Result<HealthTotals> {
    let specs: Vec<_> = groups.groups().iter().map(|group| Some(group.spec_id)).collect();
    let manifests = bounds.counts(groups.tuples()?.as_struct(), &specs)?;
    ZERO.and_partitions(groups.groups().iter().map(of_partition), manifests)
}

fn of_partition(group: &PartitionSums) -> HealthTotals {
    HealthTotals {
        partition_count: Some(1),
        file_count: Some(group.data.files),
        record_count: Some(group.data.records),
        file_size_in_bytes: Some(group.data_bytes),
        max_partition_file_count: Some(group.data.files),
        position_delete_file_count: Some(group.position_deletes.files),
        position_delete_record_count: Some(group.position_deletes.records),
        deletion_vector_count: Some(group.vectors.files),
        deletion_vector_record_count: Some(group.vectors.records),
        equality_delete_file_count: Some(group.equality_deletes.files),
        equality_delete_record_count: Some(group.equality_deletes.records),
        ..ZERO.with_sizes(group.sizes)
    }
}
