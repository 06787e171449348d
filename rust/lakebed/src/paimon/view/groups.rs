//! `partitions` and `buckets`: one row per group of live files.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray, new_null_array};
use arrow_schema::DataType;

use super::super::groups::{BucketGroups, BucketSums};
use super::super::partition::PartitionType;
use crate::error::Result;
use crate::view::whole;

/// The rows of `partitions`, in the order of their first files.
pub(crate) fn partitions(groups: &BucketGroups, partition: &PartitionType) -> Result<RecordBatch> {
    let rows = groups.partitions(|_| true)?;
    let absent = |data_type: DataType| new_null_array(&data_type, rows.len());
    let columns_of_view = vec![
        ("partition", partition.decode(&groups.partition_rows(&rows))?),
        ("spec_id", absent(DataType::Int32)),
        ("file_count", longs(&rows, |group| Some(group.files))),
        ("record_count", longs(&rows, |group| Some(group.records))),
        ("file_size_in_bytes", longs(&rows, |group| Some(group.bytes))),
        ("delete_file_count", longs(&rows, |group| Some(group.vectors))),
        ("delete_record_count", longs(&rows, |group| group.vector_rows)),
        ("last_updated_at", last_created(&rows)),
        // Entries do not record which snapshot added them.
        ("last_updated_snapshot_id", absent(DataType::Int64)),
        ("bucket_count", longs(&rows, |group| Some(group.buckets))),
        ("total_buckets", ints(&rows, |group| group.total_buckets)),
        ("delete_row_count", longs(&rows, |group| group.delete_rows)),
        ("small_file_count", longs(&rows, |group| Some(group.sizes.small_files))),
    ];
    whole(columns_of_view, rows.len())
}

/// The rows of `buckets`, in the order of their first files.
pub(crate) fn buckets(groups: &BucketGroups, partition: &PartitionType) -> Result<RecordBatch> {
    let rows = groups.buckets();
    let columns_of_view = vec![
        ("partition", partition.decode(&groups.partition_rows(rows))?),
        ("bucket", ints(rows, |group| group.bucket)),
        ("file_count", longs(rows, |group| Some(group.files))),
        ("record_count", longs(rows, |group| Some(group.records))),
        ("file_size_in_bytes", longs(rows, |group| Some(group.bytes))),
        ("delete_file_count", longs(rows, |group| Some(group.vectors))),
        ("delete_record_count", longs(rows, |group| group.vector_rows)),
        ("last_updated_at", last_created(rows)),
        ("total_buckets", ints(rows, |group| group.total_buckets)),
        ("min_level", ints(rows, |group| group.min_level)),
        ("max_level", ints(rows, |group| group.max_level)),
        ("delete_row_count", longs(rows, |group| group.delete_rows)),
    ];
    whole(columns_of_view, rows.len())
}

/// A count of each group.
pub(crate) fn longs(groups: &[BucketSums], value: impl Fn(&BucketSums) -> Option<i64>) -> ArrayRef {
    Arc::new(groups.iter().map(value).collect::<Int64Array>())
}

/// A number of each group.
pub(crate) fn ints(groups: &[BucketSums], value: impl Fn(&BucketSums) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(groups.iter().map(value)))
}

/// The creation time of the newest file of each group, by its writer's wall clock.
pub(crate) fn last_created(groups: &[BucketSums]) -> ArrayRef {
    Arc::new(groups.iter().map(|group| group.last_created).collect::<TimestampMicrosecondArray>())
}
