//! `manifests`: one row per manifest of the snapshot.

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::DataType;

use crate::conform::conform;
use crate::error::Result;
use crate::iceberg::partition::PartitionType;
use crate::iceberg::prune::Summaries;
use crate::record::find;
use crate::view::whole;

/// The rows of `list`, all columns of manifest lists.
pub(crate) fn manifests(
    list: &RecordBatch,
    summaries: &Summaries,
    partition: &PartitionType,
) -> Result<RecordBatch> {
    let copy = |name: &str| find(list, name);
    let count = |name: &str| conform(&find(list, name)?, &DataType::Int64);
    let [lower, upper] = summaries.bounds(partition)?;
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("path", copy("manifest_path")?),
        ("length", copy("manifest_length")?),
        ("content", copy("content")?),
        ("spec_id", copy("partition_spec_id")?),
        ("added_files_count", count("added_files_count")?),
        ("existing_files_count", count("existing_files_count")?),
        ("deleted_files_count", count("deleted_files_count")?),
        ("added_rows_count", copy("added_rows_count")?),
        ("existing_rows_count", copy("existing_rows_count")?),
        ("deleted_rows_count", copy("deleted_rows_count")?),
        ("partition_lower", lower),
        ("partition_upper", upper),
        // The schema of a manifest stands in its own header.
        ("schema_id", new_null_array(&DataType::Int64, list.num_rows())),
        ("sequence_number", copy("sequence_number")?),
        ("min_sequence_number", copy("min_sequence_number")?),
        ("added_snapshot_id", copy("added_snapshot_id")?),
        ("partitions", copy("partitions")?),
        ("key_metadata", copy("key_metadata")?),
        ("first_row_id", copy("first_row_id")?),
    ];
    whole(columns_of_view, list.num_rows())
}
