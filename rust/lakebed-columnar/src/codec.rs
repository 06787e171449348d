//! Inflates compressed chunks and pages within limits.

use lakebed_avro::{Error, ErrorKind, Result, ZSTANDARD_NO_ROOM};
use libdeflater::{DecompressionError, Decompressor};
use lz4_flex::block::DecompressError;
use zstd::zstd_safe::{self, DCtx};

/// The supported codecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Deflate without a frame: ORC's zlib.
    Deflate,
    Gzip,
    Snappy,
    /// Blocks of LZ4 without a frame.
    Lz4,
    Zstandard,
}

/// Inflates with contexts that are made when they are first needed, and then kept.
#[derive(Default)]
pub(crate) struct Inflater {
    deflate: Option<Decompressor>,
    zstandard: Option<DCtx<'static>>,
}

/// The result of one attempt.
enum Attempt {
    Done(usize),
    /// The output does not fit the room.
    NoRoom,
}

impl Inflater {
    /// Appends the inflated bytes of `block` to `output`: at most `most` of them.
    ///
    /// Memory beyond `expected` grows with the actual output, not with `most`.
    ///
    /// # Errors
    /// `Codec` for data that does not inflate, or that inflates to more than `most`.
    pub(crate) fn inflate(
        &mut self,
        codec: Codec,
        block: &[u8],
        most: usize,
        expected: usize,
        output: &mut Vec<u8>,
    ) -> Result<()> {
        let start = output.len();
        let mut room = most.min(block.len().saturating_mul(6).max(expected));
        loop {
            let end = start.checked_add(room).ok_or_else(too_long)?;
            grow(output, end)?;
            output.resize(end, 0);
            match self.attempt(codec, block, output.get_mut(start..).unwrap_or_default())? {
                Attempt::Done(length) => {
                    output.truncate(start.saturating_add(length));
                    return Ok(());
                }
                Attempt::NoRoom if room < most => room = room.saturating_mul(4).min(most),
                Attempt::NoRoom => return Err(too_long()),
            }
        }
    }

    fn attempt(&mut self, codec: Codec, block: &[u8], output: &mut [u8]) -> Result<Attempt> {
        match codec {
            Codec::Deflate => {
                deflated(self.deflate.get_or_insert_with(Decompressor::new).deflate_decompress(block, output))
            }
            Codec::Gzip => {
                deflated(self.deflate.get_or_insert_with(Decompressor::new).gzip_decompress(block, output))
            }
            Codec::Snappy => {
                let length = snap::raw::decompress_len(block).map_err(|error| broken(&error.to_string()))?;
                if length > output.len() {
                    return Ok(Attempt::NoRoom);
                }
                let length = snap::raw::Decoder::new().decompress(block, output);
                length.map(Attempt::Done).map_err(|error| broken(&error.to_string()))
            }
            Codec::Lz4 => match lz4_flex::block::decompress_into(block, output) {
                Ok(length) => Ok(Attempt::Done(length)),
                Err(DecompressError::OutputTooSmall { .. }) => Ok(Attempt::NoRoom),
                Err(error) => Err(broken(&error.to_string())),
            },
            Codec::Zstandard => {
                match self.zstandard.get_or_insert_with(DCtx::create).decompress(output, block) {
                    Ok(length) => Ok(Attempt::Done(length)),
                    Err(ZSTANDARD_NO_ROOM) => Ok(Attempt::NoRoom),
                    Err(code) => Err(broken(zstd_safe::get_error_name(code))),
                }
            }
        }
    }
}

/// Makes room for `end` bytes in total, and for some more where chunks follow each other.
pub(crate) fn grow(output: &mut Vec<u8>, end: usize) -> Result<()> {
    let more = end.saturating_sub(output.len());
    let no_memory = |_| Error::new(ErrorKind::Limit, format!("no memory for {end} inflated bytes"));
    output.try_reserve(more).map_err(no_memory)
}

fn deflated(length: Result<usize, DecompressionError>) -> Result<Attempt> {
    match length {
        Ok(length) => Ok(Attempt::Done(length)),
        Err(DecompressionError::InsufficientSpace) => Ok(Attempt::NoRoom),
        Err(error) => Err(broken(&error.to_string())),
    }
}

#[cold]
fn broken(why: &str) -> Error {
    Error::new(ErrorKind::Codec, format!("compressed bytes do not inflate: {why}"))
}

#[cold]
fn too_long() -> Error {
    Error::new(ErrorKind::Codec, "compressed bytes inflate to more than their recorded size")
}
