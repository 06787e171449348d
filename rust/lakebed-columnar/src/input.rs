//! Bytes that are read in order, and never beyond their end.

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Result};

/// Shared bytes, and how many of them were read.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    bytes: Buffer,
    at: usize,
}

impl Input {
    pub(crate) fn new(bytes: Buffer) -> Input {
        Input { bytes, at: 0 }
    }

    /// The unread bytes.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.as_slice().get(self.at..).unwrap_or_default()
    }

    /// How many bytes are read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&[u8]> {
        let start = self.at;
        let end = start.checked_add(length).ok_or_else(ends)?;
        let taken = self.bytes.as_slice().get(start..end).ok_or_else(ends)?;
        self.at = end;
        Ok(taken)
    }

    /// The next `length` bytes as an input of their own, shared.
    pub(crate) fn split(&mut self, length: usize) -> Result<Input> {
        let start = self.at;
        self.take(length)?;
        Ok(Input::new(self.bytes.slice_with_length(start, length)))
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, _) = self.rest().split_first_chunk::<N>().ok_or_else(ends)?;
        let taken = *taken;
        self.at = self.at.saturating_add(N);
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.as_slice().get(self.at).ok_or_else(ends)?;
        self.at = self.at.saturating_add(1);
        Ok(byte)
    }

    /// An unsigned varint: seven bits per byte, the lowest first.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::new(ErrorKind::Varint, "a variable-length integer of more than 64 bits"))
    }

    /// A signed varint, zigzag.
    pub(crate) fn zigzag(&mut self) -> Result<i64> {
        self.varint().map(zigzag)
    }

    /// A signed varint of up to 128 bits, zigzag.
    pub(crate) fn long_zigzag(&mut self) -> Result<i128> {
        let mut value = 0_u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift == 126 && bits > 3 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok((value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg());
            }
        }
        Err(Error::new(ErrorKind::Varint, "a variable-length integer of more than 128 bits"))
    }

    /// A varint used as a length or count.
    pub(crate) fn length(&mut self) -> Result<usize> {
        usize::try_from(self.varint()?).map_err(|_| ends())
    }
}

/// The signed number of a zigzag one.
pub(crate) fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg()
}

#[cold]
pub(crate) fn ends() -> Error {
    Error::new(ErrorKind::Truncated, "the bytes end within a value")
}
