//! Container bytes from memory, or from a stream that is read as far as needed.

use std::io::Read;

use arrow_buffer::Buffer;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::reserve;

/// The bytes of a file, taken front to back.
///
/// Both forms are used by the same header and block loop: memory is sliced without a copy, a stream is read
/// block by block, so that a file of any size needs no more memory than its largest block.
pub struct Input {
    source: Source,
    position: u64,
}

enum Source {
    Memory(Buffer),
    Stream(Stream),
}

/// How much of a stream is read ahead, and how far a buffer grows before its bytes have been read.
const STEP: usize = 1 << 16;

impl From<Buffer> for Input {
    fn from(bytes: Buffer) -> Input {
        Input { source: Source::Memory(bytes), position: 0 }
    }
}

impl Input {
    /// An input that reads `reader` piece by piece.
    pub fn stream(reader: Box<dyn Read + Send>) -> Input {
        Input { source: Source::Stream(Stream { reader, ahead: Vec::new(), taken: 0 }), position: 0 }
    }

    /// Bytes taken so far: the offset of the next byte in the file.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that are left; `None` for a stream, where it is not known.
    pub(super) fn remaining(&self) -> Option<usize> {
        match &self.source {
            Source::Memory(bytes) => Some(bytes.len()),
            Source::Stream(_) => None,
        }
    }

    /// Shows up to `count` of the next bytes without taking them; fewer only at the end.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8]> {
        match &mut self.source {
            Source::Memory(bytes) => Ok(bytes.get(..count).unwrap_or(bytes.as_slice())),
            Source::Stream(stream) => {
                let ahead = stream.fill(count)?;
                Ok(ahead.get(..count).unwrap_or(ahead))
            }
        }
    }

    /// Steps over `count` bytes that [`Input::peek`] has shown.
    pub(super) fn skip(&mut self, count: usize) {
        match &mut self.source {
            Source::Memory(bytes) => bytes.advance(count.min(bytes.len())),
            Source::Stream(stream) => {
                stream.taken = stream.taken.saturating_add(count).min(stream.ahead.len());
            }
        }
        self.position = self.position.saturating_add(count as u64);
    }

    /// Takes the next `count` bytes, or fails where the input ends early.
    pub(super) fn take(&mut self, count: usize, what: &str) -> Result<Buffer> {
        let (taken, left) = match &mut self.source {
            Source::Memory(bytes) if count <= bytes.len() => {
                let taken = bytes.slice_with_length(0, count);
                *bytes = bytes.slice(count);
                (Some(taken), 0)
            }
            Source::Memory(bytes) => (None, bytes.len()),
            Source::Stream(stream) => {
                let left = stream.fill(count)?.len();
                (if count <= left { Some(stream.take(count)) } else { None }, left)
            }
        };
        let Some(taken) = taken else {
            let message = format!("{what} runs past the end: needs {count} bytes, {left} left");
            return Err(Error::new(ErrorKind::Truncated, message));
        };
        self.position = self.position.saturating_add(count as u64);
        Ok(taken)
    }
}

/// A reader, and bytes that were read ahead.
struct Stream {
    reader: Box<dyn Read + Send>,
    ahead: Vec<u8>,
    /// How much of `ahead` was taken.
    taken: usize,
}

impl Stream {
    /// Reads until `count` bytes are ahead or the stream ends; the buffer only grows by bytes that were read.
    /// Returns the bytes ahead.
    fn fill(&mut self, count: usize) -> Result<&[u8]> {
        while self.ahead.len().saturating_sub(self.taken) < count {
            self.ahead.drain(..std::mem::take(&mut self.taken));
            let seen = self.ahead.len();
            let step = count.saturating_sub(seen).clamp(STEP, STEP.max(seen));
            reserve(&mut self.ahead, step, "a block")?;
            if self.reader.by_ref().take(step as u64).read_to_end(&mut self.ahead)? == 0 {
                break;
            }
        }
        Ok(self.ahead.get(self.taken..).unwrap_or_default())
    }

    /// Takes the next `count` bytes, which must be ahead.
    ///
    /// A small block is copied, and the rest of the buffer stays; a large block takes the buffer, and the few
    /// bytes after it are moved. So no byte is moved often, and no block holds more memory than its own.
    fn take(&mut self, count: usize) -> Buffer {
        let end = self.taken.saturating_add(count);
        if count < STEP {
            let taken = self.ahead.get(self.taken..end).unwrap_or_default();
            self.taken = end;
            return Buffer::from_vec(taken.to_vec());
        }
        let rest = self.ahead.split_off(end.min(self.ahead.len()));
        let mut block = std::mem::replace(&mut self.ahead, rest);
        block.drain(..std::mem::take(&mut self.taken));
        Buffer::from_vec(block)
    }
}
