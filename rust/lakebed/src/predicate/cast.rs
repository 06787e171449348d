//! Casts a literal to a column's type, without rounding.

use std::borrow::Cow;
use std::cmp::Ordering;

use arrow_schema::{DataType, TimeUnit};

use super::expr::Literal;
use super::value::Value;
use crate::time::{days_to_nanos, parse_date, parse_time, parse_timestamp};

/// `literal`, which is not null, as a value of `data_type`; `Err` has the reason why it does not fit.
///
/// Decimal fractions round to the nearest float; whole numbers that would round are refused.
pub(super) fn cast(literal: &Literal, data_type: &DataType) -> Result<Value<'static>, String> {
    match data_type {
        DataType::Boolean => boolean(literal).map(Value::Boolean),
        DataType::Int8 => integer(literal, i8::MIN.into(), i8::MAX.into()).map(Value::Int),
        DataType::Int16 => integer(literal, i16::MIN.into(), i16::MAX.into()).map(Value::Int),
        DataType::Int32 => integer(literal, i32::MIN.into(), i32::MAX.into()).map(Value::Int),
        DataType::Int64 => integer(literal, i64::MIN, i64::MAX).map(Value::Int),
        DataType::Float32 => float(literal, single).map(Value::Float),
        DataType::Float64 => float(literal, double).map(Value::Float),
        DataType::Decimal128(precision, scale) => decimal(literal, *precision, *scale).map(Value::Decimal),
        DataType::Utf8 => string(literal).map(|text| Value::Bytes(Cow::Owned(text.into()))),
        DataType::Binary => binary(literal).map(|bytes| Value::Bytes(Cow::Owned(bytes))),
        DataType::Date32 => date(literal).map(Value::Int),
        DataType::Time32(unit) | DataType::Time64(unit) => time(literal, *unit).map(Value::Int),
        DataType::Timestamp(unit, zone) => timestamp(literal, *unit, zone.is_some()).map(Value::Int),
        other => Err(format!("columns of type {other} cannot be filtered")),
    }
}

const OTHER_KIND: &str = "a literal of another kind";

fn boolean(literal: &Literal) -> Result<bool, String> {
    match literal {
        Literal::Boolean(value) => Ok(*value),
        Literal::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Literal::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err("a boolean is TRUE or FALSE".into()),
    }
}

/// Whether a number, date or timestamp is greater, or less, than all finite values of a type. For integers, decimals
/// and timestamps only those without more fractional digits than theirs; others are refused.
pub(super) fn beyond(literal: &Literal, data_type: &DataType) -> Option<Ordering> {
    let time = match (data_type, literal) {
        (DataType::Date32, Literal::Date(text) | Literal::String(text)) => {
            let days = parse_date(text.trim()).ok()?;
            Some((i128::from(days), i128::from(i32::MIN)..=i128::from(i32::MAX)))
        }
        (DataType::Timestamp(unit, zone), literal) => {
            let units = units(nanos(literal, zone.is_some()).ok()?, *unit).ok()?;
            Some((units, i128::from(i64::MIN)..=i128::from(i64::MAX)))
        }
        _ => None,
    };
    if let Some((value, range)) = time {
        let side = if value < 0 { Ordering::Less } else { Ordering::Greater };
        return (!range.contains(&value)).then_some(side);
    }
    let text = numeric_text(literal).ok()?;
    let is_beyond = match data_type {
        DataType::Int8 => is_beyond_integers(text, i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => is_beyond_integers(text, i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => is_beyond_integers(text, i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => is_beyond_integers(text, i64::MIN, i64::MAX),
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (i32::from(*precision), i32::from(*scale));
            Digits::parse(text)
                .is_some_and(|digits| digits.is_whole(scale) && digits.top() > precision - scale)
        }
        DataType::Float32 => is_too_large(text, single),
        DataType::Float64 => is_too_large(text, double),
        _ => false,
    };
    let side = if text.starts_with('-') { Ordering::Less } else { Ordering::Greater };
    is_beyond.then_some(side)
}

fn is_beyond_integers(text: &str, min: i64, max: i64) -> bool {
    let Some(digits) = Digits::parse(text).filter(|digits| digits.is_whole(0)) else { return false };
    // No integer has more than 19 digits.
    digits.top() > 19
        || digits
            .number()
            .and_then(|number| number.scaled(0))
            .is_some_and(|whole| whole < min.into() || whole > max.into())
}

/// Whether the nearest float to a number, which is not an infinity itself, is infinite.
fn is_too_large(text: &str, round: fn(f64) -> f64) -> bool {
    let is_number = text.contains(|c: char| c.is_ascii_digit());
    is_number && text.parse().is_ok_and(|exact| round(exact).is_infinite())
}

/// The nearest FLOAT.
fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

fn double(value: f64) -> f64 {
    value
}

fn integer(literal: &Literal, min: i64, max: i64) -> Result<i64, String> {
    let whole = number(literal)?.scaled(0).ok_or("not a whole number that fits")?;
    let fits = i64::try_from(whole).ok().filter(|value| (min..=max).contains(value));
    fits.ok_or_else(|| format!("not within {min} and {max}"))
}

fn decimal(literal: &Literal, precision: u8, scale: i8) -> Result<i128, String> {
    let unscaled = number(literal)?.scaled(scale.into());
    let limit = 10_u128.checked_pow(precision.into()).unwrap_or(u128::MAX);
    let fits = unscaled.filter(|unscaled| unscaled.unsigned_abs() < limit);
    fits.ok_or_else(|| format!("needs more than {precision} digits, or more than {scale} after the point"))
}

/// `round` converts the nearest double to the nearest value of the column's width.
fn float(literal: &Literal, round: fn(f64) -> f64) -> Result<f64, String> {
    let text = numeric_text(literal)?;
    let exact: f64 = text.parse().map_err(|_| "not a number")?;
    let value = round(exact);
    if is_too_large(text, round) {
        return Err("too large".into());
    }
    // Texts with a decimal point, an exponent, or 39 or more digits do not parse as i128, and are rounded.
    match text.parse::<i128>() {
        Ok(whole) if value as i128 != whole => Err("a whole number that a float cannot hold".into()),
        _ => Ok(value),
    }
}

fn string(literal: &Literal) -> Result<String, String> {
    match literal {
        Literal::String(text) => Ok(text.clone()),
        _ => Err("a string is written in '…'".into()),
    }
}

fn binary(literal: &Literal) -> Result<Vec<u8>, String> {
    match literal {
        Literal::Binary(bytes) => Ok(bytes.clone()),
        Literal::String(text) => Ok(text.clone().into_bytes()),
        Literal::Uuid(text) => uuid(text).ok_or_else(|| "not a UUID".into()),
        _ => Err(OTHER_KIND.into()),
    }
}

/// A UUID as views show it: equal UUIDs are equal texts, in the order of their bytes.
pub(super) fn uuid_text(literal: &Literal) -> Result<Value<'static>, String> {
    match literal {
        Literal::Uuid(text) | Literal::String(text) if uuid(text).is_some() => {
            Ok(Value::Bytes(Cow::Owned(text.to_ascii_lowercase().into_bytes())))
        }
        _ => Err("not a UUID".into()),
    }
}

fn uuid(text: &str) -> Option<Vec<u8>> {
    let lengths = [8, 4, 4, 4, 12];
    let mut groups = text.split('-');
    let well_formed = lengths.iter().all(|length| groups.next().is_some_and(|group| group.len() == *length));
    let digits = text.replace('-', "");
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !well_formed || groups.next().is_some() || !is_hex {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes().to_vec())
}

fn date(literal: &Literal) -> Result<i64, String> {
    match literal {
        Literal::Date(text) | Literal::String(text) => {
            let days = parse_date(text.trim())?;
            i32::try_from(days).map(i64::from).map_err(|_| "out of range".into())
        }
        _ => Err("a date is DATE 'YYYY-MM-DD' or 'YYYY-MM-DD'".into()),
    }
}

fn time(literal: &Literal, unit: TimeUnit) -> Result<i64, String> {
    match literal {
        Literal::Time(text) | Literal::String(text) => in_unit(parse_time(text.trim())?, unit),
        _ => Err("a time is TIME 'HH:MM:SS' or 'HH:MM:SS'".into()),
    }
}

/// A timestamp of a column whose type, `data_type`, need not hold it.
pub(super) fn exact_time(literal: &Literal, data_type: &DataType) -> Result<Value<'static>, String> {
    let DataType::Timestamp(unit, zone) = data_type else { return Err(OTHER_KIND.into()) };
    let nanos = nanos(literal, zone.is_some())?;
    units(nanos, *unit)?;
    Ok(Value::Nanos(nanos))
}

fn timestamp(literal: &Literal, unit: TimeUnit, has_zone: bool) -> Result<i64, String> {
    in_unit(nanos(literal, has_zone)?, unit)
}

/// Nanoseconds since 1970. Without an offset a text is in UTC if the column has a zone.
fn nanos(literal: &Literal, has_zone: bool) -> Result<i128, String> {
    match literal {
        Literal::Date(text) => Ok(days_to_nanos(parse_date(text.trim())?)),
        Literal::Timestamp(text) | Literal::String(text) => {
            let timestamp = parse_timestamp(text.trim())?;
            if timestamp.has_offset && !has_zone {
                return Err("the column has no time zone, the literal has an offset".into());
            }
            Ok(timestamp.nanos)
        }
        _ => Err("a timestamp is TIMESTAMP 'YYYY-MM-DD HH:MM:SS' or a string of that form".into()),
    }
}

fn in_unit(nanos: i128, unit: TimeUnit) -> Result<i64, String> {
    i64::try_from(units(nanos, unit)?).map_err(|_| "out of range".into())
}

/// How many units there are in `nanos`.
fn units(nanos: i128, unit: TimeUnit) -> Result<i128, String> {
    let nanos_per_unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    match nanos % nanos_per_unit {
        0 => Ok(nanos / nanos_per_unit),
        _ => Err("a finer fraction of a second than the column holds".into()),
    }
}

fn numeric_text(literal: &Literal) -> Result<&str, String> {
    match literal {
        Literal::Number(text) => Ok(text),
        Literal::String(text) => Ok(text.trim()),
        _ => Err("the column takes a number".into()),
    }
}

fn number(literal: &Literal) -> Result<Number, String> {
    let digits = Digits::parse(numeric_text(literal)?);
    digits.and_then(|digits| digits.number()).ok_or_else(|| "not a number of at most 38 digits".into())
}

/// A decimal number of any length: digits without leading and trailing zeros (none for zero), ×
/// 10^`exponent`.
struct Digits {
    is_negative: bool,
    significant: String,
    exponent: i32,
}

impl Digits {
    /// `[±]digits[.digits][e[±]digits]`.
    fn parse(text: &str) -> Option<Digits> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (is_negative, unsigned) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_end_matches('0');
        let zeros = i32::try_from(digits.len() - significant.len()).ok()?;
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
        let significant = significant.trim_start_matches('0').to_owned();
        Some(Digits { is_negative, significant, exponent })
    }

    /// Whether nothing is left after the decimal point when multiplied by 10^`scale`.
    fn is_whole(&self, scale: i32) -> bool {
        self.significant.is_empty() || self.exponent.saturating_add(scale) >= 0
    }

    /// The number of digits before the decimal point; less than 1 where zeros follow it.
    fn top(&self) -> i32 {
        match i32::try_from(self.significant.len()) {
            Ok(0) => 0,
            Ok(length) => self.exponent.saturating_add(length),
            Err(_) => i32::MAX,
        }
    }

    /// The number, if it has at most 38 digits.
    fn number(&self) -> Option<Number> {
        if self.significant.is_empty() {
            return Some(Number { unscaled: 0, exponent: 0 });
        }
        if self.significant.len() > 38 {
            return None;
        }
        let magnitude: i128 = self.significant.parse().ok()?;
        let unscaled = if self.is_negative { -magnitude } else { magnitude };
        Some(Number { unscaled, exponent: self.exponent })
    }
}

/// A decimal number, `unscaled` × 10^`exponent`, without trailing zeros in `unscaled`.
struct Number {
    unscaled: i128,
    exponent: i32,
}

impl Number {
    /// The number × 10^`scale`, if that is whole and fits.
    fn scaled(&self, scale: i32) -> Option<i128> {
        if self.unscaled == 0 {
            return Some(0);
        }
        // There are no trailing zeros, so a negative power leaves a fraction.
        let power = u32::try_from(self.exponent.checked_add(scale)?).ok()?;
        self.unscaled.checked_mul(10_i128.checked_pow(power)?)
    }
}
