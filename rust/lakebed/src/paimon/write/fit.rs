//! Converts a caller's column to the type of the format, or finds the row that does not fit.

use std::sync::Arc;

use arrow_array::types::{
    ArrowTimestampType, Decimal128Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, Int8Array, Int16Array, Int32Array, Int64Array, PrimitiveArray, Time32MillisecondArray,
    Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, new_null_array,
};
use arrow_schema::{DataType, TimeUnit};

use super::records::check_range;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::VALUES;
use crate::paimon::types::{DataType as PaimonType, EXACT_TIME, exact_times};
use crate::record::typed;

/// `array` as the type `to`, without loss: between widths of integers and offsets, units of time, and
/// precisions of decimals of the same scale.
///
/// # Errors
/// `Argument`: a type of another kind, or a value that the type does not hold, with its row.
pub(crate) fn fit(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (T::Null, to) => Ok(new_null_array(to, array.len())),
        (T::Decimal128(_, from), T::Decimal128(precision, scale)) if from == scale => {
            decimals(typed(array, VALUES)?, *precision, *scale)
        }
        (T::Timestamp(from, zone), T::Timestamp(unit, wanted)) if zone.is_some() == wanted.is_some() => {
            let ticks = scaled(&ticks(array, *from)?, per_second(*from), per_second(*unit))?;
            Ok(timestamps(ticks, *unit, wanted.clone()))
        }
        (T::Time32(_) | T::Time64(_), T::Time32(TimeUnit::Millisecond)) => times(array),
        (T::Int8 | T::Int16 | T::Int32 | T::Int64, T::Int8 | T::Int16 | T::Int32 | T::Int64) => {
            integers(array, to)
        }
        (T::Utf8 | T::LargeUtf8, T::Utf8)
        | (T::Binary | T::LargeBinary, T::Binary)
        | (T::List(_) | T::LargeList(_), T::List(_)) => {
            conform(array, to).map_err(|error| Error::new(ErrorKind::Argument, error.message()))
        }
        (from, to) => Err(Error::new(ErrorKind::Argument, format!("{from} where {to} is expected"))),
    }
}

/// `array` as rows store the type `ty`, without loss: times in any unit, and the rest as [`fit`] converts it.
///
/// # Errors
/// Those of [`fit`].
pub(crate) fn fit_stored(array: &ArrayRef, ty: &PaimonType) -> Result<ArrayRef> {
    let stored = ty.exact_type();
    match (array.data_type(), ty.storage_type()) {
        (DataType::Timestamp(from, zone), DataType::Timestamp(unit, wanted))
            if stored == EXACT_TIME && zone.is_some() == wanted.is_some() =>
        {
            let ticks = ticks(array, *from)?;
            let (from, to) = (per_second(*from), per_second(unit));
            if to < from {
                scaled(&ticks, from, to)?;
            }
            let nanos = i128::from(per_second(TimeUnit::Nanosecond) / from);
            Ok(exact_times(ticks.iter().map(|ticks| Some(i128::from(ticks?) * nanos))))
        }
        // What is no time is refused by the name of a type that callers have.
        (_, expected) if stored == EXACT_TIME && *array.data_type() != DataType::Null => {
            fit(array, &expected)
        }
        _ => fit(array, &stored),
    }
}

fn integers(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let wide: Int64Array = match array.data_type() {
        DataType::Int8 => typed::<Int8Array>(array, VALUES)?.unary(i64::from),
        DataType::Int16 => typed::<Int16Array>(array, VALUES)?.unary(i64::from),
        DataType::Int32 => typed::<Int32Array>(array, VALUES)?.unary(i64::from),
        _ => typed::<Int64Array>(array, VALUES)?.clone(),
    };
    let column: ArrayRef = Arc::new(wide.clone());
    check_range(&column, to)?;
    Ok(match to {
        // All values were checked to fit.
        DataType::Int8 => Arc::new(wide.unary::<_, arrow_array::types::Int8Type>(|value| value as i8)),
        DataType::Int16 => Arc::new(wide.unary::<_, arrow_array::types::Int16Type>(|value| value as i16)),
        DataType::Int32 => Arc::new(wide.unary::<_, arrow_array::types::Int32Type>(|value| value as i32)),
        _ => column,
    })
}

fn decimals(array: &PrimitiveArray<Decimal128Type>, precision: u8, scale: i8) -> Result<ArrayRef> {
    let bound = 10_u128.pow(u32::from(precision.min(38)));
    let wide = |value: Option<i128>| value.is_some_and(|value| value.unsigned_abs() >= bound);
    if let Some(row) = array.iter().position(wide) {
        let message = format!("more than {precision} digits");
        return Err(Error::new(ErrorKind::Argument, message).in_row(row));
    }
    let fitted = array.clone().with_precision_and_scale(precision, scale);
    fitted.map(|array| Arc::new(array) as ArrayRef).map_err(Into::into)
}

fn times(array: &ArrayRef) -> Result<ArrayRef> {
    let (ticks, unit): (Int64Array, TimeUnit) = match array.data_type() {
        DataType::Time32(TimeUnit::Second) => {
            (typed::<Time32SecondArray>(array, VALUES)?.unary(i64::from), TimeUnit::Second)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            (typed::<Time64NanosecondArray>(array, VALUES)?.reinterpret_cast(), TimeUnit::Nanosecond)
        }
        _ => (typed::<Time64MicrosecondArray>(array, VALUES)?.reinterpret_cast(), TimeUnit::Microsecond),
    };
    let millis: ArrayRef = Arc::new(scaled(&ticks, per_second(unit), 1000)?);
    let millis = integers(&millis, &DataType::Int32)?;
    let times: Time32MillisecondArray = typed::<Int32Array>(&millis, VALUES)?.reinterpret_cast();
    Ok(Arc::new(times))
}

fn ticks(array: &ArrayRef, unit: TimeUnit) -> Result<Int64Array> {
    Ok(match unit {
        TimeUnit::Second => typed::<TimestampSecondArray>(array, VALUES)?.reinterpret_cast(),
        TimeUnit::Millisecond => typed::<TimestampMillisecondArray>(array, VALUES)?.reinterpret_cast(),
        TimeUnit::Microsecond => typed::<TimestampMicrosecondArray>(array, VALUES)?.reinterpret_cast(),
        TimeUnit::Nanosecond => typed::<TimestampNanosecondArray>(array, VALUES)?.reinterpret_cast(),
    })
}

fn timestamps(ticks: Int64Array, unit: TimeUnit, zone: Option<Arc<str>>) -> ArrayRef {
    fn of<T: ArrowTimestampType>(ticks: &Int64Array, zone: Option<Arc<str>>) -> ArrayRef {
        Arc::new(ticks.reinterpret_cast::<T>().with_timezone_opt(zone))
    }
    match unit {
        TimeUnit::Second => of::<TimestampSecondType>(&ticks, zone),
        TimeUnit::Millisecond => of::<TimestampMillisecondType>(&ticks, zone),
        TimeUnit::Microsecond => of::<TimestampMicrosecondType>(&ticks, zone),
        TimeUnit::Nanosecond => of::<TimestampNanosecondType>(&ticks, zone),
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Ticks of `from` per second converted to ticks of `to` per second.
fn scaled(ticks: &Int64Array, from: i64, to: i64) -> Result<Int64Array> {
    let scale = |ticks: i64| match to >= from {
        true => ticks.checked_mul(to / from),
        false => (ticks % (from / to) == 0).then_some(ticks / (from / to)),
    };
    let wrong = ticks.iter().position(|value| value.is_some_and(|value| scale(value).is_none()));
    match wrong {
        Some(row) => {
            let message =
                format!("{} of {from} a second is not a whole number of {to} a second", ticks.value(row));
            Err(Error::new(ErrorKind::Argument, message).in_row(row))
        }
        None => Ok(ticks.unary(|ticks| scale(ticks).unwrap_or_default())),
    }
}
