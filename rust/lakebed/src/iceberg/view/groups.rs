//! `partitions` and `buckets`: one row per group of live files.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, new_null_array};
use arrow_schema::DataType;

use crate::error::Result;
use crate::iceberg::groups::{PartitionGroups, PartitionSums};
use crate::view::{instants, whole};

/// The rows of `partitions`, in the order of their first files.
pub(crate) fn partitions(groups: &PartitionGroups) -> Result<RecordBatch> {
    let rows = groups.groups();
    let deletes = |group: &PartitionSums| Some(group.position_deletes.files + group.equality_deletes.files);
    let deleted =
        |group: &PartitionSums| Some(group.position_deletes.records + group.equality_deletes.records);
    let columns_of_view = vec![
        ("partition", groups.tuples()?),
        ("spec_id", ints(rows, |group| group.spec_id)),
        ("file_count", longs(rows, |group| Some(group.data.files))),
        ("record_count", longs(rows, |group| Some(group.data.records))),
        ("file_size_in_bytes", longs(rows, |group| Some(group.data_bytes))),
        ("delete_file_count", longs(rows, deletes)),
        ("delete_record_count", longs(rows, deleted)),
        ("last_updated_at", last_updated(rows)?),
        ("last_updated_snapshot_id", longs(rows, |group| group.last_updated.map(|(_, id)| id))),
        ("position_delete_file_count", longs(rows, |group| Some(group.position_deletes.files))),
        ("position_delete_record_count", longs(rows, |group| Some(group.position_deletes.records))),
        ("deletion_vector_count", longs(rows, |group| Some(group.vectors.files))),
        ("equality_delete_file_count", longs(rows, |group| Some(group.equality_deletes.files))),
        ("equality_delete_record_count", longs(rows, |group| Some(group.equality_deletes.records))),
        ("small_file_count", longs(rows, |group| Some(group.sizes.small_files))),
    ];
    whole(columns_of_view, rows.len())
}

/// The rows of `buckets`: Iceberg has no buckets besides partitions, so there is one row per partition.
pub(crate) fn buckets(groups: &PartitionGroups) -> Result<RecordBatch> {
    let rows = groups.groups();
    let absent = || new_null_array(&DataType::Int32, rows.len());
    let partitions = partitions(groups)?;
    let copy = |name| crate::record::find(&partitions, name);
    let columns_of_view = vec![
        ("partition", copy("partition")?),
        ("bucket", absent()),
        ("file_count", copy("file_count")?),
        ("record_count", copy("record_count")?),
        ("file_size_in_bytes", copy("file_size_in_bytes")?),
        ("delete_file_count", copy("delete_file_count")?),
        ("delete_record_count", copy("delete_record_count")?),
        ("last_updated_at", copy("last_updated_at")?),
        ("total_buckets", absent()),
        ("min_level", absent()),
        ("max_level", absent()),
    ];
    whole(columns_of_view, rows.len())
}

/// A count of each group.
pub(crate) fn longs(groups: &[PartitionSums], value: impl Fn(&PartitionSums) -> Option<i64>) -> ArrayRef {
    Arc::new(groups.iter().map(value).collect::<Int64Array>())
}

/// A number of each group.
pub(crate) fn ints(groups: &[PartitionSums], value: impl Fn(&PartitionSums) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(groups.iter().map(value)))
}

/// The time of each group's last change, as an instant.
pub(crate) fn last_updated(groups: &[PartitionSums]) -> Result<ArrayRef> {
    instants(groups.iter().map(|group| group.last_updated.map(|(millis, _)| millis)))
}
