//! Patched frames of reference: bytes of which most are small, packed (appendix A of the "Mumbling Bitmap Spec"; Iceberg's
//! `PFOREncoding.java`).
//!
//! Values are packed 256 at a time. A chunk is `b1 | b2 << 4`, `e`, `m`; then the lower `b1` bits of each value less
//! `m`; then for each of `e` exceptions the offset of the value, a byte, and the `b2` bits that it has above. Bits are
//! packed from the highest on.

use lakebed_avro::ErrorKind as AvroKind;

use super::malformed;
use crate::error::{Error, ErrorKind, Location, Result};

const CHUNK: usize = 256;
const WIDTH: usize = 8;

/// The first `count` values that `bytes` begins with, and the bytes behind them.
///
/// # Errors
/// `Truncated`; `Codec` for widths, offsets and sums that no values have. With the byte of the chunk.
pub(super) fn decode(bytes: &[u8], count: usize) -> Result<(Vec<u8>, &[u8])> {
    let mut values = Vec::with_capacity(count);
    let mut rest = bytes;
    while values.len() < count {
        let length = CHUNK.min(count - values.len());
        let place = || Location { offset: Some((bytes.len() - rest.len()) as u64), ..Location::default() };
        let (chunk, after) = decode_chunk(rest, length).map_err(|error| error.at(place()))?;
        values.extend(chunk);
        rest = after;
    }
    Ok((values, rest))
}

fn decode_chunk(bytes: &[u8], count: usize) -> Result<(Vec<u8>, &[u8])> {
    let &[widths, exceptions, least, ref rest @ ..] = bytes else { return Err(truncated()) };
    let (low, high) = (usize::from(widths & 0xf), usize::from(widths >> 4));
    let exceptions = usize::from(exceptions);
    if low > WIDTH || high > WIDTH - low || exceptions > count {
        let message =
            format!("{count} values of {low} and {high} bits, {exceptions} of which are exceptions");
        return Err(malformed(&message));
    }
    let (lower, rest) = rest.split_at_checked((low * count).div_ceil(8)).ok_or_else(truncated)?;
    let (offsets, rest) = rest.split_at_checked(exceptions).ok_or_else(truncated)?;
    let (upper, after) = rest.split_at_checked((high * exceptions).div_ceil(8)).ok_or_else(truncated)?;
    let mut values = unpacked(lower, low, count);
    for (offset, upper) in offsets.iter().zip(unpacked(upper, high, exceptions)) {
        let value = values.get_mut(usize::from(*offset));
        // At most eight bits in all, as the widths say.
        *value.ok_or_else(|| malformed("an exception behind the last value"))? |= upper << low;
    }
    let sums = values.iter().map(|value| u8::try_from(value + u16::from(least)));
    let sums = sums.collect::<Result<Vec<u8>, _>>();
    Ok((sums.map_err(|_| malformed("a value of more than a byte"))?, after))
}

/// Values of `width` bits, at most eight.
fn unpacked(bytes: &[u8], width: usize, count: usize) -> Vec<u16> {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| u16::from(byte >> (7 - at % 8) & 1));
    (0..count).map(|number| (0..width).fold(0, |value, at| value << 1 | bit(number * width + at))).collect()
}

/// The values, packed; the widths are those that take the fewest bytes, the widest of these.
pub(super) fn encode(values: &[u8]) -> Vec<u8> {
    values.chunks(CHUNK).flat_map(encode_chunk).collect()
}

fn encode_chunk(values: &[u8]) -> Vec<u8> {
    let least = values.iter().copied().min().unwrap_or(0);
    let above: Vec<u8> = values.iter().map(|value| value - least).collect();
    let widest = above.iter().map(|value| width(*value)).max().unwrap_or(0);
    let exceptions_at = |low: usize| above.iter().filter(|value| width(**value) > low).count();
    let size = |low: usize| {
        let exceptions = exceptions_at(low);
        (values.len() * low).div_ceil(8) + exceptions + (exceptions * (widest - low)).div_ceil(8)
    };
    let low = (0..=widest).rev().min_by_key(|low| size(*low)).unwrap_or(0);
    if low == WIDTH {
        return [&[WIDTH as u8, 0, 0], values].concat();
    }
    let high = widest - low;
    let exceptions: Vec<(u8, u8)> = (0..=u8::MAX)
        .zip(&above)
        .filter(|(_, value)| width(**value) > low)
        .map(|(at, value)| (at, *value))
        .collect();
    // Not all values of a chunk are above the least one, so fewer than 256 are exceptions.
    let mut bytes = vec![(low | high << 4) as u8, exceptions.len() as u8, least];
    bytes.extend(packed(above.iter().copied(), low));
    bytes.extend(exceptions.iter().map(|(at, _)| at));
    bytes.extend(packed(exceptions.iter().map(|(_, value)| value >> low), high));
    bytes
}

/// The number of bits that a value needs.
fn width(value: u8) -> usize {
    (u8::BITS - value.leading_zeros()) as usize
}

/// The lower `width` bits of values.
fn packed(values: impl Iterator<Item = u8>, width: usize) -> Vec<u8> {
    let bits = values.flat_map(|value| (0..width).rev().map(move |at| value >> at & 1));
    let mut bytes = Vec::new();
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            bytes.push(0);
        }
        if let Some(byte) = bytes.last_mut() {
            *byte |= bit << (7 - at % 8);
        }
    }
    bytes
}

#[cold]
fn truncated() -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Truncated), "the bitmap ends within its descriptors")
}
