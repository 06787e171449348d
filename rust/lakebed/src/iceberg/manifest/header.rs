//! What a manifest says of itself in the header of its file.

use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{Blocks, Header, Limits};

use super::{PartitionLayout, number};
use crate::error::Result;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::types::Schema;
use crate::json::parse;

/// The keys of a manifest's header that tables need not look at: the manifest list and the table's
/// metadata say the same. Many writers leave them out, and some get them wrong: what is not readable is
/// taken as not there.
#[derive(Debug, Clone, Default)]
pub struct ManifestHeader {
    /// `partition-spec-id`.
    pub spec_id: Option<i32>,
    /// `partition-spec`, whether or not `schema` still has the columns that it is made of.
    pub spec: Option<Arc<PartitionSpec>>,
    /// `partition-spec` over `schema`; `None` unless the types of all fields are known.
    pub partition: Option<PartitionLayout>,
}

impl ManifestHeader {
    /// The header of a manifest; of one that is not in Avro, nothing is known.
    ///
    /// # Errors
    /// Those of the Avro layer.
    pub fn read(bytes: &Buffer, limits: Limits) -> Result<ManifestHeader> {
        if crate::columnar::is_columnar(bytes) {
            return Ok(ManifestHeader::default());
        }
        let (header, _) = Blocks::open(bytes.clone().into(), limits)?;
        let spec_id = header.get("partition-spec-id").and_then(number);
        let spec_id = spec_id.and_then(|id| id.try_into().ok());
        let spec = spec(&header, spec_id.unwrap_or(0)).map(Arc::new);
        let partition = spec.clone().and_then(|spec| layout(&header, spec));
        Ok(ManifestHeader { spec_id, spec, partition })
    }
}

/// The spec of the header.
fn spec(header: &Header, spec_id: i32) -> Option<PartitionSpec> {
    let fields = parse(header.get("partition-spec")?).ok()?;
    PartitionSpec::from_fields(spec_id, &fields).ok()
}

/// The spec of the header with the types of its fields; `None` unless all of them are known.
fn layout(header: &Header, spec: Arc<PartitionSpec>) -> Option<PartitionLayout> {
    let schema = Schema::parse(header.get("schema")?).ok()?;
    let unified = PartitionType::unify(std::slice::from_ref(spec.as_ref()), &[&schema]);
    (unified.fields.len() == spec.fields.len()).then(|| PartitionLayout { unified: Arc::new(unified), spec })
}
