//! The floor's own Avro object container: the header, and blocks inflated into one reused buffer.
//!
//! It trusts its input as far as memory safety allows: a malformed file ends in an error or a panic, never in a
//! wrong number. Only the codecs that Paimon writes by default or on request are here.

use std::fs;
use std::path::Path;

use crate::Result;

/// What a compressed block may grow to before it is taken for a mistake \[bytes\].
const BLOCK_LIMIT: usize = 256 << 20;

/// Readable bytes kept after the payload, so that eight bytes can always be loaded at once.
const PADDING: usize = 8;

/// Block compression, by the names the Avro specification gives the codecs.
#[derive(Clone, Copy)]
pub enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

/// A whole container file in memory: the parsed header, then the blocks.
pub struct Container {
    bytes: Vec<u8>,
    body: usize,
    sync: [u8; 16],
    /// How the blocks are compressed.
    pub codec: Codec,
    /// The writer's schema, as JSON.
    pub schema: String,
}

impl Container {
    /// Reads the file and parses its header.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        let mut pos = 4;
        if bytes.get(..4) != Some(b"Obj\x01") {
            return Err(format!("{} is not an Avro object container file", path.display()).into());
        }
        let (mut schema, mut codec) = (String::new(), Codec::Null);
        loop {
            let mut entries = read_long(&bytes, &mut pos)?;
            if entries == 0 {
                break;
            }
            if entries < 0 {
                entries = -entries;
                read_long(&bytes, &mut pos)?;
            }
            for _ in 0..entries {
                let key = read_bytes(&bytes, &mut pos)?;
                let value = std::str::from_utf8(read_bytes(&bytes, &mut pos)?)?;
                match key {
                    b"avro.schema" => schema = value.to_owned(),
                    b"avro.codec" => codec = parse_codec(value)?,
                    _ => {}
                }
            }
        }
        let sync = bytes.get(pos..pos + 16).ok_or("the header ends before its sync marker")?.try_into()?;
        Ok(Self { bytes, body: pos + 16, sync, codec, schema })
    }

    /// Calls `each(records, payload, inflated bytes)` for every block; the payload is followed by [`PADDING`].
    ///
    /// What is not compressed is not copied: the marker after it is its padding.
    pub fn for_each_block(
        &self,
        inflater: &mut Inflater,
        mut each: impl FnMut(u64, &[u8], usize) -> Result<()>,
    ) -> Result<()> {
        let mut pos = self.body;
        while pos < self.bytes.len() {
            let records = u64::try_from(read_long(&self.bytes, &mut pos)?)?;
            let block = read_bytes(&self.bytes, &mut pos)?;
            if self.bytes.get(pos..pos + 16) != Some(&self.sync[..]) {
                return Err(format!("no sync marker at byte {pos}").into());
            }
            let (start, len) = (pos - block.len(), block.len());
            pos += 16;
            match self.codec {
                Codec::Null => each(records, &self.bytes[start..], len)?,
                codec => {
                    let len = inflater.inflate(codec, block)?;
                    each(records, &inflater.out, len)?;
                }
            }
        }
        Ok(())
    }

    /// The file's size \[bytes\].
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The whole file, header included, for a reader that starts over.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn parse_codec(name: &str) -> Result<Codec> {
    match name {
        "null" => Ok(Codec::Null),
        "deflate" => Ok(Codec::Deflate),
        "snappy" => Ok(Codec::Snappy),
        "zstandard" => Ok(Codec::Zstandard),
        other => Err(format!("the floor has no codec {other}").into()),
    }
}

/// The best decompressor of each codec, with its context and output buffer kept between blocks.
pub struct Inflater {
    deflate: libdeflater::Decompressor,
    snappy: snap::raw::Decoder,
    zstd: zstd::bulk::Decompressor<'static>,
    out: Vec<u8>,
}

impl Inflater {
    /// Makes the three contexts and a first output buffer of 1 MiB.
    pub fn new() -> Result<Self> {
        Ok(Self {
            deflate: libdeflater::Decompressor::new(),
            snappy: snap::raw::Decoder::new(),
            zstd: zstd::bulk::Decompressor::new()?,
            out: vec![0; 1 << 20],
        })
    }

    /// Inflates one block to the start of `out`, growing it as needed, and returns the inflated size.
    fn inflate(&mut self, codec: Codec, block: &[u8]) -> Result<usize> {
        loop {
            let room = self.out.len() - PADDING;
            if let Some(len) = self.try_inflate(codec, block, room)? {
                return Ok(len);
            }
            let larger = self.out.len() * 2;
            if larger > BLOCK_LIMIT {
                return Err("a block is corrupt, or inflates to more than 256 MiB".into());
            }
            self.out.resize(larger, 0);
        }
    }

    /// One try with `room` bytes of output: `None` asks for more room.
    fn try_inflate(&mut self, codec: Codec, block: &[u8], room: usize) -> Result<Option<usize>> {
        let out = &mut self.out[..room];
        match codec {
            Codec::Null => Err("what is not compressed is not inflated".into()),
            Codec::Deflate => match self.deflate.deflate_decompress(block, out) {
                Ok(len) => Ok(Some(len)),
                Err(libdeflater::DecompressionError::InsufficientSpace) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Codec::Snappy => {
                let (data, crc) = block.split_last_chunk::<4>().ok_or("a snappy block without its CRC")?;
                if snap::raw::decompress_len(data)? > room {
                    return Ok(None);
                }
                let len = self.snappy.decompress(data, out)?;
                match crc32fast::hash(&out[..len]) == u32::from_be_bytes(*crc) {
                    true => Ok(Some(len)),
                    false => Err("a snappy block whose CRC differs".into()),
                }
            }
            // Java's frames carry no content size, and zstd reports a full buffer like any other fault:
            // a corrupt block therefore fails only once the buffer has reached its limit.
            Codec::Zstandard => Ok(self.zstd.decompress_to_buffer(block, out).ok()),
        }
    }
}

fn read_long(bytes: &[u8], pos: &mut usize) -> Result<i64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*pos).ok_or("the file ends inside a number")?;
        *pos += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    Err("a number of more than 64 bits".into())
}

fn read_bytes<'a>(bytes: &'a [u8], pos: &mut usize) -> Result<&'a [u8]> {
    let len = usize::try_from(read_long(bytes, pos)?)?;
    let found = bytes.get(*pos..).and_then(|rest| rest.get(..len)).ok_or("the file ends inside a value")?;
    *pos += len;
    Ok(found)
}
