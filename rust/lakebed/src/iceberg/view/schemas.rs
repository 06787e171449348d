//! `schemas`: one row per version of the schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};

use crate::error::Result;
use crate::iceberg::types::Schema;
use crate::view::{Rows, ShownField, field_lists, lists, whole};

/// The rows of `schemas`, in the given order, with a mark for the table's current one.
pub(crate) fn schemas(schemas: &[Arc<Schema>], current: i32) -> Result<RecordBatch> {
    let rows = Rows(schemas.iter());
    let names =
        schemas.iter().flat_map(|schema| schema.identifier_field_ids.iter().map(|id| schema.name_of(*id)));
    let lengths = schemas.iter().map(|schema| schema.identifier_field_ids.len());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", rows.longs(|schema| i64::from(schema.schema_id))),
        ("fields", fields(schemas)?),
        ("identifier_field_ids", rows.int_lists(|schema| &schema.identifier_field_ids)?),
        ("identifier_fields", lists(lengths, Arc::new(names.collect::<StringArray>()))?),
        ("is_current", rows.booleans(|schema| schema.schema_id == current)),
    ];
    whole(columns, schemas.len())
}

/// The columns of each schema; types as the specification writes them, nested ones as JSON.
fn fields(schemas: &[Arc<Schema>]) -> Result<ArrayRef> {
    let depth = schemas.iter().map(|schema| schema.depth()).max().unwrap_or(0);
    let fields = schemas.iter().flat_map(|schema| &schema.fields).map(|field| ShownField {
        id: field.id,
        name: &field.name,
        ty: field.ty.to_json(),
        required: field.required,
        doc: field.doc.as_deref(),
    });
    field_lists(depth, schemas.iter().map(|schema| schema.fields.len()), fields)
}
