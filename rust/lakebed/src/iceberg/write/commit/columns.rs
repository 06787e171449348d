//! Converts Arrow columns to Iceberg's types, with new ids (Iceberg's `AssignFreshIds.java`).

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef as ArrowField, Fields, TimeUnit};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::types::{FieldRef, MAX_PRECISION, NestedField, Type};
use crate::iceberg::write::FormatVersion;

/// The metadata key that marks a column of 16 bytes as UUIDs.
const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";

/// What does not fit where a schema has no id left.
pub(super) const NEXT_COLUMN_ID: &str = "the next column id";

/// The schema fields of Arrow fields, in a schema of the latest version, as JSON with ids from 1 on.
///
/// # Errors
/// `Unsupported` for an Arrow type without a counterpart, `Argument` for a name that appears twice; with the
/// field.
pub fn fields_json(fields: &Fields) -> Result<Value> {
    let fields = FreshIds::new(FormatVersion::V3).fields(fields)?;
    Ok(Type::Struct(fields).to_json()["fields"].take())
}

/// Assigns ids, from 1 on.
pub(super) struct FreshIds {
    version: FormatVersion,
    last: i32,
}

impl FreshIds {
    pub(super) fn new(version: FormatVersion) -> FreshIds {
        FreshIds { version, last: 0 }
    }

    /// The highest id assigned.
    pub(super) fn last(&self) -> i32 {
        self.last
    }

    fn next(&mut self) -> Result<i32> {
        self.last = fitting(self.last.checked_add(1), NEXT_COLUMN_ID)?;
        Ok(self.last)
    }

    /// Columns, or fields of a struct: all of them get their ids before their nested fields.
    ///
    /// # Errors
    /// `Unsupported` for an Arrow type without a counterpart in the format's version, `Argument` for a name
    /// that appears twice; with the field.
    pub(super) fn fields(&mut self, fields: &Fields) -> Result<Vec<FieldRef>> {
        let ids = fields.iter().map(|_| self.next()).collect::<Result<Vec<i32>>>()?;
        let mut typed: Vec<FieldRef> = Vec::with_capacity(ids.len());
        for (id, field) in ids.into_iter().zip(fields) {
            if typed.iter().any(|known| known.name == *field.name()) {
                let message = format!("the name {:?} appears twice", field.name());
                return Err(Error::new(ErrorKind::Argument, message).in_field(field.name()));
            }
            let ty = self.of(field).map_err(|error| error.within(field.name()))?;
            let required = !field.is_nullable() && ty != Type::Unknown;
            let mut typed_field = NestedField::new(id, field.name(), required, ty);
            typed_field.doc = field.metadata().get("doc").cloned();
            typed.push(Arc::new(typed_field));
        }
        Ok(typed)
    }

    fn of(&mut self, field: &Field) -> Result<Type> {
        let is_uuid = field.metadata().get(EXTENSION).is_some_and(|name| name == UUID);
        match field.data_type() {
            DataType::FixedSizeBinary(16) if is_uuid => Ok(Type::Uuid),
            DataType::Struct(fields) => Ok(Type::Struct(self.fields(fields)?)),
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                let id = self.next()?;
                Ok(Type::List(self.child(id, "element", !item.is_nullable(), item)?))
            }
            DataType::Map(entries, _) => self.map(entries),
            DataType::Dictionary(_, values) => {
                self.of(&Field::new(field.name(), values.as_ref().clone(), true))
            }
            other => primitive(other, self.version),
        }
    }

    fn child(&mut self, id: i32, name: &str, required: bool, field: &Field) -> Result<FieldRef> {
        let ty = self.of(field).map_err(|error| error.within(name))?;
        Ok(Arc::new(NestedField::new(id, name, required && ty != Type::Unknown, ty)))
    }

    fn map(&mut self, entries: &ArrowField) -> Result<Type> {
        let DataType::Struct(fields) = entries.data_type() else {
            return Err(unsupported("a map of no pairs"));
        };
        let [key, value] = fields.as_ref() else { return Err(unsupported("a map of no pairs")) };
        let (key_id, value_id) = (self.next()?, self.next()?);
        let key = self.child(key_id, "key", true, key)?;
        Ok(Type::Map(key, self.child(value_id, "value", !value.is_nullable(), value)?))
    }
}

fn primitive(data_type: &DataType, version: FormatVersion) -> Result<Type> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let third = |ty: Type| match version {
        FormatVersion::V3 => Ok(ty),
        _ => Err(unsupported(&format!("columns of {data_type} need format version 3, of {ty}"))),
    };
    Ok(match data_type {
        DataType::Boolean => Type::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => Type::Int,
        DataType::Int64 | DataType::UInt32 => Type::Long,
        DataType::Float32 => Type::Float,
        DataType::Float64 => Type::Double,
        DataType::Decimal128(precision, scale) if *precision <= MAX_PRECISION && *scale >= 0 => {
            Type::Decimal { precision: *precision, scale: *scale }
        }
        DataType::Date32 => Type::Date,
        DataType::Time32(_) | DataType::Time64(Microsecond) => Type::Time,
        DataType::Timestamp(Second | Millisecond | Microsecond, None) => Type::Timestamp,
        DataType::Timestamp(Second | Millisecond | Microsecond, Some(_)) => Type::Timestamptz,
        DataType::Timestamp(Nanosecond, None) => third(Type::TimestampNs)?,
        DataType::Timestamp(Nanosecond, Some(_)) => third(Type::TimestamptzNs)?,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::Binary,
        DataType::FixedSizeBinary(length) => Type::Fixed(length.unsigned_abs()),
        DataType::Null => third(Type::Unknown)?,
        other => return Err(unsupported(&format!("Iceberg has no type for columns of {other}"))),
    })
}

#[cold]
fn unsupported(message: &str) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
