//! Columns of numbers as Avro's longs.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};

use crate::error::{Error, ErrorKind, Location, Result};
use crate::schema::Logical;

/// The values of `array` as an `int` or `long` with this logical type; `None` where it does not accept the
/// array's type. Values under nulls are arbitrary.
///
/// # Errors
/// [`ErrorKind::Timestamp`] for a time that is finer than the schema's unit or out of its range, with its
/// row.
pub(super) fn longs(
    array: &ArrayRef,
    wide: bool,
    logical: Option<Logical>,
) -> Result<Option<ScalarBuffer<i64>>> {
    Ok(Some(match (array.data_type(), logical) {
        (DataType::Int8, None) => widened::<Int8Type>(array),
        (DataType::Int16, None) => widened::<Int16Type>(array),
        (DataType::Int32, None) => widened::<Int32Type>(array),
        (DataType::UInt8, None) => widened::<UInt8Type>(array),
        (DataType::UInt16, None) => widened::<UInt16Type>(array),
        (DataType::UInt32, None) if wide => widened::<UInt32Type>(array),
        (DataType::Int64, None) if wide => array.as_primitive::<Int64Type>().values().clone(),
        (DataType::Date32, Some(Logical::Date)) => widened::<Date32Type>(array),
        (DataType::Time32(TimeUnit::Millisecond), Some(Logical::TimeMillis)) => {
            widened::<Time32MillisecondType>(array)
        }
        (DataType::Time32(TimeUnit::Second), Some(Logical::TimeMillis)) => {
            scaled(array, widened::<Time32SecondType>(array), 1, 1_000)?
        }
        (DataType::Time64(TimeUnit::Microsecond), Some(Logical::TimeMicros)) => {
            array.as_primitive::<Time64MicrosecondType>().values().clone()
        }
        (DataType::Timestamp(unit, zone), Some(Logical::Timestamp { per_second, utc })) => {
            if zone.is_some() != utc {
                return Ok(None);
            }
            let (values, ticks) = ticks(array, *unit);
            scaled(array, values, ticks, per_second)?
        }
        _ => return Ok(None),
    }))
}

fn widened<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> ScalarBuffer<i64> {
    array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
}

/// The values of a timestamp, and how many of their units are a second.
fn ticks(array: &ArrayRef, unit: TimeUnit) -> (ScalarBuffer<i64>, u32) {
    match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values().clone(), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().values().clone(), 1_000),
        TimeUnit::Microsecond => {
            (array.as_primitive::<TimestampMicrosecondType>().values().clone(), 1_000_000)
        }
        TimeUnit::Nanosecond => {
            (array.as_primitive::<TimestampNanosecondType>().values().clone(), 1_000_000_000)
        }
    }
}

/// `values` in units of `from` per second, converted to `to` per second without rounding.
fn scaled(array: &ArrayRef, values: ScalarBuffer<i64>, from: u32, to: u32) -> Result<ScalarBuffer<i64>> {
    if from == to {
        return Ok(values);
    }
    let (factor, divisor) = (i64::from((to / from).max(1)), i64::from((from / to).max(1)));
    let exact = |(row, value): (usize, &i64)| {
        let exact = (value % divisor == 0).then(|| (value / divisor).checked_mul(factor)).flatten();
        match exact {
            None if array.is_valid(row) => {
                let place = Location { record: Some(row as u64), ..Location::default() };
                let message = format!("the time {value} is finer than, or beyond, what the schema holds");
                Err(Error::new(ErrorKind::Timestamp, message).at(place))
            }
            exact => Ok(exact.unwrap_or_default()),
        }
    };
    values.iter().enumerate().map(exact).collect()
}
