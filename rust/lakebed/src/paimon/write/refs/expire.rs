//! Expires snapshots (Paimon's `ExpireSnapshotsImpl.java`, `ExpireChangelogImpl.java`).

use super::{CommitOutcome, after, hint, remove, snapshot_text};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::{
    EARLIEST_CHANGELOG, EARLIEST_SNAPSHOT, LATEST_CHANGELOG, changelog_file, snapshot_file,
};
use crate::paimon::reach::{BranchRemoval, RootKind};
use crate::paimon::scan::gone_snapshots;
use crate::paimon::table::Table;
use crate::reach::{Retention, ReviewedRemovals};
use crate::write::{ExistingFile, make_folder};

pub(super) fn expire_snapshots(
    table: &Table,
    retention: &Retention,
    reviewed: Option<&ReviewedRemovals>,
) -> Result<CommitOutcome> {
    let files = table.files();
    let removal = BranchRemoval::expired(table, retention, reviewed)?;
    let freed = removal.freed(table)?;
    let storage = files.storage.as_ref();
    for changelog in removal.made() {
        let id = changelog.snapshot.id;
        let path = files.own(&changelog_file(id));
        let text = snapshot_text(&table.at_snapshot(id)?)?;
        make_folder(storage, &path)?;
        storage.publish(&path, ExistingFile::Replace, text.as_bytes())?;
        hint(&files, LATEST_CHANGELOG, id);
    }
    let removed = removal.removed();
    for path in removed.iter().filter_map(|root| root.path.as_ref()) {
        remove(storage, path)?;
    }
    let of = |kind| removed.iter().any(|root| root.kind == kind);
    if let (true, Some(first)) = (of(RootKind::Snapshot), files.snapshot_ids()?.first()) {
        hint(&files, EARLIEST_SNAPSHOT, *first);
    }
    if let (true, Some(first)) = (of(RootKind::Changelog), files.changelog_ids()?.first()) {
        hint(&files, EARLIEST_CHANGELOG, *first);
    }
    after(table, freed.rows()?)
}

/// Removes the earliest snapshots, whose lists cannot be read, so that nothing tells what only they reach.
pub(super) fn remove_snapshots(table: &Table, ids: &[i64]) -> Result<CommitOutcome> {
    let files = table.files();
    let gone = gone_snapshots(table, 0)?.into_iter();
    let removable: Vec<i64> = gone.filter(|(.., is_removable)| *is_removable).map(|(id, ..)| id).collect();
    if !removable.starts_with(ids) {
        let message = format!(
            "snapshots {ids:?} are not the first of those that can be removed, {removable:?}: the ids of snapshots \
            have no gaps"
        );
        return Err(Error::new(ErrorKind::Conflict, message).in_file(files.location));
    }
    for id in ids {
        remove(files.storage.as_ref(), &files.own(&snapshot_file(*id)))?;
    }
    if let Some(first) = files.snapshot_ids()?.first() {
        hint(&files, EARLIEST_SNAPSHOT, *first);
    }
    after(table, Vec::new())
}
