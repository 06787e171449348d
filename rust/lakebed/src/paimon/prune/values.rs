//! Values of filters as arrays, in the types in which rows store them.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, TimeUnit};

use crate::paimon::types::{EXACT_TIME, exact_times};
use crate::predicate::Value;
use crate::time::NANOS_PER_MILLI;

/// `values` in the type `stored`. Values that no stored value equals are left out. `None` for types that are not compared, and for NaN, which has many forms.
pub(super) fn array_of<'v>(
    values: impl Iterator<Item = &'v Value<'static>>,
    stored: &DataType,
) -> Option<ArrayRef> {
    let values = values.collect::<Vec<_>>();
    Some(match stored {
        DataType::Boolean => {
            let values = values.iter().map(|value| match value {
                Value::Boolean(value) => Some(*value),
                _ => None,
            });
            Arc::new(BooleanArray::from(values.collect::<Option<Vec<bool>>>()?))
        }
        DataType::Int8 => ints::<Int8Type>(&values)?,
        DataType::Int16 => ints::<Int16Type>(&values)?,
        DataType::Int32 => ints::<Int32Type>(&values)?,
        DataType::Int64 => ints::<Int64Type>(&values)?,
        DataType::Date32 => ints::<Date32Type>(&values)?,
        DataType::Time32(TimeUnit::Millisecond) => ints::<Time32MillisecondType>(&values)?,
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            let millis =
                times(&values, NANOS_PER_MILLI)?.into_iter().filter_map(|millis| millis.try_into().ok());
            let millis = TimestampMillisecondArray::from_iter_values(millis);
            Arc::new(millis.with_timezone_opt(zone.clone()))
        }
        exact if *exact == EXACT_TIME => exact_times(times(&values, 1)?.into_iter().map(Some)),
        DataType::Float32 => floats::<Float32Type>(&values, |value| value as f32)?,
        DataType::Float64 => floats::<Float64Type>(&values, |value| value)?,
        DataType::Decimal128(precision, scale) => {
            let values = values.iter().map(|value| match value {
                Value::Decimal(value) => Some(*value),
                _ => None,
            });
            let values =
                PrimitiveArray::<Decimal128Type>::from_iter_values(values.collect::<Option<Vec<_>>>()?);
            Arc::new(values.with_precision_and_scale(*precision, *scale).ok()?)
        }
        DataType::Utf8 => {
            let texts = values.iter().map(|value| std::str::from_utf8(value.as_bytes()?).ok());
            Arc::new(StringArray::from_iter_values(texts.collect::<Option<Vec<&str>>>()?))
        }
        DataType::Binary => {
            let values = values.iter().map(|value| value.as_bytes());
            Arc::new(BinaryArray::from_iter_values(values.collect::<Option<Vec<&[u8]>>>()?))
        }
        _ => return None,
    })
}

fn ints<T: ArrowPrimitiveType<Native: TryFrom<i64>>>(values: &[&Value<'_>]) -> Option<ArrayRef> {
    let numbers = values.iter().map(|value| match value {
        Value::Int(number) => T::Native::try_from(*number).ok(),
        _ => None,
    });
    Some(Arc::new(PrimitiveArray::<T>::from_iter_values(numbers.collect::<Option<Vec<_>>>()?)))
}

/// Nanoseconds since 1970, in units of `unit` of them; values between two units are left out.
fn times(values: &[&Value<'_>], unit: i128) -> Option<Vec<i128>> {
    let nanos = values.iter().map(|value| match value {
        Value::Nanos(nanos) => Some(*nanos),
        _ => None,
    });
    let nanos = nanos.collect::<Option<Vec<i128>>>()?;
    Some(nanos.into_iter().filter(|nanos| nanos % unit == 0).map(|nanos| nanos / unit).collect())
}

fn floats<T: ArrowPrimitiveType>(
    values: &[&Value<'_>],
    stored: impl Fn(f64) -> T::Native,
) -> Option<ArrayRef> {
    let values = values.iter().map(|value| match value {
        Value::Float(value) if !value.is_nan() => Some(stored(*value)),
        _ => None,
    });
    Some(Arc::new(PrimitiveArray::<T>::from_iter_values(values.collect::<Option<Vec<_>>>()?)))
}
