//! `name_mapping`: one row per field of the default name mapping, each before its nested fields.

use arrow_schema::DataType::{Int32, Utf8};
use arrow_schema::Field;

use super::list;
use crate::error::Result;
use crate::iceberg::metadata::name_mapping;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "name_mapping", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![optional("field_id", Int32), optional("parent", Utf8), required("names", list(Utf8))])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let fields = name_mapping(table.metadata()).map_err(|error| error.in_file(table.metadata_file()))?;
    let rows = Rows(fields.iter());
    let arrays = vec![
        rows.ints(|field| field.field_id),
        rows.texts(|field| field.parent.as_deref()),
        rows.text_lists(|field| &field.names)?,
    ];
    whole(columns(table)?, arrays, fields.len())
}
