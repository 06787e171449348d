//! Deletion vectors: the deleted rows of a data file, as a Roaring bitmap. Both formats have the same frame:
//!
//! ```text
//! int32 BE size │ magic (4 bytes), bitmap: `size` bytes │ int32 BE CRC-32 of those
//! ```
//!
//! A 32-bit vector is one portable Roaring bitmap. A 64-bit vector is a count of bitmaps, each after the
//! upper half of its positions. The formats differ in which of the two they have, and in what the recorded
//! length includes.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{Array, Int64Array, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use lakebed_avro::{ErrorKind as AvroKind, Limits};
use roaring::RoaringBitmap;

use crate::error::{Error, ErrorKind, Location, Result, fitting};

/// The recorded place of a vector in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorRange {
    /// The offset of its size field \[bytes\].
    pub offset: u64,
    /// Its recorded length \[bytes\]; the formats differ in what it includes.
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

    /// Its first byte, for errors.
    pub(crate) fn place(&self) -> Location {
        Location { offset: Some(self.offset), ..Location::default() }
    }
}

/// The deleted rows of one data file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeletionVector {
    /// Lower halves of positions, by their upper half, ascending.
    bitmaps: Vec<(u32, RoaringBitmap)>,
}

impl DeletionVector {
    /// Decodes the vector at the start of `bytes`; later bytes are ignored.
    ///
    /// Memory is a small multiple of the vector's bytes, however many positions it has.
    ///
    /// # Errors
    /// `Truncated`; `Magic`; `Mismatch` for a size that is not the recorded length; `Checksum`; `Codec` for a
    /// malformed bitmap; `Trailing` for trailing bytes. With the byte of the file.
    pub(crate) fn decode(
        bytes: &[u8],
        range: VectorRange,
        expected: &[ExpectedFrame],
    ) -> Result<DeletionVector> {
        let decode = || {
            let (magic, bitmaps) = open_frame(bytes, range.length, expected)?;
            let bitmaps = if magic == MAGIC_32 { read_one(bitmaps) } else { read_many(bitmaps) };
            Ok(DeletionVector { bitmaps: bitmaps? })
        };
        decode().map_err(|error: Error| error.at(range.place()))
    }

    /// The vector in a frame, with 64-bit positions.
    ///
    /// # Errors
    /// `Mismatch` for a vector whose length does not fit 32 bits.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut body = MAGIC_64.to_vec();
        body.extend((self.bitmaps.len() as u64).to_le_bytes());
        for (upper, bitmap) in &self.bitmaps {
            body.extend(upper.to_le_bytes());
            bitmap.serialize_into(&mut body).map_err(|error| malformed(error.to_string()))?;
        }
        let size = fitting(i32::try_from(body.len()).ok(), "the length of a deletion vector")?;
        let checksum = crc32fast::hash(&body);
        Ok([size.to_be_bytes().as_slice(), &body, &checksum.to_be_bytes()].concat())
    }

    /// Adds the rows of another vector.
    pub(crate) fn extend(&mut self, other: DeletionVector) {
        for (upper, bitmap) in other.bitmaps {
            match self.bitmaps.binary_search_by_key(&upper, |(upper, _)| *upper) {
                Ok(place) => self.bitmaps.iter_mut().skip(place).take(1).for_each(|(_, own)| *own |= &bitmap),
                Err(place) => self.bitmaps.insert(place, (upper, bitmap)),
            }
        }
    }

    /// The number of deleted rows.
    pub fn cardinality(&self) -> u64 {
        self.bitmaps.iter().map(|(_, bitmap)| bitmap.len()).sum()
    }

    /// Compares the number of deleted rows with the recorded one.
    ///
    /// # Errors
    /// `Mismatch` where they differ.
    pub(crate) fn check_cardinality(&self, recorded: i64) -> Result<()> {
        let found = self.cardinality();
        if u64::try_from(recorded) == Ok(found) {
            return Ok(());
        }
        let message = format!("deletion vector has {found} rows, its recorded cardinality is {recorded}");
        Err(Error::new(ErrorKind::Mismatch, message))
    }

    /// The positions of the deleted rows in the data file, from 0, ascending.
    ///
    /// # Errors
    /// `Limit` for more positions than `max_rows`: 14 bytes may encode 65,536 of them.
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

/// The positions of vectors, one list per vector; null where there is no vector.
///
/// # Errors
/// `Limit` for more positions than `max_items`, and those of [`DeletionVector::positions`].
pub(crate) fn position_lists<'v>(
    vectors: impl Iterator<Item = Option<&'v DeletionVector>> + Clone,
    limits: &Limits,
) -> Result<ListArray> {
    let total = vectors.clone().flatten().map(DeletionVector::cardinality).fold(0, u64::saturating_add);
    if total > limits.max_items {
        return Err(Limits::exceeded("max_items", limits.max_items, total).into());
    }
    let nulls: NullBuffer = vectors.clone().map(|vector| vector.is_some()).collect();
    let none = Int64Array::new_null(0);
    let list = |vector: Option<&DeletionVector>| match vector {
        Some(vector) => vector.positions(limits),
        None => Ok(none.clone()),
    };
    let lists = vectors.map(list).collect::<Result<Vec<_>>>()?;
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Int64Array::len));
    let values: Vec<&dyn Array> = lists.iter().chain([&none]).map(|list| list as &dyn Array).collect();
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let built = concat(&values).and_then(|values| ListArray::try_new(item, offsets, values, Some(nulls)));
    built.map_err(Into::into)
}

/// 1581511376, big-endian: a vector of 32-bit positions.
pub(crate) const MAGIC_32: [u8; 4] = [0x5e, 0x43, 0xf2, 0xd0];
/// 1681511377, little-endian: a vector of 64-bit positions.
pub(crate) const MAGIC_64: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];
/// Bytes of the size before a vector and of the checksum after it.
pub(crate) const FRAMING: u64 = 8;

/// A magic number that vectors of a format may have, and the size that belongs to it.
pub(crate) struct ExpectedFrame {
    /// [`MAGIC_32`] or [`MAGIC_64`].
    pub(crate) magic: [u8; 4],
    /// The size that follows from the recorded length; `None` where that is too small for any vector.
    pub(crate) size: Option<u64>,
}

/// The magic number and the bitmaps of a vector, after checking magic, size and checksum.
fn open_frame<'b>(bytes: &'b [u8], recorded: u64, expected: &[ExpectedFrame]) -> Result<([u8; 4], &'b [u8])> {
    let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(truncated)?;
    let size = i32::from_be_bytes(*size);
    let magic = *rest.first_chunk::<4>().ok_or_else(truncated)?;
    let expected = expected.iter().find(|expected| expected.magic == magic).ok_or_else(|| {
        let message = format!("not a deletion vector: it begins with {:08x}", u32::from_be_bytes(magic));
        Error::new(ErrorKind::Avro(AvroKind::Magic), message)
    })?;
    let found = usize::try_from(size).ok().filter(|size| Some(*size as u64) == expected.size);
    let size = found.ok_or_else(|| {
        let message = format!("deletion vector has {size} bytes, its recorded length is {recorded}");
        Error::new(ErrorKind::Mismatch, message)
    })?;
    let (body, rest) = rest.split_at_checked(size).ok_or_else(truncated)?;
    let recorded = u32::from_be_bytes(*rest.first_chunk::<4>().ok_or_else(truncated)?);
    let computed = crc32fast::hash(body);
    if computed != recorded {
        let message = format!("CRC-32 of the deletion vector is {computed:08x}, not {recorded:08x}");
        return Err(Error::new(ErrorKind::Avro(AvroKind::Checksum), message));
    }
    Ok((magic, body.get(magic.len()..).ok_or_else(truncated)?))
}

#[cold]
pub(crate) fn truncated() -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Truncated), "the deletion vector ends early")
}

/// The bitmap of a 32-bit vector.
fn read_one(mut bytes: &[u8]) -> Result<Vec<(u32, RoaringBitmap)>> {
    let bitmap = read_bitmap(&mut bytes)?;
    check_end(bytes)?;
    Ok(vec![(0, bitmap)])
}

/// The bitmaps of a 64-bit vector; some may be empty.
fn read_many(bytes: &[u8]) -> Result<Vec<(u32, RoaringBitmap)>> {
    let (count, mut bytes) = bytes.split_first_chunk::<8>().ok_or_else(truncated)?;
    let mut bitmaps: Vec<(u32, RoaringBitmap)> = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (upper, rest) = bytes.split_first_chunk::<4>().ok_or_else(truncated)?;
        bytes = rest;
        let upper = u32::from_le_bytes(*upper);
        // Positions are signed integers.
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
    let message = format!("{} trailing bytes after the bitmap of a deletion vector", rest.len());
    Err(Error::new(ErrorKind::Avro(AvroKind::Trailing), message))
}

#[cold]
fn malformed(message: String) -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Codec), message)
}
