//! Texts parsed as other types, as by Paimon's `BinaryStringUtils.java` and `DateTimeUtils.java`.

use std::str::FromStr;

use crate::text::days_from_civil;
use crate::time::NANOS_PER_DAY;

pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The whole part of a plain decimal number.
pub(super) fn whole(text: &str) -> Option<i128> {
    let (negative, digits) = sign(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if digits.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let value: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some(if negative { -value } else { value })
}

/// Like `Double.parseDouble` and `Float.parseFloat`, but without hexadecimal digits.
pub(super) fn float<F: FromStr>(text: &str) -> Option<F> {
    let text = text.trim_matches(|c| c <= ' ');
    let (_, unsigned) = sign(text);
    if matches!(unsigned, "NaN" | "Infinity") {
        return text.parse().ok();
    }
    let number = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let plain = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if number.chars().all(plain) { number.parse().ok() } else { None }
}

/// Like `BigDecimal`, then rounded half up to a whole number of 10^-`scale`; `None` beyond 38 digits.
pub(super) fn decimal(text: &str, scale: i8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, i64::from(exponent.parse::<i32>().ok()?)),
        None => (text, 0),
    };
    let (negative, digits) = sign(mantissa);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !is_digits(&digits) {
        return None;
    }
    let places = i64::try_from(fraction.len()).ok()? - exponent;
    let value = shifted(&digits, i64::from(scale) - places)?;
    Some(if negative { -value } else { value })
}

/// `digits` × 10^`shift`, rounded half up.
fn shifted(digits: &str, shift: i64) -> Option<i128> {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    if shift >= 0 {
        let value: i128 = digits.parse().ok()?;
        return value.checked_mul(10_i128.checked_pow(u32::try_from(shift).ok()?)?);
    }
    let dropped = usize::try_from(shift.unsigned_abs()).ok()?;
    let Some(kept) = digits.len().checked_sub(dropped) else { return Some(0) };
    let (kept, dropped) = digits.split_at_checked(kept)?;
    let value: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    value.checked_add(i128::from(dropped.as_bytes().first().is_some_and(|digit| *digit >= b'5')))
}

/// Days since 1970 of `2024-02-29` or `2024-02`; a text of digits alone is a number of days already.
pub(super) fn date(text: &str) -> Option<i32> {
    if !text.is_empty() && is_digits(text) {
        return text.parse().ok();
    }
    let date = text.split_once(' ').map_or(text, |(date, _)| if date.is_empty() { text } else { date });
    let mut parts = date.splitn(3, '-').map(|part| number(part.trim()));
    let year = parts.next()??;
    let (month, day) = (parts.next().unwrap_or(Some(1))?, parts.next().unwrap_or(Some(1))?);
    if day > days_in(year, month)? || day == 0 {
        return None;
    }
    i32::try_from(days_from_civil(year, month, day)).ok()
}

/// Milliseconds of the day of `10:00:00.123` or a prefix of that form; a text of digits alone is a number of
/// milliseconds already. An offset at the end is applied as Paimon does: added with its sign.
pub(super) fn time(text: &str) -> Option<i32> {
    if !text.is_empty() && is_digits(text) {
        return text.parse().ok();
    }
    let (clock, sign, offset) = match (text.split_once('-'), text.split_once('+')) {
        (Some((clock, offset)), _) => (clock, -1, Some(offset)),
        (None, Some((clock, offset))) => (clock, 1, Some(offset)),
        (None, None) => (text, 1, None),
    };
    let mut shift = 0;
    if let Some(offset) = offset {
        let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
        // Paimon also looks for the colons of a clock in its offset, and refuses what it then finds.
        if offset.contains(':') && clock.matches(':').count() < 2 {
            return None;
        }
        shift = sign * (number(hours.trim())? * 60 + number(minutes.trim())?);
    }
    let mut parts = clock.splitn(3, ':');
    let hour = number(parts.next()?.trim())?;
    let minute = parts.next().map_or(Some(0), |minute| number(minute.trim()))?;
    let (second, fraction) =
        parts.next().map_or(("0", ""), |part| part.split_once('.').unwrap_or((part, "")));
    let millis = (hour * 60 + minute + shift) * 60_000 + number(second.trim())? * 1000;
    Some((millis + fraction_millis(fraction.trim())) as i32)
}

/// Three digits, rounded by the fourth; what is not a digit counts as 0.
fn fraction_millis(fraction: &str) -> i64 {
    let digit = |place: usize| match fraction.as_bytes().get(place) {
        Some(digit @ b'0'..=b'9') => i64::from(digit - b'0'),
        _ => 0,
    };
    digit(0) * 100 + digit(1) * 10 + digit(2) + i64::from(digit(3) >= 5)
}

/// Nanoseconds since 1970 of `2024-02-29 10:00:00.123` (or with a `T`), truncated to `precision` digits.
/// Without a zone, digits alone are a number of the precision's units since 1970.
pub(super) fn timestamp(text: &str, precision: u8, zoneless: bool) -> Option<i128> {
    if zoneless && !text.is_empty() && is_digits(text) {
        let unit = match precision {
            0 | 3 | 6 | 9 => 10_i128.pow(9 - u32::from(precision)),
            _ => return None,
        };
        return whole(text)?.checked_mul(unit);
    }
    let (date, clock) = match text.split_once([' ', 'T']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(number)?;
    let (month, day) = (short_number(parts.next()?)?, short_number(parts.next()?)?);
    if !(1..=31).contains(&day) {
        return None;
    }
    // As Java's resolver does: a day past the end of the month becomes the last day of the month.
    let days = days_from_civil(year, month, day.min(days_in(year, month)?));
    let nanos = clock.map_or(Some(0), |clock| clock_nanos(clock, text.contains('T')))?;
    let unit = 10_i128.pow(9 - u32::from(precision.min(9)));
    let nanos = i128::from(days) * i128::from(NANOS_PER_DAY) + nanos;
    Some(nanos.div_euclid(unit) * unit)
}

/// Nanoseconds of the day of `10:00:00.123`; seconds are optional after a `T`.
fn clock_nanos(clock: &str, iso: bool) -> Option<i128> {
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (short_number(parts.next()?)?, short_number(parts.next()?)?);
    let (second, fraction) = match parts.next() {
        Some(second) => second.split_once('.').unwrap_or((second, "")),
        None if iso => ("0", ""),
        None => return None,
    };
    let second = short_number(second)?;
    if hour > 23 || minute > 59 || second > 59 || fraction.len() > 9 || !is_digits(fraction) {
        return None;
    }
    let nanos: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(i128::from((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanos)
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Whether the text consists of digits only; true for an empty text.
fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits that fit a Java int.
fn number(text: &str) -> Option<i64> {
    let digits = is_digits(text).then_some(text)?;
    digits.parse::<i32>().ok().map(i64::from)
}

/// One digit or two.
fn short_number(text: &str) -> Option<i64> {
    number(text).filter(|_| text.len() <= 2)
}

/// The days of a month from year 0 to 9999.
fn days_in(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        _ if !(0..=9999).contains(&year) => None,
        2 => Some(if leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}
