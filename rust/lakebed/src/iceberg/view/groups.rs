//! `partitions` and `buckets`: one row per group of live files.

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::DataType;

use crate::error::Result;
use crate::iceberg::groups::{PartitionGroups, PartitionSums};
use crate::record::find;
use crate::view::{Rows, whole};

/// The rows of `partitions`, in the order of their first files.
pub(crate) fn partitions(groups: &PartitionGroups) -> Result<RecordBatch> {
    let rows = Rows(groups.groups().iter());
    let deletes = |group: &PartitionSums| group.position_deletes.files + group.equality_deletes.files;
    let deleted = |group: &PartitionSums| group.position_deletes.records + group.equality_deletes.records;
    let columns_of_view = vec![
        ("partition", groups.tuples()?),
        ("spec_id", rows.ints(|group| group.spec_id)),
        ("file_count", rows.longs(|group| group.data.files)),
        ("record_count", rows.longs(|group| group.data.records)),
        ("file_size_in_bytes", rows.longs(|group| group.data_bytes)),
        ("delete_file_count", rows.longs(deletes)),
        ("delete_record_count", rows.longs(deleted)),
        ("last_updated_at", rows.instants(|group| group.last_updated.map(|(millis, _)| millis))?),
        ("last_updated_snapshot_id", rows.longs(|group| group.last_updated.map(|(_, id)| id))),
        ("position_delete_file_count", rows.longs(|group| group.position_deletes.files)),
        ("position_delete_record_count", rows.longs(|group| group.position_deletes.records)),
        ("deletion_vector_count", rows.longs(|group| group.vectors.files)),
        ("equality_delete_file_count", rows.longs(|group| group.equality_deletes.files)),
        ("equality_delete_record_count", rows.longs(|group| group.equality_deletes.records)),
        ("small_file_count", rows.longs(|group| group.sizes.small_files)),
    ];
    whole(columns_of_view, groups.groups().len())
}

/// The rows of `buckets`: Iceberg has no buckets besides partitions, so there is one row per partition.
pub(crate) fn buckets(groups: &PartitionGroups) -> Result<RecordBatch> {
    let absent = || new_null_array(&DataType::Int32, groups.groups().len());
    let partitions = partitions(groups)?;
    let copy = |name| find(&partitions, name);
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
    whole(columns_of_view, groups.groups().len())
}
