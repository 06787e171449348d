//! The updates of a table's metadata, in the terms of the REST catalog specification (Iceberg's
//! `MetadataUpdate.java`, `TableMetadata.java`).

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::base::Base;
use super::document::Document;
use super::store::ROW_IDS;
use crate::error::{Result, fitting};
use crate::iceberg::metadata::{MAIN, SnapshotRef};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::write::FormatVersion;

/// The kinds of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatisticsKind {
    /// Of the whole table.
    Table,
    /// Of each partition.
    Partitions,
}

impl StatisticsKind {
    /// The name in metadata and updates.
    pub(super) const fn name(self) -> &'static str {
        match self {
            StatisticsKind::Table => "statistics",
            StatisticsKind::Partitions => "partition-statistics",
        }
    }
}

/// The id by which updates refer to the schema or spec that was added last.
const LAST_ADDED: i32 = -1;

/// One change of the metadata.
#[derive(Debug, Clone)]
pub(super) enum Update {
    /// A snapshot, as its JSON.
    AddSnapshot(Map<String, Value>),
    /// Creates or moves a branch or tag.
    SetRef(String, SnapshotRef),
    RemoveRefs(Vec<String>),
    RemoveSnapshots(Vec<i64>),
    SetProperties(Vec<(String, String)>),
    RemoveProperties(Vec<String>),
    /// Assigns a UUID to a table without one.
    AssignUuid(String),
    UpgradeFormatVersion(FormatVersion),
    /// A schema, as its JSON.
    AddSchema {
        schema: Value,
        last_column_id: i32,
    },
    SetCurrentSchema {
        id: i32,
        /// Whether it was just added.
        is_new: bool,
    },
    AddSpec(PartitionSpec),
    SetDefaultSpec {
        id: i32,
        /// Whether it was just added.
        is_new: bool,
    },
    /// A file of statistics of a snapshot.
    SetStatistics(StatisticsKind, i64, Value),
    RemoveStatistics(StatisticsKind, i64),
}

impl Update {
    /// The update as JSON for catalogs, which remove refs one by one.
    pub(super) fn json(&self) -> Vec<Value> {
        let action = |action: &str, more: Value| {
            let mut update = Map::from_iter([("action".to_owned(), Value::from(action))]);
            update.extend(more.as_object().cloned().unwrap_or_default());
            Value::Object(update)
        };
        let update = match self {
            Update::AddSnapshot(snapshot) => action("add-snapshot", json!({ "snapshot": snapshot })),
            Update::SetRef(name, one) => {
                let mut update = Map::from_iter([("ref-name".to_owned(), Value::from(name.as_str()))]);
                update.extend(ref_json(one));
                action("set-snapshot-ref", Value::Object(update))
            }
            Update::RemoveRefs(names) => {
                let removal = |name| action("remove-snapshot-ref", json!({ "ref-name": name }));
                return names.iter().map(removal).collect();
            }
            Update::RemoveSnapshots(ids) => action("remove-snapshots", json!({ "snapshot-ids": ids })),
            Update::SetProperties(pairs) => {
                let updates: Map<String, Value> =
                    pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect();
                action("set-properties", json!({ "updates": updates }))
            }
            Update::RemoveProperties(keys) => action("remove-properties", json!({ "removals": keys })),
            Update::AssignUuid(uuid) => action("assign-uuid", json!({ "uuid": uuid })),
            Update::UpgradeFormatVersion(version) => {
                action("upgrade-format-version", json!({ "format-version": version.number() }))
            }
            Update::AddSchema { schema, last_column_id } => {
                action("add-schema", json!({ "schema": schema, "last-column-id": last_column_id }))
            }
            Update::SetCurrentSchema { id, is_new } => {
                action("set-current-schema", json!({ "schema-id": if *is_new { LAST_ADDED } else { *id } }))
            }
            Update::AddSpec(spec) => action("add-spec", json!({ "spec": spec.to_json() })),
            Update::SetDefaultSpec { id, is_new } => {
                action("set-default-spec", json!({ "spec-id": if *is_new { LAST_ADDED } else { *id } }))
            }
            Update::SetStatistics(kind, id, file) => {
                let mut update = Map::from_iter([(kind.name().to_owned(), file.clone())]);
                if *kind == StatisticsKind::Table {
                    update.insert("snapshot-id".to_owned(), (*id).into());
                }
                action(&format!("set-{}", kind.name()), Value::Object(update))
            }
            Update::RemoveStatistics(kind, id) => {
                action(&format!("remove-{}", kind.name()), json!({ "snapshot-id": id }))
            }
        };
        vec![update]
    }

    /// Applies the update to `to`, which is the metadata of `base` after earlier updates.
    ///
    /// # Errors
    /// `Json` for metadata with malformed lists; `Mismatch` where numbers overflow.
    pub(super) fn apply(&self, base: &Base, to: &mut Document, now_ms: i64) -> Result<()> {
        match self {
            Update::AddSnapshot(snapshot) => add_snapshot(to, snapshot),
            Update::SetRef(name, one) => set_ref(to, name, one, now_ms),
            Update::RemoveRefs(names) => remove_keys(to, "refs", names),
            Update::RemoveSnapshots(ids) => remove_snapshots(to, ids),
            Update::SetProperties(pairs) => {
                let properties = to.object("properties")?;
                let pairs = pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
                properties.extend(pairs);
                Ok(())
            }
            Update::RemoveProperties(keys) => remove_keys(to, "properties", keys),
            Update::AssignUuid(uuid) => {
                to.values_mut().insert("table-uuid".to_owned(), uuid.as_str().into());
                Ok(())
            }
            Update::UpgradeFormatVersion(version) => upgrade(base, to.values_mut(), *version),
            Update::AddSchema { schema, last_column_id } => add_schema(base, to, schema, *last_column_id),
            Update::SetCurrentSchema { id, .. } => set_current_schema(base, to, *id),
            Update::AddSpec(spec) => add_spec(base, to, spec),
            Update::SetDefaultSpec { id, .. } => set_default_spec(base, to, *id),
            Update::SetStatistics(kind, id, file) => {
                let files = to.list(kind.name())?;
                files.retain(|file| !is_of(file, *id));
                files.push(file.clone());
                Ok(())
            }
            Update::RemoveStatistics(kind, id) => {
                to.list(kind.name())?.retain(|file| !is_of(file, *id));
                Ok(())
            }
        }
    }
}

/// Removes keys of an object at once, since each alone would move all that follow it.
fn remove_keys(to: &mut Document, object: &str, keys: &[String]) -> Result<()> {
    let gone: HashSet<&String> = keys.iter().collect();
    to.object(object)?.retain(|key, _| !gone.contains(key));
    Ok(())
}

fn add_schema(base: &Base, to: &mut Document, schema: &Value, last_column_id: i32) -> Result<()> {
    to.values_mut().insert("last-column-id".to_owned(), last_column_id.into());
    let schemas = schemas(base, to)?;
    let id = |schema: &Value| schema.get("schema-id").and_then(Value::as_i64);
    if !schemas.iter().any(|known| id(known) == id(schema)) {
        schemas.push(schema.clone());
    }
    Ok(())
}

/// The schemas; in version 1 there may be only the current one.
fn schemas<'d>(base: &Base, to: &'d mut Document) -> Result<&'d mut Vec<Value>> {
    let is_there = to.values().get("schemas").is_some_and(|schemas| !schemas.is_null());
    let schemas = to.list("schemas")?;
    if !is_there {
        schemas.extend(base.metadata.schemas.iter().map(|schema| schema.to_json()));
    }
    Ok(schemas)
}

fn set_current_schema(base: &Base, to: &mut Document, id: i32) -> Result<()> {
    to.values_mut().insert("current-schema-id".to_owned(), id.into());
    let is_meant = |schema: &&Value| schema.get("schema-id").and_then(Value::as_i64) == Some(id.into());
    let schema = schemas(base, to)?.iter().find(is_meant).cloned();
    if let Some(schema) = schema.filter(|_| base.version == FormatVersion::V1) {
        to.values_mut().insert("schema".to_owned(), schema);
    }
    Ok(())
}

fn add_spec(base: &Base, to: &mut Document, spec: &PartitionSpec) -> Result<()> {
    let ids = spec.fields.iter().map(|field| field.field_id);
    let last = ids.fold(base.metadata.last_partition_id, i32::max);
    to.values_mut().insert("last-partition-id".to_owned(), last.into());
    specs(base, to)?.push(spec.to_json());
    Ok(())
}

/// The partition specs; in version 1 there may be only the default one.
fn specs<'d>(base: &Base, to: &'d mut Document) -> Result<&'d mut Vec<Value>> {
    let is_there = to.values().get("partition-specs").is_some_and(|specs| !specs.is_null());
    let specs = to.list("partition-specs")?;
    if !is_there {
        specs.extend(base.metadata.partition_specs.iter().map(PartitionSpec::to_json));
    }
    Ok(specs)
}

fn set_default_spec(base: &Base, to: &mut Document, id: i32) -> Result<()> {
    to.values_mut().insert("default-spec-id".to_owned(), id.into());
    let is_meant = |spec: &&Value| spec.get("spec-id").and_then(Value::as_i64) == Some(id.into());
    let fields = specs(base, to)?.iter().find(is_meant).and_then(|spec| spec.get("fields")).cloned();
    if let Some(fields) = fields.filter(|_| base.version == FormatVersion::V1) {
        to.values_mut().insert("partition-spec".to_owned(), fields);
    }
    Ok(())
}

fn add_snapshot(to: &mut Document, snapshot: &Map<String, Value>) -> Result<()> {
    if let Some(number) = snapshot.get("sequence-number") {
        to.values_mut().insert("last-sequence-number".to_owned(), number.clone());
    }
    let number = |key: &str| snapshot.get(key).and_then(Value::as_i64);
    if let Some((first, count)) = number("first-row-id").zip(number("added-rows")) {
        let next = fitting(first.checked_add(count), ROW_IDS)?;
        to.values_mut().insert("next-row-id".to_owned(), next.into());
    }
    to.push_snapshot(Value::Object(snapshot.clone()));
    Ok(())
}

/// The keys of the retention rules of a branch or tag.
const RULES: [&str; 3] = ["min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"];

/// Moves a branch or tag; for `main` also the current snapshot and the log.
fn set_ref(to: &mut Document, name: &str, one: &SnapshotRef, now_ms: i64) -> Result<()> {
    let refs = to.object("refs")?;
    // Unknown keys of others are kept.
    let mut kept = refs.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    RULES.iter().for_each(|key| _ = kept.remove(*key));
    kept.extend(ref_json(one));
    refs.insert(name.to_owned(), Value::Object(kept));
    let current = to.values().get("current-snapshot-id").and_then(Value::as_i64);
    if name == MAIN && current != Some(one.snapshot_id) {
        to.values_mut().insert("current-snapshot-id".to_owned(), one.snapshot_id.into());
        to.push_log(json!({ "timestamp-ms": now_ms, "snapshot-id": one.snapshot_id }));
    }
    Ok(())
}

/// A branch or tag as JSON of metadata.
fn ref_json(one: &SnapshotRef) -> Map<String, Value> {
    let mut json = Map::new();
    json.insert("snapshot-id".to_owned(), one.snapshot_id.into());
    json.insert("type".to_owned(), one.kind.name().into());
    let rules = [one.min_snapshots_to_keep.map(i64::from), one.max_snapshot_age_ms, one.max_ref_age_ms];
    json.extend(RULES.iter().zip(rules).filter_map(|(key, rule)| Some(((*key).to_owned(), rule?.into()))));
    json
}

/// Removes snapshots, and their statistics.
fn remove_snapshots(to: &mut Document, ids: &[i64]) -> Result<()> {
    let is_removed = |id: i64| ids.binary_search(&id).is_ok();
    for key in ["statistics", "partition-statistics"] {
        if to.values().contains_key(key) {
            to.list(key)?
                .retain(|row| !row.get("snapshot-id").and_then(Value::as_i64).is_some_and(is_removed));
        }
    }
    to.remove_snapshots(is_removed)
}

/// Whether an element belongs to a snapshot.
fn is_of(one: &Value, snapshot_id: i64) -> bool {
    one.get("snapshot-id").and_then(Value::as_i64) == Some(snapshot_id)
}

/// The requirements of `updates` (Iceberg's `UpdateRequirements.java`).
pub(super) fn requirements(base: &Base, updates: &[Update]) -> Value {
    let mut all = Vec::new();
    let uuid = base.metadata.table_uuid.as_ref();
    all.extend(uuid.map(|uuid| json!({ "type": "assert-table-uuid", "uuid": uuid })));
    let stands = |name: &str| {
        let id = base.metadata.refs.get(name).map(|one| one.snapshot_id);
        json!({ "type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": id })
    };
    for update in updates {
        match update {
            Update::SetRef(name, _) => all.push(stands(name)),
            Update::RemoveRefs(names) => all.extend(names.iter().map(|name| stands(name))),
            // A snapshot to which another commit has pointed a ref meanwhile must not be removed.
            Update::RemoveSnapshots(_) => all.extend(base.metadata.refs.keys().map(|name| stands(name))),
            Update::AddSchema { .. } => {
                let id = base.metadata.last_column_id;
                all.push(json!({ "type": "assert-last-assigned-field-id", "last-assigned-field-id": id }));
            }
            Update::SetCurrentSchema { .. } => {
                let id = base.metadata.current_schema_id;
                all.push(json!({ "type": "assert-current-schema-id", "current-schema-id": id }));
            }
            Update::AddSpec(_) => {
                let id = base.metadata.last_partition_id;
                let key = "last-assigned-partition-id";
                all.push(json!({ "type": "assert-last-assigned-partition-id", key: id }));
            }
            Update::SetDefaultSpec { .. } => {
                let id = base.metadata.default_spec_id;
                all.push(json!({ "type": "assert-default-spec-id", "default-spec-id": id }));
            }
            _ => {}
        }
    }
    let mut seen = HashSet::new();
    all.retain(|one| seen.insert(one.to_string()));
    Value::Array(all)
}

/// Upgrades metadata to a later version of the format (Iceberg specification, "Format version changes";
/// `TableMetadataParser.java`): adds what that requires, and removes what it does not have.
fn upgrade(base: &Base, json: &mut Map<String, Value>, version: FormatVersion) -> Result<()> {
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
