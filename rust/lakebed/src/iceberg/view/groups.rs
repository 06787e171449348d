//! `partitions` and `buckets`: one row per group of live files; and the sums over all groups, for `health`.

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::DataType;

use crate::error::Result;
use crate::health::{HealthTotals, ManifestBounds};
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
        ("last_updated_at", rows.instants(|group| group.last_updated.0)?),
        ("last_updated_snapshot_id", rows.longs(|group| group.last_updated.1)),
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
