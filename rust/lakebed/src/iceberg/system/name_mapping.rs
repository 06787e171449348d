//! `name_mapping`: one row per field of the default name mapping, each before its nested fields.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, StringArray};
use arrow_schema::DataType::{Int32, Utf8};
use arrow_schema::Field;

use super::types::list;
use crate::error::Result;
use crate::iceberg::metadata::name_mapping;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::lists;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "name_mapping", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![optional("field_id", Int32), optional("parent", Utf8), required("names", list(Utf8))])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let fields = name_mapping(table.metadata()).map_err(|error| error.in_file(table.metadata_file()))?;
    let names = StringArray::from_iter_values(fields.iter().flat_map(|field| &field.names));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(fields.iter().map(|field| field.field_id).collect::<Int32Array>()),
        Arc::new(fields.iter().map(|field| field.parent.as_deref()).collect::<StringArray>()),
        lists(fields.iter().map(|field| field.names.len()), Arc::new(names))?,
    ];
    whole(columns(table)?, arrays, fields.len())
}
