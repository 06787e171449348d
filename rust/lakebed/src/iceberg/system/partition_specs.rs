//! `partition_specs`: one row per partition spec, in the order of the metadata.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType::{Boolean, Int32, Utf8};
use arrow_schema::Field;

use super::{list, structs};
use crate::error::Result;
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::{Rows, struct_lists};

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "partition_specs", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    let field = [("field_id", Int32), ("name", Utf8), ("transform", Utf8), ("source_ids", list(Int32))];
    Ok(vec![required("spec_id", Int32), required("is_default", Boolean), required("fields", structs(&field))])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let (specs, default) = (&table.metadata().partition_specs, table.metadata().default_spec_id);
    let rows = Rows(specs.iter());
    let arrays =
        vec![rows.ints(|spec| spec.spec_id), rows.booleans(|spec| spec.spec_id == default), fields(specs)?];
    whole(columns(table)?, arrays, specs.len())
}

fn fields(specs: &[PartitionSpec]) -> Result<ArrayRef> {
    let fields = specs.iter().flat_map(|spec| &spec.fields);
    let rows = Rows(fields.clone());
    let transforms = fields.map(|field| field.transform.to_string());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("field_id", rows.ints(|field| field.field_id)),
        ("name", rows.texts(|field| field.name.as_str())),
        ("transform", Arc::new(StringArray::from_iter_values(transforms))),
        ("source_ids", rows.int_lists(|field| &field.source_ids)?),
    ];
    struct_lists(specs.iter().map(|spec| spec.fields.len()), columns)
}
