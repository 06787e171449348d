//! What a commit changes of a table's metadata, in the words of the REST catalog specification (Iceberg's
//! `MetadataUpdate.java`, `TableMetadata.java`).

use serde_json::{Map, Value, json};

use super::base::Base;
use super::settings::StatisticsKind;
use super::upgrade::upgrade;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::{MAIN, SnapshotRef};
use crate::iceberg::write::FormatVersion;

/// One change of the metadata.
#[derive(Debug, Clone)]
pub(super) enum Update {
    /// A snapshot, as its JSON.
    AddSnapshot(Map<String, Value>),
    /// A branch or tag is made or moved.
    SetRef(String, SnapshotRef),
    RemoveRef(String),
    RemoveSnapshots(Vec<i64>),
    SetProperties(Vec<(String, String)>),
    RemoveProperties(Vec<String>),
    /// The table has had no UUID.
    AssignUuid(String),
    UpgradeFormatVersion(FormatVersion),
    /// A file of statistics of a snapshot.
    SetStatistics(StatisticsKind, i64, Value),
    RemoveStatistics(StatisticsKind, i64),
}

impl Update {
    /// The update as catalogs take it.
    pub(super) fn json(&self) -> Value {
        let action = |action: &str, more: Value| {
            let mut update = Map::from_iter([("action".to_owned(), Value::from(action))]);
            update.extend(more.as_object().cloned().unwrap_or_default());
            Value::Object(update)
        };
        match self {
            Update::AddSnapshot(snapshot) => action("add-snapshot", json!({ "snapshot": snapshot })),
            Update::SetRef(name, one) => {
                let mut update = Map::from_iter([("ref-name".to_owned(), Value::from(name.as_str()))]);
                update.extend(ref_json(one));
                action("set-snapshot-ref", Value::Object(update))
            }
            Update::RemoveRef(name) => action("remove-snapshot-ref", json!({ "ref-name": name })),
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
        }
    }

    /// Makes the change in `json`, the metadata of `base` and what was changed of it before.
    ///
    /// # Errors
    /// `Json` for metadata whose lists are none; `Mismatch` where numbers run out.
    pub(super) fn apply(&self, base: &Base, json: &mut Map<String, Value>, now_ms: i64) -> Result<()> {
        match self {
            Update::AddSnapshot(snapshot) => add_snapshot(json, snapshot),
            Update::SetRef(name, one) => set_ref(json, name, one, now_ms),
            Update::RemoveRef(name) => {
                object(json, "refs")?.shift_remove(name);
                Ok(())
            }
            Update::RemoveSnapshots(ids) => remove_snapshots(json, ids),
            Update::SetProperties(pairs) => {
                let properties = object(json, "properties")?;
                let pairs = pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
                properties.extend(pairs);
                Ok(())
            }
            Update::RemoveProperties(keys) => {
                let properties = object(json, "properties")?;
                keys.iter().for_each(|key| drop(properties.shift_remove(key)));
                Ok(())
            }
            Update::AssignUuid(uuid) => {
                json.insert("table-uuid".to_owned(), uuid.as_str().into());
                Ok(())
            }
            Update::UpgradeFormatVersion(version) => upgrade(base, json, *version),
            Update::SetStatistics(kind, id, file) => {
                let files = list(json, kind.name())?;
                files.retain(|file| !is_of(file, *id));
                files.push(file.clone());
                Ok(())
            }
            Update::RemoveStatistics(kind, id) => {
                list(json, kind.name())?.retain(|file| !is_of(file, *id));
                Ok(())
            }
        }
    }
}

fn add_snapshot(json: &mut Map<String, Value>, snapshot: &Map<String, Value>) -> Result<()> {
    if let Some(number) = snapshot.get("sequence-number") {
        json.insert("last-sequence-number".to_owned(), number.clone());
    }
    let number = |key: &str| snapshot.get(key).and_then(Value::as_i64);
    if let Some((first, count)) = number("first-row-id").zip(number("added-rows")) {
        let next = first.checked_add(count);
        let next = next.ok_or_else(|| Error::new(ErrorKind::Mismatch, "row ids are beyond 64 bits"))?;
        json.insert("next-row-id".to_owned(), next.into());
    }
    list(json, "snapshots")?.push(Value::Object(snapshot.clone()));
    Ok(())
}

/// The rules of retention of a branch or tag.
const RULES: [&str; 3] = ["min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"];

/// Moves a branch or tag; of `main` the current snapshot and the log follow.
fn set_ref(json: &mut Map<String, Value>, name: &str, one: &SnapshotRef, now_ms: i64) -> Result<()> {
    let refs = object(json, "refs")?;
    // What others put beside the format's keys stays.
    let mut kept = refs.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    RULES.iter().for_each(|key| _ = kept.remove(*key));
    kept.extend(ref_json(one));
    refs.insert(name.to_owned(), Value::Object(kept));
    let is_current = |json: &Map<String, Value>| {
        json.get("current-snapshot-id").and_then(Value::as_i64) == Some(one.snapshot_id)
    };
    if name == MAIN && !is_current(json) {
        json.insert("current-snapshot-id".to_owned(), one.snapshot_id.into());
        let moved = json!({ "timestamp-ms": now_ms, "snapshot-id": one.snapshot_id });
        list(json, "snapshot-log")?.push(moved);
    }
    Ok(())
}

/// A branch or tag as metadata has it.
fn ref_json(one: &SnapshotRef) -> Map<String, Value> {
    let mut json = Map::new();
    json.insert("snapshot-id".to_owned(), one.snapshot_id.into());
    json.insert("type".to_owned(), one.kind.name().into());
    let rules = [one.min_snapshots_to_keep.map(i64::from), one.max_snapshot_age_ms, one.max_ref_age_ms];
    json.extend(RULES.iter().zip(rules).filter_map(|(key, rule)| Some(((*key).to_owned(), rule?.into()))));
    json
}

/// Takes snapshots out, their statistics, and of the log all up to the last that is gone: what comes before a gap would
/// seem to have been current in it.
fn remove_snapshots(json: &mut Map<String, Value>, ids: &[i64]) -> Result<()> {
    let goes = |row: &Value| {
        row.get("snapshot-id").and_then(Value::as_i64).is_some_and(|id| ids.binary_search(&id).is_ok())
    };
    for key in ["snapshots", "statistics", "partition-statistics"] {
        if json.contains_key(key) {
            list(json, key)?.retain(|row| !goes(row));
        }
    }
    let log = list(json, "snapshot-log")?;
    if let Some(last) = log.iter().rposition(goes) {
        log.drain(..=last);
    }
    Ok(())
}

/// Whether something is of a snapshot.
fn is_of(one: &Value, snapshot_id: i64) -> bool {
    one.get("snapshot-id").and_then(Value::as_i64) == Some(snapshot_id)
}

/// A list of the metadata, which need not be there.
pub(super) fn list<'j>(json: &'j mut Map<String, Value>, key: &str) -> Result<&'j mut Vec<Value>> {
    let list = json.entry(key).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    list.as_array_mut().ok_or_else(|| not_a(key, "list"))
}

/// An object of the metadata, which need not be there.
fn object<'j>(json: &'j mut Map<String, Value>, key: &str) -> Result<&'j mut Map<String, Value>> {
    let object = json.entry(key).or_insert(Value::Null);
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    object.as_object_mut().ok_or_else(|| not_a(key, "object"))
}

#[cold]
fn not_a(key: &str, what: &str) -> Error {
    Error::new(ErrorKind::Json, format!("{key} is not a JSON {what}")).in_field(key)
}

/// What must still hold for `updates` to be made (Iceberg's `UpdateRequirements.java`).
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
            Update::SetRef(name, _) | Update::RemoveRef(name) => all.push(stands(name)),
            // What another commit has named meanwhile must not go.
            Update::RemoveSnapshots(_) => all.extend(base.metadata.refs.keys().map(|name| stands(name))),
            _ => {}
        }
    }
    let mut distinct: Vec<Value> = Vec::with_capacity(all.len());
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    Value::Array(distinct)
}
