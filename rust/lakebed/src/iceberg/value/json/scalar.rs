//! Reads the texts of single values as numbers.

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::value::decimal::fits;
use crate::iceberg::value::text::Unit;
use crate::time;

/// `2017-11-16` as days since 1970.
pub(super) fn date(text: &str) -> Result<i32> {
    let days = time::parse_date(text).map_err(|why| timestamp(text, why))?;
    i32::try_from(days).map_err(|_| timestamp(text, "the date does not fit 32 bits of days"))
}

/// `22:31:08.123456` as microseconds since midnight.
pub(super) fn time_of_day(text: &str) -> Result<i64> {
    let nanos = time::parse_time(text).map_err(|why| timestamp(text, why))?;
    count(text, nanos, Unit::Micros)
}

/// `2017-11-16T22:31:08.123456`, for an instant followed by `+00:00` or `Z`, as units since 1970.
pub(super) fn date_time(text: &str, unit: Unit, is_instant: bool) -> Result<i64> {
    let parsed = time::parse_timestamp(text).map_err(|why| timestamp(text, why))?;
    let is_utc = ["+00:00", "Z", "z"].iter().any(|suffix| text.ends_with(suffix));
    if !text.contains(['T', 't']) {
        return Err(timestamp(text, "a timestamp is YYYY-MM-DDTHH:MM:SS"));
    }
    match (is_instant, parsed.has_offset) {
        (true, true) if is_utc => count(text, parsed.nanos, unit),
        (true, _) => Err(timestamp(text, "the offset of a timestamptz must be +00:00")),
        (false, true) => Err(timestamp(text, "a timestamp without zone has no offset")),
        (false, false) => count(text, parsed.nanos, unit),
    }
}

fn count(text: &str, nanos: i128, unit: Unit) -> Result<i64> {
    let per_unit = i128::from(Unit::Nanos.per_second() / unit.per_second());
    if nanos % per_unit != 0 {
        return Err(timestamp(text, "finer than microseconds"));
    }
    i64::try_from(nanos / per_unit).map_err(|_| timestamp(text, "beyond 64 bits"))
}

/// `14.20` or `2E+20` as an unscaled value; the text must have exactly `scale` digits after the point.
pub(super) fn unscaled(text: &str, precision: u8, scale: i8) -> Result<i128> {
    let error =
        |why: &str| Error::new(ErrorKind::Decimal, format!("{} is not a decimal: {why}", shown(text)));
    let (mantissa, exponent) = text.split_once(['E', 'e']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().map_err(|_| error("the exponent is not a number"))?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.trim_start_matches(['+', '-']);
    let is_number = digits.len() + 1 >= whole.len()
        && !(digits.is_empty() && fraction.is_empty())
        && digits.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(error("not a number"));
    }
    let written = i64::try_from(fraction.len()).ok().and_then(|length| length.checked_sub(exponent));
    if written != Some(i64::from(scale)) {
        return Err(error(&format!("its scale is not {scale}")));
    }
    let unscaled = format!("{whole}{fraction}").parse().ok();
    unscaled
        .filter(|value| fits(*value, precision))
        .ok_or_else(|| error(&format!("it has more than {precision} digits")))
}

#[cold]
fn timestamp(text: &str, why: &str) -> Error {
    Error::new(ErrorKind::Timestamp, format!("{} is not a valid time: {why}", shown(text)))
}

/// `text` in quotes, truncated.
pub(super) fn shown(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    format!("{start:?}{}", if start.len() < text.len() { "…" } else { "" })
}
