//! Expires snapshots (Iceberg's `RemoveSnapshots.java`).

use super::attempt::{Outcome, StateChange};
use super::base::Base;
use super::uncommitted::UncommittedFiles;
use super::update::Update;
use crate::error::Result;
use crate::iceberg::reach::{check_deletable, kept};
use crate::reach::Retention;

/// Removes snapshots, branches and tags from the metadata by the retention rules. No file is deleted.
#[derive(Debug, Clone, Copy)]
pub struct Expire(pub Retention);

impl StateChange for Expire {
    fn apply(&self, base: &Base, _: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        check_deletable(&base.metadata, base.table.metadata_file())?;
        let lineage = base.metadata.lineage.iter();
        let snapshots: Vec<_> =
            lineage.map(|one| (one.snapshot_id, one.parent_id, one.timestamp_ms)).collect();
        let kept = kept(&base.metadata, &snapshots, &self.0)?;
        let mut gone: Vec<i64> =
            snapshots.iter().map(|(id, ..)| *id).filter(|id| !kept.snapshots.contains(id)).collect();
        gone.sort_unstable();
        let mut updates = Vec::new();
        updates.extend((!kept.gone.is_empty()).then_some(Update::RemoveRefs(kept.gone)));
        updates.extend((!gone.is_empty()).then_some(Update::RemoveSnapshots(gone)));
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}
