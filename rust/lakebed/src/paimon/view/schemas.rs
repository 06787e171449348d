//! `schemas`: one row per schema version.

use arrow_array::{ArrayRef, RecordBatch};

use super::super::schema::TableSchema;
use crate::error::Result;
use crate::view::{Rows, ShownField, field_lists, maps, whole};

/// The rows of `schemas`, ascending by id.
pub(crate) fn schemas(schemas: &[TableSchema]) -> Result<RecordBatch> {
    let rows = Rows(schemas.iter());
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", rows.longs(|schema| schema.id)),
        ("fields", fields(schemas)?),
        ("partition_keys", rows.text_lists(|schema| &schema.partition_keys)?),
        ("primary_keys", rows.text_lists(|schema| &schema.primary_keys)?),
        ("options", maps(schemas.iter().map(|schema| Some(schema.options.as_slice())))?),
        ("comment", rows.texts(|schema| schema.comment.as_deref())),
        ("updated_at", rows.instants(|schema| schema.time_millis)?),
        ("highest_field_id", rows.ints(|schema| schema.highest_field_id)),
        ("version", rows.ints(|schema| schema.version)),
    ];
    whole(columns_of_view, schemas.len())
}

/// The columns of each schema; types as Paimon writes them, constructed ones as JSON.
fn fields(schemas: &[TableSchema]) -> Result<ArrayRef> {
    let fields = schemas.iter().flat_map(|schema| &schema.fields);
    let depth = fields.clone().map(|field| field.ty.depth()).max().unwrap_or(0);
    let fields = fields.map(|field| ShownField {
        id: field.id,
        name: &field.name,
        ty: field.ty.to_json(),
        required: !field.ty.nullable,
        doc: field.description.as_deref(),
    });
    field_lists(depth, schemas.iter().map(|schema| schema.fields.len()), fields)
}
