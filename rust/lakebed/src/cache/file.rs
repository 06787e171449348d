//! A file of the cache's folder: the columns of one file, compressed, with what shows that they are whole.
//!
//! ```text
//! magic ─ checksum of all that follows ─ length of the file ─ length of the header ─ header ─ body of each batch
//! ```
//!
//! The header is JSON: key, schema, and the description of each batch, of which a body is the packed columns.

use std::sync::Arc;

use arrow_schema::Schema;
use serde::{Deserialize, Serialize};

use super::KeptRecords;
use crate::record::PackedBatch;

/// The number of this layout, which is part of every key.
pub(super) const LAYOUT: u32 = 2;

const MAGIC: &[u8; 8] = b"LAKEBEDc";
const CHECKED_FROM: usize = MAGIC.len() + 4;
const HEADER_FROM: usize = CHECKED_FROM + 8 + 4;

/// A file is not what was written for a key: it is cut, changed, of another key or layout, or larger than what is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

#[derive(Serialize, Deserialize)]
struct Header {
    key: String,
    schema: Schema,
    metadata: Vec<(String, String)>,
    file_bytes: u64,
    batches: Vec<PackedBatch>,
}

/// The bytes of a file; `None` for columns that it cannot have.
pub(super) fn write(key: &str, kept: &KeptRecords) -> Option<Vec<u8>> {
    let (mut bodies, mut batches) = (Vec::new(), Vec::new());
    for batch in &kept.batches {
        let (packed, bytes) = PackedBatch::pack(batch)?;
        batches.push(packed);
        bodies.extend_from_slice(&bytes);
    }
    let header = Header {
        key: key.to_owned(),
        schema: kept.schema.as_ref().clone(),
        metadata: kept.metadata.clone(),
        file_bytes: kept.file_bytes,
        batches,
    };
    let header = serde_json::to_vec(&header).ok()?;
    let length = HEADER_FROM.checked_add(header.len())?.checked_add(bodies.len())?;
    let mut file = Vec::with_capacity(length);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&(length as u64).to_le_bytes());
    file.extend_from_slice(&u32::try_from(header.len()).ok()?.to_le_bytes());
    file.extend_from_slice(&header);
    file.extend_from_slice(&bodies);
    let checksum = crc32fast::hash(file.get(CHECKED_FROM..)?);
    file.get_mut(MAGIC.len()..CHECKED_FROM)?.copy_from_slice(&checksum.to_le_bytes());
    Some(file)
}

/// What a file has for `key`: at most `most` bytes of columns.
///
/// # Errors
/// [`Damaged`].
pub(super) fn read(file: &[u8], key: &str, most: u64) -> Result<KeptRecords, Damaged> {
    if file.get(..MAGIC.len()) != Some(MAGIC.as_slice()) {
        return Err(Damaged);
    }
    let number = |from: usize| file.get(from..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let length = file.get(CHECKED_FROM..).and_then(|rest| rest.first_chunk()).ok_or(Damaged)?;
    if u64::from_le_bytes(*length) != file.len() as u64 {
        return Err(Damaged);
    }
    let checksum = number(MAGIC.len()).ok_or(Damaged)?;
    if crc32fast::hash(file.get(CHECKED_FROM..).ok_or(Damaged)?) != checksum {
        return Err(Damaged);
    }
    let header = number(HEADER_FROM - 4).and_then(|length| usize::try_from(length).ok()).ok_or(Damaged)?;
    let (header, mut bodies) =
        file.get(HEADER_FROM..).and_then(|rest| rest.split_at_checked(header)).ok_or(Damaged)?;
    let header: Header = serde_json::from_slice(header).map_err(|_| Damaged)?;
    if header.key != key {
        return Err(Damaged);
    }
    let schema = Arc::new(header.schema);
    let mut left = usize::try_from(most).unwrap_or(usize::MAX);
    let mut batches = Vec::new();
    for batch in header.batches {
        let (packed, rest) = bodies.split_at_checked(batch.packed).ok_or(Damaged)?;
        bodies = rest;
        left = left.checked_sub(batch.length).ok_or(Damaged)?;
        batches.push(batch.unpack(&schema, packed).ok_or(Damaged)?);
    }
    Ok(KeptRecords { schema, batches, metadata: header.metadata, file_bytes: header.file_bytes })
}
