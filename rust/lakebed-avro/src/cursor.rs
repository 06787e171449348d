//! A bounds-checked walk over one inflated block.
//!
//! Nothing here allocates. A failed read gives a one-byte [`Fault`]; its place is computed later, on the cold
//! path, by the caller that knows block, record and field.
// Bytes from outside are read here: nothing in it may panic or wrap.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use crate::error::ErrorKind;

/// Why decoding stopped; one byte, so that results are returned in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The value runs past its block.
    Truncated,
    /// A varint of more than 10 bytes, or beyond 64 bits.
    Varint,
    /// An `int` beyond 32 bits.
    IntRange,
    /// A negative or impossible length.
    Length,
    /// A union branch that does not exist.
    Union,
    /// An enum symbol that does not exist.
    Enum,
    /// A boolean other than 0 and 1.
    Boolean,
    /// A value above `max_value_bytes`.
    ValueBytes,
    /// More array and map items than `max_items`.
    Items,
    /// More items without bytes than `max_zero_width_items`.
    ZeroWidthItems,
    /// Nulls and defaults of a block that expand to more than `max_block_bytes`.
    Padding,
    /// A value that the reader's schema cannot hold.
    Unresolved,
    /// A column past the 2 GiB that Arrow's 32-bit offsets can address.
    ColumnBytes,
    /// A null where the top-level union should hold a record.
    NullRecord,
    /// A compiled program that refers to something it does not have: a bug of this library, not of the file.
    Program,
}

const _: () = assert!(size_of::<Fault>() == 1);

impl Fault {
    /// The error kind and the message.
    pub fn describe(self) -> (ErrorKind, &'static str) {
        match self {
            Fault::Truncated => (ErrorKind::Truncated, "value runs past its block"),
            Fault::Varint => (ErrorKind::Varint, "variable-length integer does not fit 64 bits"),
            Fault::IntRange => (ErrorKind::IntRange, "int does not fit 32 bits"),
            Fault::Length => (ErrorKind::Length, "block size is negative or does not match its items"),
            Fault::Union => (ErrorKind::Union, "union branch does not exist"),
            Fault::Enum => (ErrorKind::Enum, "enum symbol does not exist"),
            Fault::Boolean => (ErrorKind::Boolean, "boolean is neither 0 nor 1"),
            Fault::ValueBytes => (ErrorKind::Limit, "value is over max_value_bytes"),
            Fault::Items => (ErrorKind::Limit, "array and map items are over max_items"),
            Fault::ZeroWidthItems => (ErrorKind::Limit, "items without bytes are over max_zero_width_items"),
            Fault::Padding => {
                (ErrorKind::Limit, "a block's nulls and defaults expand to more than max_block_bytes")
            }
            Fault::Unresolved => (ErrorKind::Unresolvable, "value does not resolve to the reader's schema"),
            Fault::ColumnBytes => (ErrorKind::Limit, "one batch of this column is over 2 GiB"),
            Fault::NullRecord => (ErrorKind::Unsupported, "a null in place of the record has no row"),
            Fault::Program => (ErrorKind::Schema, "the decode program of the schema contradicts itself"),
        }
    }
}

/// A position in a slice that only moves forward.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

/// The continuation bit of each byte of a little-endian word.
const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// The varint at the start of a little-endian word, and its length in bytes; `None` if it continues after the
/// word. One test finds its end, three shifts close the gaps of the continuation bits.
#[inline(always)]
pub(crate) fn word_varint(word: u64) -> Option<(u64, usize)> {
    let stops = !word & CONTINUE;
    if stops == 0 {
        return None;
    }
    let length = (stops.trailing_zeros() >> 3).saturating_add(1);
    let kept = word & (stops ^ stops.wrapping_sub(1)) & !CONTINUE;
    let pairs = (kept & 0x007f_007f_007f_007f) | ((kept & 0x7f00_7f00_7f00_7f00) >> 1);
    let quads = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    let value = (quads & 0x0fff_ffff) | ((quads & 0x0fff_ffff_0000_0000) >> 4);
    Some((value, length as usize))
}

/// As [`word_varint`], with a branch for each length that counts and sizes usually have: lengths within a
/// column are alike, so the branch is predicted and the next read does not wait for this length.
#[inline(always)]
pub(crate) fn short_varint(word: u64) -> Option<(u64, usize)> {
    let (first, second, third) = (word & 0x7f, (word >> 1) & 0x3f80, (word >> 2) & 0x1f_c000);
    if word & 0x80 == 0 {
        Some((first, 1))
    } else if word & 0x8000 == 0 {
        Some((first | second, 2))
    } else if word & 0x80_0000 == 0 {
        Some((first | second | third, 3))
    } else {
        word_varint(word)
    }
}

/// The signed number of a zigzag varint.
#[inline(always)]
pub(crate) fn zigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ (value as i64 & 1).wrapping_neg()
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, position: 0 }
    }

    /// Bytes walked so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// The bytes from here on.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// Takes the next `count` bytes.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let end = self.position.checked_add(count).ok_or(Fault::Truncated)?;
        let taken = self.bytes.get(self.position..end).ok_or(Fault::Truncated)?;
        self.position = end;
        Ok(taken)
    }

    /// Takes the next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let array = *self.rest().first_chunk::<N>().ok_or(Fault::Truncated)?;
        self.position = self.position.saturating_add(N);
        Ok(array)
    }

    /// Steps over `count` bytes.
    #[inline(always)]
    pub fn skip(&mut self, count: usize) -> Result<(), Fault> {
        self.take(count).map(|_| ())
    }

    /// Reads an unsigned varint of at most 64 bits. Most take one byte and are handled first.
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, Fault> {
        // Only the value leaves the `match`: a `Result` would be written to memory.
        let value = match self.bytes.get(self.position) {
            Some(&byte) if byte < 0x80 => {
                self.position = self.position.saturating_add(1);
                u64::from(byte)
            }
            _ => self.long_varint()?,
        };
        Ok(value)
    }

    #[inline(always)]
    fn long_varint(&mut self) -> Result<u64, Fault> {
        let word = self.rest().first_chunk::<8>();
        let Some((value, length)) = word.and_then(|word| short_varint(u64::from_le_bytes(*word))) else {
            return self.varint_bytewise();
        };
        self.position = self.position.saturating_add(length);
        Ok(value)
    }

    #[cold]
    fn varint_bytewise(&mut self) -> Result<u64, Fault> {
        let mut value = 0u64;
        for ((index, &byte), shift) in self.rest().iter().enumerate().take(10).zip((0u32..).step_by(7)) {
            // The tenth byte can only hold the 64th bit.
            if index == 9 && byte > 1 {
                return Err(Fault::Varint);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                self.position = self.position.saturating_add(index).saturating_add(1);
                return Ok(value);
            }
        }
        Err(if self.remaining() < 10 { Fault::Truncated } else { Fault::Varint })
    }

    /// Reads a `long`: a zigzag varint.
    #[inline(always)]
    pub fn long(&mut self) -> Result<i64, Fault> {
        self.varint().map(zigzag)
    }

    /// Reads an `int`: a zigzag varint of 32 bits.
    #[inline(always)]
    pub fn int(&mut self) -> Result<i32, Fault> {
        let value = u32::try_from(self.varint()?).map_err(|_| Fault::IntRange)?;
        // As `zigzag`, which with 64 bits costs the decode loop several per cent.
        Ok(((value >> 1) as i32) ^ (value as i32 & 1).wrapping_neg())
    }

    /// Reads a length and compares it with the bytes left, before anything is allocated for it.
    #[inline(always)]
    pub fn length(&mut self) -> Result<usize, Fault> {
        let length = usize::try_from(self.long()?).map_err(|_| Fault::Length)?;
        if length > self.remaining() { Err(Fault::Truncated) } else { Ok(length) }
    }

    /// Skips bytes that [`Cursor::length`] has checked.
    #[inline(always)]
    pub fn skip_counted(&mut self, length: usize) {
        self.position = self.position.saturating_add(length);
    }

    /// Reads a boolean.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Fault> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Fault::Boolean),
        }
    }

    /// Reads the head of an array's or a map's next run of items; `None` at the end.
    #[inline(always)]
    pub fn items(&mut self) -> Result<Option<Items>, Fault> {
        match self.long()? {
            0 => Ok(None),
            count if count > 0 => Ok(Some(Items { count: count as u64, end: None })),
            count => {
                let size = usize::try_from(self.long()?).map_err(|_| Fault::Length)?;
                if size > self.remaining() {
                    return Err(Fault::Truncated);
                }
                let end = self.position.checked_add(size);
                Ok(Some(Items { count: count.unsigned_abs(), end }))
            }
        }
    }

    /// Skips an array or map if it is empty.
    #[inline(always)]
    pub fn no_items(&mut self) -> bool {
        let none = self.bytes.get(self.position) == Some(&0);
        self.position = self.position.saturating_add(usize::from(none));
        none
    }

    /// Moves forward to `position`.
    #[inline]
    pub fn jump(&mut self, position: usize) -> Result<(), Fault> {
        self.skip(position.checked_sub(self.position).ok_or(Fault::Length)?)
    }
}

/// A run of array or map items: their number, and where they end if the writer has stored it.
#[derive(Debug, Clone, Copy)]
pub struct Items {
    /// Items in this run.
    pub count: u64,
    /// Position after the run, from the form with a negative count.
    pub end: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::varint::{long, varint};

    #[test]
    fn varints_of_every_length_with_and_without_later_bytes() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let bytes = varint(value);
                let mut padded = bytes.clone();
                padded.extend([0xff; 10]);
                for (input, rest) in [(&bytes, 0), (&padded, 10)] {
                    let mut cursor = Cursor::new(input);
                    assert_eq!(cursor.varint(), Ok(value));
                    assert_eq!(cursor.remaining(), rest);
                }
                for cut in 0..bytes.len() {
                    assert_eq!(Cursor::new(&bytes[..cut]).varint(), Err(Fault::Truncated));
                }
            }
        }
    }

    #[test]
    fn varints_beyond_64_bits_are_refused() {
        let mut eleven = vec![0x80; 10];
        eleven.push(1);
        assert_eq!(Cursor::new(&eleven).varint(), Err(Fault::Varint));
        let mut wide = vec![0xff; 9];
        wide.push(2);
        assert_eq!(Cursor::new(&wide).varint(), Err(Fault::Varint));
    }

    #[test]
    fn zigzag_extremes() {
        for value in [0, -1, 1, i64::MAX, i64::MIN, i64::from(i32::MIN), i64::from(i32::MAX)] {
            let bytes = long(value);
            assert_eq!(Cursor::new(&bytes).long(), Ok(value));
        }
        let below = i64::from(i32::MIN) - 1;
        let bytes = long(below);
        assert_eq!(Cursor::new(&bytes).int(), Err(Fault::IntRange));
    }
}
