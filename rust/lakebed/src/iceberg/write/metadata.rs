//! Writes `metadata.json`: compact, with keys in the order of Iceberg's `TableMetadataParser.java` and the
//! like.

use std::io::Write;

use arrow_buffer::Buffer;
use flate2::Compression;
use flate2::write::GzEncoder;
use lakebed_avro::Limits;
use serde_json::{Map, Value};

use super::order::{METADATA, ordered};
use crate::error::{Error, Result};
use crate::iceberg::discovery::ENDINGS;
use crate::iceberg::metadata::MetadataFile;
use crate::json::{depth_of, parse_within, roomy, without_nuls};

/// The text of a metadata file: the object `json`, compact, with the format's keys in Java's order, followed
/// by others. Nothing is added or left out; integers are unchanged.
///
/// # Errors
/// Those of [`TableMetadata::read`](crate::iceberg::metadata::TableMetadata::read): metadata that could not
/// be opened as a table is not written.
pub fn metadata_text(json: &str, limits: Limits) -> Result<String> {
    MetadataFile::of_bytes(Buffer::from(json.as_bytes()), limits.capped()).to_json()?;
    compact(parse_within(without_nuls(json.as_bytes()))?)
}

/// The text of metadata that was checked before.
///
/// # Errors
/// As [`in_order`].
pub(in crate::iceberg) fn compact(metadata: Map<String, Value>) -> Result<String> {
    Ok(Value::Object(in_order(metadata)?).to_string())
}

/// Metadata with its keys in order.
///
/// # Errors
/// None but a bug's.
pub(super) fn in_order(metadata: Map<String, Value>) -> Result<Map<String, Value>> {
    roomy(depth_of(metadata.values()), || Ok(ordered(metadata, &METADATA)))
}

/// The property of tables that says whether their metadata files are compressed.
pub(crate) const METADATA_CODEC: &str = "write.metadata.compression-codec";

/// The ending of the name of a new metadata file, for a value of [`METADATA_CODEC`].
pub(crate) fn metadata_ending(codec: Option<&str>) -> &'static str {
    let [plain, gzip, _] = ENDINGS;
    if codec.is_some_and(|codec| codec.eq_ignore_ascii_case("gzip")) { gzip } else { plain }
}

/// Whether a metadata file of that name is compressed: `v3.gz.metadata.json`, `v3.metadata.json.gz`.
pub fn is_gzip_name(path: &str) -> bool {
    let [_, gzip, older_gzip] = ENDINGS;
    path.ends_with(gzip) || path.ends_with(older_gzip)
}

/// The bytes of a metadata file with that name, compressed if the name requires it.
///
/// # Errors
/// `Io` where compression fails.
pub fn metadata_bytes(text: String, path: &str) -> Result<Vec<u8>> {
    if !is_gzip_name(path) {
        return Ok(text.into_bytes());
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let written = gzip.write_all(text.as_bytes()).and_then(|()| gzip.finish());
    written.map_err(|error| Error::from(error).in_file(path))
}
