//! `statistics`: one row per file of statistics of a snapshot, with its blobs.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};
use arrow_schema::DataType::{Int32, Int64, Utf8};
use arrow_schema::Field;

use super::types::{list, pairs, structs};
use crate::error::Result;
use crate::iceberg::metadata::{StatisticsFile, Wanted};
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::{lists, maps, struct_lists};

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "statistics", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    let blob = [
        ("type", Utf8),
        ("snapshot_id", Int64),
        ("sequence_number", Int64),
        ("fields", list(Int32)),
        ("properties", pairs()),
    ];
    Ok(vec![
        required("snapshot_id", Int64),
        required("statistics_path", Utf8),
        required("file_size_in_bytes", Int64),
        required("file_footer_size_in_bytes", Int64),
        required("blob_metadata", structs(&blob)),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files = table.read(&Wanted { statistics: true, ..Wanted::CURRENT })?.statistics;
    let long = |value: fn(&StatisticsFile) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(files.iter().map(value)))
    };
    let arrays: Vec<ArrayRef> = vec![
        long(|file| file.snapshot_id),
        Arc::new(StringArray::from_iter_values(files.iter().map(|file| &file.statistics_path))),
        long(|file| file.file_size_in_bytes),
        long(|file| file.file_footer_size_in_bytes),
        blobs(&files)?,
    ];
    whole(columns(table)?, arrays, files.len())
}

fn blobs(files: &[StatisticsFile]) -> Result<ArrayRef> {
    let blobs = || files.iter().flat_map(|file| &file.blob_metadata);
    let ids = Int32Array::from_iter_values(blobs().flat_map(|blob| blob.fields.iter().copied()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("type", Arc::new(StringArray::from_iter_values(blobs().map(|blob| &blob.kind)))),
        ("snapshot_id", Arc::new(Int64Array::from_iter_values(blobs().map(|blob| blob.snapshot_id)))),
        ("sequence_number", Arc::new(Int64Array::from_iter_values(blobs().map(|blob| blob.sequence_number)))),
        ("fields", lists(blobs().map(|blob| blob.fields.len()), Arc::new(ids))?),
        ("properties", maps(blobs().map(|blob| Some(blob.properties.as_slice())))?),
    ];
    struct_lists(files.iter().map(|file| file.blob_metadata.len()), columns)
}
