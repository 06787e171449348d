//! Checks whether a table can have a schema.

use super::super::base::Base;
use super::refused;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{NestedField, Schema, Type};
use crate::iceberg::write::FormatVersion;

/// Refuses invalid identifier fields (Iceberg specification, "Identifier Field IDs").
pub(super) fn check_identifiers(schema: &Schema) -> Result<()> {
    for id in &schema.identifier_field_ids {
        let (Some(field), Some(name)) = (schema.field_by_id(*id), schema.name_of(*id)) else {
            return Err(refused(format!("the identifier field {id} is no longer a column"), ""));
        };
        let why = match &field.ty {
            Type::Float | Type::Double => "is a floating point number",
            ty if !ty.is_primitive() => "is nested",
            _ if !schema.is_single(*id) => "is in a list or a map",
            _ if !schema.is_always_there(*id) => "may be null",
            _ => continue,
        };
        return Err(refused(format!("column {name:?} {why}: it cannot be an identifier field"), name));
    }
    Ok(())
}

/// Refuses types and defaults that the version does not have (Iceberg's `Schema.checkCompatibility`).
pub(super) fn check_version(schema: &Schema, version: FormatVersion) -> Result<()> {
    if version == FormatVersion::V3 {
        return Ok(());
    }
    let mut fields: Vec<&NestedField> = schema.fields.iter().map(|field| field.as_ref()).collect();
    while let Some(field) = fields.pop() {
        let is_new = matches!(
            field.ty,
            Type::TimestampNs
                | Type::TimestamptzNs
                | Type::Unknown
                | Type::Variant
                | Type::Geometry { .. }
                | Type::Geography { .. }
        );
        if is_new {
            let name = schema.name_of(field.id).unwrap_or_default();
            let message = format!("columns of {} need format version 3: upgrade the table", field.ty);
            return Err(Error::new(ErrorKind::Unsupported, message).in_field(name));
        }
        fields.extend(field.ty.children().into_iter().map(|child| child.as_ref()));
    }
    Ok(())
}

/// Refuses a schema that lacks a source column of the partition spec or sort order, or has it in a type to
/// which the transform does not apply (Iceberg's `PartitionSpec.checkCompatibility`,
/// `SortOrder.checkCompatibility`).
pub(super) fn check_sources(base: &Base, schema: &Schema) -> Result<()> {
    let metadata = &base.metadata;
    let spec = base.spec(metadata.default_spec_id)?;
    for field in spec.fields.iter().filter(|field| field.transform != Transform::Void) {
        for id in &field.source_ids {
            let name = base.current_schema()?.name_of(*id).unwrap_or_default();
            let why = format!("the table is partitioned by it ({})", field.name);
            check_source(schema, *id, &field.transform, name, &why)?;
        }
    }
    for spec in &metadata.partition_specs {
        for field in &spec.fields {
            let named = schema.field_by_name(&field.name);
            if let Some(column) = named.filter(|column| !field.source_ids.contains(&column.id)) {
                let message = format!(
                    "a partition field of spec {} has the name {:?} and another source column",
                    spec.spec_id, field.name
                );
                return Err(refused(message, &column.name));
            }
        }
    }
    let order = metadata.sort_orders.iter().find(|order| order.order_id == metadata.default_sort_order_id);
    for field in order.into_iter().flat_map(|order| &order.fields) {
        for id in field.sources() {
            let name = base.current_schema()?.name_of(id).unwrap_or_default();
            check_source(schema, id, &Transform::parse(&field.transform), name, "the table is sorted by it")?;
        }
    }
    Ok(())
}

fn check_source(schema: &Schema, id: i32, transform: &Transform, name: &str, why: &str) -> Result<()> {
    match schema.field_by_id(id) {
        None => Err(refused(format!("column {name:?} cannot be dropped: {why}"), name)),
        Some(field) if !takes(transform, &field.ty) => {
            Err(refused(format!("column {name:?} cannot become {}: {why}", field.ty), name))
        }
        Some(_) => Ok(()),
    }
}

/// Whether a transform applies to a type, which does not depend on values.
pub(super) fn takes(transform: &Transform, ty: &Type) -> bool {
    let unknown = matches!(transform, Transform::Unknown(_) | Transform::Void);
    unknown || ty.is_primitive() && transform.apply(&arrow_array::new_empty_array(&ty.arrow()), ty).is_ok()
}
