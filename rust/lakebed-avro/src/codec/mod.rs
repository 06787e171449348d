//! Block compression: six codecs in one table, with contexts that are reused and output that is bounded.
// Bytes from outside are read here: nothing in it may panic or wrap.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod bzip2;
mod compress;
mod deflate;
mod snappy;
mod xz;
mod zstandard;

pub use compress::Compressor;
pub use zstandard::ZSTANDARD_NO_ROOM;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{Limits, reserve};

/// The compression of a file's blocks, as its header names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// No compression.
    Null,
    /// RFC 1951, without a zlib frame.
    Deflate,
    /// Snappy, followed by the big-endian CRC-32 of the inflated bytes.
    Snappy,
    /// Zstandard frames.
    Zstandard,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

/// Every codec with its name in the header.
pub const CODECS: [(Codec, &str); 6] = [
    (Codec::Null, "null"),
    (Codec::Deflate, "deflate"),
    (Codec::Snappy, "snappy"),
    (Codec::Zstandard, "zstandard"),
    (Codec::Bzip2, "bzip2"),
    (Codec::Xz, "xz"),
];

impl Codec {
    /// The codec that a header names; without the key a file is not compressed.
    pub fn from_header(name: Option<&[u8]>) -> Result<Codec> {
        let Some(name) = name else { return Ok(Codec::Null) };
        let known = CODECS.iter().find(|(_, known)| known.as_bytes() == name);
        known.map(|(codec, _)| *codec).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            Error::new(ErrorKind::UnknownCodec, format!("codec {name:?} is not one of Avro's"))
        })
    }

    /// The codec with that name.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCodec`], with the known names.
    pub fn named(name: &str) -> Result<Codec> {
        Codec::from_header(Some(name.as_bytes())).map_err(|error| {
            let known: Vec<&str> = CODECS.iter().map(|(_, name)| *name).collect();
            Error::new(error.kind(), format!("{}: {}", error.message(), known.join(", ")))
        })
    }

    /// The codec's name in the header.
    pub fn name(self) -> &'static str {
        CODECS.iter().find(|(codec, _)| *codec == self).map_or("", |(_, name)| name)
    }
}

/// Inflates blocks of one codec; keeps decompression contexts and the output buffer.
pub struct Inflater {
    engine: Engine,
    scratch: Scratch,
}

enum Engine {
    Null,
    Deflate(Box<deflate::Engine>),
    Snappy(snappy::Engine),
    Zstandard(Box<zstandard::Engine>),
    Bzip2,
    Xz,
}

impl Inflater {
    /// Contexts for `codec`; no output larger than `limits.max_block_bytes` is ever made. `sync` is the
    /// marker after blocks, by which a block that contains others is detected.
    pub fn new(codec: Codec, limits: &Limits, sync: [u8; 16]) -> Inflater {
        let engine = match codec {
            Codec::Null => Engine::Null,
            Codec::Deflate => Engine::Deflate(Box::new(deflate::Engine::new(sync))),
            Codec::Snappy => Engine::Snappy(snappy::Engine::new()),
            Codec::Zstandard => Engine::Zstandard(Box::new(zstandard::Engine::new())),
            Codec::Bzip2 => Engine::Bzip2,
            Codec::Xz => Engine::Xz,
        };
        let limit = usize::try_from(limits.max_block_bytes).unwrap_or(usize::MAX);
        Inflater { engine, scratch: Scratch { bytes: Vec::new(), limit } }
    }

    /// The inflated bytes of one block, valid until the next call.
    pub fn inflate<'a>(&'a mut self, block: &'a [u8]) -> Result<&'a [u8]> {
        let scratch = &mut self.scratch;
        let length = match &mut self.engine {
            Engine::Null => return Ok(block),
            Engine::Deflate(engine) => engine.inflate(block, scratch)?,
            Engine::Snappy(engine) => engine.inflate(block, scratch)?,
            Engine::Zstandard(engine) => engine.inflate(block, scratch)?,
            Engine::Bzip2 => bzip2::inflate(block, scratch)?,
            Engine::Xz => xz::inflate(block, scratch)?,
        };
        self.scratch.bytes.get(..length).ok_or_else(|| broken("inflated length is impossible"))
    }
}

/// The output buffer: initialised once, grown by doubling, never beyond its limit.
struct Scratch {
    bytes: Vec<u8>,
    limit: usize,
}

impl Scratch {
    /// Makes room for `wanted` bytes, or for as many as the limit allows.
    fn reserve(&mut self, wanted: usize) -> Result<()> {
        let wanted = wanted.min(self.limit);
        let more = wanted.saturating_sub(self.bytes.len());
        if more > 0 {
            reserve(&mut self.bytes, more, "a block")?;
            self.bytes.resize(wanted, 0);
        }
        Ok(())
    }

    /// Makes room for a block that did not fit, or gives the error that it is over the limit.
    fn grow(&mut self) -> Result<()> {
        if self.bytes.len() >= self.limit {
            return Err(self.exceeded(self.limit.saturating_add(1)));
        }
        self.reserve(self.bytes.len().saturating_mul(2))
    }

    fn exceeded(&self, wanted: usize) -> Error {
        Limits::exceeded("max_block_bytes", self.limit as u64, wanted as u64)
    }

    /// Reads `source` to its end into the buffer.
    fn fill(&mut self, source: &mut dyn std::io::Read) -> Result<usize> {
        self.reserve(1 << 16)?;
        let mut length = 0;
        loop {
            if length == self.limit {
                // Output of exactly the limit is allowed, one more byte is not.
                return match source.read(&mut [0]) {
                    Ok(0) => Ok(length),
                    Ok(_) => Err(self.exceeded(self.limit.saturating_add(1))),
                    Err(error) => Err(broken(&error.to_string())),
                };
            }
            if length == self.bytes.len() {
                self.grow()?;
            }
            let free = self.bytes.get_mut(length..).unwrap_or_default();
            match source.read(free) {
                Ok(0) => return Ok(length),
                Ok(read) => length = length.saturating_add(read),
                Err(error) => return Err(broken(&error.to_string())),
            }
        }
    }
}

/// The error for compressed data that its codec cannot have written.
#[cold]
fn broken(why: &str) -> Error {
    Error::new(ErrorKind::Codec, format!("block does not inflate: {why}"))
}

#[cfg(test)]
mod tests;
