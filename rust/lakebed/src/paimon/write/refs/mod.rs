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

use std::time::Duration;

use arrow_array::RecordBatch;
use serde_json::{Map, Value};

pub use self::branch::BranchStart;
pub use self::rollback::RollbackTo;
use super::commit::base::carried_of;
use super::commit::{CommitOptions, CommitOutcome};
use super::json::snapshot_object;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::jackson;
use crate::paimon::paths::tag_file;
use crate::paimon::snapshot::Tag;
use crate::paimon::table::{BranchFiles, Table};
use crate::reach::{Retention, ReviewedRemovals};
use crate::storage::{Storage, present};
use crate::write::ExistingFile;
use crate::write::commit::check_committable;

/// The longest name \[bytes\]: with what is before and after it while its file is written, it is one that file
/// systems take.
const LONGEST_NAME: usize = 200;

/// A change of a tag, a branch, or which snapshots are kept.
///
/// Removals read all files that name others before anything is removed; what only the removed files reach is
/// returned and not removed.
#[derive(Debug, Clone)]
pub enum RefChange {
    /// Creates a tag, which keeps its snapshot. Returns the table at the tag.
    CreateTag {
        /// Its name.
        name: String,
        /// The number of its snapshot, which may have expired if another tag has it; `None` for the table's.
        snapshot: Option<i64>,
        /// How long it is kept; `None` for option `tag.default-time-retained`. With it the tag also records when it
        /// was made.
        retained: Option<Duration>,
        /// Whether it replaces a tag of that name, which must exist.
        replace: bool,
    },
    /// Removes a tag.
    DeleteTag(String),
    /// Creates a branch. Returns the table on it.
    CreateBranch {
        /// Its name.
        name: String,
        /// The state that it starts from.
        start: BranchStart,
    },
    /// Removes a branch: its snapshots, tags, changelogs and consumers, then its schemas.
    DeleteBranch(String),
    /// From the first snapshot of a branch on, replaces the snapshots, schemas and tags of the table's branch by those
    /// of that branch.
    ///
    /// Each file is replaced in one step, so that the table can be read all the time. A concurrent commit to it may be
    /// lost.
    FastForward(String),
    /// Makes an earlier snapshot the latest one of the table's branch: later snapshots, tags and changelogs are
    /// removed, the latest first. Schemas are kept. There is no commit to conflict with: a concurrent writer builds on
    /// what is removed.
    RollbackTo(RollbackTo),
    /// Removes the snapshots of the table's branch that its retention rules do not keep, the earliest first; where
    /// changelogs are kept longer, snapshots become changelogs.
    ExpireSnapshots {
        /// The rules.
        retention: Retention,
        /// Nothing else is removed; `None` for all that the rules say.
        reviewed: Option<ReviewedRemovals>,
    },
    /// Removes snapshots of the table's branch whose lists cannot be read, ascending: the earliest ones, which no tag, no
    /// other branch and no consumer needs.
    RemoveSnapshots(Vec<i64>),
}

impl RefChange {
    /// The change in words, for messages.
    pub(super) fn words(&self) -> &'static str {
        match self {
            RefChange::CreateTag { .. } => "a new tag",
            RefChange::DeleteTag(_) => "a removed tag",
            RefChange::CreateBranch { .. } => "a new branch",
            RefChange::DeleteBranch(_) => "a removed branch",
            RefChange::FastForward(_) => "a fast-forward",
            RefChange::RollbackTo(_) => "a rollback",
            RefChange::ExpireSnapshots { .. } => "an expiry of snapshots",
            RefChange::RemoveSnapshots(_) => "removed snapshots",
        }
    }

    /// Makes the change.
    ///
    /// # Errors
    /// `SnapshotNotFound` for a snapshot, tag or branch that does not exist, or has no snapshot; `Argument` for an
    /// invalid name, and for a branch that cannot be removed or replaced; `Unsupported` for a storage without commits
    /// and for a branch from a snapshot without a tag; `Conflict` where another snapshot is the latest at the end of
    /// a rollback or fast-forward, and for snapshots that cannot be removed; of an expiry, `Mismatch` and `Argument` for invalid rules. Those of reading all
    /// files that name others, before anything is removed; `Io`, also where a tag or branch of that name exists.
    pub(super) fn apply(&self, table: &Table, options: &CommitOptions) -> Result<CommitOutcome> {
        check_committable(table.storage().as_ref(), table.location())?;
        match self {
            RefChange::CreateTag { name, snapshot, retained, replace } => {
                let at = snapshot.map(|id| at_snapshot(table, id)).transpose()?;
                let table =
                    tag::create_tag(at.as_ref().unwrap_or(table), name, *retained, *replace, options)?;
                Ok(CommitOutcome { table, freed: Vec::new() })
            }
            RefChange::CreateBranch { name, start } => {
                Ok(CommitOutcome { table: branch::create_branch(table, name, start)?, freed: Vec::new() })
            }
            RefChange::DeleteTag(name) => tag::delete_tag(table, name),
            RefChange::DeleteBranch(name) => branch::delete_branch(table, name),
            RefChange::FastForward(branch) => forward::fast_forward(table, branch),
            RefChange::RollbackTo(target) => rollback::rollback_to(table, target),
            RefChange::ExpireSnapshots { retention, reviewed } => {
                expire::expire_snapshots(table, retention, reviewed.as_ref())
            }
            RefChange::RemoveSnapshots(ids) => expire::remove_snapshots(table, ids),
        }
    }
}

/// The table at its latest snapshot after a removal.
fn after(table: &Table, freed: Vec<RecordBatch>) -> Result<CommitOutcome> {
    Ok(CommitOutcome { table: table.latest()?, freed })
}

/// The table at a snapshot, or at a tag of it if it has expired (Paimon's `AbstractFileStoreTable.findSnapshot`).
fn at_snapshot(table: &Table, id: i64) -> Result<Table> {
    if present(table.files().snapshot(id))?.is_none()
        && let Some(name) = tag_of(table, id)?
    {
        return table.at_tag(&name);
    }
    table.at_snapshot(id)
}

/// A tag of a snapshot.
fn tag_of(table: &Table, id: i64) -> Result<Option<String>> {
    let files = table.files();
    let tags = files.each(files.tag_names()?, |name| tag_file(name), Tag::from_json)?;
    Ok(tags.into_iter().find(|(_, tag)| tag.snapshot.id == id).map(|(name, _)| name))
}

/// Removes a file; a missing one was removed by another.
///
/// # Errors
/// Those of the storage.
fn remove(storage: &dyn Storage, path: &str) -> Result<()> {
    present(storage.remove(path)).map(drop)
}

/// Writes a hint, which tells readers where to look first; it is optional, so a failure is ignored.
fn hint(files: &BranchFiles<'_>, name: &str, id: i64) {
    let path = files.own(name);
    let _ = files.storage.publish(&path, ExistingFile::Replace, id.to_string().as_bytes());
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

/// Refuses to report success where another commit was made in between.
///
/// # Errors
/// `Conflict`.
fn check_latest(files: &BranchFiles<'_>, expected: Option<i64>) -> Result<()> {
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
