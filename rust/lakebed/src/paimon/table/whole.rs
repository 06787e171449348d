//! The views that are read at once, from files that name no others.

use arrow_array::RecordBatch;

use super::Table;
use crate::error::Result;
use crate::paimon::paths::{MAIN, changelog_file, snapshot_file, tag_file};
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::paimon::view::{ManifestRow, Ref, manifests, refs, schemas, snapshots};
use crate::pipeline::both;

impl Table {
    /// The view `snapshots`: every snapshot file of the branch, in ascending order.
    pub(crate) fn snapshots_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let read = files.each(files.snapshot_ids()?, |id| snapshot_file(*id), Snapshot::from_json)?;
        snapshots(&values(read))
    }

    /// The view `refs`: `main`, the other branches by name, then the tags of the branch by name.
    pub(crate) fn refs_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let branches = || {
            let names = std::iter::once(MAIN.to_owned()).chain(files.branch_names()?).collect();
            files.branches(names)
        };
        let owned = files.owned();
        let tags = move || {
            let files = owned.borrowed();
            files.each(files.tag_names()?, |name| tag_file(name), Tag::from_json)
        };
        let (branches, tags) = both(self.storage.as_ref(), branches, tags)?;
        let branches = branches.into_iter().map(|(name, snapshot)| Ref::Branch(name, snapshot));
        let tags = tags?.into_iter().map(|(name, tag)| Ref::Tag(name, tag));
        refs(&branches.chain(tags).collect::<Vec<_>>())
    }

    /// The view `changelogs`: every long-lived changelog of the branch, in ascending order.
    pub(crate) fn changelogs_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let read = files.each(files.changelog_ids()?, |id| changelog_file(*id), Snapshot::from_json)?;
        snapshots(&values(read))
    }

    /// The view `schemas`: every version of the branch, in ascending order.
    pub(crate) fn schemas_view(&self) -> Result<RecordBatch> {
        schemas(&self.schemas()?.into_values().collect::<Vec<_>>())
    }

    /// The view `manifests` of the kept rows of the list.
    pub(crate) fn manifests_view(&self, list: &RecordBatch, rows: &[ManifestRow]) -> Result<RecordBatch> {
        manifests(list, rows, &self.partition_type())
    }
}

fn values<K>(read: Vec<(K, Snapshot)>) -> Vec<Snapshot> {
    read.into_iter().map(|(_, snapshot)| snapshot).collect()
}
