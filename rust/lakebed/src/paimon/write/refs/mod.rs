//! Tags, branches, and which snapshots are kept (Paimon's `TagManager.java`, `FileSystemBranchManager.java`,
//! `RollbackHelper.java`, `ExpireSnapshotsImpl.java`).
//!
//! Only the files of snapshots, tags, changelogs and branches are removed here. Manifests and data that only
//! these reach are returned as rows and not removed.

mod branch;
mod expire;
mod forward;
mod rollback;
mod tag;

use arrow_array::RecordBatch;
use serde_json::{Map, Value};

pub use self::branch::{create_branch, delete_branch};
pub use self::expire::expire_snapshots;
pub use self::forward::fast_forward;
pub use self::rollback::{RollbackTo, rollback_to};
pub use self::tag::{create_tag, delete_tag};
use super::commit::base::carried_of;
use super::json::snapshot_object;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::jackson;
use crate::paimon::table::{Files, Table};
use crate::storage::{Storage, present};
use crate::write::Existing;

/// A table after a removal, and the files that it no longer reaches.
pub struct Freed {
    /// The table, at the latest snapshot of its branch.
    pub table: Table,
    /// Rows of `reachable`, without the removed files; at least one batch.
    pub files: Vec<RecordBatch>,
}

/// Removes a file; a missing one was removed by another.
///
/// # Errors
/// Those of the storage.
fn remove(storage: &dyn Storage, path: &str) -> Result<()> {
    present(storage.remove(path)).map(drop)
}

/// Writes a hint, which tells readers where to look first; it is optional, so a failure is ignored.
fn hint(files: &Files<'_>, name: &str, id: i64) {
    let path = files.own(name);
    let _ = files.storage.publish(&path, Existing::Replace, id.to_string().as_bytes());
}

/// The file of the table's snapshot, without the further keys of its tag.
///
/// # Errors
/// Those of reading it.
fn snapshot_text(table: &Table) -> Result<String> {
    let snapshot = table.snapshot();
    let snapshot =
        snapshot.ok_or_else(|| Error::new(ErrorKind::SnapshotNotFound, "the table has no snapshot"))?;
    let object: Map<String, Value> = snapshot_object(snapshot, &carried_of(table)?)?;
    jackson::pretty(&object)
}

/// Refuses to report success where another commit came in between.
///
/// # Errors
/// `Conflict`.
fn check_latest(files: &Files<'_>, expected: Option<i64>) -> Result<()> {
    let latest = files.snapshot_ids()?.pop();
    if latest == expected {
        return Ok(());
    }
    let found = latest.map_or_else(|| "no snapshot".to_owned(), |id| format!("snapshot {id}"));
    let message = format!(
        "another writer committed meanwhile: {found} is the latest, which may hold what was to be removed"
    );
    Err(Error::new(ErrorKind::Conflict, message).in_file(files.location))
}
