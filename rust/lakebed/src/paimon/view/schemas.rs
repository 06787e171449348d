//! `schemas`: one row per schema version.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Fields};

use super::super::schema::TableSchema;
use crate::error::{Error, ErrorKind, Result};
use crate::view::whole;
use crate::view::{instants, maps};

/// The rows of `schemas`, which are in ascending order of id.
pub(crate) fn schemas(schemas: &[TableSchema]) -> Result<RecordBatch> {
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", Arc::new(Int64Array::from_iter_values(schemas.iter().map(|s| s.id)))),
        ("fields", field_lists(schemas)?),
        ("partition_keys", names(schemas, |schema| &schema.partition_keys)),
        ("primary_keys", names(schemas, |schema| &schema.primary_keys)),
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

fn names(schemas: &[TableSchema], names: fn(&TableSchema) -> &Vec<String>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for schema in schemas {
        for name in names(schema) {
            builder.values().append_value(name);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// The columns of each schema; types as Paimon spells them, constructed ones as JSON.
fn field_lists(schemas: &[TableSchema]) -> Result<ArrayRef> {
    let fields = Fields::from(vec![
        Field::new("id", DataType::Int32, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("type", DataType::Utf8, true),
        Field::new("required", DataType::Boolean, true),
        Field::new("doc", DataType::Utf8, true),
    ]);
    let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, 0));
    let absent = || Error::new(ErrorKind::Argument, "a column of the fields has another type");
    for schema in schemas {
        let builder = lists.values();
        for field in &schema.fields {
            let text = match field.ty.to_json() {
                serde_json::Value::String(text) => text,
                constructed => constructed.to_string(),
            };
            builder.field_builder::<Int32Builder>(0).ok_or_else(absent)?.append_value(field.id);
            builder.field_builder::<StringBuilder>(1).ok_or_else(absent)?.append_value(&field.name);
            builder.field_builder::<StringBuilder>(2).ok_or_else(absent)?.append_value(text);
            builder.field_builder::<BooleanBuilder>(3).ok_or_else(absent)?.append_value(!field.ty.nullable);
            let doc = field.description.as_deref();
            builder.field_builder::<StringBuilder>(4).ok_or_else(absent)?.append_option(doc);
            builder.append(true);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}
