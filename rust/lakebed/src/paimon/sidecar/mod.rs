//! Sidecars of manifests: which blocks of an Avro manifest have entries of which partitions, buckets and row
//! ids (Paimon's `ManifestSidecar.java`, format version 1 as Paimon 2.1 has it).
//!
//! Integers are unsigned LEB128 varints of up to 63 bits. A file is the magic, the format version, the
//! manifest's own header, the partitions, the blocks in the manifest's order, and a CRC-32, big endian, of all
//! before it. For each dimension a block has an encoding and, unless that is 0 (unknown), a payload.

mod build;
mod parse;
mod select;

pub(crate) use build::build;
pub(crate) use select::selected;

use super::schema::TableSchema;
use super::write::is_on;

/// The end of a sidecar's name; a manifest's list record names it among the extra files.
pub(crate) const SUFFIX: &str = ".avro.sidecar";

const MAGIC: [u8; 4] = *b"PMSC";
const FORMAT_VERSION: u64 = 1;
/// The encoding of a dimension that is not known.
const UNKNOWN: u8 = 0;
/// The only encoding of payloads.
const ENCODED: u8 = 1;
/// The largest integer, as in Java.
const MAX_LONG: u64 = i64::MAX as u64;

/// Whether the table's sidecars are read and written.
pub(crate) fn is_enabled(schema: &TableSchema) -> bool {
    is_on(schema, "manifest.sidecar.enabled", is_on(schema, "manifest-sort.enabled", false))
}
