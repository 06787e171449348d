//! Bitmaps in Roaring's portable format, each with the upper half of its positions.

use lakebed_avro::ErrorKind as AvroKind;
use roaring::RoaringBitmap;

use super::frame::truncated;
use crate::error::{Error, ErrorKind, Result};

/// The bitmap of a 32-bit vector.
pub(super) fn one(mut bytes: &[u8]) -> Result<Vec<(u32, RoaringBitmap)>> {
    let bitmap = read_bitmap(&mut bytes)?;
    check_end(bytes)?;
    Ok(vec![(0, bitmap)])
}

/// The bitmaps of a 64-bit vector; some may be empty.
pub(super) fn many(bytes: &[u8]) -> Result<Vec<(u32, RoaringBitmap)>> {
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
