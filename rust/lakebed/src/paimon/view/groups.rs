//! `partitions` and `buckets`: one row per group of live files.

use arrow_array::RecordBatch;
use arrow_schema::DataType;

use super::super::groups::BucketGroups;
use super::super::partition::PartitionType;
use crate::error::Result;
use crate::view::{Rows, whole};

/// The rows of `partitions`, in the order of their first files.
pub(crate) fn partitions(groups: &BucketGroups, partition: &PartitionType) -> Result<RecordBatch> {
    let partitions = groups.partitions(|_| true)?;
    let rows = Rows(partitions.iter());
    let columns_of_view = vec![
        ("partition", partition.decode(&groups.partition_rows(&partitions))?),
        ("spec_id", rows.absent(&DataType::Int32)),
        ("file_count", rows.longs(|group| group.files)),
        ("record_count", rows.longs(|group| group.records)),
        ("file_size_in_bytes", rows.longs(|group| group.bytes)),
        ("delete_file_count", rows.longs(|group| group.vectors)),
        ("delete_record_count", rows.longs(|group| group.vector_rows)),
        ("last_updated_at", rows.wall_clocks(|group| group.last_created)),
        // Entries do not record which snapshot added them.
        ("last_updated_snapshot_id", rows.absent(&DataType::Int64)),
        ("bucket_count", rows.longs(|group| group.buckets)),
        ("total_buckets", rows.ints(|group| group.total_buckets)),
        ("delete_row_count", rows.longs(|group| group.delete_rows)),
        ("small_file_count", rows.longs(|group| group.sizes.small_files)),
    ];
    whole(columns_of_view, partitions.len())
}

/// The rows of `buckets`, in the order of their first files.
pub(crate) fn buckets(groups: &BucketGroups, partition: &PartitionType) -> Result<RecordBatch> {
    let rows = Rows(groups.buckets().iter());
    let columns_of_view = vec![
        ("partition", partition.decode(&groups.partition_rows(groups.buckets()))?),
        ("bucket", rows.ints(|group| group.bucket)),
        ("file_count", rows.longs(|group| group.files)),
        ("record_count", rows.longs(|group| group.records)),
        ("file_size_in_bytes", rows.longs(|group| group.bytes)),
        ("delete_file_count", rows.longs(|group| group.vectors)),
        ("delete_record_count", rows.longs(|group| group.vector_rows)),
        ("last_updated_at", rows.wall_clocks(|group| group.last_created)),
        ("total_buckets", rows.ints(|group| group.total_buckets)),
        ("min_level", rows.ints(|group| group.min_level)),
        ("max_level", rows.ints(|group| group.max_level)),
        ("delete_row_count", rows.longs(|group| group.delete_rows)),
    ];
    whole(columns_of_view, groups.buckets().len())
}
