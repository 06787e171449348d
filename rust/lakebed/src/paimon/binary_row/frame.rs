//! The positions of values in rows and arrays, and the slots that both consist of.
//!
//! All reads at positions that the input gives are here.

use super::layout::{self, INLINE_MARK, MAX_INLINE_BYTES, SLOT_BYTES};
use crate::error::{Error, ErrorKind, Result};

/// The last row kind: `+I`, `-U`, `+U`, `-D` are 0 to 3.
const MAX_ROW_KIND: u8 = 3;

/// Splits a stored row into the arity that precedes it and the rest.
pub(super) fn split_arity(row: &[u8]) -> Result<(usize, &[u8])> {
    let Some((prefix, bytes)) = row.split_first_chunk() else {
        return Err(truncated(row.len(), 4));
    };
    match usize::try_from(i32::from_be_bytes(*prefix)) {
        Ok(arity) => Ok((arity, bytes)),
        Err(_) => Err(Error::new(ErrorKind::Arity, "the row's arity is negative")),
    }
}

/// A row whose fixed part is complete: header, null bits, one slot per field.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    bytes: &'a [u8],
    arity: u32,
    header: u32,
    record: u32,
}

impl<'a> Row<'a> {
    /// The row after its arity, as a file stores it; `wanted` is the expected arity, if there is one.
    pub(super) fn stored(row: &'a [u8], wanted: Option<usize>, record: usize) -> Result<Row<'a>> {
        // A BinaryArray has fewer than 2^31 rows.
        let record = record as u32;
        let read = || {
            let (arity, bytes) = split_arity(row)?;
            if let Some(wanted) = wanted.filter(|wanted| *wanted != arity) {
                return Err(wrong_arity(arity, wanted));
            }
            Row::checked(bytes, arity, record)
        };
        read().map_err(|error| error.in_record(record.into()))
    }

    /// The row nested in another value, without an arity before it.
    pub(super) fn nested(bytes: &'a [u8], arity: usize, record: u32) -> Result<Row<'a>> {
        Row::checked(bytes, arity, record).map_err(|error| error.in_record(record.into()))
    }

    fn checked(bytes: &'a [u8], arity: usize, record: u32) -> Result<Row<'a>> {
        let header = layout::row_header_bytes(arity as u64);
        let fixed = header + SLOT_BYTES as u64 * arity as u64;
        match bytes.first() {
            Some(kind) if *kind > MAX_ROW_KIND => Err(Error::new(ErrorKind::RowKind, "unknown row kind")),
            _ if fixed > bytes.len() as u64 => Err(truncated(bytes.len(), fixed)),
            _ => Ok(Row { bytes, arity: arity as u32, header: header as u32, record }),
        }
    }

    /// Number of the row in the input, from 0.
    pub(super) fn record(&self) -> u32 {
        self.record
    }

    /// The value of field `position`, or `None` where it is null.
    #[inline]
    pub(super) fn cell(&self, position: usize) -> Result<Option<Cell<'a>>> {
        if position >= self.arity as usize {
            let error = wrong_arity(self.arity as usize, position.saturating_add(1));
            return Err(error.in_record(self.record.into()));
        }
        let header = self.header as usize;
        let null = bit(self.bytes, 1, position);
        let slot = slot(self.bytes, header + SLOT_BYTES * position, SLOT_BYTES);
        let (Some(null), Some(slot)) = (null, slot) else {
            return Err(truncated(self.bytes.len(), self.fixed().into()).in_record(self.record.into()));
        };
        let cell = Cell { slot, region: self.bytes, floor: self.fixed(), record: self.record };
        Ok((!null).then_some(cell))
    }

    fn fixed(&self) -> u32 {
        self.header + SLOT_BYTES as u32 * self.arity
    }
}

/// The elements of an array whose fixed part is complete: count, null bits, elements.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    count: usize,
    header: usize,
    width: usize,
    nullable: bool,
    record: u32,
}

impl<'a> Elements<'a> {
    /// The array in `bytes`, with elements of `width` bytes.
    pub(super) fn array(bytes: &'a [u8], width: usize, record: u32) -> Result<Elements<'a>> {
        let (count, _) = split_length(bytes, record)?;
        let header = layout::array_header_bytes(count.into());
        Elements::checked(bytes, count, header, width, true, record)
    }

    /// The vector in `bytes`: a count and the elements, none of which is null.
    pub(super) fn vector(bytes: &'a [u8], width: usize, record: u32) -> Result<Elements<'a>> {
        let (count, _) = split_length(bytes, record)?;
        Elements::checked(bytes, count, 4, width, false, record)
    }

    fn checked(
        bytes: &'a [u8],
        count: u32,
        header: u64,
        width: usize,
        nullable: bool,
        record: u32,
    ) -> Result<Elements<'a>> {
        let fixed = header + u64::from(count) * width as u64;
        if fixed > bytes.len() as u64 {
            return Err(truncated(bytes.len(), fixed).in_record(record.into()));
        }
        Ok(Elements { bytes, count: count as usize, header: header as usize, width, nullable, record })
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Number of the row they belong to, from 0.
    pub(super) fn record(&self) -> u32 {
        self.record
    }

    /// Every element in order, `None` where it is null.
    pub(super) fn cells(self) -> impl Iterator<Item = Option<Cell<'a>>> {
        // The array has fewer than 2^32 bytes, since its length is half of a slot.
        let floor = (self.header + self.count * self.width) as u32;
        (0..self.count).map(move |index| {
            // Every position is within the fixed part, which is complete.
            let null = self.nullable && bit(self.bytes, 4, index)?;
            let slot = slot(self.bytes, self.header + index * self.width, self.width)?;
            let cell = Cell { slot, region: self.bytes, floor, record: self.record };
            (!null).then_some(cell)
        })
    }
}

/// One value that is not null, as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    /// The slot, little-endian; where the element is narrower, its upper bytes are zero.
    pub(super) slot: u64,
    /// The row or array that offsets are relative to.
    region: &'a [u8],
    /// The end of the region's fixed part; no value begins before it.
    floor: u32,
    record: u32,
}

impl<'a> Cell<'a> {
    /// Number of the row it belongs to, from 0.
    pub(super) fn record(&self) -> u32 {
        self.record
    }

    /// The bytes that the slot points to, by its offset (upper half) and length (lower half).
    ///
    /// Values do not overlap, so all values of a nesting level fit in the bytes of that level's rows: each
    /// value is subtracted from `room`. Without that, malformed slots could read the same few bytes as many
    /// values.
    #[inline]
    pub(super) fn variable(&self, room: &mut u64) -> Result<&'a [u8]> {
        let length = self.slot as u32;
        let bytes = self.slice((self.slot >> 32) as u32, length)?;
        match room.checked_sub(length.into()) {
            Some(rest) => *room = rest,
            None => return Err(self.fault(ErrorKind::Length, "values overlap")),
        }
        Ok(bytes)
    }

    /// The 8-byte integer that the slot points to by its offset (upper half).
    #[inline]
    pub(super) fn long(&self) -> Result<i64> {
        let offset = (self.slot >> 32) as u32;
        match self.slice(offset, SLOT_BYTES as u32)?.first_chunk() {
            Some(bytes) => Ok(i64::from_le_bytes(*bytes)),
            None => Err(self.outside(offset, SLOT_BYTES as u32)),
        }
    }

    /// The length of the bytes within the slot, or `None` if the slot points elsewhere.
    #[inline]
    pub(super) fn inline_length(&self) -> Result<Option<usize>> {
        if self.slot & INLINE_MARK == 0 {
            return Ok(None);
        }
        let length = (self.slot >> 56) as usize & 0x7f;
        if length > MAX_INLINE_BYTES {
            return Err(self.fault(ErrorKind::Length, "more bytes than a slot holds"));
        }
        Ok(Some(length))
    }

    /// The `length` bytes at `offset`, which must be after the fixed part.
    #[inline]
    pub(super) fn slice(&self, offset: u32, length: u32) -> Result<&'a [u8]> {
        let end = u64::from(offset) + u64::from(length);
        let inside = offset >= self.floor && end <= self.region.len() as u64;
        let bytes = if inside { self.region.get(offset as usize..end as usize) } else { None };
        bytes.ok_or_else(|| self.outside(offset, length))
    }

    /// An error of `kind` in this value's row.
    #[cold]
    pub(super) fn fault(&self, kind: ErrorKind, message: &str) -> Error {
        Error::new(kind, message).in_record(self.record.into())
    }

    #[cold]
    fn outside(&self, offset: u32, length: u32) -> Error {
        let (floor, size) = (self.floor, self.region.len());
        let message = format!("{length} bytes at {offset} are not between {floor} and {size}");
        self.fault(ErrorKind::Offset, &message)
    }
}

/// A 4-byte little-endian length or count, and what follows it.
pub(super) fn split_length(bytes: &[u8], record: u32) -> Result<(u32, &[u8])> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Err(truncated(bytes.len(), 4).in_record(record.into()));
    };
    match u32::try_from(i32::from_le_bytes(*length)) {
        Ok(length) => Ok((length, rest)),
        Err(_) => Err(Error::new(ErrorKind::Length, "a negative length").in_record(record.into())),
    }
}

/// The error for a null in a field that is not nullable.
#[cold]
pub(super) fn required() -> Error {
    Error::new(ErrorKind::Required, "null in a field that is not nullable")
}

#[cold]
fn wrong_arity(arity: usize, wanted: usize) -> Error {
    Error::new(ErrorKind::Arity, format!("the row has {arity} fields where {wanted} are expected"))
}

#[cold]
fn truncated(size: usize, fixed: u64) -> Error {
    Error::new(ErrorKind::RowTruncated, format!("{size} bytes where at least {fixed} are needed"))
}

/// Bit `index` of the bitmap at `start`, least significant first.
#[inline]
fn bit(bytes: &[u8], start: usize, index: usize) -> Option<bool> {
    bytes.get(start + index / 8).map(|byte| byte >> (index % 8) & 1 != 0)
}

/// `width` little-endian bytes at `at`.
#[inline]
fn slot(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let mut slot = [0; SLOT_BYTES];
    slot.get_mut(..width)?.copy_from_slice(bytes.get(at..at + width)?);
    Some(u64::from_le_bytes(slot))
}
