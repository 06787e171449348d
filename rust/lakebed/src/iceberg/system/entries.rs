//! `entries` and `all_entries`: every entry, deleted ones included (Iceberg's `BaseEntriesTable.java`).

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::rows::{Scope, data_file_fields, entries, readable_metrics, structs};
use crate::error::Result;
use crate::iceberg::fields::ENTRY;
use crate::iceberg::manifest_list::Content;
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::record::find;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required};
use crate::view::batch;

pub(super) const ENTRIES: SystemTable<Table> =
    SystemTable { name: "entries", columns, rows: |table, request| rows(table, request, Scope::Snapshot) };
pub(super) const ALL_ENTRIES: SystemTable<Table> =
    SystemTable { name: "all_entries", columns, rows: |table, request| rows(table, request, Scope::All) };

/// The struct with the file of an entry.
const DATA_FILE: &str = "data_file";

fn columns(table: &Table) -> Result<Vec<Field>> {
    let types = table.current_types()?;
    Ok(vec![
        required("status", DataType::Int32),
        optional("snapshot_id", DataType::Int64),
        optional("sequence_number", DataType::Int64),
        optional("file_sequence_number", DataType::Int64),
        required(DATA_FILE, DataType::Struct(data_file_fields(&types).into())),
        readable_metrics(&types),
    ])
}

fn rows(table: &Table, request: &Request, scope: Scope) -> Result<Batches> {
    let mut fields = columns(table)?;
    fields.retain(|field| request.needs(field.name()));
    let of_file = |name: &str| request.needs(DATA_FILE) && is_of_file(name);
    let stored = ENTRY.iter().map(|spec| spec.column);
    let stored = stored.filter(|name| of_file(name) || fields.iter().any(|field| field.name() == name));
    let stored = stored.collect();
    let schema: SchemaRef = Arc::new(ArrowSchema::new(fields));
    let rows = entries(table, request, (Role::Entries, scope, Content::Both), stored)?;
    Ok(Box::new(rows.map(move |rows| {
        let rows = rows?;
        let columns = schema.fields().iter().map(|field| match field.name().as_str() {
            DATA_FILE => structs(&rows, field.data_type()),
            name => find(&rows, name),
        });
        batch(&schema, columns.collect::<Result<_>>()?, rows.num_rows())
    })))
}

fn is_of_file(column: &str) -> bool {
    ENTRY.iter().any(|spec| spec.column == column && spec.disk.starts_with("data_file."))
}
