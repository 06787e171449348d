//! `files`, `data_files`, `delete_files`, and the same of all snapshots: live files (Iceberg's
//! `BaseFilesTable.java`, `BaseAllFilesTable.java`).

use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};

use super::rows::{Scope, data_file_fields, entries, readable_metrics};
use crate::error::Result;
use crate::iceberg::fields::ENTRY;
use crate::iceberg::manifest_list::Content;
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::record::find;
use crate::scan::Batches;
use crate::system::{Request, SystemTable};
use crate::view::batch;

pub(super) const FILES: SystemTable<Table> = SystemTable {
    name: "files",
    columns,
    rows: |table, request| rows(table, request, Scope::Snapshot, Content::Both),
};
pub(super) const DATA_FILES: SystemTable<Table> = SystemTable {
    name: "data_files",
    columns,
    rows: |table, request| rows(table, request, Scope::Snapshot, Content::Data),
};
pub(super) const DELETE_FILES: SystemTable<Table> = SystemTable {
    name: "delete_files",
    columns,
    rows: |table, request| rows(table, request, Scope::Snapshot, Content::Deletes),
};
pub(super) const ALL_FILES: SystemTable<Table> = SystemTable {
    name: "all_files",
    columns,
    rows: |table, request| rows(table, request, Scope::All, Content::Both),
};
pub(super) const ALL_DATA_FILES: SystemTable<Table> = SystemTable {
    name: "all_data_files",
    columns,
    rows: |table, request| rows(table, request, Scope::All, Content::Data),
};
pub(super) const ALL_DELETE_FILES: SystemTable<Table> = SystemTable {
    name: "all_delete_files",
    columns,
    rows: |table, request| rows(table, request, Scope::All, Content::Deletes),
};

fn columns(table: &Table) -> Result<Vec<Field>> {
    let types = table.current_types()?;
    let mut fields = data_file_fields(&types);
    fields.push(readable_metrics(&types));
    Ok(fields)
}

fn rows(table: &Table, request: &Request, scope: Scope, content: Content) -> Result<Batches> {
    let mut fields = columns(table)?;
    fields.retain(|field| request.needs(field.name()));
    let stored = ENTRY.iter().map(|spec| spec.column);
    let stored = stored.filter(|name| fields.iter().any(|field| field.name() == name)).collect();
    let schema: SchemaRef = Arc::new(ArrowSchema::new(fields));
    let rows = entries(table, request, (Role::Live, scope, content), stored)?;
    Ok(Box::new(rows.map(move |rows| {
        let rows = rows?;
        let columns = schema.fields().iter().map(|field| find(&rows, field.name()));
        batch(&schema, columns.collect::<Result<_>>()?, rows.num_rows())
    })))
}
