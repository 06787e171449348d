//! Single values in an Arrow type that the caller chooses, instead of the one that Iceberg's type has here.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray, StringArray,
    make_array,
};
use arrow_schema::{DataType, TimeUnit};

use super::{decode, encode};
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::record::typed;

/// Binary single values as an array of the Arrow type `to`; null stays null.
///
/// | Arrow | Iceberg |
/// |---|---|
/// | Boolean, Int32, Int64, Float32, Float64 | boolean, int, long, float, double |
/// | Decimal128(P, S) | decimal(P, S) |
/// | Date32, Time64(us) | date, time |
/// | Timestamp(us), Timestamp(ns), without and with a zone | timestamp, timestamp_ns, and their `tz` |
/// | Utf8, LargeUtf8 | string |
/// | Binary, LargeBinary | binary |
/// | FixedSizeBinary(L) | `fixed[L]`; a uuid is one of 16 bytes |
///
/// `values` is Binary or LargeBinary.
///
/// # Errors
/// Those of [`decode`]; `ErrorKind::Argument` for other Arrow types.
pub fn decode_values(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let ty = type_of(to)?;
    if !matches!(values.data_type(), DataType::Binary | DataType::LargeBinary) {
        return Err(argument(format!("single values are binary, not {}", values.data_type())));
    }
    let values = conform(values, &DataType::Binary)?;
    let decoded = decode(typed(&values, "values")?, &ty)?;
    match to {
        DataType::LargeUtf8 => {
            let values = typed::<StringArray>(&decoded, "values")?.iter();
            Ok(Arc::new(values.collect::<LargeStringArray>()))
        }
        DataType::LargeBinary => {
            let values = typed::<BinaryArray>(&decoded, "values")?.iter();
            Ok(Arc::new(values.collect::<LargeBinaryArray>()))
        }
        DataType::FixedSizeBinary(length) => {
            let values = typed::<BinaryArray>(&decoded, "values")?.iter();
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *length);
            array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| argument(error.to_string()))
        }
        _ => with_arrow_type(&decoded, to),
    }
}

/// The values of `array` as binary single values; the types are those of [`decode_values`].
///
/// # Errors
/// Those of [`encode`]; `ErrorKind::Argument` for Arrow types that are not in the table.
pub fn encode_values(array: &ArrayRef) -> Result<BinaryArray> {
    let ty = type_of(array.data_type())?;
    let array: ArrayRef = match array.data_type() {
        DataType::LargeUtf8 | DataType::LargeBinary => conform(array, &ty.arrow())?,
        DataType::FixedSizeBinary(_) => {
            Arc::new(typed::<FixedSizeBinaryArray>(array, "values")?.iter().collect::<BinaryArray>())
        }
        _ => with_arrow_type(array, &ty.arrow())?,
    };
    encode(&array, &ty)
}

/// The Iceberg type with the single values of this Arrow type.
pub(in crate::iceberg) fn type_of(arrow: &DataType) -> Result<Type> {
    use TimeUnit::{Microsecond, Nanosecond};
    Ok(match arrow {
        DataType::Boolean => Type::Boolean,
        DataType::Int32 => Type::Int,
        DataType::Int64 => Type::Long,
        DataType::Float32 => Type::Float,
        DataType::Float64 => Type::Double,
        DataType::Decimal128(precision, scale) => Type::Decimal { precision: *precision, scale: *scale },
        DataType::Date32 => Type::Date,
        DataType::Time64(Microsecond) => Type::Time,
        DataType::Timestamp(Microsecond, None) => Type::Timestamp,
        DataType::Timestamp(Microsecond, Some(_)) => Type::Timestamptz,
        DataType::Timestamp(Nanosecond, None) => Type::TimestampNs,
        DataType::Timestamp(Nanosecond, Some(_)) => Type::TimestamptzNs,
        DataType::Utf8 | DataType::LargeUtf8 => Type::String,
        DataType::Binary | DataType::LargeBinary => Type::Binary,
        DataType::FixedSizeBinary(length) => Type::Fixed(length.unsigned_abs()),
        other => return Err(argument(format!("Iceberg has no single values of the Arrow type {other}"))),
    })
}

/// The same buffers with a type that differs at most in the name of its time zone.
fn with_arrow_type(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().data_type(to.clone()).build();
    data.map(make_array).map_err(|error| argument(error.to_string()))
}

#[cold]
fn argument(message: String) -> Error {
    Error::new(ErrorKind::Argument, message)
}
