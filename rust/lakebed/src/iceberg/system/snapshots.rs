//! `snapshots` (Iceberg's `SnapshotsTable.java`): one row per snapshot, in the order of the metadata.

use std::sync::Arc;

use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::{Field, Schema as ArrowSchema};

use super::{instant, pairs};
use crate::error::Result;
use crate::iceberg::table::Table;
use crate::record::find;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required};
use crate::view::batch;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "snapshots", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![
        required("committed_at", instant()),
        required("snapshot_id", Int64),
        optional("parent_id", Int64),
        optional("operation", Utf8),
        optional("manifest_list", Utf8),
        optional("summary", pairs()),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let schema = Arc::new(ArrowSchema::new(columns(table)?));
    let batches = table.snapshots_view()?.into_iter().map(move |view| {
        let arrays = schema.fields().iter().map(|column| find(&view, column.name()));
        batch(&schema, arrays.collect::<Result<_>>()?, view.num_rows())
    });
    Ok(Box::new(batches))
}
