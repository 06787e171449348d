//! Deflate through libdeflate, which needs room for the whole output in one buffer.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{DecompressionError, Decompressor};
use memchr::memmem::Finder;

use super::{Scratch, broken};
use crate::error::Result;

/// The size of a zlib checksum: PyIceberg, fastavro and Avro's own Python leave three bytes of one after each
/// block.
const CHECKSUM: usize = 4;

pub(super) struct Engine {
    context: Decompressor,
    sync: Finder<'static>,
}

impl Engine {
    pub(super) fn new(sync: [u8; 16]) -> Engine {
        Engine { context: Decompressor::new(), sync: Finder::new(&sync).into_owned() }
    }

    /// Trailing bytes after the stream are accepted, unless they contain whole blocks: a flipped bit in a
    /// length can make a payload reach the sync marker of a later block, whose records would be lost
    /// silently. libdeflate does not tell where its input ended, so this is only checked where the payload
    /// contains a marker.
    pub(super) fn inflate(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<usize> {
        let length = self.inflate_first(block, scratch)?;
        if self.sync.find(block).is_some() && trailing_bytes(block) > CHECKSUM {
            return Err(broken("trailing blocks after the deflate stream"));
        }
        Ok(length)
    }

    fn inflate_first(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<usize> {
        scratch.reserve(block.len().saturating_mul(4).max(1 << 16))?;
        loop {
            match self.context.deflate_decompress(block, &mut scratch.bytes) {
                Ok(length) => return Ok(length),
                Err(DecompressionError::InsufficientSpace) => scratch.grow()?,
                Err(DecompressionError::BadData) => return Err(broken("not deflate data, or cut short")),
            }
        }
    }
}

/// The number of bytes after the stream at the start of `block`, which can be inflated.
fn trailing_bytes(block: &[u8]) -> usize {
    let mut stream = Decompress::new(false);
    let mut sink = vec![0; 1 << 16];
    loop {
        let (read, written) = (stream.total_in(), stream.total_out());
        let rest = usize::try_from(read).ok().and_then(|read| block.get(read..)).unwrap_or_default();
        match stream.decompress(rest, &mut sink, FlushDecompress::None) {
            Ok(Status::Ok) if (stream.total_in(), stream.total_out()) != (read, written) => {}
            Ok(Status::StreamEnd) => {
                return block.len().saturating_sub(usize::try_from(stream.total_in()).unwrap_or(usize::MAX));
            }
            _ => return 0,
        }
    }
}
