//! `partition_specs`: one row per partition spec, in the order of the metadata.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, StringArray};
use arrow_schema::DataType::{Boolean, Int32, Utf8};
use arrow_schema::Field;

use super::types::{list, structs};
use crate::error::Result;
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::{lists, struct_lists};

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "partition_specs", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    let field = [("field_id", Int32), ("name", Utf8), ("transform", Utf8), ("source_ids", list(Int32))];
    Ok(vec![required("spec_id", Int32), required("is_default", Boolean), required("fields", structs(&field))])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let (specs, default) = (&table.metadata().partition_specs, table.metadata().default_spec_id);
    let is_default = specs.iter().map(|spec| Some(spec.spec_id == default));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(specs.iter().map(|spec| spec.spec_id))),
        Arc::new(is_default.collect::<BooleanArray>()),
        fields(specs)?,
    ];
    whole(columns(table)?, arrays, specs.len())
}

fn fields(specs: &[PartitionSpec]) -> Result<ArrayRef> {
    let fields = || specs.iter().flat_map(|spec| &spec.fields);
    let sources = Int32Array::from_iter_values(fields().flat_map(|field| field.source_ids.iter().copied()));
    let transforms = fields().map(|field| field.transform.to_string());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("field_id", Arc::new(Int32Array::from_iter_values(fields().map(|field| field.field_id)))),
        ("name", Arc::new(StringArray::from_iter_values(fields().map(|field| &field.name)))),
        ("transform", Arc::new(StringArray::from_iter_values(transforms))),
        ("source_ids", lists(fields().map(|field| field.source_ids.len()), Arc::new(sources))?),
    ];
    struct_lists(specs.iter().map(|spec| spec.fields.len()), columns)
}
