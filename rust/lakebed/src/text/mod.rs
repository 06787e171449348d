//! Values as text, as Java prints them.

#[cfg(test)]
mod tests;

use std::fmt::{self, LowerExp, Write};
use std::str::FromStr;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::time::{MILLIS_PER_DAY, SECONDS_PER_DAY};

/// A value as views show it in a column of texts: dates and times as in ISO 8601, with `Z` where they are instants, bytes as
/// hex digits. `None` for null, and for types without a text.
pub(crate) fn shown(array: &ArrayRef, row: usize) -> Option<String> {
    if array.len() <= row || array.is_null(row) {
        return None;
    }
    let mut out = String::new();
    write_shown(&mut out, array, row)?.ok()?;
    Some(out)
}

fn write_shown(out: &mut String, array: &ArrayRef, row: usize) -> Option<fmt::Result> {
    let instant = |out: &mut String, value: i64, per_second: i64, zone: bool| {
        WallClock::from_epoch(value, per_second).write(out, 'T', 0)?;
        out.write_str(if zone { "Z" } else { "" })
    };
    Some(match array.data_type() {
        DataType::Boolean => write!(out, "{}", array.as_boolean_opt()?.value(row)),
        DataType::Int8 => write!(out, "{}", primitive::<Int8Type>(array, row)?),
        DataType::Int16 => write!(out, "{}", primitive::<Int16Type>(array, row)?),
        DataType::Int32 => write!(out, "{}", primitive::<Int32Type>(array, row)?),
        DataType::Int64 => write!(out, "{}", primitive::<Int64Type>(array, row)?),
        DataType::Float32 => write_float(out, primitive::<Float32Type>(array, row)?),
        DataType::Float64 => write_float(out, primitive::<Float64Type>(array, row)?),
        DataType::Decimal128(_, scale) => {
            write_decimal(out, primitive::<Decimal128Type>(array, row)?, usize::try_from(*scale).ok()?)
        }
        DataType::Date32 => write_date(out, primitive::<Date32Type>(array, row)?.into()),
        DataType::Time32(TimeUnit::Millisecond) => {
            let millis = primitive::<Time32MillisecondType>(array, row)?;
            WallClock::from_epoch(millis.into(), 1_000).write_clock(out, 0)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            WallClock::from_epoch(primitive::<Time64MicrosecondType>(array, row)?, 1_000_000)
                .write_clock(out, 0)
        }
        DataType::Timestamp(TimeUnit::Second, zone) => {
            instant(out, primitive::<TimestampSecondType>(array, row)?, 1, zone.is_some())
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            instant(out, primitive::<TimestampMillisecondType>(array, row)?, 1_000, zone.is_some())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            instant(out, primitive::<TimestampMicrosecondType>(array, row)?, 1_000_000, zone.is_some())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            instant(out, primitive::<TimestampNanosecondType>(array, row)?, 1_000_000_000, zone.is_some())
        }
        DataType::Utf8 => out.write_str(array.as_string_opt::<i32>()?.value(row)),
        DataType::Binary => {
            array.as_binary_opt::<i32>()?.value(row).iter().try_for_each(|byte| write!(out, "{byte:02x}"))
        }
        _ => return None,
    })
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Option<T::Native> {
    Some(array.as_primitive_opt::<T>()?.value(row))
}

/// Appends a `float` or `double` as `Float.toString` and `Double.toString` of JDK 19 and later do.
///
/// Decimal notation from 1e-3 to below 1e7, otherwise scientific; always with a digit after the point.
pub(crate) fn write_float<F>(out: &mut String, value: F) -> fmt::Result
where
    F: Copy + LowerExp + FromStr + PartialEq,
{
    let text = shortest(value);
    let (mantissa, exponent) = match text.as_str() {
        "NaN" => return out.write_str("NaN"),
        "inf" => return out.write_str("Infinity"),
        "-inf" => return out.write_str("-Infinity"),
        text => text.split_once('e').ok_or(fmt::Error)?,
    };
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let digits = unsigned.replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    out.write_str(if unsigned.len() < mantissa.len() { "-" } else { "" })?;
    match exponent {
        -3..=-1 => {
            let zeros = usize::try_from(-1 - exponent).unwrap_or_default();
            write!(out, "0.{:0<zeros$}{digits}", "")
        }
        0..=6 => {
            let whole = usize::try_from(exponent).unwrap_or_default() + 1;
            let (head, tail) = digits.split_at_checked(whole).unwrap_or((digits, ""));
            write!(out, "{head:0<whole$}.{tail:0<1}")
        }
        _ => {
            let (head, tail) = digits.split_at_checked(1).unwrap_or((digits, ""));
            write!(out, "{head}.{tail:0<1}E{exponent}")
        }
    }
}

/// The shortest digits that read back as `value`, in scientific notation. Where one digit is enough,
/// Java prints the nearest decimal of two digits if that reads back too (`4.9E-324`, not `5.0E-324`).
fn shortest<F: Copy + LowerExp + FromStr + PartialEq>(value: F) -> String {
    let short = format!("{value:e}");
    if !short.contains('.') {
        let two = format!("{value:.1e}");
        if two.parse::<F>().is_ok_and(|back| back == value) {
            return two;
        }
    }
    short
}

/// Appends `unscaled` × 10^-`scale` in plain notation, as `BigDecimal.toPlainString`; `scale` ≥ 0.
pub(crate) fn write_decimal(out: &mut String, unscaled: i128, scale: usize) -> fmt::Result {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let sign = if unscaled < 0 { "-" } else { "" };
    match digits.split_at_checked(digits.len() - scale) {
        Some((whole, fraction)) if scale > 0 => write!(out, "{sign}{whole}.{fraction}"),
        _ => write!(out, "{sign}{digits}"),
    }
}

/// Appends a day since 1970-01-01 as `LocalDate.toString`: `2024-02-29`.
pub(crate) fn write_date(out: &mut String, days: i64) -> fmt::Result {
    let (year, month, day) = civil_from_days(days);
    let sign = match year {
        10_000.. => "+",
        ..0 => "-",
        _ => "",
    };
    write!(out, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// A wall clock: seconds since 1970-01-01T00:00 and nanoseconds within the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WallClock {
    seconds: i64,
    nanos: i64,
}

impl WallClock {
    /// From a number of units since 1970, of which `per_second` (a power of 10 up to 10^9) make a
    /// second.
    pub(crate) fn from_epoch(value: i64, per_second: i64) -> WallClock {
        let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
        WallClock { seconds: value.div_euclid(per_second), nanos }
    }

    /// From nanoseconds since 1970; `None` beyond 64 bits of seconds.
    pub(crate) fn from_nanos(nanos: i128) -> Option<WallClock> {
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        Some(WallClock { seconds, nanos: i64::try_from(nanos.rem_euclid(1_000_000_000)).ok()? })
    }

    /// Appends it as `LocalDateTime.toString`: `2024-02-29T10:00`.
    pub(crate) fn write_iso(self, out: &mut String) -> fmt::Result {
        self.write_day(out)?;
        out.push('T');
        self.write_iso_clock(out)
    }

    /// Appends the time of day as `LocalTime.toString`: seconds only if they or the fraction are not zero,
    /// the fraction in groups of three digits.
    pub(crate) fn write_iso_clock(self, out: &mut String) -> fmt::Result {
        let [hour, minute, second] = self.clock();
        write!(out, "{hour:02}:{minute:02}")?;
        if second == 0 && self.nanos == 0 {
            return Ok(());
        }
        write!(out, ":{second:02}")?;
        match self.nanos {
            0 => Ok(()),
            nanos if nanos % 1_000_000 == 0 => write!(out, ".{:03}", nanos / 1_000_000),
            nanos if nanos % 1_000 == 0 => write!(out, ".{:06}", nanos / 1_000),
            nanos => write!(out, ".{nanos:09}"),
        }
    }

    /// Appends the date, `separator`, and the time of day with its seconds, at least `precision` digits
    /// of fraction, and no trailing zeros beyond them: `2024-02-29 10:00:00.000`.
    pub(crate) fn write(self, out: &mut String, separator: char, precision: u8) -> fmt::Result {
        self.write_day(out)?;
        out.push(separator);
        self.write_clock(out, precision)
    }

    /// Appends the time of day as [`WallClock::write`] does.
    pub(crate) fn write_clock(self, out: &mut String, precision: u8) -> fmt::Result {
        let [hour, minute, second] = self.clock();
        write!(out, "{hour:02}:{minute:02}:{second:02}")?;
        let digits = format!("{:09}", self.nanos);
        let needed = digits.trim_end_matches('0').len().max(usize::from(precision));
        match digits.get(..needed) {
            None | Some("") => Ok(()),
            Some(fraction) => write!(out, ".{fraction}"),
        }
    }

    fn write_day(self, out: &mut String) -> fmt::Result {
        write_date(out, self.seconds.div_euclid(SECONDS_PER_DAY))
    }

    /// Hour, minute and second.
    fn clock(self) -> [i64; 3] {
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY);
        [second / 3600, second / 60 % 60, second % 60]
    }
}

/// A duration as `Duration.toString`: `PT24H`, `PT1M0.5S`, `PT0S`.
pub(crate) fn duration_text(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    let mut text = "PT".to_owned();
    for (count, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
        if count > 0 {
            text += &format!("{count}{unit}");
        }
    }
    if seconds % 60 > 0 || nanos > 0 || text.len() == 2 {
        let fraction = format!(".{nanos:09}");
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        text += &format!("{}{fraction}S", seconds % 60);
    }
    text
}

/// Appends a time of day as Paimon casts it to a string: `10:00:00`, for a `precision` above 0 with
/// a fraction of at least one digit and without further trailing zeros.
pub(crate) fn write_time(out: &mut String, millis: i32, precision: u8) -> fmt::Result {
    let millis = millis.rem_euclid(MILLIS_PER_DAY);
    let seconds = millis / 1000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if precision == 0 {
        return Ok(());
    }
    let digits = format!("{:03}", millis % 1000);
    let shown = digits.get(..usize::from(precision)).unwrap_or(&digits);
    write!(out, ".{:0<1}", shown.trim_end_matches('0'))
}

/// Days from 0000-03-01 to 1970-01-01: the years of this calculation begin in March.
const DAYS_TO_1970: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

/// Year, month and day of a day since 1970-01-01, in the proleptic Gregorian calendar.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + DAYS_TO_1970;
    let (era, day) = (shifted.div_euclid(DAYS_PER_ERA), shifted.rem_euclid(DAYS_PER_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day_of_month)
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar; a day past the end of its
/// month is a day of the next one.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + year * 365 + year / 4 - year / 100 + day_of_year - DAYS_TO_1970
}
