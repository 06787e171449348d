//! Mutations that keep the structure of an Avro or Parquet file.
//!
//! A changed byte of a compressed block or page is refused by its codec, and a changed length by the next marker:
//! almost nothing would reach the decoder. So a file is parsed here, one part of it is changed, and the file
//! is written again with correct markers, lengths and compression, or without any.

#[path = "../../lakebed-avro/tests/common/varint.rs"]
mod varint;

use lakebed_avro::{Blocks, CODECS, Codec, Compressor, Inflater, Limits};
use libfuzzer_sys::fuzzer_mutate;
use varint::long;

use crate::targets::parquet::{Fields, ParquetFile, Value, number, put};

/// Mutates an Avro or Parquet file in place, anything else byte by byte. Returns its new size.
pub fn file(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(u64::from(seed) << 1 | 1);
    let mutated = if random.once_in(6) { None } else { structured(&data[..size], &mut random, max_size) };
    match mutated.filter(|bytes| bytes.len() <= max_size) {
        Some(bytes) => {
            data[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
}

fn structured(file: &[u8], random: &mut Random, room: usize) -> Option<Vec<u8>> {
    if let Some(mut file) = File::parse(file) {
        file.mutate(random, room);
        return file.bytes();
    }
    let mut file = ParquetFile::parse(file)?;
    mutate_parquet(&mut file, random, room);
    Some(file.bytes())
}

/// A small random number generator: the same seed gives the same mutations.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }

    fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// A parsed file with inflated blocks.
struct File {
    metadata: Vec<(String, Vec<u8>)>,
    codec: Codec,
    sync: [u8; 16],
    blocks: Vec<Part>,
}

#[derive(Clone)]
struct Part {
    count: i64,
    payload: Vec<u8>,
}

/// Edge cases: wrong lengths and counts are often these numbers, or next to them.
const EDGES: [i64; 12] = [0, 1, -1, 2, 63, 64, -65, 1 << 31, -(1 << 31) - 1, i64::MAX, i64::MIN, 1 << 20];

impl File {
    fn parse(bytes: &[u8]) -> Option<File> {
        let limits = Limits { max_block_bytes: 1 << 18, ..Limits::DEFAULT };
        let (header, blocks) = Blocks::open(arrow_buffer::Buffer::from(bytes).into(), limits).ok()?;
        let mut inflater = Inflater::new(header.codec, &limits, header.sync);
        let mut parts = Vec::new();
        for block in blocks {
            let block = block.ok()?;
            let payload = inflater.inflate(&block.payload).ok()?.to_vec();
            parts.push(Part { count: block.count as i64, payload });
        }
        Some(File { metadata: header.metadata, codec: header.codec, sync: header.sync, blocks: parts })
    }

    fn mutate(&mut self, random: &mut Random, room: usize) {
        let last = self.blocks.len().saturating_sub(1);
        let at = random.below(self.blocks.len());
        match (random.below(16), self.blocks.get_mut(at)) {
            (0, _) => {
                let value = random.below(self.metadata.len());
                if let Some((_, value)) = self.metadata.get_mut(value) {
                    change(value, room);
                }
            }
            (1, _) => self.codec = CODECS[random.below(4)].0,
            (2, Some(block)) => block.count = block.count.wrapping_add([1, -1][random.below(2)]),
            (3, Some(_)) => {
                let block = self.blocks[at].clone();
                self.blocks.insert(random.below(last + 1), block);
            }
            (4, Some(_)) => drop(self.blocks.remove(at)),
            (5, _) => self.blocks.push(Part { count: random.below(3) as i64, payload: Vec::new() }),
            (6, Some(_)) if at < last => {
                let next = self.blocks.remove(at + 1);
                let block = &mut self.blocks[at];
                block.count = block.count.saturating_add(next.count);
                block.payload.extend(next.payload);
            }
            (7..=9, Some(block)) => block.put_number(random),
            (_, Some(block)) => change(&mut block.payload, room),
            _ => {}
        }
    }

    /// The bytes of the file; `None` where a block cannot be compressed.
    fn bytes(&self) -> Option<Vec<u8>> {
        let codec = |(key, value): &(String, Vec<u8>)| match key.as_str() {
            "avro.codec" => (key.clone(), self.codec.name().into()),
            _ => (key.clone(), value.clone()),
        };
        let mut bytes = b"Obj\x01".to_vec();
        if !self.metadata.is_empty() {
            bytes.extend(long(self.metadata.len() as i64));
        }
        for (key, value) in self.metadata.iter().map(codec) {
            for part in [key.as_bytes(), &value] {
                bytes.extend(long(part.len() as i64));
                bytes.extend(part);
            }
        }
        bytes.push(0);
        bytes.extend(self.sync);
        let mut compressor = Compressor::new(self.codec, None).ok()?;
        for block in &self.blocks {
            let payload = compressor.compress(&block.payload).ok()?;
            bytes.extend(long(block.count));
            bytes.extend(long(payload.len() as i64));
            bytes.extend(payload);
            bytes.extend(self.sync);
        }
        Some(bytes)
    }
}

impl Part {
    /// Replaces a number by another one, or inserts one.
    fn put_number(&mut self, random: &mut Random) {
        let start = random.below(self.payload.len());
        let rest = self.payload.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte < 0x80).map_or(0, |end| end + 1);
        let replaced = if random.once_in(4) { 0 } else { length };
        let number = EDGES[random.below(EDGES.len())].wrapping_add(random.below(3) as i64);
        let number = if random.once_in(8) { vec![0xff; 10] } else { long(number) };
        self.payload.splice(start..start + replaced, number);
    }
}

/// Lets the fuzzer change bytes; there may be a few more afterwards.
fn change(bytes: &mut Vec<u8>, room: usize) {
    let size = bytes.len();
    let most = room.max(size).min(size + 64);
    bytes.resize(most, 0);
    let size = fuzzer_mutate(bytes, size, most);
    bytes.truncate(size);
}

/// The number of Parquet's codec for gzip, and the fields with a column's codec and a page's checksum.
const GZIP: i64 = 2;
const CODEC: i64 = 4;
const CHECKSUM: i64 = 4;

fn mutate_parquet(file: &mut ParquetFile, random: &mut Random, room: usize) {
    stored(file);
    let chunk = random.below(file.chunks.len());
    let pages = file.chunks.get_mut(chunk);
    let at = random.below(pages.as_ref().map_or(0, |pages| pages.len()));
    match (random.below(12), pages) {
        (0..=2, _) => change_number(&mut file.footer, random),
        (3 | 4, Some(pages)) if at < pages.len() => change_number(&mut pages[at].header, random),
        (5, Some(pages)) if at < pages.len() => {
            let page = pages[at].clone();
            pages.insert(random.below(at + 1), page);
        }
        (6, Some(pages)) if at < pages.len() => drop(pages.remove(at)),
        (_, Some(pages)) if at < pages.len() => {
            let page = &mut pages[at];
            change(&mut page.body, room);
            put(&mut page.header, 2, page.body.len() as i64);
        }
        _ => change_number(&mut file.footer, random),
    }
}

/// Inflates the pages of columns in gzip, so that what is in them can be changed, and takes the checksums out.
fn stored(file: &mut ParquetFile) {
    let limits = Limits { max_block_bytes: 1 << 16, ..Limits::DEFAULT };
    let mut inflater = Inflater::new(Codec::Deflate, &limits, [0; 16]);
    for (metadata, pages) in
        crate::targets::parquet::columns(&mut file.footer).into_iter().zip(&mut file.chunks)
    {
        pages.iter_mut().for_each(|page| page.header.retain(|(field, _)| *field != CHECKSUM));
        if number(metadata, CODEC) != Some(GZIP) {
            continue;
        }
        // Between a header without options and the checksum.
        let inflated =
            |body: &[u8]| Some(inflater.inflate(body.get(10..body.len().checked_sub(8)?)?).ok()?.to_vec());
        let bodies: Option<Vec<_>> = pages.iter().map(|page| page.body.as_slice()).map(inflated).collect();
        if let Some(bodies) = bodies {
            put(metadata, CODEC, 0);
            pages.iter_mut().zip(bodies).for_each(|(page, body)| page.body = body);
        }
    }
}

/// Replaces one number of a message.
fn change_number(message: &mut Fields, random: &mut Random) {
    let mut numbers = Vec::new();
    message.iter_mut().for_each(|(_, value)| numbers_of(value, &mut numbers));
    let at = random.below(numbers.len());
    if let Some(number) = numbers.into_iter().nth(at) {
        let edge = EDGES[random.below(EDGES.len())].wrapping_add(random.below(3) as i64);
        *number = if random.once_in(2) { edge } else { number.wrapping_add(random.below(5) as i64 - 2) };
    }
}

fn numbers_of<'v>(value: &'v mut Value, numbers: &mut Vec<&'v mut i64>) {
    match value {
        Value::Number(_, number) => numbers.push(number),
        Value::List(_, items) => items.iter_mut().for_each(|item| numbers_of(item, numbers)),
        Value::Message(fields) => fields.iter_mut().for_each(|(_, value)| numbers_of(value, numbers)),
        Value::Flag(_) | Value::Double(_) | Value::Bytes(_) => {}
    }
}
