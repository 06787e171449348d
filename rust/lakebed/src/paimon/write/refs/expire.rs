//! Expires snapshots (Paimon's `ExpireSnapshotsImpl.java`, `ExpireChangelogImpl.java`).

use super::{CommitOutcome, after, hint, remove, snapshot_text};
use crate::error::Result;
use crate::paimon::paths::{EARLIEST_CHANGELOG, EARLIEST_SNAPSHOT, LATEST_CHANGELOG, changelog_file};
use crate::paimon::reach::{BranchRemoval, RootKind};
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
