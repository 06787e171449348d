//! `manifests`: one row per manifest of the snapshot.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use crate::conform::conform;
use crate::error::Result;
use crate::iceberg::manifest::ManifestHeader;
use crate::iceberg::partition::PartitionType;
use crate::iceberg::prune::Summaries;
use crate::record::find;
use crate::view::{Rows, whole, with_columns};

/// A column that is made only on request: every manifest is opened for it.
pub(crate) const HEADER: &str = "header";

/// The rows of `list`, which has all columns of manifest lists.
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
        // The schema of a manifest is only in its own header.
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

/// `view` with the header of each manifest; null where there is none.
pub(crate) fn with_headers(view: &RecordBatch, headers: &[Option<ManifestHeader>]) -> Result<RecordBatch> {
    let rows = Rows(headers.iter().map(Option::as_ref));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("content", rows.texts(|header| header?.content.as_deref())),
        ("format_version", rows.ints(|header| header?.format_version)),
        ("partition_spec_id", rows.ints(|header| header?.spec_id)),
        ("schema_id", rows.ints(|header| header?.schema_id)),
    ];
    let (fields, columns, _) = StructArray::from(whole(columns, headers.len())?).into_parts();
    let nulls = headers.iter().map(Option::is_some).collect::<NullBuffer>();
    let header = StructArray::try_new(fields, columns, Some(nulls))?;
    with_columns(view, vec![(HEADER, Arc::new(header))])
}
