//! The commits that led to the table's snapshot.

use super::Table;
use super::files::{not_found, subject};
use super::travel::range;
use crate::error::Result;
use crate::paimon::paths::snapshot_file;
use crate::paimon::snapshot::{CommitKind, Snapshot};
use crate::storage::present;

impl Table {
    /// The existing snapshots up to that of the table, the oldest first. Reads all of them.
    ///
    /// # Errors
    /// Those of reading them.
    pub(crate) fn snapshots_to_here(&self) -> Result<Vec<Snapshot>> {
        let Some(here) = self.snapshot() else { return Ok(Vec::new()) };
        let files = self.files();
        let before = files.snapshot_ids()?.into_iter().filter(|id| *id < here.id).collect();
        let before = files.each(before, |id| snapshot_file(*id), Snapshot::from_json)?;
        // A tag holds its snapshot even if that has expired.
        Ok(before.into_iter().map(|(_, snapshot)| snapshot).chain([here.clone()]).collect())
    }

    /// The appends among the snapshots after `after` up to that of the table, the oldest first; all existing
    /// ones for `None`. Compactions and overwrites are skipped, as in Paimon's
    /// `IncrementalDeltaStartingScanner.java`.
    ///
    /// The snapshot `after` itself may have expired, as long as the next one exists. Reads the snapshots.
    ///
    /// # Errors
    /// `SnapshotNotFound` where `after` is later than the table's snapshot, or one in between no longer
    /// exists; the message has the range of existing ones.
    pub(crate) fn appends_after(&self, after: Option<i64>) -> Result<Vec<Snapshot>> {
        let files = self.files();
        let last = self.snapshot().map_or(0, |snapshot| snapshot.id);
        let first = match after {
            Some(after) => after,
            None => files.snapshot_ids()?.first().copied().unwrap_or(i64::MAX),
        };
        if let Some(after) = after.filter(|after| !(0..=last).contains(after)) {
            let there = range(&files)?;
            let message = match last {
                0 => format!("no snapshot {after}; {} has none", subject(files.branch)),
                _ => format!("snapshot {after} is not before snapshot {last}; {there}"),
            };
            return Err(not_found(&files, message));
        }
        let mut appends = Vec::new();
        for id in (first..=last).skip(usize::from(after.is_some())) {
            let read = match self.snapshot().filter(|snapshot| snapshot.id == id) {
                Some(own) => Some(own.clone()),
                None => present(files.snapshot(id))?,
            };
            let snapshot = match read {
                Some(snapshot) => snapshot,
                None => {
                    let message = format!("no snapshot {id}, which is needed; {}", range(&files)?);
                    return Err(not_found(&files, message));
                }
            };
            appends.extend(Some(snapshot).filter(|snapshot| snapshot.commit_kind == CommitKind::Append));
        }
        Ok(appends)
    }
}
