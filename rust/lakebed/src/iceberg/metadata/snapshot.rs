//! Snapshots, and the branches and tags that name them.

use serde::Deserialize;

use super::stored::{Strings, quotable_int, required};
use crate::error::Result;

/// The operation of a snapshot whose summary has none (`SnapshotParser.java`).
const DEFAULT_OPERATION: &str = "overwrite";

/// The state of a table at some time (Iceberg specification, "Snapshots").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The id, unique in the table.
    pub snapshot_id: i64,
    /// The parent snapshot; `None` for the first, and where the metadata has -1.
    pub parent_id: Option<i64>,
    /// The sequence number of the commit; 0 in version 1.
    pub sequence_number: i64,
    /// Commit time, milliseconds since 1970 UTC.
    pub timestamp_ms: i64,
    /// The path of its manifest list.
    pub manifest_list: Option<String>,
    /// The paths of its manifests, only in version 1 and where there is no list.
    pub manifests: Vec<String>,
    /// The kind of commit: `append`, `replace`, `overwrite` or `delete`; `None` without a summary.
    pub operation: Option<String>,
    /// The summary without the operation, in file order; `None` without a summary.
    pub summary: Option<Vec<(String, String)>>,
    /// The schema that was current when the snapshot was made.
    pub schema_id: Option<i32>,
    /// The first row id that the commit assigned (version 3).
    pub first_row_id: Option<i64>,
    /// The number of rows for which ids were reserved (version 3).
    pub added_rows: Option<i64>,
    /// The key that the manifest list is encrypted with.
    pub key_id: Option<String>,
}

/// The object as stored.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct StoredSnapshot {
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: Option<i64>,
    timestamp_ms: i64,
    manifest_list: Option<String>,
    manifests: Option<Vec<String>>,
    summary: Option<Strings>,
    #[serde(default, deserialize_with = "quotable_int")]
    schema_id: Option<i32>,
    first_row_id: Option<i64>,
    added_rows: Option<i64>,
    key_id: Option<String>,
}

impl TryFrom<StoredSnapshot> for Snapshot {
    type Error = crate::error::Error;

    /// # Errors
    /// `Required` for a snapshot without manifests.
    fn try_from(stored: StoredSnapshot) -> Result<Snapshot> {
        let (operation, summary) = match stored.summary {
            Some(Strings(mut summary)) => {
                let place = summary.iter().position(|(key, _)| key == "operation");
                let operation = place.map(|place| summary.remove(place).1);
                (Some(operation.unwrap_or_else(|| DEFAULT_OPERATION.to_owned())), Some(summary))
            }
            None => (None, None),
        };
        let manifests = match (&stored.manifest_list, stored.manifests) {
            (None, manifests) => required(manifests, "manifest-list")?,
            (Some(_), _) => Vec::new(),
        };
        Ok(Snapshot {
            snapshot_id: stored.snapshot_id,
            parent_id: parent(stored.parent_snapshot_id),
            sequence_number: stored.sequence_number.unwrap_or(0),
            timestamp_ms: stored.timestamp_ms,
            manifest_list: stored.manifest_list,
            manifests,
            operation,
            summary,
            schema_id: stored.schema_id,
            first_row_id: stored.first_row_id,
            added_rows: stored.added_rows,
            key_id: stored.key_id,
        })
    }
}

/// The parent of a snapshot, and what else is needed of every snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lineage {
    /// The id.
    pub snapshot_id: i64,
    /// The parent snapshot.
    pub parent_id: Option<i64>,
    /// The sequence number of the commit.
    pub sequence_number: i64,
    /// The schema that was current when it was made.
    pub schema_id: Option<i32>,
    /// Commit time, milliseconds since 1970 UTC.
    pub timestamp_ms: i64,
}

/// The fields that are read of every snapshot.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SnapshotHead {
    pub(super) snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: Option<i64>,
    #[serde(default, deserialize_with = "quotable_int")]
    schema_id: Option<i32>,
    timestamp_ms: i64,
}

impl SnapshotHead {
    /// The keys of its fields.
    pub(super) const KEYS: [&str; 5] =
        ["snapshot-id", "parent-snapshot-id", "sequence-number", "schema-id", "timestamp-ms"];

    /// The head with these fields, in the order of the keys; `None` where one is missing or out of range.
    pub(super) fn of(
        [id, parent, sequence_number, schema, timestamp]: [Option<i64>; 5],
    ) -> Option<SnapshotHead> {
        Some(SnapshotHead {
            snapshot_id: id?,
            parent_snapshot_id: parent,
            sequence_number,
            schema_id: schema.map(i32::try_from).transpose().ok()?,
            timestamp_ms: timestamp?,
        })
    }

    pub(super) fn lineage(&self) -> Lineage {
        Lineage {
            snapshot_id: self.snapshot_id,
            parent_id: parent(self.parent_snapshot_id),
            sequence_number: self.sequence_number.unwrap_or(0),
            schema_id: self.schema_id,
            timestamp_ms: self.timestamp_ms,
        }
    }
}

impl Snapshot {
    pub(super) fn lineage(&self) -> Lineage {
        Lineage {
            snapshot_id: self.snapshot_id,
            parent_id: self.parent_id,
            sequence_number: self.sequence_number,
            schema_id: self.schema_id,
            timestamp_ms: self.timestamp_ms,
        }
    }
}

/// The parent; some writers write -1 for none.
fn parent(id: Option<i64>) -> Option<i64> {
    id.filter(|id| *id != -1)
}

/// The kind of a snapshot's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum RefKind {
    /// A line of snapshots, named by its head.
    Branch,
    /// One snapshot.
    Tag,
}

impl RefKind {
    /// `branch` or `tag`.
    pub const fn name(self) -> &'static str {
        match self {
            RefKind::Branch => "branch",
            RefKind::Tag => "tag",
        }
    }
}

impl TryFrom<String> for RefKind {
    type Error = &'static str;

    /// The kind with that name, in any case.
    fn try_from(name: String) -> Result<RefKind, &'static str> {
        let kinds = [RefKind::Branch, RefKind::Tag];
        kinds
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(&name))
            .ok_or("`type` is neither branch nor tag")
    }
}

/// The snapshot of a branch or tag, and how long it is kept (Iceberg specification, "Snapshot References").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotRef {
    /// The snapshot; of a branch its latest one.
    pub snapshot_id: i64,
    /// Branch or tag.
    #[serde(rename = "type")]
    pub kind: RefKind,
    /// How many snapshots of a branch are kept regardless of age.
    pub min_snapshots_to_keep: Option<i32>,
    /// How long the snapshots of a branch are kept \[ms\].
    pub max_snapshot_age_ms: Option<i64>,
    /// How long the branch or tag itself is kept \[ms\].
    pub max_ref_age_ms: Option<i64>,
}

impl SnapshotRef {
    /// A branch without retention rules of its own.
    pub(in crate::iceberg) fn branch(snapshot_id: i64) -> SnapshotRef {
        SnapshotRef {
            snapshot_id,
            kind: RefKind::Branch,
            min_snapshots_to_keep: None,
            max_snapshot_age_ms: None,
            max_ref_age_ms: None,
        }
    }
}
