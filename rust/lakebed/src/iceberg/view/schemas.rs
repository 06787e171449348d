//! `schemas`: one row per version of the schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};

use crate::error::Result;
use crate::iceberg::types::{NestedField, Schema};
use crate::json::{LEVELS, roomy};
use crate::view::{lists, struct_lists, whole};

/// The rows of `schemas`, in the given order, with a mark for the table's current one.
pub(crate) fn schemas(schemas: &[Arc<Schema>], current: i32) -> Result<RecordBatch> {
    let ids = schemas.iter().map(|schema| i64::from(schema.schema_id));
    let identifiers = || schemas.iter().flat_map(|schema| &schema.identifier_field_ids);
    let names =
        schemas.iter().flat_map(|schema| schema.identifier_field_ids.iter().map(|id| schema.name_of(*id)));
    let lengths = || schemas.iter().map(|schema| schema.identifier_field_ids.len());
    let is_current = schemas.iter().map(|schema| Some(schema.schema_id == current));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", Arc::new(Int64Array::from_iter_values(ids))),
        ("fields", fields(schemas)?),
        (
            "identifier_field_ids",
            lists(lengths(), Arc::new(Int32Array::from_iter_values(identifiers().copied())))?,
        ),
        ("identifier_fields", lists(lengths(), Arc::new(names.collect::<StringArray>()))?),
        ("is_current", Arc::new(is_current.collect::<BooleanArray>())),
    ];
    whole(columns, schemas.len())
}

/// The columns of each schema; types as the specification writes them, nested ones as JSON.
fn fields(schemas: &[Arc<Schema>]) -> Result<ArrayRef> {
    let depth = schemas.iter().map(|schema| schema.depth()).max().unwrap_or(0);
    roomy(LEVELS * depth, || fields_of(schemas))
}

fn fields_of(schemas: &[Arc<Schema>]) -> Result<ArrayRef> {
    let fields = || schemas.iter().flat_map(|schema| &schema.fields);
    let ty = |field: &NestedField| match field.ty.to_json() {
        serde_json::Value::String(text) => text,
        nested => nested.to_string(),
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from_iter_values(fields().map(|field| field.id)))),
        ("name", Arc::new(StringArray::from_iter_values(fields().map(|field| &field.name)))),
        ("type", Arc::new(StringArray::from_iter_values(fields().map(|field| ty(field))))),
        ("required", Arc::new(fields().map(|field| Some(field.required)).collect::<BooleanArray>())),
        ("doc", Arc::new(fields().map(|field| field.doc.as_deref()).collect::<StringArray>())),
    ];
    struct_lists(schemas.iter().map(|schema| schema.fields.len()), columns)
}
