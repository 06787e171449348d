//! Files built by hand, byte by byte.

use arrow_array::RecordBatch;
use lakebed_avro::{Error, ErrorKind, Limits, ReadOptions};

pub use super::varint::long;

/// The sync marker of these files.
pub const SYNC: [u8; 16] = *b"0123456789abcdef";

/// A length and the bytes.
pub fn bytes(value: &[u8]) -> Vec<u8> {
    [long(value.len() as i64), value.to_vec()].concat()
}

/// A header with this schema and codec.
pub fn header(schema: &str, codec: &str) -> Vec<u8> {
    let entries = [&b"avro.schema"[..], schema.as_bytes(), b"avro.codec", codec.as_bytes()];
    let entries: Vec<u8> = entries.iter().flat_map(|entry| bytes(entry)).collect();
    [b"Obj\x01".to_vec(), long(2), entries, long(0), SYNC.to_vec()].concat()
}

/// A block of `count` records.
pub fn block(count: i64, payload: &[u8]) -> Vec<u8> {
    [long(count), bytes(payload), SYNC.to_vec()].concat()
}

/// A file without compression: `schema`, then blocks of a count and a payload.
pub fn file(schema: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let blocks = blocks.iter().flat_map(|(count, payload)| block(*count, payload));
    header(schema, "null").into_iter().chain(blocks).collect()
}

/// A record schema with these fields, written `"name": type` each.
pub fn record(fields: &[(&str, &str)]) -> String {
    let fields = fields.iter().map(|(name, of)| format!(r#"{{"name": "{name}", "type": {of}}}"#));
    format!(r#"{{"type": "record", "name": "row", "fields": [{}]}}"#, fields.collect::<Vec<_>>().join(", "))
}

/// Reads a whole file within `limits`.
pub fn read(file: &[u8], limits: Limits) -> Result<Vec<RecordBatch>, Error> {
    super::read(super::memory(file), ReadOptions { limits, ..ReadOptions::default() })
}

/// The error of a file: kind, block, record, field.
pub type Fault<'a> = (ErrorKind, Option<u64>, Option<u64>, Option<&'a str>);

/// Reads a file that must be refused and compares kind and location.
pub fn refused(file: &[u8], limits: Limits, expected: Fault<'_>) {
    let error = read(file, limits).expect_err("a file that must be refused");
    let place = error.location();
    assert_eq!((error.kind(), place.block, place.record, place.field.as_deref()), expected, "{error}");
    assert!(place.offset.is_some(), "{error} has no offset");
}
