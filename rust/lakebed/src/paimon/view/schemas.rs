//! `schemas`: one row per schema version.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};

use super::super::schema::TableSchema;
use crate::error::Result;
use crate::json::{LEVELS, roomy};
use crate::view::{instants, lists, maps, struct_lists, whole};

/// The rows of `schemas`, ascending by id.
pub(crate) fn schemas(schemas: &[TableSchema]) -> Result<RecordBatch> {
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", Arc::new(Int64Array::from_iter_values(schemas.iter().map(|s| s.id)))),
        ("fields", field_lists(schemas)?),
        ("partition_keys", names(schemas, |schema| &schema.partition_keys)?),
        ("primary_keys", names(schemas, |schema| &schema.primary_keys)?),
        ("options", maps(schemas.iter().map(|schema| Some(schema.options.as_slice())))?),
        ("comment", Arc::new(schemas.iter().map(|s| s.comment.as_deref()).collect::<StringArray>())),
        ("updated_at", instants(schemas.iter().map(|schema| schema.time_millis))?),
        (
            "highest_field_id",
            Arc::new(Int32Array::from_iter_values(schemas.iter().map(|s| s.highest_field_id))),
        ),
        ("version", Arc::new(Int32Array::from_iter_values(schemas.iter().map(|s| s.version)))),
    ];
    whole(columns_of_view, schemas.len())
}

fn names(schemas: &[TableSchema], names: fn(&TableSchema) -> &Vec<String>) -> Result<ArrayRef> {
    let items = StringArray::from_iter_values(schemas.iter().flat_map(names));
    lists(schemas.iter().map(|schema| names(schema).len()), Arc::new(items))
}

/// The columns of each schema; types as Paimon writes them, constructed ones as JSON.
fn field_lists(schemas: &[TableSchema]) -> Result<ArrayRef> {
    let fields = schemas.iter().flat_map(|schema| &schema.fields);
    let depth = fields.map(|field| field.ty.depth()).max().unwrap_or(0);
    roomy(LEVELS * depth, || field_lists_of(schemas))
}

fn field_lists_of(schemas: &[TableSchema]) -> Result<ArrayRef> {
    let fields = || schemas.iter().flat_map(|schema| &schema.fields);
    let types = fields().map(|field| match field.ty.to_json() {
        serde_json::Value::String(text) => text,
        constructed => constructed.to_string(),
    });
    let docs = fields().map(|field| field.description.as_deref());
    let required = fields().map(|field| Some(!field.ty.nullable));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from_iter_values(fields().map(|field| field.id)))),
        ("name", Arc::new(StringArray::from_iter_values(fields().map(|field| &field.name)))),
        ("type", Arc::new(StringArray::from_iter_values(types))),
        ("required", Arc::new(required.collect::<BooleanArray>())),
        ("doc", Arc::new(docs.collect::<StringArray>())),
    ];
    struct_lists(schemas.iter().map(|schema| schema.fields.len()), columns)
}
