//! To DATE, TIME and timestamps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::{numeric, parse};
use crate::paimon::types::TypeKind;

const MILLIS_PER_DAY: i128 = 86_400_000;
const NANOS_PER_MILLI: i128 = 1_000_000;
const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Timestamps in nanoseconds since 1970; none for arrays of anything else.
fn nanos(array: &ArrayRef) -> Option<Vec<Option<i128>>> {
    let ArrowType::Timestamp(unit, _) = array.data_type() else { return None };
    let (values, nanos): (Vec<Option<i64>>, i128) = match unit {
        TimeUnit::Millisecond => {
            (array.as_primitive::<TimestampMillisecondType>().iter().collect(), NANOS_PER_MILLI)
        }
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().iter().collect(), 1_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().iter().collect(), 1),
        TimeUnit::Second => return None,
    };
    Some(values.into_iter().map(|value| Some(i128::from(value?) * nanos)).collect())
}

/// Timestamps in milliseconds since 1970, those of a fraction before it.
pub(super) fn millis(array: &ArrayRef) -> Option<Vec<Option<i128>>> {
    Some(nanos(array)?.into_iter().map(|nanos| Some(nanos?.div_euclid(NANOS_PER_MILLI))).collect())
}

pub(super) fn to_date(array: &ArrayRef, from: &TypeKind) -> Option<ArrayRef> {
    let days: Date32Array = match from {
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let day = |millis: i128| i32::try_from(millis.div_euclid(MILLIS_PER_DAY)).ok();
            millis(array)?.into_iter().map(|millis| day(millis?)).collect()
        }
        _ => numeric::parsed(array, from, parse::date)?.into_iter().collect(),
    };
    Some(Arc::new(days))
}

pub(super) fn to_time(array: &ArrayRef, from: &TypeKind) -> Option<ArrayRef> {
    let times: Time32MillisecondArray = match from {
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let time = |millis: i128| i32::try_from(millis.rem_euclid(MILLIS_PER_DAY)).ok();
            millis(array)?.into_iter().map(|millis| time(millis?)).collect()
        }
        _ => numeric::parsed(array, from, parse::time)?.into_iter().collect(),
    };
    Some(Arc::new(times))
}

/// To TIMESTAMP or LTZ; null beyond the 64 bits that its unit of storage has.
pub(super) fn to_timestamp(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Option<ArrayRef> {
    let (precision, zone) = match to {
        TypeKind::Timestamp(precision) => (*precision, None),
        TypeKind::LocalZonedTimestamp(precision) => (*precision, Some("UTC")),
        _ => return None,
    };
    let nanos = in_nanos(array, from, precision, zone.is_none())?;
    let within = |unit: i128| {
        let scaled = nanos.iter().map(move |nanos| i64::try_from((*nanos)?.div_euclid(unit)).ok());
        scaled.collect::<Vec<_>>()
    };
    Some(match precision {
        0..=3 => Arc::new(TimestampMillisecondArray::from(within(NANOS_PER_MILLI)).with_timezone_opt(zone)),
        4..=6 => Arc::new(TimestampMicrosecondArray::from(within(1_000)).with_timezone_opt(zone)),
        _ => Arc::new(TimestampNanosecondArray::from(within(1)).with_timezone_opt(zone)),
    })
}

/// What becomes a timestamp of a precision, in nanoseconds since 1970.
fn in_nanos(array: &ArrayRef, from: &TypeKind, precision: u8, zoneless: bool) -> Option<Vec<Option<i128>>> {
    Some(match from {
        TypeKind::Timestamp(written) | TypeKind::LocalZonedTimestamp(written) if *written > precision => {
            nanos(array)?.into_iter().map(|nanos| Some(truncate(nanos?, precision))).collect()
        }
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => nanos(array)?,
        TypeKind::Date => {
            let days = array.as_primitive::<Date32Type>().iter();
            days.map(|days| Some(i128::from(days?) * MILLIS_PER_DAY * NANOS_PER_MILLI)).collect()
        }
        TypeKind::Time(_) => {
            let times = array.as_primitive::<Time32MillisecondType>().iter();
            times.map(|millis| Some(i128::from(millis?) * NANOS_PER_MILLI)).collect()
        }
        TypeKind::Int | TypeKind::BigInt => numeric::whole(array, from)?
            .into_iter()
            .map(|seconds| Some(seconds? * NANOS_PER_SECOND))
            .collect(),
        _ => numeric::parsed(array, from, |text| parse::timestamp(text, precision, zoneless))?,
    })
}

/// To `precision` digits of fraction, as `DateTimeUtils.truncate`: whole milliseconds toward 1970, what
/// is within them down.
fn truncate(nanos: i128, precision: u8) -> i128 {
    if precision <= 3 {
        let unit = 10_i128.pow(3 - u32::from(precision));
        return nanos.div_euclid(NANOS_PER_MILLI) / unit * unit * NANOS_PER_MILLI;
    }
    let unit = 10_i128.pow(9 - u32::from(precision.min(9)));
    nanos.div_euclid(unit) * unit
}
