//! The views that are read at once, from the metadata file alone.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use super::Table;
use crate::error::Result;
use crate::iceberg::metadata::{Snapshot, SnapshotRef, Wanted, Which};
use crate::iceberg::view::{Ref, refs, schemas, snapshots};

impl Table {
    /// The view `snapshots` in batches: every existing snapshot, in the order of the metadata, which is that
    /// of the commits.
    pub(crate) fn snapshots_view(&self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        self.each_snapshot(|some| {
            batches.push(snapshots(&some)?);
            Ok(())
        })?;
        Ok(batches)
    }

    /// The view `refs`: `main`, the other branches by name, then the tags by name.
    pub(crate) fn refs_view(&self) -> Result<RecordBatch> {
        let named = self.metadata.refs.values().map(|one| one.snapshot_id).collect();
        let metadata = self.read(&Wanted { snapshots: Which::Ids(named), ..Wanted::CURRENT })?;
        let known: HashMap<i64, &Snapshot> =
            metadata.snapshots.iter().rev().map(|snapshot| (snapshot.snapshot_id, snapshot)).collect();
        let snapshot = |named: &SnapshotRef| known.get(&named.snapshot_id).copied();
        refs(metadata.refs.iter().map(|(name, named)| Ref { name, named, snapshot: snapshot(named) }))
    }

    /// The view `schemas`: every version of the schema, in the order of the metadata.
    pub(crate) fn schemas_view(&self) -> Result<RecordBatch> {
        let metadata = self.read(&Wanted { schemas: Which::All, ..Wanted::CURRENT })?;
        schemas(&metadata.schemas, metadata.current_schema_id)
    }
}
