//! Casts to DATE, TIME and timestamps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Time32MillisecondType};
use arrow_array::{ArrayRef, Date32Array, Time32MillisecondArray, TimestampMillisecondArray};

use super::parse;
use super::source::{millis, parsed, whole};
use crate::paimon::types::{TypeKind, exact_times, nanos};
use crate::time::{NANOS_PER_MILLI, NANOS_PER_SECOND};

const MILLIS_PER_DAY: i128 = crate::time::MILLIS_PER_DAY as i128;

pub(super) fn to_date(array: &ArrayRef, from: &TypeKind) -> Option<ArrayRef> {
    let days: Date32Array = match from {
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let day = |millis: i128| i32::try_from(millis.div_euclid(MILLIS_PER_DAY)).ok();
            millis(array)?.into_iter().map(|millis| day(millis?)).collect()
        }
        _ => parsed(array, from, parse::date)?.into_iter().collect(),
    };
    Some(Arc::new(days))
}

pub(super) fn to_time(array: &ArrayRef, from: &TypeKind) -> Option<ArrayRef> {
    let times: Time32MillisecondArray = match from {
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let time = |millis: i128| i32::try_from(millis.rem_euclid(MILLIS_PER_DAY)).ok();
            millis(array)?.into_iter().map(|millis| time(millis?)).collect()
        }
        _ => parsed(array, from, parse::time)?.into_iter().collect(),
    };
    Some(Arc::new(times))
}

/// To TIMESTAMP or LTZ; null where the value does not fit 64 bits of milliseconds, as rows store it.
pub(super) fn to_timestamp(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Option<ArrayRef> {
    let (precision, zone) = match to {
        TypeKind::Timestamp(precision) => (*precision, None),
        TypeKind::LocalZonedTimestamp(precision) => (*precision, Some("UTC")),
        _ => return None,
    };
    let nanos = in_nanos(array, from, precision, zone.is_none())?;
    if precision > 3 {
        return Some(exact_times(nanos));
    }
    let millis = nanos.into_iter().map(|nanos| i64::try_from(nanos?.div_euclid(NANOS_PER_MILLI)).ok());
    let millis: TimestampMillisecondArray = millis.collect();
    Some(Arc::new(millis.with_timezone_opt(zone)))
}

/// Values that can be cast to timestamps, in nanoseconds since 1970.
fn in_nanos(array: &ArrayRef, from: &TypeKind, precision: u8, zoneless: bool) -> Option<Vec<Option<i128>>> {
    Some(match from {
        TypeKind::Timestamp(written) | TypeKind::LocalZonedTimestamp(written) if *written > precision => {
            nanos(array.as_ref())?.into_iter().map(|nanos| Some(truncate(nanos?, precision))).collect()
        }
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => nanos(array.as_ref())?,
        TypeKind::Date => {
            let days = array.as_primitive_opt::<Date32Type>()?.iter();
            days.map(|days| Some(i128::from(days?) * MILLIS_PER_DAY * NANOS_PER_MILLI)).collect()
        }
        TypeKind::Time(_) => {
            let times = array.as_primitive_opt::<Time32MillisecondType>()?.iter();
            times.map(|millis| Some(i128::from(millis?) * NANOS_PER_MILLI)).collect()
        }
        TypeKind::Int | TypeKind::BigInt => {
            whole(array, from)?.into_iter().map(|seconds| Some(seconds? * NANOS_PER_SECOND)).collect()
        }
        _ => parsed(array, from, |text| parse::timestamp(text, precision, zoneless))?,
    })
}

/// Truncates to `precision` fractional digits like `DateTimeUtils.truncate`: whole milliseconds toward 1970,
/// nanoseconds within a millisecond down.
fn truncate(nanos: i128, precision: u8) -> i128 {
    if precision <= 3 {
        let unit = 10_i128.pow(3 - u32::from(precision));
        return nanos.div_euclid(NANOS_PER_MILLI) / unit * unit * NANOS_PER_MILLI;
    }
    let unit = 10_i128.pow(9 - u32::from(precision.min(9)));
    nanos.div_euclid(unit) * unit
}
