//! `partition_statistics`: one row per file of statistics of a snapshot's partitions.

use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;

use crate::error::Result;
use crate::iceberg::metadata::WantedElements;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "partition_statistics", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![
        required("snapshot_id", Int64),
        required("statistics_path", Utf8),
        required("file_size_in_bytes", Int64),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files =
        table.read(&WantedElements { statistics: true, ..WantedElements::CURRENT })?.partition_statistics;
    let rows = Rows(files.iter());
    let arrays = vec![
        rows.longs(|file| file.snapshot_id),
        rows.texts(|file| file.statistics_path.as_str()),
        rows.longs(|file| file.file_size_in_bytes),
    ];
    whole(columns(table)?, arrays, files.len())
}
