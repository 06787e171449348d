//! `metadata_log`: the metadata files before the current one, oldest first, as the metadata records them.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType::Utf8;
use arrow_schema::Field;

use super::types::instant;
use crate::error::Result;
use crate::iceberg::metadata::Wanted;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::instants;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "metadata_log", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![required("timestamp", instant()), required("file", Utf8)])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let log = table.read(&Wanted { metadata_log: true, ..Wanted::CURRENT })?.metadata_log;
    let files = log.iter().map(|entry| &entry.metadata_file);
    let arrays: Vec<ArrayRef> = vec![
        instants(log.iter().map(|entry| entry.timestamp_ms))?,
        Arc::new(StringArray::from_iter_values(files)),
    ];
    whole(columns(table)?, arrays, log.len())
}
