//! Partition fields in the form in which users write them: `region`, `day(ts)`, `bucket(16, id)`.

use arrow_array::new_empty_array;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::{FIRST_FIELD_ID, PartitionField, PartitionSpec};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{FieldRef, Schema, Type};

/// Spec 0 with these fields over a schema.
///
/// # Errors
/// `Argument` for a text that is not a partition field, `UnknownColumn` for a column that does not exist, and
/// `Unsupported` for one to which the transform does not apply; with the text as field.
pub(super) fn spec_of(texts: &[String], schema: &Schema) -> Result<PartitionSpec> {
    let mut fields: Vec<PartitionField> = Vec::with_capacity(texts.len());
    for (text, field_id) in texts.iter().zip(FIRST_FIELD_ID..) {
        let field = field_of(text, schema, field_id).map_err(|error| error.in_field(text))?;
        let same = |known: &PartitionField| {
            known.name == field.name
                || (known.source_ids == field.source_ids && known.transform == field.transform)
        };
        if fields.iter().any(same) {
            return Err(argument(format!("{text:?} repeats another partition field")).in_field(text));
        }
        fields.push(field);
    }
    Ok(PartitionSpec { spec_id: 0, fields })
}

fn field_of(text: &str, schema: &Schema, field_id: i32) -> Result<PartitionField> {
    let (transform, source) = term_of(text, schema)?;
    let column = schema.name_of(source.id).unwrap_or_default();
    let name = match &transform {
        Transform::Identity => column.to_owned(),
        Transform::Bucket(_) => format!("{column}_bucket"),
        Transform::Truncate(_) => format!("{column}_trunc"),
        Transform::Void => format!("{column}_null"),
        other => format!("{column}_{other}"),
    };
    if transform != Transform::Identity && schema.field_by_name(&name).is_some() {
        return Err(argument(format!("the partition field {name:?} would have the name of a column")));
    }
    Ok(PartitionField { source_ids: vec![source.id], field_id, name, transform })
}

/// The transform and the column in a text.
///
/// # Errors
/// As [`spec_of`], without the text.
pub(super) fn term_of<'s>(text: &str, schema: &'s Schema) -> Result<(Transform, &'s FieldRef)> {
    let (transform, column) = parse(text, schema)?;
    let source = schema.field_by_name(column).ok_or_else(|| {
        let known: Vec<&str> = schema.primitives().map(|(name, _)| name).collect();
        let message = format!("no column {column:?}; there are {}", known.join(", "));
        Error::new(ErrorKind::UnknownColumn, message).in_field(column)
    })?;
    let has_values = source.ty.is_primitive() && schema.is_single(source.id);
    let is_shape = matches!(source.ty, Type::Geometry { .. } | Type::Geography { .. } | Type::Unknown);
    if !has_values || is_shape {
        let message = format!("column {column:?} of {} cannot partition a table", source.ty);
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    // Whether the transform applies to the type does not depend on values.
    transform.apply(&new_empty_array(&source.ty.arrow()), &source.ty)?;
    Ok((transform, source))
}

/// The transform and the column of a text; a column with exactly that name is preferred.
fn parse<'t>(text: &'t str, schema: &Schema) -> Result<(Transform, &'t str)> {
    if schema.field_by_name(text).is_some() {
        return Ok((Transform::Identity, text));
    }
    let Some((name, inner)) = text.trim().strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return Ok((Transform::Identity, text.trim()));
    };
    let (parameter, column) = match inner.split_once(',') {
        Some((parameter, column)) => (Some(parameter.trim()), column.trim()),
        None => (None, inner.trim()),
    };
    let written = match parameter {
        Some(parameter) => format!("{}[{parameter}]", name.trim()),
        None => name.trim().to_owned(),
    };
    match Transform::parse(&written) {
        Transform::Unknown(_) => {
            let known =
                "a column, identity(c), bucket(N, c), truncate(W, c), year(c), month(c), day(c), hour(c)";
            Err(argument(format!("{text:?} is not a partition field: {known}")))
        }
        transform => Ok((transform, column)),
    }
}

#[cold]
fn argument(message: String) -> Error {
    Error::new(ErrorKind::Argument, message)
}
