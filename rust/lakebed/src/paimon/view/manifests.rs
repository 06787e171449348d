//! `manifests`: one row per manifest of the snapshot.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StructArray, new_null_array};
use arrow_schema::DataType;

use super::super::partition::PartitionType;
use crate::error::Result;
use crate::record::{column, find, typed};
use crate::view::{Rows, whole};

/// The path and the list of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct ManifestRow {
    /// Full path.
    pub(crate) path: String,
    /// The list that names it: `base` or `delta`.
    pub(crate) role: &'static str,
}

/// The rows of `list`, which has all columns of manifest lists; `rows` has the path and list of each.
pub(crate) fn manifests(
    list: &RecordBatch,
    rows: &[ManifestRow],
    partition: &PartitionType,
) -> Result<RecordBatch> {
    let count = list.num_rows();
    let of_rows = Rows(rows.iter());
    let absent = |data_type: DataType| new_null_array(&data_type, count);
    let stats = column::<StructArray>(list, "partition_stats")?;
    let bounds =
        |number: usize| partition.decode_bounds_struct(typed(stats.column(number), "partition_stats")?);
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("path", of_rows.texts(|row| row.path.as_str())),
        ("length", find(list, "file_size")?),
        ("content", Arc::new(Int32Array::from_value(0, count))),
        ("spec_id", absent(DataType::Int32)),
        ("added_files_count", find(list, "num_added_files")?),
        ("existing_files_count", absent(DataType::Int64)),
        ("deleted_files_count", find(list, "num_deleted_files")?),
        ("added_rows_count", absent(DataType::Int64)),
        ("existing_rows_count", absent(DataType::Int64)),
        ("deleted_rows_count", absent(DataType::Int64)),
        ("partition_lower", bounds(0)?),
        ("partition_upper", bounds(1)?),
        ("schema_id", find(list, "schema_id")?),
        ("sequence_number", absent(DataType::Int64)),
        ("min_sequence_number", absent(DataType::Int64)),
        ("file_name", find(list, "file_name")?),
        ("role", of_rows.texts(|row| row.role)),
        ("partition_null_counts", Arc::clone(stats.column(2))),
        ("min_bucket", find(list, "min_bucket")?),
        ("max_bucket", find(list, "max_bucket")?),
        ("min_level", find(list, "min_level")?),
        ("max_level", find(list, "max_level")?),
        ("min_row_id", find(list, "min_row_id")?),
        ("max_row_id", find(list, "max_row_id")?),
        ("total_buckets", find(list, "total_buckets")?),
        ("extra_files", find(list, "extra_files")?),
    ];
    whole(columns_of_view, count)
}
