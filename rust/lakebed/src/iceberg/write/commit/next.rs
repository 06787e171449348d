//! The metadata behind a commit (Iceberg's `TableMetadata.java`).

use serde_json::{Map, Value, json};

use super::base::Base;
use super::store::RowIds;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::MAIN;
use crate::iceberg::write::FormatVersion;

/// How many earlier metadata files the log names, unless `write.metadata.previous-versions-max` says otherwise.
const LOGGED: usize = 100;

/// A snapshot that is to be the current one.
pub(super) struct NewSnapshot {
    pub(super) id: i64,
    pub(super) timestamp_ms: i64,
    pub(super) manifest_list: String,
    pub(super) summary: Map<String, Value>,
    pub(super) row_ids: Option<RowIds>,
}

/// The metadata with the snapshot as the head of `main`, and the snapshot's JSON.
///
/// # Errors
/// `Json` for metadata whose lists are none.
pub(super) fn next_metadata(base: &Base, new: NewSnapshot) -> Result<(Map<String, Value>, Value)> {
    let snapshot = snapshot_json(base, &new);
    let mut json = base.json.clone();
    if base.version > FormatVersion::V1 {
        json.insert("last-sequence-number".to_owned(), base.next_sequence_number().into());
    }
    json.insert("last-updated-ms".to_owned(), new.timestamp_ms.into());
    json.insert("current-snapshot-id".to_owned(), new.id.into());
    if let Some(ids) = &new.row_ids {
        let next = ids.first.checked_add(ids.count);
        let next = next.ok_or_else(|| Error::new(ErrorKind::Mismatch, "row ids are beyond 64 bits"))?;
        json.insert("next-row-id".to_owned(), next.into());
    }
    push(&mut json, "snapshots", snapshot.clone())?;
    let moved = json!({ "timestamp-ms": new.timestamp_ms, "snapshot-id": new.id });
    push(&mut json, "snapshot-log", moved)?;
    let previous = base.path(base.table.metadata_file().rsplit('/').next().unwrap_or_default());
    let replaced = json!({ "timestamp-ms": base.metadata.last_updated_ms, "metadata-file": previous });
    push(&mut json, "metadata-log", replaced)?;
    shorten_log(base, &mut json);
    set_main(&mut json, new.id)?;
    Ok((json, snapshot))
}

fn snapshot_json(base: &Base, new: &NewSnapshot) -> Value {
    let mut snapshot = Map::new();
    if base.version > FormatVersion::V1 {
        snapshot.insert("sequence-number".to_owned(), base.next_sequence_number().into());
    }
    snapshot.insert("snapshot-id".to_owned(), new.id.into());
    if let Some(parent) = base.metadata.current_snapshot_id {
        snapshot.insert("parent-snapshot-id".to_owned(), parent.into());
    }
    snapshot.insert("timestamp-ms".to_owned(), new.timestamp_ms.into());
    snapshot.insert("summary".to_owned(), Value::Object(new.summary.clone()));
    snapshot.insert("manifest-list".to_owned(), new.manifest_list.clone().into());
    snapshot.insert("schema-id".to_owned(), base.metadata.current_schema_id.into());
    if let Some(ids) = &new.row_ids {
        snapshot.insert("first-row-id".to_owned(), ids.first.into());
        snapshot.insert("added-rows".to_owned(), ids.count.into());
    }
    Value::Object(snapshot)
}

/// Appends to a list, which need not be there.
fn push(json: &mut Map<String, Value>, key: &str, value: Value) -> Result<()> {
    let list = json.entry(key).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    let list = list.as_array_mut().ok_or_else(|| not_a(key, "list"))?;
    list.push(value);
    Ok(())
}

/// Leaves as many earlier files in the log as the table says.
fn shorten_log(base: &Base, json: &mut Map<String, Value>) {
    let most = base.metadata.property("write.metadata.previous-versions-max");
    let most = most.and_then(|text| text.parse::<usize>().ok()).unwrap_or(LOGGED).max(1);
    if let Some(Value::Array(log)) = json.get_mut("metadata-log") {
        let surplus = log.len().saturating_sub(most);
        log.drain(..surplus);
    }
}

/// Moves the branch `main`, which keeps its own rules of retention.
fn set_main(json: &mut Map<String, Value>, id: i64) -> Result<()> {
    let refs = json.entry("refs").or_insert(Value::Null);
    if refs.is_null() {
        *refs = Value::Object(Map::new());
    }
    let refs = refs.as_object_mut().ok_or_else(|| not_a("refs", "object"))?;
    match refs.get_mut(MAIN) {
        Some(Value::Object(main)) => {
            main.insert("snapshot-id".to_owned(), id.into());
        }
        _ => {
            refs.insert(MAIN.to_owned(), json!({ "snapshot-id": id, "type": "branch" }));
        }
    }
    Ok(())
}

#[cold]
fn not_a(key: &str, what: &str) -> Error {
    Error::new(ErrorKind::Json, format!("{key} is not a JSON {what}")).in_field(key)
}
