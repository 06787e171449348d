//! `partitions` and `buckets`: one row per group of live files; and the sums over all groups, for `health`.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::super::groups::{BucketGroups, BucketSums};
use super::super::partition::PartitionType;
use crate::error::Result;
use crate::health::{HealthTotals, ManifestBounds};
use crate::view::{Rows, whole};

/// The rows of `partitions`, in the order of their first files.
pub(crate) fn partitions(groups: &BucketGroups, partition: &PartitionType) -> Result<RecordBatch> {
    let partitions = groups.partitions(|_| true)?;
    let rows = Rows(partitions.iter());
    let mut columns_of_view = vec![
        ("partition", partition.decode(&groups.partition_rows(&partitions))?),
        ("spec_id", rows.absent(&DataType::Int32)),
    ];
    columns_of_view.extend(sums(&rows));
    columns_of_view.extend([
        // Entries do not record which snapshot added them.
        ("last_updated_snapshot_id", rows.absent(&DataType::Int64)),
        ("bucket_count", rows.longs(|group| group.buckets)),
        ("total_buckets", rows.ints(|group| group.total_buckets)),
        ("delete_row_count", rows.longs(|group| group.delete_rows)),
        ("small_file_count", rows.longs(|group| group.sizes.small_files)),
    ]);
    whole(columns_of_view, partitions.len())
}

/// The rows of `buckets`, in the order of their first files.
pub(crate) fn buckets(groups: &BucketGroups, partition: &PartitionType) -> Result<RecordBatch> {
    let rows = Rows(groups.buckets().iter());
    let mut columns_of_view = vec![
        ("partition", partition.decode(&groups.partition_rows(groups.buckets()))?),
        ("bucket", rows.ints(|group| group.bucket)),
    ];
    columns_of_view.extend(sums(&rows));
    columns_of_view.extend([
        ("total_buckets", rows.ints(|group| group.total_buckets)),
        ("min_level", rows.ints(|group| group.min_level)),
        ("max_level", rows.ints(|group| group.max_level)),
        ("delete_row_count", rows.longs(|group| group.delete_rows)),
    ]);
    whole(columns_of_view, groups.buckets().len())
}

/// The columns that both views have after what their rows are of.
fn sums<'g>(rows: &Rows<impl Iterator<Item = &'g BucketSums> + Clone>) -> [(&'static str, ArrayRef); 6] {
    [
        ("file_count", rows.longs(|group| group.files)),
        ("record_count", rows.longs(|group| group.records)),
        ("file_size_in_bytes", rows.longs(|group| group.bytes)),
        ("delete_file_count", rows.longs(|group| group.vectors)),
        ("delete_record_count", rows.longs(|group| group.vector_rows)),
        ("last_updated_at", rows.wall_clocks(|group| group.last_created)),
    ]
}

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
