//! Compresses blocks, with contexts and output that are reused.

use std::io::Write;

use libdeflater::{CompressionLvl, Compressor as DeflateCompressor};
use zstd::zstd_safe::{self, CCtx, CParameter};

use super::Codec;
use crate::error::{Error, ErrorKind, Result};

/// Compresses blocks of one codec.
pub struct Compressor {
    engine: Engine,
    output: Vec<u8>,
}

enum Engine {
    Null,
    Deflate(DeflateCompressor),
    Snappy(Box<snap::raw::Encoder>),
    Zstandard(CCtx<'static>),
    Bzip2(u32),
    Xz(u32),
}

/// The levels of a codec, and its default level: that of Avro Java, except for deflate.
fn levels(codec: Codec) -> Option<(std::ops::RangeInclusive<i32>, i32)> {
    match codec {
        Codec::Null | Codec::Snappy => None,
        // Within a per cent of the size of zlib at level 6, which other writers use; libdeflate's level 6
        // takes a sixth longer.
        Codec::Deflate => Some((0..=12, 5)),
        Codec::Zstandard => Some((-7..=22, 3)),
        Codec::Bzip2 => Some((1..=9, 9)),
        Codec::Xz => Some((0..=9, 6)),
    }
}

impl Compressor {
    /// Contexts for `codec` at `level`: 0 to 12 for deflate (above 9 slower and a little smaller), -7 to 22
    /// for zstandard, 1 to 9 for bzip2, 0 to 9 for xz.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for a level that the codec does not have.
    pub fn new(codec: Codec, level: Option<i32>) -> Result<Compressor> {
        let level = match (levels(codec), level) {
            (None, None) => 0,
            (None, Some(_)) => return Err(no_level(codec, "it has no levels")),
            (Some((range, default)), level) => {
                let level = level.unwrap_or(default);
                if !range.contains(&level) {
                    let words = format!("level {level} is not within {} and {}", range.start(), range.end());
                    return Err(no_level(codec, &words));
                }
                level
            }
        };
        let engine = match codec {
            Codec::Null => Engine::Null,
            Codec::Deflate => {
                let level = CompressionLvl::new(level).map_err(|_| no_level(codec, "unknown level"))?;
                Engine::Deflate(DeflateCompressor::new(level))
            }
            Codec::Snappy => Engine::Snappy(Box::new(snap::raw::Encoder::new())),
            Codec::Zstandard => {
                let mut context = CCtx::create();
                context.set_parameter(CParameter::CompressionLevel(level)).map_err(zstandard_failed)?;
                Engine::Zstandard(context)
            }
            Codec::Bzip2 => Engine::Bzip2(level.unsigned_abs()),
            Codec::Xz => Engine::Xz(level.unsigned_abs()),
        };
        Ok(Compressor { engine, output: Vec::new() })
    }

    /// The compressed bytes of one block, valid until the next call.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for a block that the codec cannot compress.
    pub fn compress<'a>(&'a mut self, block: &'a [u8]) -> Result<&'a [u8]> {
        let output = &mut self.output;
        match &mut self.engine {
            Engine::Null => return Ok(block),
            Engine::Deflate(engine) => {
                output.resize(engine.deflate_compress_bound(block.len()), 0);
                let length = engine.deflate_compress(block, output);
                output.truncate(length.map_err(|error| failed(&error.to_string()))?);
            }
            Engine::Snappy(engine) => {
                output.resize(snap::raw::max_compress_len(block.len()), 0);
                let length = engine.compress(block, output);
                output.truncate(length.map_err(|error| failed(&error.to_string()))?);
                output.extend_from_slice(&crc32fast::hash(block).to_be_bytes());
            }
            Engine::Zstandard(engine) => {
                output.resize(zstd_safe::compress_bound(block.len()), 0);
                let length = engine.compress2(output.as_mut_slice(), block).map_err(zstandard_failed)?;
                output.truncate(length);
            }
            Engine::Bzip2(level) => {
                output.clear();
                let level = bzip2::Compression::new(*level);
                written(bzip2::write::BzEncoder::new(output, level), block, |engine| engine.finish())?;
            }
            Engine::Xz(level) => {
                output.clear();
                written(liblzma::write::XzEncoder::new(output, *level), block, |engine| engine.finish())?;
            }
        }
        Ok(&self.output)
    }
}

fn written<'a, E: Write>(
    mut engine: E,
    block: &[u8],
    finish: impl FnOnce(E) -> std::io::Result<&'a mut Vec<u8>>,
) -> Result<()> {
    let done = engine.write_all(block).and_then(|()| finish(engine));
    done.map(|_| ()).map_err(|error| failed(&error.to_string()))
}

#[cold]
fn zstandard_failed(code: zstd_safe::ErrorCode) -> Error {
    failed(zstd_safe::get_error_name(code))
}

#[cold]
fn failed(why: &str) -> Error {
    Error::new(ErrorKind::Codec, format!("block does not compress: {why}"))
}

#[cold]
fn no_level(codec: Codec, why: &str) -> Error {
    Error::new(ErrorKind::Codec, format!("codec {}: {why}", codec.name()))
}
