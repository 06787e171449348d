//! Fast-forwards a branch to another (Paimon's `FileSystemBranchManager.fastForward`).

use std::collections::BTreeSet;

use super::{CommitOutcome, after, check_latest, hint, remove};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::{LATEST_SNAPSHOT, MAIN, schema_file, snapshot_file, tag_file};
use crate::paimon::reach::{BranchRemoval, RootKind};
use crate::paimon::table::{BranchFiles, Table};
use crate::storage::present;
use crate::write::{ExistingFile, make_folder};

pub(super) fn fast_forward(table: &Table, branch: &str) -> Result<CommitOutcome> {
    if branch == MAIN || branch == table.branch() {
        let message = format!("a table cannot be fast-forwarded to its own branch or {MAIN:?}: {branch:?}");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let (own, source) = (table.files(), table.files().of_branch(branch));
    table.at_branch(branch)?;
    let ids = source.snapshot_ids()?;
    let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else {
        let message = format!("the branch {branch:?} has no snapshot");
        return Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(table.location()));
    };
    let first_schema = source.snapshot(first)?.schema_id;
    let replaced =
        BranchRemoval::of(&own, |root| root.kind != RootKind::Changelog && root.snapshot.id >= first)?;
    let freed = replaced.freed(table)?;
    let schemas = source.schema_ids()?;
    for id in &schemas {
        copy(&source, &own, &schema_file(*id), ExistingFile::Replace)?;
    }
    let there: BTreeSet<i64> = own.snapshot_ids()?.into_iter().collect();
    for id in &ids {
        let existing = if there.contains(id) { ExistingFile::Replace } else { ExistingFile::Refuse };
        if !copy(&source, &own, &snapshot_file(*id), existing)? {
            check_latest(&own, Some(last))?;
        }
    }
    let tags = source.tag_names()?;
    for name in &tags {
        copy(&source, &own, &tag_file(name), ExistingFile::Replace)?;
    }
    hint(&own, LATEST_SNAPSHOT, last);
    let copied: BTreeSet<String> =
        ids.iter().map(|id| snapshot_file(*id)).chain(tags.iter().map(|name| tag_file(name))).collect();
    let copied: BTreeSet<String> = copied.iter().map(|file| own.own(file)).collect();
    for path in replaced.removed().iter().rev().filter_map(|root| root.path.as_ref()) {
        if !copied.contains(path) {
            remove(own.storage.as_ref(), path)?;
        }
    }
    for id in own.schema_ids()?.into_iter().rev().filter(|id| *id >= first_schema && !schemas.contains(id)) {
        remove(own.storage.as_ref(), &own.own(&schema_file(id)))?;
    }
    check_latest(&own, Some(last))?;
    after(table, freed.rows()?)
}

/// Copies a file that differs or is missing. Returns whether it was the same already.
fn copy(source: &BranchFiles<'_>, own: &BranchFiles<'_>, file: &str, existing: ExistingFile) -> Result<bool> {
    let (from, to) = (source.own(file), own.own(file));
    let bytes = source.storage.read(&from)?;
    let there = present(own.storage.read(&to))?;
    if there.is_some_and(|there| there.as_slice() == bytes.as_slice()) {
        return Ok(true);
    }
    make_folder(own.storage.as_ref(), &to)?;
    own.storage.publish(&to, existing, &bytes)
}
