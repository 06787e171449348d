//! The metadata after a commit (Iceberg's `TableMetadata.java`).

use serde_json::{Map, Value, json};

use super::base::Base;
use super::document::Document;
use super::store::RowIds;
use super::update::Update;
use crate::error::Result;
use crate::iceberg::write::FormatVersion;

/// How many earlier metadata files the log has, unless `write.metadata.previous-versions-max` is set.
const LOGGED: usize = 100;

/// A new snapshot for the head of its branch.
pub(super) struct NewSnapshot {
    pub(super) id: i64,
    pub(super) timestamp_ms: i64,
    pub(super) manifest_list: String,
    pub(super) summary: Map<String, Value>,
    pub(super) row_ids: Option<RowIds>,
}

/// The metadata after the updates of a change.
///
/// # Errors
/// Those of the updates.
pub(super) fn updated(base: &Base, updates: &[Update], now_ms: i64) -> Result<Document> {
    let mut next = base.json.clone();
    for update in updates {
        update.apply(base, &mut next, now_ms)?;
    }
    next.values_mut().insert("last-updated-ms".to_owned(), now_ms.into());
    Ok(next)
}

/// The metadata after the changes of a commit, which made these snapshots, as the file after that of `base`.
///
/// # Errors
/// `Json` for a log that is no list.
pub(super) fn next_metadata(base: &Base, mut next: Document, snapshots: &[i64]) -> Result<Document> {
    let current = next.values().get("current-snapshot-id").and_then(Value::as_i64);
    next.forget_log(|id| Some(id) != current && snapshots.contains(&id));
    let previous = base.path(base.table.metadata_file().rsplit('/').next().unwrap_or_default());
    let replaced = json!({ "timestamp-ms": base.metadata.last_updated_ms, "metadata-file": previous });
    next.list("metadata-log")?.push(replaced);
    shorten_log(next.values_mut());
    Ok(next)
}

/// The updates that add a snapshot as the head of the branch.
///
/// # Errors
/// `Mismatch` where its sequence number does not fit.
pub(super) fn branch_updates(base: &Base, new: NewSnapshot) -> Result<[Update; 2]> {
    let one = base.head_ref(new.id);
    Ok([Update::AddSnapshot(snapshot_json(base, new)?), Update::SetRef(base.branch().to_owned(), one)])
}

fn snapshot_json(base: &Base, new: NewSnapshot) -> Result<Map<String, Value>> {
    let mut snapshot = Map::new();
    if base.version > FormatVersion::V1 {
        snapshot.insert("sequence-number".to_owned(), base.next_sequence_number()?.into());
    }
    snapshot.insert("snapshot-id".to_owned(), new.id.into());
    if let Some(parent) = base.head() {
        snapshot.insert("parent-snapshot-id".to_owned(), parent.into());
    }
    snapshot.insert("timestamp-ms".to_owned(), new.timestamp_ms.into());
    snapshot.insert("summary".to_owned(), Value::Object(new.summary));
    snapshot.insert("manifest-list".to_owned(), new.manifest_list.into());
    snapshot.insert("schema-id".to_owned(), base.metadata.current_schema_id.into());
    if let Some(ids) = &new.row_ids {
        snapshot.insert("first-row-id".to_owned(), ids.first.into());
        snapshot.insert("added-rows".to_owned(), ids.count.into());
    }
    Ok(snapshot)
}

/// Shortens the log to as many files as the table's properties, after the updates, allow.
fn shorten_log(json: &mut Map<String, Value>) {
    let properties = json.get("properties").and_then(Value::as_object);
    let most = properties.and_then(|all| all.get("write.metadata.previous-versions-max"));
    let most = most.and_then(Value::as_str).and_then(|text| text.parse::<usize>().ok());
    let most = most.unwrap_or(LOGGED).max(1);
    if let Some(Value::Array(log)) = json.get_mut("metadata-log") {
        let surplus = log.len().saturating_sub(most);
        log.drain(..surplus);
    }
}
