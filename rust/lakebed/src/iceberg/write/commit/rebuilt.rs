//! Makes the list of the branch's head anew where it is gone or damaged, as a snapshot of its own with the same files.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, Int32Array, Int64Array};

use super::attempt::{Outcome, PendingSnapshot, StateChange};
use super::base::Base;
use super::entries::{CommitEntries, rows_where, with_status};
use super::files::rewritten;
use super::head::HeadList;
use super::merge::{SnapshotManifest, stored};
use super::select::ManifestSelection;
use super::store::encode_manifests;
use super::summary::Summary;
use super::uncommitted::UncommittedFiles;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::{ADDED, EXISTING, Statuses};
use crate::iceberg::manifest_list::DATA;
use crate::iceberg::scan::RebuiltList;
use crate::iceberg::view::identities;
use crate::iceberg::write::ManifestContent;
use crate::record::column;
use crate::repair::RowChange;

/// Lists the files of a snapshot whose list cannot be read in a new snapshot: those of its parent's list and those that
/// its commit added, as existing ones, without those that it removed.
#[derive(Debug, Clone)]
pub struct ListRebuild {
    /// The snapshot, which must be the branch's head.
    pub snapshot_id: i64,
    /// Additional keys of the new snapshot's summary.
    pub properties: Vec<(String, String)>,
}

impl StateChange for ListRebuild {
    /// # Errors
    /// `Conflict` where another snapshot is the head, and where what its list had is not known; those of reading
    /// manifests.
    fn apply(&self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        let rebuilt = RebuiltList::of(&base.table, 0)?.filter(|_| base.head() == Some(self.snapshot_id));
        let Some(rebuilt) = rebuilt.filter(|rebuilt| rebuilt.change == RowChange::NONE) else {
            let message = format!("what the list of snapshot {} had is not known", self.snapshot_id);
            return Err(Error::new(ErrorKind::Conflict, message).in_file(base.table.metadata_file()));
        };
        let mut selected = ManifestSelection::of(HeadList::of(base, rebuilt.parent.as_ref())?)?;
        let entries = CommitEntries::of(base, &["content", "content_offset", "file_path"])?;
        let mut dropped = Vec::new();
        for (place, manifest) in selected.live().filter(|_| !rebuilt.removed.is_empty()) {
            let files = identities(&entries.live(manifest)?)?;
            let gone = files.as_binary::<i32>().iter().enumerate();
            let gone = gone.filter(|(_, file)| file.is_some_and(|file| rebuilt.removed.contains(file)));
            dropped.extend(gone.map(|(row, _)| (place, row)));
        }
        dropped.into_iter().for_each(|(place, row)| selected.drop_entry(place, row));
        let (all, mut new, mut seen) = (CommitEntries::all(base)?, Vec::new(), HashSet::new());
        for manifest in &rebuilt.own {
            let live = all.read(manifest, Statuses::LIVE)?;
            let (statuses, ids) =
                (column::<Int32Array>(&live, "status")?, column::<Int64Array>(&live, "snapshot_id")?);
            let files = identities(&live)?;
            let is_added = |(row, file): (usize, Option<&[u8]>)| {
                let own =
                    statuses.value(row) == ADDED && ids.is_valid(row) && ids.value(row) == self.snapshot_id;
                Some(own && file.is_some_and(|file| seen.insert(Box::<[u8]>::from(file))))
            };
            let added: BooleanArray = files.as_binary::<i32>().iter().enumerate().map(is_added).collect();
            let added = rows_where(&live, &added)?;
            if added.num_rows() == 0 {
                continue;
            }
            let existing = with_status(&added, &Int32Array::from_value(EXISTING, added.num_rows()), 0)?;
            let content =
                if manifest.content == DATA { ManifestContent::Data } else { ManifestContent::Deletes };
            let written =
                encode_manifests(base, uncommitted, base.spec(manifest.spec_id)?, content, &existing)?;
            new.extend(written.into_iter().map(SnapshotManifest::new));
        }
        // The snapshot has the files that the one before has: the totals stay.
        new.extend(rewritten(base, uncommitted, &selected, None, &mut Summary::default())?);
        let mut summary = Summary::new(&self.properties);
        let manifests = stored(base, uncommitted, &selected, new, &mut summary)?;
        let pending = PendingSnapshot { operation: "replace", manifests, summary };
        Ok(Some(Outcome::Snapshot(Box::new(pending))))
    }
}
