//! Where container bytes come from: memory, or a stream read as far as needed.

use std::io::Read;

use arrow_buffer::Buffer;

use crate::error::{Error, ErrorKind, Result};

/// The bytes of a file, taken front to back.
///
/// Both forms serve the same header and block loop: memory is sliced without a copy, a stream is
/// read block by block, so that a file of any size needs no more than its largest block.
pub struct Input {
    source: Source,
    position: u64,
}

enum Source {
    Memory(Buffer),
    Stream { reader: Box<dyn Read + Send>, ahead: Vec<u8> },
}

/// How much a stream is read ahead, and how far a buffer grows before its bytes have been seen.
const STEP: usize = 1 << 16;

impl From<Buffer> for Input {
    fn from(bytes: Buffer) -> Input {
        Input { source: Source::Memory(bytes), position: 0 }
    }
}

impl Input {
    /// An input that reads `reader` as it goes.
    pub fn stream(reader: Box<dyn Read + Send>) -> Input {
        Input { source: Source::Stream { reader, ahead: Vec::new() }, position: 0 }
    }

    /// Bytes taken so far: the offset of the next byte in the file.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Shows up to `count` of the next bytes without taking them; fewer only at the end.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8]> {
        match &mut self.source {
            Source::Memory(bytes) => Ok(bytes.get(..count).unwrap_or(bytes.as_slice())),
            Source::Stream { reader, ahead } => {
                fill(reader, ahead, count)?;
                Ok(ahead.get(..count).unwrap_or(ahead.as_slice()))
            }
        }
    }

    /// Takes the next `count` bytes, or says that the input ends early.
    pub(super) fn take(&mut self, count: usize, what: &str) -> Result<Buffer> {
        let (taken, left) = match &mut self.source {
            Source::Memory(bytes) if count <= bytes.len() => {
                let taken = bytes.slice_with_length(0, count);
                *bytes = bytes.slice(count);
                (Some(taken), 0)
            }
            Source::Memory(bytes) => (None, bytes.len()),
            Source::Stream { reader, ahead } => {
                fill(reader, ahead, count)?;
                if count <= ahead.len() {
                    let rest = ahead.split_off(count);
                    (Some(Buffer::from_vec(std::mem::replace(ahead, rest))), 0)
                } else {
                    (None, ahead.len())
                }
            }
        };
        let Some(taken) = taken else {
            let message = format!("{what} runs past the end: needs {count} bytes, {left} left");
            return Err(Error::new(ErrorKind::Truncated, message));
        };
        self.position += count as u64;
        Ok(taken)
    }
}

/// Reads until `ahead` holds `count` bytes or the stream ends, growing by what has really come.
fn fill(reader: &mut dyn Read, ahead: &mut Vec<u8>, count: usize) -> Result<()> {
    while ahead.len() < count {
        let start = ahead.len();
        let step = (count - start).clamp(STEP, STEP.max(start));
        ahead.try_reserve(step).map_err(|_| Error::new(ErrorKind::Limit, "no memory for the next block"))?;
        let read = reader.take(step as u64).read_to_end(ahead)?;
        if read == 0 {
            break;
        }
    }
    Ok(())
}
