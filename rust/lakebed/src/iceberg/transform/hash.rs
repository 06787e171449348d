//! The hash function of `bucket` (Iceberg specification, appendix B).

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Int32Array, PrimitiveArray, StringArray,
};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::iceberg::value::decimal::minimal;
use crate::iceberg::value::expect_type;
use crate::iceberg::value::text::parse_uuid;
use crate::murmur;
use crate::record::typed;

/// The hash of each value of `values`, which have the Arrow type of `ty`; null stays null.
///
/// Integers, dates and times are hashed as 64 bits (nanoseconds as microseconds, rounded down), decimals as
/// their unscaled value in as few bytes as possible, UUIDs as their 16 bytes. Booleans and floats have a hash
/// although no table can be bucketed by them. Cost is one pass.
///
/// # Errors
/// `ErrorKind::Argument` for an array of another type, and for a text that is not a UUID;
/// `ErrorKind::Unsupported` for types without a hash.
pub fn hashes(values: &ArrayRef, ty: &Type) -> Result<Int32Array> {
    expect_type(values, ty)?;
    Ok(match ty {
        Type::Boolean => booleans(typed(values, "values")?),
        Type::Int => longs::<Int32Type>(values, i64::from)?,
        Type::Date => longs::<Date32Type>(values, i64::from)?,
        Type::Long => longs::<Int64Type>(values, |value| value)?,
        Type::Time => longs::<Time64MicrosecondType>(values, |value| value)?,
        Type::Timestamp | Type::Timestamptz => longs::<TimestampMicrosecondType>(values, |value| value)?,
        Type::TimestampNs | Type::TimestamptzNs => {
            longs::<TimestampNanosecondType>(values, |value| value.div_euclid(1000))?
        }
        Type::Float => longs::<Float32Type>(values, |value| double_bits(value.into()))?,
        Type::Double => longs::<Float64Type>(values, double_bits)?,
        Type::Decimal { .. } => {
            typed::<Decimal128Array>(values, "values")?.unary(|value| hash(minimal(&value.to_be_bytes())))
        }
        Type::String => {
            typed::<StringArray>(values, "values")?.iter().map(|text| Some(hash(text?.as_bytes()))).collect()
        }
        Type::Fixed(_) | Type::Binary => {
            typed::<BinaryArray>(values, "values")?.iter().map(|bytes| Some(hash(bytes?))).collect()
        }
        Type::Uuid => uuids(values)?,
        _ => return Err(Error::new(ErrorKind::Unsupported, format!("values of {ty} have no hash"))),
    })
}

fn hash(bytes: &[u8]) -> i32 {
    murmur::hash(bytes, 0)
}

fn longs<T: ArrowPrimitiveType>(values: &ArrayRef, widen: impl Fn(T::Native) -> i64) -> Result<Int32Array> {
    Ok(typed::<PrimitiveArray<T>>(values, "values")?.unary(|value| hash(&widen(value).to_le_bytes())))
}

fn booleans(values: &BooleanArray) -> Int32Array {
    values.iter().map(|value| Some(hash(&i64::from(value?).to_le_bytes()))).collect()
}

fn uuids(values: &ArrayRef) -> Result<Int32Array> {
    let hash_text = |text: Option<&str>| {
        let Some(text) = text else { return Ok(None) };
        let uuid = parse_uuid(text);
        uuid.map(|uuid| Some(hash(&uuid)))
            .ok_or_else(|| Error::new(ErrorKind::Argument, format!("{text:?} is not a UUID")))
    };
    typed::<StringArray>(values, "values")?.iter().map(hash_text).collect()
}

/// Like `Double.doubleToLongBits`, with a single NaN and a single zero.
fn double_bits(value: f64) -> i64 {
    const NAN: u64 = 0x7ff8_0000_0000_0000;
    let bits = if value.is_nan() { NAN } else { (value + 0.0).to_bits() };
    bits.cast_signed()
}
