//! Types and defaults of new and changed columns.

use std::sync::Arc;

use serde_json::Value;

use super::refused;
use super::schema_update::SchemaUpdate;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::{FieldRef, NestedField, Type};
use crate::iceberg::value::{from_json, to_json};
use crate::iceberg::write::FormatVersion;

impl SchemaUpdate<'_> {
    /// A type whose fields have new ids: those of a struct before those nested in them (Iceberg's
    /// `AssignFreshIds.java`).
    ///
    /// # Errors
    /// `Mismatch` where the table has no more ids.
    pub(super) fn with_fresh_ids(&mut self, ty: &Type) -> Result<Type> {
        Ok(match ty {
            Type::Struct(fields) => {
                let ids = fields.iter().map(|_| self.next_id()).collect::<Result<Vec<_>>>()?;
                let fields = ids.into_iter().zip(fields).map(|(id, field)| self.fresh(id, field));
                Type::Struct(fields.collect::<Result<_>>()?)
            }
            Type::List(element) => {
                let id = self.next_id()?;
                Type::List(self.fresh(id, element)?)
            }
            Type::Map(key, value) => {
                let (key_id, value_id) = (self.next_id()?, self.next_id()?);
                let key = self.fresh(key_id, key)?;
                Type::Map(key, self.fresh(value_id, value)?)
            }
            plain => plain.clone(),
        })
    }

    fn fresh(&mut self, id: i32, field: &NestedField) -> Result<FieldRef> {
        let ty = self.with_fresh_ids(&field.ty)?;
        Ok(Arc::new(NestedField { id, ty, ..field.clone() }))
    }

    /// A default in the form of schemas.
    ///
    /// # Errors
    /// `Unsupported` before version 3; `Json` and others for a value that does not have the field's type.
    pub(super) fn default_of(&self, field: &NestedField, value: &Value) -> Result<Value> {
        if self.version < FormatVersion::V3 {
            let message = "defaults need format version 3: upgrade the table";
            return Err(Error::new(ErrorKind::Unsupported, message).in_field(&field.name));
        }
        if !field.ty.is_primitive() || field.ty == Type::Unknown {
            return Err(refused(format!("a column of {} has no default but null", field.ty), &field.name));
        }
        let read = || to_json(&from_json(std::slice::from_ref(value), &field.ty)?, &field.ty);
        let values = read().map_err(|error| {
            let message = format!("the default is not of the type {}: {}", field.ty, error.message());
            refused(message, &field.name)
        })?;
        Ok(values.into_iter().next().unwrap_or_default())
    }
}

/// Whether a column may change to another type (Iceberg's `TypeUtil.isPromotionAllowed`).
pub(super) fn is_promotion(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Int, Type::Long) | (Type::Float, Type::Double) => true,
        (Type::Decimal { precision: old, scale: same }, Type::Decimal { precision: new, scale }) => {
            old <= new && same == scale
        }
        _ => false,
    }
}
