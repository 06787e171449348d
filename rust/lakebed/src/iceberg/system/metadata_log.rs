//! `metadata_log`: the metadata files before the current one, oldest first, as the metadata records them.

use arrow_schema::DataType::Utf8;
use arrow_schema::Field;

use super::instant;
use crate::error::Result;
use crate::iceberg::metadata::WantedElements;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "metadata_log", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![required("timestamp", instant()), required("file", Utf8)])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let log = table.read(&WantedElements { metadata_log: true, ..WantedElements::CURRENT })?.metadata_log;
    let rows = Rows(log.iter());
    let arrays =
        vec![rows.instants(|entry| entry.timestamp_ms)?, rows.texts(|entry| entry.metadata_file.as_str())];
    whole(columns(table)?, arrays, log.len())
}
