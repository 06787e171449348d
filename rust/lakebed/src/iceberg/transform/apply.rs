//! Applies transforms to values.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Int32Array, Int64Array, PrimitiveArray, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, new_null_array,
};

use super::{Transform, hashes};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::iceberg::value::expect_type;
use crate::record::typed;
use crate::text::civil_from_days;
use crate::time::MICROS_PER_DAY;

const MICROS_PER_HOUR: i64 = MICROS_PER_DAY / HOURS_PER_DAY;
const HOURS_PER_DAY: i64 = 24;

pub(super) fn apply(transform: &Transform, values: &ArrayRef, source: &Type) -> Result<ArrayRef> {
    expect_type(values, source)?;
    let unsupported = || {
        let message = format!("the transform {transform} does not take values of {source}");
        Error::new(ErrorKind::Unsupported, message)
    };
    match transform {
        Transform::Identity if source.is_primitive() => Ok(Arc::clone(values)),
        Transform::Void => Ok(new_null_array(values.data_type(), values.len())),
        Transform::Bucket(buckets) if has_buckets(source) => {
            let buckets = buckets.cast_signed();
            let bucket: Int32Array = hashes(values, source)?.unary(|hash| (hash & i32::MAX) % buckets);
            Ok(Arc::new(bucket))
        }
        Transform::Truncate(width) => truncate(values, source, *width)?.ok_or_else(unsupported),
        Transform::Hour if *source == Type::Date => Err(unsupported()),
        Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
            let hours = hours(values, source)?.ok_or_else(unsupported)?;
            periods(transform, &hours)
        }
        _ => Err(unsupported()),
    }
}

fn has_buckets(source: &Type) -> bool {
    let hashed = source.is_primitive() && *source != Type::Unknown;
    hashed && !matches!(source, Type::Boolean | Type::Float | Type::Double)
}

fn truncate(values: &ArrayRef, source: &Type, width: u32) -> Result<Option<ArrayRef>> {
    let units = width as usize;
    Ok(Some(match source {
        Type::Int => {
            let width = width.cast_signed();
            same::<Int32Type>(values, |value| value.wrapping_sub(value.rem_euclid(width)))?
        }
        Type::Long => {
            let width = i64::from(width);
            same::<Int64Type>(values, |value| value.wrapping_sub(value.rem_euclid(width)))?
        }
        Type::Decimal { .. } => {
            let width = i128::from(width);
            same::<Decimal128Type>(values, |value| value.wrapping_sub(value.rem_euclid(width)))?
        }
        Type::String => {
            let texts = typed::<StringArray>(values, "values")?.iter();
            Arc::new(texts.map(|text| Some(code_points(text?, units))).collect::<StringArray>())
        }
        Type::Binary => {
            let binaries = typed::<BinaryArray>(values, "values")?.iter();
            let first = binaries.map(|bytes| bytes.map(|bytes| bytes.get(..units).unwrap_or(bytes)));
            Arc::new(first.collect::<BinaryArray>())
        }
        _ => return Ok(None),
    }))
}

/// Applies `change` to numbers of one type, keeping precision and scale.
fn same<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    change: impl Fn(T::Native) -> T::Native,
) -> Result<ArrayRef> {
    let values = typed::<PrimitiveArray<T>>(values, "values")?;
    Ok(Arc::new(values.unary::<_, T>(change).with_data_type(values.data_type().clone())))
}

fn code_points(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// Whole hours since 1970; for dates, those of their midnights.
fn hours(values: &ArrayRef, source: &Type) -> Result<Option<Int64Array>> {
    Ok(Some(match source {
        Type::Date => typed::<Date32Array>(values, "values")?.unary(|days| i64::from(days) * HOURS_PER_DAY),
        Type::Timestamp | Type::Timestamptz => typed::<TimestampMicrosecondArray>(values, "values")?
            .unary(|micros| micros.div_euclid(MICROS_PER_HOUR)),
        Type::TimestampNs | Type::TimestamptzNs => typed::<TimestampNanosecondArray>(values, "values")?
            .unary(|nanos| nanos.div_euclid(1000 * MICROS_PER_HOUR)),
        _ => return Ok(None),
    }))
}

fn periods(transform: &Transform, hours: &Int64Array) -> Result<ArrayRef> {
    let days = |hours: i64| hours.div_euclid(HOURS_PER_DAY);
    let narrow = |period: i64| {
        let error = || Error::new(ErrorKind::Timestamp, format!("hour {period} does not fit 32 bits"));
        i32::try_from(period).map_err(|_| error())
    };
    let ints = |period: &dyn Fn(i64) -> i64| -> Result<ArrayRef> {
        Ok(Arc::new(hours.try_unary::<_, Int32Type, _>(|hours| narrow(period(hours)))?))
    };
    match transform {
        Transform::Year => ints(&|hours| civil_from_days(days(hours)).0 - 1970),
        Transform::Month => ints(&|hours| {
            let (year, month, _) = civil_from_days(days(hours));
            (year - 1970) * 12 + month - 1
        }),
        Transform::Day => {
            let days: Date32Array = hours.try_unary(|hours| narrow(days(hours)))?;
            Ok(Arc::new(days))
        }
        _ => ints(&|hours| hours),
    }
}
