//! `health`: sums over the files of all partitions.

use arrow_array::cast::AsArray;

use crate::error::Result;
use crate::health::{ManifestBounds, Totals};
use crate::iceberg::groups::{Group, Groups};

/// Iceberg has no buckets, no levels, and no rows that delete.
const ZERO: Totals =
    Totals { bucket_count: None, level_0_file_count: None, delete_row_count: None, ..Totals::ZERO };

/// Sums over the live files of all groups.
pub(crate) fn totals(groups: &Groups, bounds: &ManifestBounds) -> Result<Totals> {
    let specs: Vec<_> = groups.groups().iter().map(|group| Some(group.spec_id)).collect();
    let manifests = bounds.counts(groups.tuples()?.as_struct(), &specs)?;
    let partitions = groups.groups().iter().map(of_partition).zip(manifests);
    partitions.map(|(partition, manifests)| partition.with_manifests(manifests)).try_fold(ZERO, Totals::and)
}

fn of_partition(group: &Group) -> Totals {
    Totals {
        partition_count: Some(1),
        file_count: Some(group.data.files),
        record_count: Some(group.data.records),
        file_size_in_bytes: Some(group.data_bytes),
        min_file_size_in_bytes: group.sizes.min,
        max_file_size_in_bytes: group.sizes.max,
        small_file_count: Some(group.sizes.small_files),
        small_file_size_in_bytes: Some(group.sizes.small_bytes),
        max_partition_file_count: Some(group.data.files),
        position_delete_file_count: Some(group.position_deletes.files),
        position_delete_record_count: Some(group.position_deletes.records),
        deletion_vector_count: Some(group.vectors.files),
        deletion_vector_record_count: Some(group.vectors.records),
        equality_delete_file_count: Some(group.equality_deletes.files),
        equality_delete_record_count: Some(group.equality_deletes.records),
        ..ZERO
    }
}
