//! Deflate through libdeflate, which wants its whole output in one buffer.

use libdeflater::{DecompressionError, Decompressor};

use super::{Scratch, broken};
use crate::error::Result;

pub(super) struct Engine(Decompressor);

impl Engine {
    pub(super) fn new() -> Engine {
        Engine(Decompressor::new())
    }

    /// Bytes behind the last deflate block are accepted: PyIceberg, fastavro and Avro's own Python
    /// leave three bytes of a zlib checksum there.
    pub(super) fn inflate(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<usize> {
        scratch.reserve(block.len().saturating_mul(4).max(1 << 16))?;
        loop {
            match self.0.deflate_decompress(block, &mut scratch.bytes) {
                Ok(length) => return Ok(length),
                Err(DecompressionError::InsufficientSpace) => scratch.grow()?,
                Err(DecompressionError::BadData) => return Err(broken("not deflate data, or cut short")),
            }
        }
    }
}
