//! The texts of dates, times and timestamps, read exactly: ISO 8601, proleptic Gregorian calendar.

use crate::text::days_from_civil;

/// Why a text is not of its type.
pub(crate) type Reason = &'static str;

/// Nanoseconds per millisecond.
pub(crate) const NANOS_PER_MILLI: i128 = 1_000_000;

pub(crate) const NANOS_PER_SECOND: i128 = 1_000_000_000;
pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
pub(crate) const MILLIS_PER_DAY: i32 = 86_400_000;
pub(crate) const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;
pub(crate) const NANOS_PER_DAY: i64 = 1000 * MICROS_PER_DAY;

/// A timestamp's text as a number.
pub(crate) struct Timestamp {
    /// Nanoseconds since 1970-01-01T00:00:00, of UTC where there is an offset, else of no zone.
    pub(crate) nanos: i128,
    /// Whether the text says an offset from UTC.
    pub(crate) has_offset: bool,
}

/// `[±]YYYY-MM-DD` as days since 1970-01-01.
pub(crate) fn parse_date(text: &str) -> Result<i64, Reason> {
    const FORM: Reason = "a date is YYYY-MM-DD";
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(FORM);
    };
    let year = sign * number(year, 4..=7).ok_or(FORM)?;
    let month = number(month, 2..=2).ok_or(FORM)?;
    let day = number(day, 2..=2).ok_or(FORM)?;
    if !(1..=12).contains(&month) {
        return Err("no such month");
    }
    if !(1..=days_in_month(year, month)).contains(&day) {
        return Err("no such day in that month");
    }
    Ok(days_from_civil(year, month, day))
}

/// `HH:MM[:SS[.fraction]]` as nanoseconds since midnight.
pub(crate) fn parse_time(text: &str) -> Result<i128, Reason> {
    const FORM: Reason = "a time is HH:MM:SS[.fraction]";
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let mut parts = clock.split(':');
    let hour = parts.next().and_then(|part| number(part, 2..=2)).ok_or(FORM)?;
    let minute = parts.next().and_then(|part| number(part, 2..=2)).ok_or(FORM)?;
    let second = match (parts.next(), fraction) {
        (Some(part), _) => number(part, 2..=2).ok_or(FORM)?,
        (None, None) => 0,
        (None, Some(_)) => return Err(FORM),
    };
    if parts.next().is_some() {
        return Err(FORM);
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Err("no such time of day");
    }
    let nanos = fraction.map_or(Ok(0), parse_fraction)?;
    Ok(i128::from(hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + nanos)
}

/// A date, or a date and a time joined by `T` or spaces, then perhaps `Z` or `±HH[:MM]`.
pub(crate) fn parse_timestamp(text: &str) -> Result<Timestamp, Reason> {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return Ok(Timestamp { nanos: days_to_nanos(parse_date(text)?), has_offset: false });
    };
    let (time, offset) = split_offset(time.trim())?;
    let nanos = days_to_nanos(parse_date(date)?) + parse_time(time)?;
    let east = i128::from(offset.unwrap_or(0)) * NANOS_PER_SECOND;
    Ok(Timestamp { nanos: nanos - east, has_offset: offset.is_some() })
}

/// The clock's text, and the offset after it in seconds east of UTC.
fn split_offset(text: &str) -> Result<(&str, Option<i64>), Reason> {
    const FORM: Reason = "an offset is Z or ±HH:MM";
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Ok((clock.trim_end(), Some(0)));
    }
    let Some(place) = text.rfind(['+', '-']) else {
        return Ok((text, None));
    };
    let (clock, offset) = text.split_at(place);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits = offset.trim_start_matches(['+', '-']);
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "00"));
    let hours = number(hours, 2..=2).ok_or(FORM)?;
    let minutes = number(minutes, 2..=2).ok_or(FORM)?;
    if hours > 18 || minutes > 59 {
        return Err("no such offset from UTC");
    }
    Ok((clock.trim_end(), Some(sign * (hours * 3600 + minutes * 60))))
}

/// Days since the epoch as nanoseconds.
pub(crate) fn days_to_nanos(days: i64) -> i128 {
    i128::from(days) * i128::from(SECONDS_PER_DAY) * NANOS_PER_SECOND
}

/// The digits after a decimal point, as nanoseconds; zeros past the ninth are let through.
fn parse_fraction(digits: &str) -> Result<i128, Reason> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let significant = digits.trim_end_matches('0');
    if !all_digits {
        return Err("a fraction of a second is digits");
    }
    if significant.len() > 9 {
        return Err("a fraction of a second has at most nine digits");
    }
    format!("{significant:0<9}").parse().map_err(|_| "a fraction of a second is digits")
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
