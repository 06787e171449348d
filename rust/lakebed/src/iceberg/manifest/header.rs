//! The metadata in the header of a manifest's file, or in the footer of one in Parquet.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::{PartitionLayout, number};
use crate::columnar::Decoding;
use crate::error::Result;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::types::Schema;
use crate::json::parse;
use crate::record::FileMetadata;

/// The keys of a manifest's header. Tables do not need them: the manifest list and the table's metadata have
/// the same information. Many writers leave them out or write wrong values; an unreadable value counts as
/// missing.
#[derive(Debug, Clone, Default)]
pub struct ManifestHeader {
    /// `content`: "data" or "deletes".
    pub content: Option<String>,
    /// `format-version`.
    pub format_version: Option<i32>,
    /// `partition-spec-id`.
    pub spec_id: Option<i32>,
    /// `schema-id`, else that of `schema`.
    pub schema_id: Option<i32>,
    /// `partition-spec`, even if `schema` no longer has its source columns.
    pub spec: Option<Arc<PartitionSpec>>,
    /// `partition-spec` over `schema`; `None` unless the types of all fields are known.
    pub partition: Option<PartitionLayout>,
}

impl ManifestHeader {
    /// The header of a manifest.
    ///
    /// # Errors
    /// Those of the container's layer.
    pub fn read(bytes: &Buffer, decoding: &Decoding) -> Result<ManifestHeader> {
        let header = FileMetadata::read(bytes, decoding)?;
        let int = |key| header.get(key).and_then(number).and_then(|number| i32::try_from(number).ok());
        let content = header.get("content").and_then(|word| std::str::from_utf8(word).ok());
        let spec_id = int("partition-spec-id");
        let spec = spec(&header, spec_id.unwrap_or(0)).map(Arc::new);
        let partition = spec.clone().and_then(|spec| layout(&header, spec));
        Ok(ManifestHeader {
            content: content.map(str::to_owned),
            format_version: int("format-version"),
            spec_id,
            schema_id: int("schema-id").or_else(|| schema_id(&header)),
            spec,
            partition,
        })
    }
}

/// The spec of the header.
fn spec(header: &FileMetadata, spec_id: i32) -> Option<PartitionSpec> {
    let fields = parse(header.get("partition-spec")?).ok()?;
    PartitionSpec::from_fields(spec_id, &fields).ok()
}

/// The id in the schema of the header, where Java and PyIceberg write it.
fn schema_id(header: &FileMetadata) -> Option<i32> {
    parse::<serde_json::Value>(header.get("schema")?).ok()?.get("schema-id")?.as_i64()?.try_into().ok()
}

/// The spec of the header with the types of its fields; `None` unless all of them are known.
fn layout(header: &FileMetadata, spec: Arc<PartitionSpec>) -> Option<PartitionLayout> {
    let schema = Schema::parse(header.get("schema")?).ok()?;
    let unified = PartitionType::unify(std::slice::from_ref(spec.as_ref()), &[&schema]);
    (unified.fields.len() == spec.fields.len()).then(|| PartitionLayout { unified: Arc::new(unified), spec })
}
