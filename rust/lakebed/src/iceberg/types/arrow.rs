//! The Arrow types of Iceberg's types.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::{FieldRef, NestedField, Type};

/// The time zone of columns that hold instants.
const UTC: &str = "UTC";

impl Type {
    /// The Arrow type of columns of this type.
    ///
    /// | Iceberg | Arrow |
    /// |---|---|
    /// | boolean, int, long, float, double | Boolean, Int32, Int64, Float32, Float64 |
    /// | decimal(P, S) | Decimal128(P, S) |
    /// | date, time | Date32, Time64(us) |
    /// | timestamp, timestamp_ns | Timestamp(us), Timestamp(ns); with zone `UTC` for the `tz` types |
    /// | string | Utf8 |
    /// | uuid | Utf8, lower case with hyphens, which sorts as the bytes do |
    /// | fixed, binary, variant, geometry, geography | Binary |
    /// | unknown | Null |
    /// | struct | Struct |
    /// | list, map | List of `item`, Map of `entries` {`key`, `value`} |
    ///
    /// Children keep their declared nullability.
    pub fn arrow(&self) -> DataType {
        match self {
            Type::Boolean => DataType::Boolean,
            Type::Int => DataType::Int32,
            Type::Long => DataType::Int64,
            Type::Float => DataType::Float32,
            Type::Double => DataType::Float64,
            Type::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Type::Date => DataType::Date32,
            Type::Time => DataType::Time64(TimeUnit::Microsecond),
            Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Type::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            Type::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
            Type::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
            Type::String | Type::Uuid => DataType::Utf8,
            Type::Fixed(_)
            | Type::Binary
            | Type::Variant
            | Type::Geometry { .. }
            | Type::Geography { .. } => DataType::Binary,
            Type::Unknown => DataType::Null,
            Type::Struct(fields) => DataType::Struct(arrow_fields(fields)),
            Type::List(element) => {
                DataType::List(Arc::new(element.arrow().with_name(Field::LIST_FIELD_DEFAULT_NAME)))
            }
            Type::Map(key, value) => {
                let entries = Fields::from(vec![key.arrow().with_nullable(false), value.arrow()]);
                DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
            }
        }
    }
}

impl NestedField {
    /// The Arrow field of the same name, with the declared nullability.
    pub fn arrow(&self) -> Field {
        Field::new(&self.name, self.ty.arrow(), !self.required)
    }
}

/// The Arrow fields of a struct or a schema.
pub(super) fn arrow_fields(fields: &[FieldRef]) -> Fields {
    fields.iter().map(|field| field.arrow()).collect()
}
