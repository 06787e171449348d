//! Deletion vectors: which rows of a data file are deleted (Paimon's `DeletionVector.java`,
//! `BitmapDeletionVector.java`, `Bitmap64DeletionVector.java`, `DeletionVectorsIndexFile.java`).
//!
//! An index file is a version byte, then vectors, each of them found by its range in the index manifest:
//!
//! ```text
//! int32 BE size │ magic (4 bytes), bitmap: `size` bytes │ int32 BE CRC-32 of those
//! ```
//!
//! A 32-bit vector is one portable Roaring bitmap, and its range counts `size` bytes. A 64-bit one is a
//! count of bitmaps, each behind the upper half of its positions, and its range counts the framing too.

mod file;
#[cfg(test)]
mod tests;

use arrow_array::Int64Array;
use lakebed_avro::{ErrorKind as AvroKind, Limits};
use roaring::RoaringBitmap;

pub(crate) use file::read_vectors;

use crate::error::{Error, ErrorKind, Location, Result};

/// 1581511376, big-endian.
const MAGIC_32: [u8; 4] = [0x5e, 0x43, 0xf2, 0xd0];
/// 1681511377, little-endian.
const MAGIC_64: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];
/// Bytes of the size in front and of the checksum behind.
const FRAMING: u64 = 8;

/// Where a vector stands in its index file, as the index manifest records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorRange {
    /// Where its size field begins [bytes].
    pub offset: u64,
    /// Its recorded length [bytes]: without the framing for 32-bit vectors, with it for 64-bit ones.
    pub length: u64,
}

impl VectorRange {
    /// # Errors
    /// `Length` for a negative offset or length.
    pub fn new(offset: i64, length: i64) -> Result<VectorRange> {
        let number = |what: &str, value: i64| {
            let message = || format!("{what} of a deletion vector is {value}");
            u64::try_from(value).map_err(|_| Error::new(ErrorKind::Length, message()))
        };
        Ok(VectorRange { offset: number("offset", offset)?, length: number("length", length)? })
    }

    /// The most bytes that the vector may take from its offset on; a 64-bit one ends before.
    pub fn span(&self) -> u64 {
        self.length.saturating_add(FRAMING)
    }
}

/// The deleted rows of one data file.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletionVector {
    /// Lower halves of positions by their upper half, ascending.
    bitmaps: Vec<(u32, RoaringBitmap)>,
}

impl DeletionVector {
    /// Decodes the vector that begins with the first of `bytes`; what stands behind it does not matter.
    ///
    /// Memory is a small multiple of the vector's bytes, however many positions they stand for.
    ///
    /// # Errors
    /// `Truncated`; `Magic`; `Mismatch` for a size that is not the recorded length; `Checksum`; `Codec`
    /// for a bitmap that is malformed; `Trailing` for bytes behind it. They name the byte of the file.
    pub fn decode(bytes: &[u8], range: VectorRange) -> Result<DeletionVector> {
        let decode = || {
            let body = checked_body(bytes, range.length)?;
            let (magic, bitmaps) = body.split_first_chunk::<4>().ok_or_else(truncated)?;
            let bitmaps = if *magic == MAGIC_32 { one_bitmap(bitmaps) } else { many_bitmaps(bitmaps) };
            Ok(DeletionVector { bitmaps: bitmaps? })
        };
        decode()
            .map_err(|error: Error| error.at(Location { offset: Some(range.offset), ..Location::default() }))
    }

    /// How many rows are deleted.
    pub fn cardinality(&self) -> u64 {
        self.bitmaps.iter().map(|(_, bitmap)| bitmap.len()).sum()
    }

    /// The deleted rows by their position in the data file, from 0, ascending.
    ///
    /// # Errors
    /// `Limit` for more positions than `max_rows`: 14 bytes may stand for 65,536 of them.
    pub fn positions(&self, limits: &Limits) -> Result<Int64Array> {
        let count = self.cardinality();
        if count > limits.max_rows {
            return Err(Limits::exceeded("max_rows", limits.max_rows, count).into());
        }
        let mut positions = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
        for (upper, bitmap) in &self.bitmaps {
            let upper = i64::from(*upper) << 32;
            positions.extend(bitmap.iter().map(|lower| upper | i64::from(lower)));
        }
        Ok(Int64Array::from(positions))
    }
}

/// Magic and bitmap of a vector whose magic, size and checksum are right.
fn checked_body(bytes: &[u8], recorded: u64) -> Result<&[u8]> {
    let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(truncated)?;
    let size = i32::from_be_bytes(*size);
    let magic = rest.first_chunk::<4>().ok_or_else(truncated)?;
    let expected = match *magic {
        MAGIC_32 => Some(recorded),
        MAGIC_64 => recorded.checked_sub(FRAMING),
        _ => {
            let message = format!("no deletion vector begins with {:08x}", u32::from_be_bytes(*magic));
            return Err(Error::new(ErrorKind::Avro(AvroKind::Magic), message));
        }
    };
    let size = match u64::try_from(size) {
        Ok(found) if Some(found) == expected => usize::try_from(found).unwrap_or(usize::MAX),
        _ => {
            let message =
                format!("deletion vector of {size} bytes, its recorded length of {recorded} is of another");
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
    };
    let (body, rest) = rest.split_at_checked(size).ok_or_else(truncated)?;
    let recorded = u32::from_be_bytes(*rest.first_chunk::<4>().ok_or_else(truncated)?);
    let computed = crc32fast::hash(body);
    if computed != recorded {
        let message = format!("CRC-32 of the deletion vector is {computed:08x}, not {recorded:08x}");
        return Err(Error::new(ErrorKind::Avro(AvroKind::Checksum), message));
    }
    Ok(body)
}

fn one_bitmap(mut bytes: &[u8]) -> Result<Vec<(u32, RoaringBitmap)>> {
    let bitmap = read_bitmap(&mut bytes)?;
    check_end(bytes)?;
    Ok(vec![(0, bitmap)])
}

fn many_bitmaps(bytes: &[u8]) -> Result<Vec<(u32, RoaringBitmap)>> {
    let (count, mut bytes) = bytes.split_first_chunk::<8>().ok_or_else(truncated)?;
    let mut bitmaps: Vec<(u32, RoaringBitmap)> = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (upper, rest) = bytes.split_first_chunk::<4>().ok_or_else(truncated)?;
        bytes = rest;
        let upper = u32::from_le_bytes(*upper);
        // Positions are signed.
        let ascends = bitmaps.last().is_none_or(|(last, _)| *last < upper) && i32::try_from(upper).is_ok();
        if !ascends {
            return Err(malformed(format!("upper half {upper:#x} of positions is out of order")));
        }
        bitmaps.push((upper, read_bitmap(&mut bytes)?));
    }
    check_end(bytes)?;
    Ok(bitmaps)
}

fn read_bitmap(bytes: &mut &[u8]) -> Result<RoaringBitmap> {
    RoaringBitmap::deserialize_from(bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => truncated(),
        _ => malformed(format!("malformed bitmap: {error}")),
    })
}

fn check_end(rest: &[u8]) -> Result<()> {
    if rest.is_empty() {
        return Ok(());
    }
    let message = format!("{} bytes behind the bitmap of a deletion vector", rest.len());
    Err(Error::new(ErrorKind::Avro(AvroKind::Trailing), message))
}

#[cold]
fn malformed(message: String) -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Codec), message)
}

#[cold]
fn truncated() -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Truncated), "the deletion vector ends early")
}
