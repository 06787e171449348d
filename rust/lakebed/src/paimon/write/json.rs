//! Snapshots, tags and schemas as JSON files (Paimon's `JsonSerdeUtil.java`, `Snapshot.java`, `Tag.java`,
//! `TableSchema.java`).

use serde_json::{Map, Value};

use crate::error::Result;
use crate::json;
use crate::paimon::jackson;
use crate::paimon::schema::TableSchema;
use crate::paimon::snapshot::{Snapshot, Tag};

/// Keys of snapshots in the order in which Java writes them, then those of tags.
const SNAPSHOT: [&str; 27] = [
    "version",
    "uuid",
    "id",
    "schemaId",
    "baseManifestList",
    "baseManifestListSize",
    "deltaManifestList",
    "deltaManifestListSize",
    "changelogManifestList",
    "changelogManifestListSize",
    "indexManifest",
    "commitUser",
    "writerVersion",
    "commitIdentifier",
    "commitKind",
    "timeMillis",
    "logOffsets",
    "totalRecordCount",
    "deltaRecordCount",
    "changelogRecordCount",
    "watermark",
    "statistics",
    "properties",
    "nextRowId",
    "operation",
    "tagCreateTime",
    "tagTimeRetained",
];

/// Keys of schemas in that order.
const SCHEMA: [&str; 9] = [
    "version",
    "id",
    "fields",
    "highestFieldId",
    "partitionKeys",
    "primaryKeys",
    "options",
    "comment",
    "timeMillis",
];

/// How long a tag is kept \[s\].
const RETAINED: &str = "tagTimeRetained";

/// The one key that writers before Paimon 1.4 wrote as null.
const WRITTEN_AS_NULL: &str = "changelogManifestList";

/// The file of a snapshot, long-lived changelog or tag, from its JSON object. Keys are spelled and ordered as
/// by Java, with unknown keys at the end. Nulls are left out, except for `changelogManifestList` in the form
/// of writers before Paimon 1.4.
///
/// # Errors
/// `Json` for what [`Tag::from_json`] refuses.
pub fn snapshot_file(json: &[u8]) -> Result<String> {
    Tag::from_json(json)?;
    let mut object: Map<String, Value> = json::parse(json)?;
    object.retain(|key, value| !value.is_null() || key == WRITTEN_AS_NULL);
    // A duration is a decimal number even if it is whole.
    if let Some(seconds) = object.get_mut(RETAINED)
        && let Some(number) = seconds.as_f64()
    {
        *seconds = number.into();
    }
    jackson::pretty(&ordered(object, &SNAPSHOT))
}

/// The JSON object of a snapshot in its order, with unknown keys of other writers at the end.
pub(super) fn snapshot_object(
    snapshot: &Snapshot,
    carried: &Map<String, Value>,
) -> Result<Map<String, Value>> {
    let value = serde_json::to_value(snapshot).map_err(|error| json::invalid(error.to_string()))?;
    let Value::Object(mut object) = value else { return Err(json::invalid("a snapshot is an object")) };
    object.retain(|_, value| !value.is_null());
    object.extend(carried.clone());
    Ok(ordered(object, &SNAPSHOT))
}

/// The unknown keys in the file of a snapshot, which commits keep.
///
/// # Errors
/// `Json`.
pub(super) fn carried_keys(snapshot: &[u8]) -> Result<Map<String, Value>> {
    let mut object: Map<String, Value> = json::parse(snapshot)?;
    object.retain(|key, _| !SNAPSHOT.contains(&key.as_str()));
    Ok(object)
}

/// The file of a schema, as [`snapshot_file`].
///
/// # Errors
/// `Json` and `Type` for what [`TableSchema::from_json`] refuses.
pub fn schema_file(json: &[u8]) -> Result<String> {
    TableSchema::from_json(json)?;
    let mut object: Map<String, Value> = json::parse(json)?;
    object.retain(|_, value| !value.is_null());
    if let Some(Value::Array(fields)) = object.get_mut("fields") {
        fields.iter_mut().for_each(order_field);
    }
    jackson::pretty(&ordered(object, &SCHEMA))
}

/// Orders the keys of a column, and of the fields in its type.
fn order_field(field: &mut Value) {
    let Some(object) = field.as_object_mut() else { return };
    let mut object = std::mem::take(object);
    object.retain(|_, value| !value.is_null());
    if let Some(ty) = object.get_mut("type") {
        order_type(ty);
    }
    *field = Value::Object(ordered(object, &["id", "name", "type", "description", "defaultValue"]));
}

fn order_type(ty: &mut Value) {
    let Some(object) = ty.as_object_mut() else { return };
    let mut object = std::mem::take(object);
    for (key, value) in &mut object {
        match (key.as_str(), value) {
            ("fields", Value::Array(fields)) => fields.iter_mut().for_each(order_field),
            ("element" | "key" | "value", inner) => order_type(inner),
            _ => {}
        }
    }
    *ty = Value::Object(ordered(object, &["type", "element", "length", "key", "value", "fields"]));
}

/// The object with the known keys first, in their order.
fn ordered(mut object: Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    let mut known: Map<String, Value> =
        keys.iter().filter_map(|key| Some(((*key).to_owned(), object.shift_remove(*key)?))).collect();
    known.append(&mut object);
    known
}
