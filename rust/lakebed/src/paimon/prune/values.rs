//! Values of filters as arrays, in the types in which rows store them.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType, TimeUnit};

use crate::predicate::Value;

const MICROS_PER_MILLI: i64 = 1000;

/// `values` in the type `stored`; in the filter their column has the type `shown`. Values that no stored
/// value equals are left out. `None` for types that are not compared, and for NaN, which has many forms.
pub(super) fn array_of<'v>(
    values: impl Iterator<Item = &'v Value<'static>>,
    stored: &DataType,
    shown: &DataType,
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
        DataType::Int8 => ints::<Int8Type>(&values, Some)?,
        DataType::Int16 => ints::<Int16Type>(&values, Some)?,
        DataType::Int32 => ints::<Int32Type>(&values, Some)?,
        DataType::Int64 => ints::<Int64Type>(&values, Some)?,
        DataType::Date32 => ints::<Date32Type>(&values, Some)?,
        DataType::Time32(TimeUnit::Millisecond) => ints::<Time32MillisecondType>(&values, Some)?,
        DataType::Timestamp(unit, zone) => timestamps(&values, *unit, zone.clone(), shown)?,
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

fn ints<T: ArrowPrimitiveType<Native: TryFrom<i64>>>(
    values: &[&Value<'_>],
    stored: impl Fn(i64) -> Option<i64>,
) -> Option<ArrayRef> {
    primitives::<T>(values, stored).map(|array| Arc::new(array) as ArrayRef)
}

fn primitives<T: ArrowPrimitiveType<Native: TryFrom<i64>>>(
    values: &[&Value<'_>],
    stored: impl Fn(i64) -> Option<i64>,
) -> Option<PrimitiveArray<T>> {
    let mut numbers = Vec::with_capacity(values.len());
    for value in values {
        let Value::Int(number) = value else { return None };
        if let Some(number) = stored(*number) {
            numbers.push(T::Native::try_from(number).ok()?);
        }
    }
    Some(PrimitiveArray::<T>::from_iter_values(numbers))
}

fn timestamps(
    values: &[&Value<'_>],
    unit: TimeUnit,
    zone: Option<Arc<str>>,
    shown: &DataType,
) -> Option<ArrayRef> {
    let DataType::Timestamp(shown, _) = shown else { return None };
    Some(match (unit, shown) {
        (TimeUnit::Millisecond, TimeUnit::Microsecond) => {
            let millis = |micros: i64| (micros % MICROS_PER_MILLI == 0).then_some(micros / MICROS_PER_MILLI);
            Arc::new(primitives::<TimestampMillisecondType>(values, millis)?.with_timezone_opt(zone))
        }
        (TimeUnit::Microsecond, TimeUnit::Microsecond) => {
            Arc::new(primitives::<TimestampMicrosecondType>(values, Some)?.with_timezone_opt(zone))
        }
        (TimeUnit::Nanosecond, TimeUnit::Nanosecond) => {
            Arc::new(primitives::<TimestampNanosecondType>(values, Some)?.with_timezone_opt(zone))
        }
        _ => return None,
    })
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
