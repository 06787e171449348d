//! Paimon types of Arrow types.

use arrow_schema::{DataType as ArrowType, Field, TimeUnit};
use serde_json::Value;

use super::arrow::TYPE_METADATA;
use super::{DataField, DataType, MAX_LENGTH, TypeKind};
use crate::error::{Error, ErrorKind, Result};

/// The Paimon type of an Arrow field: the inverse of Paimon's `ArrowFieldTypeConversion.java`. The field's
/// metadata `paimon.type` may name the type. Fields of structs get ids from 0.
///
/// # Errors
/// `Type` for a type that Paimon does not have, and for an unknown name.
pub fn from_arrow(field: &Field) -> Result<DataType> {
    let kind = match field.metadata().get(TYPE_METADATA) {
        Some(name) => DataType::from_json(&Value::String(name.clone()))?.kind,
        None => kind(field.data_type())?,
    };
    Ok(DataType { kind, nullable: field.is_nullable() })
}

fn kind(ty: &ArrowType) -> Result<TypeKind> {
    Ok(match ty {
        ArrowType::Boolean => TypeKind::Boolean,
        ArrowType::Int8 => TypeKind::TinyInt,
        ArrowType::Int16 => TypeKind::SmallInt,
        ArrowType::Int32 => TypeKind::Int,
        ArrowType::Int64 => TypeKind::BigInt,
        ArrowType::Float32 => TypeKind::Float,
        ArrowType::Float64 => TypeKind::Double,
        ArrowType::Decimal128(precision, scale) if *scale >= 0 => {
            TypeKind::Decimal { precision: *precision, scale: *scale }
        }
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => TypeKind::VarChar(MAX_LENGTH),
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => TypeKind::VarBinary(MAX_LENGTH),
        ArrowType::FixedSizeBinary(length) => TypeKind::Binary(*length),
        ArrowType::Date32 => TypeKind::Date,
        // Values are milliseconds of the day.
        ArrowType::Time32(TimeUnit::Second) => TypeKind::Time(0),
        ArrowType::Time32(TimeUnit::Millisecond) => TypeKind::Time(3),
        ArrowType::Timestamp(unit, None) => TypeKind::Timestamp(digits(*unit)),
        ArrowType::Timestamp(unit, Some(_)) => TypeKind::LocalZonedTimestamp(digits(*unit)),
        ArrowType::List(item) | ArrowType::LargeList(item) => TypeKind::Array(Box::new(from_arrow(item)?)),
        ArrowType::FixedSizeList(item, length) => {
            TypeKind::Vector { element: Box::new(from_arrow(item)?), length: *length }
        }
        ArrowType::Map(entries, _) => match entries.data_type() {
            ArrowType::Struct(pair) if pair.len() == 2 => {
                TypeKind::Map(Box::new(from_arrow(&pair[0])?), Box::new(from_arrow(&pair[1])?))
            }
            _ => return Err(unknown(ty)),
        },
        ArrowType::Struct(fields) => TypeKind::Row(rows(fields)?),
        _ => return Err(unknown(ty)),
    })
}

fn rows(fields: &arrow_schema::Fields) -> Result<Vec<DataField>> {
    let row = |(id, field): (i32, &std::sync::Arc<Field>)| {
        let ty = from_arrow(field).map_err(|error| error.within(field.name()))?;
        Ok(DataField { id, name: field.name().clone(), ty, description: None, default_value: None })
    };
    (0..).zip(fields).map(row).collect()
}

fn digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

#[cold]
fn unknown(ty: &ArrowType) -> Error {
    Error::new(ErrorKind::Type, format!("Paimon has no type for {ty}"))
}
