//! Snappy with Avro's checksum: the block's last four bytes are the CRC-32 of the inflated bytes.

use super::{Scratch, broken};
use crate::error::{Error, ErrorKind, Result};

pub(super) struct Engine(snap::raw::Decoder);

impl Engine {
    pub(super) fn new() -> Engine {
        Engine(snap::raw::Decoder::new())
    }

    pub(super) fn inflate(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<usize> {
        let Some((compressed, checksum)) = block.split_last_chunk::<4>() else {
            return Err(broken("snappy block has no room for its checksum"));
        };
        let declared = snap::raw::decompress_len(compressed).map_err(|error| broken(&error.to_string()))?;
        if declared > scratch.limit {
            return Err(scratch.exceeded(declared));
        }
        // Snappy makes at most 64 bytes of an element of at least two bytes: a longer declared size is wrong.
        if declared > compressed.len().saturating_mul(64) {
            return Err(broken("snappy block declares more than its bytes can hold"));
        }
        scratch.reserve(declared)?;
        let length =
            self.0.decompress(compressed, &mut scratch.bytes).map_err(|error| broken(&error.to_string()))?;
        let inflated = scratch.bytes.get(..length).unwrap_or_default();
        if crc32fast::hash(inflated) != u32::from_be_bytes(*checksum) {
            return Err(Error::new(ErrorKind::Checksum, "snappy checksum differs from the inflated bytes"));
        }
        Ok(length)
    }
}
