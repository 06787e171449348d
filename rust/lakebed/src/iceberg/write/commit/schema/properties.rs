//! Updates properties that contain names of columns (Iceberg's `SchemaUpdate.java`, `MappingUtil.java`,
//! `PropertyUtil.java`).

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::super::base::Base;
use super::super::update::Update;
use super::schema_update::{ROOT, SchemaUpdate};
use crate::error::Result;
use crate::iceberg::metadata::NAME_MAPPING;
use crate::iceberg::types::{FieldRef, NestedField, Schema};
use crate::json::parse;

/// Prefixes of properties whose keys end in the name of a column.
const OF_COLUMNS: [&str; 3] = [
    "write.metadata.metrics.column.",
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.stats-enabled.column.",
];

/// The updates of the properties.
pub(super) fn updates(base: &Base, change: &SchemaUpdate<'_>) -> Result<Vec<Update>> {
    let (mut set, mut removed) = (Vec::new(), Vec::new());
    // An invalid mapping is left alone: the schema does not depend on it, and Java leaves it too.
    let mapping = base.metadata.property(NAME_MAPPING).and_then(|text| parse::<Value>(text.as_bytes()).ok());
    if let Some(Value::Array(fields)) = mapping {
        let text = Value::Array(mapped(change, fields, ROOT)).to_string();
        if base.metadata.property(NAME_MAPPING) != Some(&text) {
            set.push((NAME_MAPPING.to_owned(), text));
        }
    }
    let after = Schema::new(0, change.fields()?, Vec::new())?;
    for (key, value) in &base.metadata.properties {
        let found = OF_COLUMNS.iter().find_map(|prefix| Some((*prefix, key.strip_prefix(prefix)?)));
        let Some((prefix, column)) = found else { continue };
        let Some(field) = change.schema.field_by_name(column) else { continue };
        if change.deletes.contains(&field.id) {
            removed.push(key.clone());
        } else if let Some(name) = after.name_of(field.id).filter(|name| *name != column) {
            // In Java a column nested in a renamed one keeps its old name here.
            if change.updates.contains_key(&field.id) {
                removed.push(key.clone());
                set.push((format!("{prefix}{name}"), value.clone()));
            }
        }
    }
    let mut updates = Vec::new();
    removed.retain(|key| !set.iter().any(|(known, _)| known == key));
    updates.extend((!set.is_empty()).then_some(Update::SetProperties(set)));
    updates.extend((!removed.is_empty()).then_some(Update::RemoveProperties(removed)));
    Ok(updates)
}

/// The fields of a mapping with the columns' new names, and the fields added to `parent`.
fn mapped(change: &SchemaUpdate<'_>, fields: Vec<Value>, parent: i32) -> Vec<Value> {
    let new: Vec<&NestedField> =
        change.added.get(&parent).into_iter().flatten().filter_map(|id| change.updates.get(id)).collect();
    let taken: HashMap<&str, i32> = new.iter().map(|field| (field.name.as_str(), field.id)).collect();
    let mut all: Vec<Value> = fields.into_iter().map(|field| one(change, field, &taken)).collect();
    all.extend(new.into_iter().map(fresh));
    all
}

/// A field of a mapping, without names that now belong to another field.
fn one(change: &SchemaUpdate<'_>, field: Value, taken: &HashMap<&str, i32>) -> Value {
    let Value::Object(mut field) = field else { return field };
    let id = field.get("field-id").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
    let mut names: Vec<Value> = field.get("names").and_then(Value::as_array).cloned().unwrap_or_default();
    let update = id.and_then(|id| change.updates.get(&id));
    let name = update.map(|update| Value::from(update.name.as_str()));
    names.extend(name.filter(|name| !names.contains(name)));
    names.retain(|name| {
        let owner = name.as_str().and_then(|name| taken.get(name));
        owner.is_none_or(|owner| Some(*owner) == id)
    });
    field.insert("names".to_owned(), Value::Array(names));
    let held = field.get("fields").and_then(Value::as_array).cloned();
    if let Some(id) = id.filter(|id| held.is_some() || change.added.contains_key(id)) {
        field.insert("fields".to_owned(), Value::Array(mapped(change, held.unwrap_or_default(), id)));
    }
    Value::Object(field)
}

/// The mapping of a new column.
fn fresh(field: &NestedField) -> Value {
    let mut json = Map::from_iter([
        ("field-id".to_owned(), Value::from(field.id)),
        ("names".to_owned(), json!([field.name])),
    ]);
    let held: Vec<Value> = field.ty.children().into_iter().map(|child: &FieldRef| fresh(child)).collect();
    if !held.is_empty() {
        json.insert("fields".to_owned(), Value::Array(held));
    }
    Value::Object(json)
}
