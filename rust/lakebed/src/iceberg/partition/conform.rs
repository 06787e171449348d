//! Converts single values as files hold them, of partitions and of rows, to the type that the table has for
//! them now.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, PrimitiveArray, StringArray, new_null_array,
};
use arrow_schema::{DataType, TimeUnit};
use lakebed_avro::ErrorKind as AvroKind;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::iceberg::value::decimal::{fits, from_bytes};
use crate::iceberg::value::text::{parse_uuid, write_uuid};
use crate::record::typed;
use crate::time::{MICROS_PER_DAY, NANOS_PER_DAY};

/// `array` as values of `ty`, which is a primitive type; see [`super::PartitionType::align`].
pub(in crate::iceberg) fn conform(array: &ArrayRef, ty: &Type) -> Result<ArrayRef> {
    let to = ty.arrow();
    if *array.data_type() == DataType::Null {
        return Ok(new_null_array(&to, array.len()));
    }
    match (array.data_type(), ty) {
        (DataType::Utf8, Type::Uuid) => {
            uuids(typed::<StringArray>(array, "values")?.iter().map(|text| text.map(str::as_bytes)))
        }
        (DataType::Binary, Type::Uuid) => uuids(typed::<BinaryArray>(array, "values")?.iter()),
        (DataType::Binary, Type::Fixed(length)) => fixed(array, *length),
        (from, _) if *from == to => Ok(Arc::clone(array)),
        (from, Type::Decimal { precision, scale }) => {
            let decimals = decimals(array, *precision, *scale)?;
            Ok(Arc::new(decimals.ok_or_else(|| mismatch(from, ty))?))
        }
        (DataType::Binary, Type::String) => strings(typed(array, "values")?),
        (DataType::Utf8, Type::Binary) => {
            Ok(Arc::new(BinaryArray::from(typed::<StringArray>(array, "values")?.clone())))
        }
        (from, _) => numbers(array, &to).unwrap_or_else(|| Err(mismatch(from, ty))),
    }
}

/// Numbers, dates and times of another width or unit; `None` for types that cannot be read as `to`.
fn numbers(array: &ArrayRef, to: &DataType) -> Option<Result<ArrayRef>> {
    use DataType::{Date32, Float32, Float64, Int32, Int64, Time32, Time64, Timestamp};
    use TimeUnit::{Microsecond, Millisecond, Nanosecond};
    Some(match (array.data_type(), to) {
        (Int32, Int64) => changed::<Int32Type, Int64Type>(array, to, |value| Some(value.into())),
        (Int64, Int32) => changed::<Int64Type, Int32Type>(array, to, |value| value.try_into().ok()),
        (Float32, Float64) => changed::<Float32Type, Float64Type>(array, to, |value| Some(value.into())),
        (Int32, Date32) => changed::<Int32Type, Date32Type>(array, to, Some),
        (Date32, Int32) => changed::<Date32Type, Int32Type>(array, to, Some),
        (Int64, Time64(Microsecond)) => changed::<Int64Type, Time64MicrosecondType>(array, to, Some),
        (Time32(Millisecond), Time64(Microsecond)) => {
            changed::<Time32MillisecondType, Time64MicrosecondType>(array, to, |value| {
                Some(i64::from(value) * 1000)
            })
        }
        (Int64, Timestamp(Microsecond, _)) => changed::<Int64Type, TimestampMicrosecondType>(array, to, Some),
        (Int64, Timestamp(Nanosecond, _)) => changed::<Int64Type, TimestampNanosecondType>(array, to, Some),
        (Date32, Timestamp(Microsecond, None)) => {
            changed::<Date32Type, TimestampMicrosecondType>(array, to, |days| {
                i64::from(days).checked_mul(MICROS_PER_DAY)
            })
        }
        (Date32, Timestamp(Nanosecond, None)) => {
            let nanos = |days: i32| i64::from(days).checked_mul(NANOS_PER_DAY);
            changed::<Date32Type, TimestampNanosecondType>(array, to, nanos)
        }
        (Timestamp(Millisecond, _), Timestamp(Microsecond, _)) => {
            changed::<TimestampMillisecondType, TimestampMicrosecondType>(array, to, |value| {
                value.checked_mul(1000)
            })
        }
        (Timestamp(Microsecond, _), Timestamp(Microsecond, _)) => {
            changed::<TimestampMicrosecondType, TimestampMicrosecondType>(array, to, Some)
        }
        (Timestamp(Microsecond, _), Timestamp(Nanosecond, _)) => {
            changed::<TimestampMicrosecondType, TimestampNanosecondType>(array, to, |value| {
                value.checked_mul(1000)
            })
        }
        (Timestamp(Nanosecond, _), Timestamp(Nanosecond, _)) => {
            changed::<TimestampNanosecondType, TimestampNanosecondType>(array, to, Some)
        }
        _ => return None,
    })
}

/// Each value converted by `change`, which gives `None` for a value out of range.
fn changed<From, To>(
    array: &ArrayRef,
    to: &DataType,
    change: impl Fn(From::Native) -> Option<To::Native>,
) -> Result<ArrayRef>
where
    From: ArrowPrimitiveType,
    To: ArrowPrimitiveType,
{
    let values = typed::<PrimitiveArray<From>>(array, "values")?;
    let kind = if matches!(to, DataType::Timestamp(..)) { AvroKind::Timestamp } else { AvroKind::IntRange };
    let change = |(row, value): (usize, Option<From::Native>)| match value.map(&change) {
        Some(None) => {
            let message = format!("a value is beyond the range of {to}");
            Err(Error::new(ErrorKind::Avro(kind), message).in_row(row))
        }
        value => Ok(value.flatten()),
    };
    let changed = values.iter().enumerate().map(change).collect::<Result<PrimitiveArray<To>>>()?;
    Ok(Arc::new(changed.with_data_type(to.clone())))
}

/// Unscaled values in bytes of any length, and decimals of fewer digits; `None` for other types and scales.
fn decimals(array: &ArrayRef, precision: u8, scale: i8) -> Result<Option<Decimal128Array>> {
    let decimals: Decimal128Array = match array.data_type() {
        DataType::Decimal128(_, same) if *same == scale => typed::<Decimal128Array>(array, "values")?.clone(),
        DataType::Binary => unscaled(typed(array, "values")?)?,
        _ => return Ok(None),
    };
    let wide = decimals.iter().position(|value| value.is_some_and(|value| !fits(value, precision)));
    match wide {
        Some(row) => Err(decimal(format!("a decimal has more than {precision} digits")).in_row(row)),
        None => Ok(Some(decimals.with_data_type(DataType::Decimal128(precision, scale)))),
    }
}

fn unscaled(array: &BinaryArray) -> Result<Decimal128Array> {
    let value = |(row, bytes): (usize, Option<&[u8]>)| match bytes.map(from_bytes) {
        Some(None) => Err(decimal("bytes are not a decimal of 128 bits".to_owned()).in_row(row)),
        value => Ok(value.flatten()),
    };
    array.iter().enumerate().map(value).collect()
}

/// UUIDs as 16 bytes, or as text in any case.
fn uuids<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Result<ArrayRef> {
    let text = |(row, value): (usize, Option<&[u8]>)| {
        let Some(bytes) = value else { return Ok(None) };
        let uuid = <[u8; 16]>::try_from(bytes).ok();
        let uuid = uuid.or_else(|| parse_uuid(std::str::from_utf8(bytes).ok()?));
        let mut text = String::with_capacity(36);
        match uuid.map(|uuid| write_uuid(&mut text, &uuid)) {
            Some(Ok(())) => Ok(Some(text)),
            _ => Err(Error::new(ErrorKind::Uuid, "a value is not a UUID").in_row(row)),
        }
    };
    Ok(Arc::new(values.enumerate().map(text).collect::<Result<StringArray>>()?))
}

fn fixed(array: &ArrayRef, length: u32) -> Result<ArrayRef> {
    let is_other = |bytes: &[u8]| u32::try_from(bytes.len()) != Ok(length);
    let mut values = typed::<BinaryArray>(array, "values")?.iter().enumerate();
    match values.find(|(_, value)| value.is_some_and(is_other)) {
        Some((row, _)) => {
            Err(Error::new(ErrorKind::Length, format!("a value does not have {length} bytes")).in_row(row))
        }
        None => Ok(Arc::clone(array)),
    }
}

fn strings(array: &BinaryArray) -> Result<ArrayRef> {
    let strings = StringArray::try_from_binary(array.clone());
    let strings = strings.map_err(|error| Error::new(ErrorKind::Utf8, error.to_string()))?;
    Ok(Arc::new(strings))
}

#[cold]
fn decimal(message: String) -> Error {
    Error::new(ErrorKind::Decimal, message)
}

#[cold]
fn mismatch(from: &DataType, ty: &Type) -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Schema), format!("a value of {from} cannot be read as {ty}"))
}
