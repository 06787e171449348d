//! Upgrades metadata to a later version of the format (Iceberg specification, "Format version changes";
//! `TableMetadataParser.java`).

use serde_json::{Map, Value, json};

use super::base::Base;
use crate::error::Result;
use crate::iceberg::write::FormatVersion;

/// Converts metadata to `version`: adds what that requires, and removes what it does not have.
pub(super) fn upgrade(base: &Base, json: &mut Map<String, Value>, version: FormatVersion) -> Result<()> {
    json.insert("format-version".to_owned(), version.number().into());
    let absent = |json: &Map<String, Value>, key: &str| json.get(key).is_none_or(Value::is_null);
    let mut fill = |key: &str, value: &dyn Fn() -> Value| {
        if absent(json, key) {
            json.insert(key.to_owned(), value());
        }
    };
    let known = &base.metadata;
    fill("last-sequence-number", &|| 0.into());
    fill("current-schema-id", &|| known.current_schema_id.into());
    fill("schemas", &|| known.schemas.iter().map(|schema| schema.to_json()).collect());
    fill("default-spec-id", &|| known.default_spec_id.into());
    fill("partition-specs", &|| known.partition_specs.iter().map(|spec| spec.to_json()).collect());
    fill("last-partition-id", &|| known.last_partition_id.into());
    fill("default-sort-order-id", &|| known.default_sort_order_id.into());
    fill("sort-orders", &|| json!([{ "order-id": 0, "fields": [] }]));
    if version == FormatVersion::V3 {
        fill("next-row-id", &|| 0.into());
    }
    for key in ["schema", "partition-spec"] {
        json.shift_remove(key);
    }
    Ok(())
}
