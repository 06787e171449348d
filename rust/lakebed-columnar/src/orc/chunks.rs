//! Compressed streams: chunks, each after three bytes with its length and whether it is compressed.
//!
//! Source: ORC specification, "Compression".

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Limits, Result};

use super::tail::Compression;
use crate::codec::{Inflater, grow};
use crate::input::Input;

/// Inflates streams of one file.
pub(super) struct Chunks {
    compression: Compression,
    inflater: Inflater,
}

impl Chunks {
    pub(super) fn new(compression: Compression) -> Chunks {
        Chunks { compression, inflater: Inflater::default() }
    }

    /// The whole stream, at most `most` bytes; uncompressed data is shared.
    ///
    /// # Errors
    /// `Truncated`, `Codec`; `Limit` with the name `bound` for more than `most`.
    pub(super) fn all(&mut self, mut stream: Input, most: usize, bound: &str) -> Result<Input> {
        let over = |needed: usize| Limits::exceeded(bound, most as u64, needed as u64);
        let Some(codec) = self.compression.codec else {
            return if stream.rest().len() > most { Err(over(stream.rest().len())) } else { Ok(stream) };
        };
        let block_bytes = self.compression.block_bytes;
        let mut inflated: Vec<u8> = Vec::new();
        while !stream.is_empty() {
            let [low, middle, high] = stream.array()?;
            let header = u32::from_le_bytes([low, middle, high, 0]);
            let (length, original) = (header >> 1, header & 1 == 1);
            let chunk = stream.take(length as usize)?;
            let left = most.saturating_sub(inflated.len());
            if original {
                if chunk.len() > left {
                    return Err(over(inflated.len().saturating_add(chunk.len())));
                }
                let end = inflated.len().saturating_add(chunk.len());
                grow(&mut inflated, end)?;
                inflated.extend_from_slice(chunk);
            } else {
                let allowed = block_bytes.min(left);
                self.inflater.inflate(codec, chunk, allowed, 1 << 12, &mut inflated).map_err(|error| {
                    match error.kind() {
                        ErrorKind::Codec if allowed < block_bytes => over(most.saturating_add(1)),
                        ErrorKind::Codec => {
                            Error::new(ErrorKind::Codec, format!("a chunk: {}", error.message()))
                        }
                        _ => error,
                    }
                })?;
            }
        }
        Ok(Input::new(Buffer::from_vec(inflated)))
    }
}
