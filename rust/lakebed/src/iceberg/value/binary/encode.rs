//! Encodes Arrow as binary single values.

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Decimal128Array, PrimitiveArray, StringArray};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::iceberg::value::decimal::{fits, minimal};
use crate::iceberg::value::expect_type;
use crate::iceberg::value::text::parse_uuid;
use crate::record::typed;

/// The values of `array`, which is of the Arrow type of `ty`, as binary single values; null stays null.
///
/// Cost is one pass; values that are bytes share their buffer.
///
/// # Errors
/// `ErrorKind::Argument` for an array of another type; `ErrorKind::Uuid`, `ErrorKind::Length` and
/// `ErrorKind::Decimal` for a text that is not a UUID, a fixed of another length and a decimal with more
/// digits than the type, each with its record; `ErrorKind::Unsupported` for types without binary values:
/// nested ones and unknown.
pub fn encode(array: &ArrayRef, ty: &Type) -> Result<BinaryArray> {
    expect_type(array, ty)?;
    Ok(match ty {
        Type::Boolean => {
            typed::<BooleanArray>(array, "values")?.iter().map(|value| Some([u8::from(value?)])).collect()
        }
        Type::Int => numbers::<Int32Type, _>(array, i32::to_le_bytes)?,
        Type::Date => numbers::<Date32Type, _>(array, i32::to_le_bytes)?,
        Type::Long => numbers::<Int64Type, _>(array, i64::to_le_bytes)?,
        Type::Time => numbers::<Time64MicrosecondType, _>(array, i64::to_le_bytes)?,
        Type::Timestamp | Type::Timestamptz => {
            numbers::<TimestampMicrosecondType, _>(array, i64::to_le_bytes)?
        }
        Type::TimestampNs | Type::TimestamptzNs => {
            numbers::<TimestampNanosecondType, _>(array, i64::to_le_bytes)?
        }
        Type::Float => numbers::<Float32Type, _>(array, f32::to_le_bytes)?,
        Type::Double => numbers::<Float64Type, _>(array, f64::to_le_bytes)?,
        Type::Decimal { precision, .. } => decimals(array, *precision)?,
        Type::String => BinaryArray::from(typed::<StringArray>(array, "values")?.clone()),
        Type::Uuid => uuids(array)?,
        Type::Fixed(length) => fixed(array, *length)?,
        Type::Binary | Type::Variant | Type::Geometry { .. } | Type::Geography { .. } => {
            typed::<BinaryArray>(array, "values")?.clone()
        }
        Type::Unknown | Type::Struct(_) | Type::List(_) | Type::Map(..) => {
            let message = format!("values of {ty} have no binary form");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

fn numbers<T: ArrowPrimitiveType, B: AsRef<[u8]>>(
    array: &ArrayRef,
    bytes: impl Fn(T::Native) -> B,
) -> Result<BinaryArray> {
    Ok(typed::<PrimitiveArray<T>>(array, "values")?.iter().map(|value| value.map(&bytes)).collect())
}

fn decimals(array: &ArrayRef, precision: u8) -> Result<BinaryArray> {
    let values = typed::<Decimal128Array>(array, "values")?;
    let wide = values.iter().position(|value| value.is_some_and(|value| !fits(value, precision)));
    if let Some(row) = wide {
        let message = format!("a decimal has more than {precision} digits");
        return Err(Error::new(ErrorKind::Decimal, message).in_row(row));
    }
    let whole = values.iter().map(|value| value.map(i128::to_be_bytes)).collect::<Vec<_>>();
    Ok(whole.iter().map(|bytes| bytes.as_ref().map(minimal)).collect())
}

fn uuids(array: &ArrayRef) -> Result<BinaryArray> {
    let bytes = |(row, text): (usize, Option<&str>)| match text.map(parse_uuid) {
        Some(None) => Err(Error::new(ErrorKind::Uuid, "a value is not a UUID").in_row(row)),
        uuid => Ok(uuid.flatten()),
    };
    typed::<StringArray>(array, "values")?.iter().enumerate().map(bytes).collect()
}

fn fixed(array: &ArrayRef, length: u32) -> Result<BinaryArray> {
    let values = typed::<BinaryArray>(array, "values")?;
    let other = |bytes: &[u8]| u32::try_from(bytes.len()) != Ok(length);
    match values.iter().position(|value| value.is_some_and(other)) {
        Some(row) => {
            let message = format!("a value of fixed[{length}] has {} bytes", values.value_length(row));
            Err(Error::new(ErrorKind::Length, message).in_row(row))
        }
        None => Ok(values.clone()),
    }
}
