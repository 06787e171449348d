//! Rollbacks (Paimon's `RollbackHelper.java`).

use std::cmp::Reverse;

use super::{CommitOutcome, after, at_snapshot, check_latest, hint, remove, snapshot_text};
use crate::error::Result;
use crate::paimon::paths::{EARLIEST_SNAPSHOT, LATEST_CHANGELOG, LATEST_SNAPSHOT, snapshot_file};
use crate::paimon::reach::{BranchRemoval, RootKind, SnapshotRoot};
use crate::paimon::table::Table;
use crate::storage::present;
use crate::write::{ExistingFile, make_folder};

/// The target of a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollbackTo {
    /// A snapshot, by its number; for an expired one a tag of it is used.
    Snapshot(i64),
    /// The snapshot of a tag.
    Tag(String),
}

pub(super) fn rollback_to(table: &Table, target: &RollbackTo) -> Result<CommitOutcome> {
    let kept = match target {
        RollbackTo::Tag(name) => table.at_tag(name)?,
        RollbackTo::Snapshot(id) => at_snapshot(table, *id)?,
    };
    let files = table.files();
    let id = kept.snapshot().map_or(0, |snapshot| snapshot.id);
    let later = BranchRemoval::of(&files, |root| root.snapshot.id > id)?;
    let freed = later.freed(table)?;
    restore(&kept, id)?;
    hint(&files, LATEST_SNAPSHOT, id);
    let mut roots = later.removed();
    roots.sort_by_key(|root| (root.kind, Reverse(root.snapshot.id)));
    if roots.iter().any(|root| root.kind == RootKind::Changelog) {
        let left = files.changelog_ids()?.into_iter().rev().find(|left| *left <= id);
        hint(&files, LATEST_CHANGELOG, left.unwrap_or(-1));
    }
    for path in roots.into_iter().filter_map(|root: &SnapshotRoot| root.path.as_ref()) {
        remove(files.storage.as_ref(), path)?;
    }
    check_latest(&files, Some(id))?;
    after(table, freed.rows()?)
}

/// Writes the file of the snapshot where it no longer exists.
fn restore(kept: &Table, id: i64) -> Result<()> {
    let files = kept.files();
    let path = files.own(&snapshot_file(id));
    if present(files.storage.read_range(&path, 0, 1))?.is_some() {
        return Ok(());
    }
    let text = snapshot_text(kept)?;
    make_folder(files.storage.as_ref(), &path)?;
    files.storage.publish(&path, ExistingFile::Refuse, text.as_bytes())?;
    hint(&files, EARLIEST_SNAPSHOT, id);
    Ok(())
}
