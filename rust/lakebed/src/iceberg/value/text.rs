//! Single values as text, as Iceberg's Java prints them; bytes as hexadecimal digits, and UUIDs.

use std::fmt::{self, Write};

use crate::text::{WallClock, civil_from_days, write_decimal};
use crate::time::{MICROS_PER_SECOND, NANOS_PER_SECOND};

/// The unit of a time: microseconds or nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Micros,
    Nanos,
}

impl Unit {
    pub(crate) const fn per_second(self) -> i64 {
        match self {
            Unit::Micros => MICROS_PER_SECOND,
            Unit::Nanos => NANOS_PER_SECOND as i64,
        }
    }
}

/// Appends a day like `TransformUtil.humanDay`: `1969-12-31`; years below 1000 have four digits.
pub(crate) fn write_day(out: &mut String, days: i64) -> fmt::Result {
    let (year, month, day) = civil_from_days(days);
    write!(out, "{year:04}-{month:02}-{day:02}")
}

/// Appends a timestamp in ISO form, with as many fractional digits as needed, and `+00:00` for an instant
/// (`DateTimeUtil.microsToIsoTimestamp` and `…tz`).
pub(crate) fn write_timestamp(out: &mut String, value: i64, unit: Unit, is_instant: bool) -> fmt::Result {
    WallClock::from_epoch(value, unit.per_second()).write(out, 'T', 0)?;
    out.write_str(if is_instant { "+00:00" } else { "" })
}

/// Appends a decimal like `BigDecimal.toString`: in plain notation, but in scientific notation for negative
/// scales and for values below 10⁻⁶.
pub(crate) fn write_big_decimal(out: &mut String, unscaled: i128, scale: i8) -> fmt::Result {
    let digits = unscaled.unsigned_abs().to_string();
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    match usize::try_from(scale) {
        Ok(scale) if exponent >= -6 => return write_decimal(out, unscaled, scale),
        _ => {}
    }
    let sign = if unscaled < 0 { "-" } else { "" };
    let (head, tail) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let point = if tail.is_empty() { "" } else { "." };
    write!(out, "{sign}{head}{point}{tail}")?;
    if exponent == 0 { Ok(()) } else { write!(out, "E{exponent:+}") }
}

/// Appends bytes in base 64, padded.
pub(crate) fn write_base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > three.len() { '=' } else { char::from(digit) });
        }
    }
}

/// Appends two digits per byte, in lower case.
pub(crate) fn write_hex(out: &mut String, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

/// The bytes of a text with two digits per byte, in any case.
pub(crate) fn parse_hex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes().chunks(2).map(hex_byte).collect()
}

/// The byte of two digits.
fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    match digits {
        [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
        _ => None,
    }
}

/// The bytes that have a hyphen before them.
const GROUPS: [usize; 4] = [4, 6, 8, 10];

/// Appends a UUID in lower case with hyphens.
pub(crate) fn write_uuid(out: &mut String, uuid: &[u8; 16]) -> fmt::Result {
    for (position, byte) in uuid.iter().enumerate() {
        if GROUPS.contains(&position) {
            out.push('-');
        }
        write!(out, "{byte:02x}")?;
    }
    Ok(())
}

/// The bytes of 32 hex digits in any case, with all hyphens at their places or without any.
pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let hyphens = match bytes.len() {
        32 => 0,
        36 => 1,
        _ => return None,
    };
    let mut uuid = [0; 16];
    let mut at = 0;
    for (position, byte) in uuid.iter_mut().enumerate() {
        if hyphens > 0 && GROUPS.contains(&position) {
            at += usize::from(bytes.get(at) == Some(&b'-'));
        }
        *byte = hex_byte(bytes.get(at..at + 2)?)?;
        at += 2;
    }
    (at == bytes.len()).then_some(uuid)
}
