//! `refs` (Iceberg's `RefsTable.java`): one row per branch and tag.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType::{Int32, Int64, Utf8};
use arrow_schema::Field;

use crate::error::Result;
use crate::iceberg::table::Table;
use crate::record::{self, find};
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "refs", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![
        required("name", Utf8),
        required("type", Utf8),
        required("snapshot_id", Int64),
        optional("max_reference_age_in_ms", Int64),
        optional("min_snapshots_to_keep", Int32),
        optional("max_snapshot_age_in_ms", Int64),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let view = table.refs_view()?;
    let columns = columns(table)?;
    let arrays = columns.iter().map(|column| {
        if column.name() == "type" {
            upper_case(record::column(&view, "type")?)
        } else {
            find(&view, column.name())
        }
    });
    let arrays = arrays.collect::<Result<_>>()?;
    whole(columns, arrays, view.num_rows())
}

/// In upper case: the engine prints the names of its enum.
fn upper_case(names: &StringArray) -> Result<ArrayRef> {
    Ok(Arc::new(names.iter().map(|name| name.map(str::to_ascii_uppercase)).collect::<StringArray>()))
}
