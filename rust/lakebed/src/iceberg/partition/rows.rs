//! Computes the partitions of rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::Field;

use super::{PartitionSpec, PartitionType};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::{FieldRef, Schema, Type};
use crate::record::below;

/// The tuple of each row by `spec`, in the types of `unified`.
///
/// `rows` has the columns of `schema`, in that order and with their Arrow types.
///
/// # Errors
/// `Unsupported` for an unknown transform, and for a source column that the schema does not have; those of
/// [`Transform::apply`](crate::iceberg::transform::Transform::apply). With the partition field.
pub(in crate::iceberg) fn partitions_of(
    rows: &RecordBatch,
    schema: &Schema,
    spec: &PartitionSpec,
    unified: &PartitionType,
) -> Result<StructArray> {
    let columns: StructArray = rows.clone().into();
    let tuples = spec.fields.iter().map(|field| {
        let source = match field.source_ids.as_slice() {
            [id] => source(&schema.fields, &columns, *id)?,
            _ => None,
        };
        let (values, ty) = source.ok_or_else(|| {
            let message = format!("the columns {:?} are not in the schema", field.source_ids);
            Error::new(ErrorKind::Unsupported, message)
        })?;
        field.transform.apply(&values, ty)
    });
    let tuples = tuples.zip(&spec.fields).map(|(column, field)| {
        let column = column.map_err(|error: Error| error.in_field(&field.name))?;
        Ok((Arc::new(Field::new(field.field_id.to_string(), column.data_type().clone(), true)), column))
    });
    let (fields, columns): (Vec<_>, Vec<_>) = tuples.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let tuples = StructArray::try_new_with_length(fields.into(), columns, None, rows.num_rows());
    unified.align(&tuples?, spec)
}

/// The column of the field `id`, at any level of structs, and its type.
fn source<'s>(
    fields: &'s [FieldRef],
    columns: &StructArray,
    id: i32,
) -> Result<Option<(ArrayRef, &'s Type)>> {
    for (field, column) in fields.iter().zip(columns.columns()) {
        let column = below(columns, column)?;
        if field.id == id {
            return Ok(Some((column, &field.ty)));
        }
        if let (Type::Struct(children), Some(nested)) = (&field.ty, column.as_struct_opt())
            && let Some(found) = source(children, nested, id)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
