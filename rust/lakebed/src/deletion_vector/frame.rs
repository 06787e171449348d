//! The frame around a vector's bitmaps, which is checked before they are decoded.

use lakebed_avro::ErrorKind as AvroKind;

use crate::error::{Error, ErrorKind, Result};

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
pub(super) fn open<'b>(
    bytes: &'b [u8],
    recorded: u64,
    expected: &[ExpectedFrame],
) -> Result<([u8; 4], &'b [u8])> {
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
