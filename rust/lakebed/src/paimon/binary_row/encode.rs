//! Encodes Arrow columns as rows in one pass, appending to one buffer.
//!
//! A value is a slot, and bytes that it may append after the fixed part. Offsets are relative to the row or
//! array that the value is in, so nested values need no buffer of their own.

use arrow_array::{Array, BinaryArray, StructArray};
use arrow_buffer::{OffsetBuffer, i256};
use arrow_schema::Fields;

use super::decode::offset;
use super::frame::required;
use super::layout::{self, INLINE_MARK, MAX_INLINE_BYTES, NANOS_PER_MILLI, SLOT_BYTES, WIDE_DECIMAL_BYTES};
use super::source::{Bytes, SourceColumn, Values};
use crate::error::{Error, ErrorKind, Result};

/// The bits that Java's array writer gives every NaN (`Float.floatToIntBits`).
const CANONICAL_NAN_32: u64 = 0x7fc0_0000;

/// The same of doubles (`Double.doubleToLongBits`).
const CANONICAL_NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Encodes `rows` as `fields`; see [`super::encode_rows`].
pub(super) fn rows(rows: &StructArray, fields: &Fields) -> Result<BinaryArray> {
    let columns = SourceColumn::all(rows, fields, None)?;
    // Paimon stores the arity as a Java `int`; a type has far fewer fields.
    let arity = (columns.len() as u32).to_be_bytes();
    let mut offsets = Vec::with_capacity(rows.len() + 1);
    let mut out = Vec::with_capacity(rows.len() * (arity.len() + fixed_bytes(columns.len())));
    offsets.push(0);
    for row in 0..rows.len() {
        if rows.is_valid(row) {
            out.extend_from_slice(&arity);
            append_row(&columns, row, &mut out).map_err(|error| error.in_record(row as u64))?;
        }
        offsets.push(offset(out.len()).map_err(|error| error.in_record(row as u64))?);
    }
    BinaryArray::try_new(OffsetBuffer::new(offsets.into()), out.into(), rows.nulls().cloned())
        .map_err(Into::into)
}

/// Bytes of a row's header and slots.
fn fixed_bytes(arity: usize) -> usize {
    layout::row_header_bytes(arity as u64) as usize + SLOT_BYTES * arity
}

/// Appends row `row` of `columns`, without its arity.
fn append_row(columns: &[SourceColumn<'_>], row: usize, out: &mut Vec<u8>) -> Result<()> {
    let base = out.len();
    let mut at = base + layout::row_header_bytes(columns.len() as u64) as usize;
    out.resize(base + fixed_bytes(columns.len()), 0);
    for (position, column) in columns.iter().enumerate() {
        let slot = if column.is_null(row)? {
            out[base + 1 + position / 8] |= 1 << (position % 8);
            append_reserved(column.reserved_bytes, base, out)
        } else {
            column.slot(row, base, out)?
        };
        out[at..at + SLOT_BYTES].copy_from_slice(&slot.to_le_bytes());
        at += SLOT_BYTES;
    }
    Ok(())
}

/// Appends the array of rows `from..to` of `element`.
fn append_array(element: &SourceColumn<'_>, from: usize, to: usize, out: &mut Vec<u8>) -> Result<()> {
    let base = out.len();
    let (count, width) = (to - from, element.element_bytes);
    let mut at = base + layout::array_header_bytes(count as u64) as usize;
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.resize(at + count * width, 0);
    pad(base, out);
    for (index, row) in (from..to).enumerate() {
        if element.is_null(row)? {
            out[base + 4 + index / 8] |= 1 << (index % 8);
        } else {
            let slot = match element.values {
                Values::Float32(values) if values[row].is_nan() => CANONICAL_NAN_32,
                Values::Float64(values) if values[row].is_nan() => CANONICAL_NAN_64,
                _ => element.slot(row, base, out)?,
            };
            out[at..at + width].copy_from_slice(&slot.to_le_bytes()[..width]);
        }
        at += width;
    }
    Ok(())
}

/// Appends the map whose entries are rows `from..to` of `keys` and `values`.
fn append_map(
    [keys, values]: &[SourceColumn<'_>; 2],
    from: usize,
    to: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let base = out.len();
    out.extend_from_slice(&[0; 4]);
    append_array(keys, from, to, out)?;
    let length = (out.len() - base - 4) as u32;
    out[base..base + 4].copy_from_slice(&length.to_le_bytes());
    append_array(values, from, to, out)
}

/// Appends the vector of rows `from..to` of `element`, with all bits unchanged.
fn append_vector(element: &SourceColumn<'_>, from: usize, to: usize, out: &mut Vec<u8>) -> Result<()> {
    let base = out.len();
    out.extend_from_slice(&((to - from) as u32).to_le_bytes());
    for row in from..to {
        if element.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Err(required().in_field(&element.path));
        }
        let slot = element.slot(row, base, out)?;
        out.extend_from_slice(&slot.to_le_bytes()[..element.element_bytes]);
    }
    Ok(())
}

impl SourceColumn<'_> {
    /// Whether row `row` is null; an error if it must not be.
    #[inline]
    fn is_null(&self, row: usize) -> Result<bool> {
        match self.nulls {
            Some(nulls) if nulls.is_null(row) => {
                if self.nullable {
                    Ok(true)
                } else {
                    Err(required().in_field(&self.path))
                }
            }
            _ => Ok(false),
        }
    }

    /// The slot of the value in row `row`, in the row or array that begins at `base` of `out`.
    #[inline]
    fn slot(&self, row: usize, base: usize, out: &mut Vec<u8>) -> Result<u64> {
        Ok(match &self.values {
            Values::Boolean(values) => values.value(row).into(),
            Values::Int8(values) => u64::from(values[row] as u8),
            Values::Int16(values) => u64::from(values[row] as u16),
            Values::Int32(values) => u64::from(values[row] as u32),
            Values::Int64(values) => values[row] as u64,
            Values::Float32(values) => values[row].to_bits().into(),
            Values::Float64(values) => values[row].to_bits(),
            Values::Seconds(values) => match values[row].checked_mul(1000) {
                Some(millis) => millis as u64,
                None => return Err(self.fault(ErrorKind::Timestamp, "does not fit 64 bits of milliseconds")),
            },
            Values::Ticks(values, tick) => append_timestamp(values[row], *tick, base, out),
            Values::Exact(values) => match split(values[row]) {
                Some((millis, nanos)) => append_time(millis, nanos, base, out),
                None => return Err(self.fault(ErrorKind::Timestamp, "does not fit 64 bits of milliseconds")),
            },
            Values::Decimal(values, bound, _) if values[row].unsigned_abs() >= *bound => {
                return Err(self.fault(ErrorKind::Decimal, "more digits than the precision"));
            }
            Values::Decimal(values, _, true) => values[row] as u64,
            Values::Decimal(values, _, false) => append_decimal(values[row], base, out),
            Values::Bytes(values) => append_bytes(values.value(row), base, out),
            nested => {
                let start = out.len();
                append_nested(nested, row, out).map_err(|error| error.in_field(&self.path))?;
                pointer(start, base, out)
            }
        })
    }

    #[cold]
    fn fault(&self, kind: ErrorKind, message: &str) -> Error {
        Error::new(kind, message).in_field(&self.path)
    }
}

/// Appends the value in row `row` of a nested column.
fn append_nested(values: &Values<'_>, row: usize, out: &mut Vec<u8>) -> Result<()> {
    match values {
        Values::Row(columns) => append_row(columns, row, out),
        Values::Array(offsets, element) => {
            append_array(element, offsets[row] as usize, offsets[row + 1] as usize, out)
        }
        Values::Map(offsets, entries) => {
            append_map(entries, offsets[row] as usize, offsets[row + 1] as usize, out)
        }
        Values::Vector(length, element) => append_vector(element, row * length, (row + 1) * length, out),
        Values::Variant { nulls: Some(nulls), .. } if nulls.is_null(row) => Err(required()),
        Values::Variant { value, metadata, .. } => {
            append_variant(value, metadata, row, out);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn append_variant(value: &Bytes<'_>, metadata: &Bytes<'_>, row: usize, out: &mut Vec<u8>) {
    let value = value.value(row);
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
    out.extend_from_slice(metadata.value(row));
}

/// A string or byte string: in its slot if it fits, else appended.
#[inline]
fn append_bytes(bytes: &[u8], base: usize, out: &mut Vec<u8>) -> u64 {
    if bytes.len() <= MAX_INLINE_BYTES {
        let mut slot = [0; SLOT_BYTES];
        slot[..bytes.len()].copy_from_slice(bytes);
        return u64::from_le_bytes(slot) | INLINE_MARK | (bytes.len() as u64) << 56;
    }
    let start = out.len();
    out.extend_from_slice(bytes);
    pointer(start, base, out)
}

/// A wide decimal: its shortest big-endian two's complement, in the space that every wide decimal takes.
fn append_decimal(value: i128, base: usize, out: &mut Vec<u8>) -> u64 {
    let sign_bits = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
    // The sign bit must remain.
    let length = ((i128::BITS - sign_bits + 1).div_ceil(8)) as usize;
    let start = out.len();
    out.extend_from_slice(&value.to_be_bytes()[WIDE_DECIMAL_BYTES - length..]);
    out.resize(start + WIDE_DECIMAL_BYTES, 0);
    slot_of(start - base, length as u64)
}

/// A wide timestamp: milliseconds appended, nanoseconds within one in the slot.
fn append_timestamp(value: i64, tick: i64, base: usize, out: &mut Vec<u8>) -> u64 {
    let ticks = NANOS_PER_MILLI / tick;
    append_time(value.div_euclid(ticks), value.rem_euclid(ticks) * tick, base, out)
}

fn append_time(millis: i64, nanos: i64, base: usize, out: &mut Vec<u8>) -> u64 {
    let start = out.len();
    out.extend_from_slice(&millis.to_le_bytes());
    slot_of(start - base, nanos as u64)
}

/// Nanoseconds since 1970 as milliseconds and the nanoseconds within one.
fn split(nanos: i256) -> Option<(i64, i64)> {
    let (nanos, per_milli) = (nanos.to_i128()?, i128::from(NANOS_PER_MILLI));
    Some((nanos.div_euclid(per_milli).try_into().ok()?, nanos.rem_euclid(per_milli).try_into().ok()?))
}

/// Appends the zeros that Java writes for a null, and points to them.
fn append_reserved(length: usize, base: usize, out: &mut Vec<u8>) -> u64 {
    if length == 0 {
        return 0;
    }
    let start = out.len();
    out.resize(start + length, 0);
    slot_of(start - base, 0)
}

/// The slot that points to the bytes from `start` on, which are then padded.
fn pointer(start: usize, base: usize, out: &mut Vec<u8>) -> u64 {
    let length = out.len() - start;
    pad(base, out);
    slot_of(start - base, length as u64)
}

/// The slot with this offset and lower half. Rows that do not fit 31 bits are refused when they are complete.
fn slot_of(offset: usize, low: u64) -> u64 {
    (offset as u64) << 32 | low
}

/// Zeros up to the next slot boundary of the row or array that begins at `base`.
fn pad(base: usize, out: &mut Vec<u8>) {
    let length = out.len() - base;
    out.resize(base + length.next_multiple_of(SLOT_BYTES), 0);
}
