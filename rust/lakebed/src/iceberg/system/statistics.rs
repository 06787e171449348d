//! `statistics`: one row per file of statistics of a snapshot, with its blobs.

use arrow_array::ArrayRef;
use arrow_schema::DataType::{Int32, Int64, Utf8};
use arrow_schema::Field;

use super::{list, pairs, structs};
use crate::error::Result;
use crate::iceberg::metadata::{StatisticsFile, WantedElements};
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::{Rows, maps, struct_lists};

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
    let files = table.read(&WantedElements { statistics: true, ..WantedElements::CURRENT })?.statistics;
    let rows = Rows(files.iter());
    let arrays: Vec<ArrayRef> = vec![
        rows.longs(|file| file.snapshot_id),
        rows.texts(|file| file.statistics_path.as_str()),
        rows.longs(|file| file.file_size_in_bytes),
        rows.longs(|file| file.file_footer_size_in_bytes),
        blobs(&files)?,
    ];
    whole(columns(table)?, arrays, files.len())
}

fn blobs(files: &[StatisticsFile]) -> Result<ArrayRef> {
    let blobs = files.iter().flat_map(|file| &file.blob_metadata);
    let rows = Rows(blobs.clone());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("type", rows.texts(|blob| blob.kind.as_str())),
        ("snapshot_id", rows.longs(|blob| blob.snapshot_id)),
        ("sequence_number", rows.longs(|blob| blob.sequence_number)),
        ("fields", rows.int_lists(|blob| &blob.fields)?),
        ("properties", maps(blobs.map(|blob| Some(blob.properties.as_slice())))?),
    ];
    struct_lists(files.iter().map(|file| file.blob_metadata.len()), columns)
}
