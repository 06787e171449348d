//! Index manifests: the index files of a snapshot (Paimon's `IndexManifestEntry.java`).

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use super::fields::{INDEX, INDEX_MANIFEST_VERSION, VERSION};
use super::version::read_records;
use crate::columnar::Decoding;
use crate::error::Result;
use crate::record::RecordResolver;

/// Reads an index manifest: one row per index file, in file order, with the named columns of [`INDEX`] (all
/// for `None`).
///
/// # Errors
/// Those of the container's layer; `Version` for a record that is not of version 1;
/// `Required` for a field that is absent or null; `UnknownColumn`.
pub fn read_index_manifest(
    bytes: Buffer,
    columns: Option<&[String]>,
    decoding: &Decoding,
) -> Result<RecordBatch> {
    let resolver = RecordResolver::new(&INDEX, columns, &[], &[VERSION])?;
    read_records(bytes, &resolver, INDEX_MANIFEST_VERSION, decoding)
}
