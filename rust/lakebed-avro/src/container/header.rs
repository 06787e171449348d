//! The header: magic, metadata map, sync marker.

use std::collections::HashSet;

use super::Input;
use crate::codec::Codec;
use crate::cursor::{Cursor, Fault};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;

/// The first bytes of every file.
pub(crate) const MAGIC: [u8; 4] = *b"Obj\x01";

/// Entries of the metadata map: far more than any writer has, and few enough that two bytes each in the file
/// cannot grow to gibibytes here.
const MAX_ENTRIES: u64 = 1 << 16;

/// Other formats that are often found instead of an Avro file, by their first bytes.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"ORC", "an ORC file"),
    (b"PAR1", "a Parquet file"),
    (b"AGS1", "an encrypted file (AGS1)"),
    (b"\x1f\x8b", "a gzip file"),
    (b"Obj", "an Avro file of another version"),
];

/// The header of a file.
#[derive(Debug, Clone)]
pub struct Header {
    /// The metadata map in file order; values are bytes.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// The compression of the blocks.
    pub codec: Codec,
    /// The marker after every block.
    pub sync: [u8; 16],
    /// Bytes of the header.
    pub length: u64,
}

impl Header {
    /// Reads the header. Bytes after it stay in `input`.
    pub(crate) fn read(input: &mut Input, limits: &Limits) -> Result<Header> {
        check_magic(input.peek(4)?)?;
        let most = usize::try_from(limits.max_header_bytes).unwrap_or(usize::MAX);
        let mut window = 4096;
        loop {
            window = window.min(most);
            let seen = input.peek(window)?;
            let ended = seen.len() < window;
            match parse(seen) {
                Ok((header, length)) => {
                    input.take(length, "header")?;
                    return header;
                }
                Err((Fault::Truncated, _)) if !ended && window < most => window = window.saturating_mul(4),
                Err((Fault::Truncated, _)) if !ended => {
                    return Err(Limits::exceeded(
                        "max_header_bytes",
                        most as u64,
                        limits.max_header_bytes.saturating_add(1),
                    ));
                }
                Err((fault, offset)) => {
                    let (kind, words) = match fault {
                        Fault::Items => (ErrorKind::Limit, "more than 65536 metadata entries"),
                        fault => fault.describe(),
                    };
                    let place = Location { offset: Some(offset as u64), ..Location::default() };
                    return Err(Error::new(kind, format!("header: {words}")).at(place));
                }
            }
        }
    }

    /// The value of a metadata key.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_slice())
    }

    /// The text of the schema.
    pub fn schema(&self) -> Result<&str> {
        let bytes = self
            .get("avro.schema")
            .ok_or_else(|| Error::new(ErrorKind::Schema, "header has no avro.schema"))?;
        std::str::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::Schema, "avro.schema is not UTF-8"))
    }
}

fn check_magic(start: &[u8]) -> Result<()> {
    if start == MAGIC {
        return Ok(());
    }
    let place = Location { offset: Some(0), ..Location::default() };
    let error = if MAGIC.starts_with(start) {
        Error::new(ErrorKind::Truncated, format!("file of {} bytes ends in its magic", start.len()))
    } else {
        match FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)) {
            Some((_, name)) => {
                Error::new(ErrorKind::Foreign, format!("{name}, not an Avro object container file"))
            }
            None => Error::new(ErrorKind::Magic, "not an Avro object container file"),
        }
    };
    Err(error.at(place))
}

/// A header that could be read to its end, with its length; or the position where it could not.
type ParseOutcome = Result<(Result<Header>, usize), (Fault, usize)>;

fn parse(bytes: &[u8]) -> ParseOutcome {
    let mut cursor = Cursor::new(bytes);
    let walked = walk(&mut cursor);
    let (metadata, sync) = walked.map_err(|fault| (fault, cursor.position()))?;
    Ok((finish(metadata, sync, cursor.position()), cursor.position()))
}

type Metadata<'a> = Vec<(&'a [u8], &'a [u8])>;

fn walk<'a>(cursor: &mut Cursor<'a>) -> Result<(Metadata<'a>, [u8; 16]), Fault> {
    cursor.skip(MAGIC.len())?;
    let mut metadata = Vec::new();
    while let Some(items) = cursor.items()? {
        // Every entry takes at least two bytes, which bounds the count before the loop.
        if items.count > cursor.remaining() as u64 / 2 {
            return Err(Fault::Truncated);
        }
        if items.count > MAX_ENTRIES.saturating_sub(metadata.len() as u64) {
            return Err(Fault::Items);
        }
        for _ in 0..items.count {
            let length = cursor.length()?;
            let key = cursor.take(length)?;
            let length = cursor.length()?;
            metadata.push((key, cursor.take(length)?));
        }
        if items.end.is_some_and(|end| end != cursor.position()) {
            return Err(Fault::Length);
        }
    }
    Ok((metadata, cursor.array()?))
}

fn finish(metadata: Metadata<'_>, sync: [u8; 16], length: usize) -> Result<Header> {
    let mut owned: Vec<(String, Vec<u8>)> = Vec::with_capacity(metadata.len());
    let mut known = HashSet::new();
    for (key, value) in metadata {
        let key = std::str::from_utf8(key)
            .map_err(|_| Error::new(ErrorKind::Utf8, "header: metadata key is not UTF-8"))?;
        if key.starts_with("avro.") && !known.insert(key) {
            return Err(Error::new(ErrorKind::Duplicate, format!("header: {key} appears twice")));
        }
        owned.push((key.to_owned(), value.to_vec()));
    }
    let codec = owned.iter().find(|(key, _)| key == "avro.codec").map(|(_, value)| value.as_slice());
    let codec = Codec::from_header(codec)?;
    Ok(Header { metadata: owned, codec, sync, length: length as u64 })
}
