//! The manifests of the snapshot that a table stands at.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use super::Table;
use crate::error::Result;
use crate::iceberg::manifest::ManifestHeader;
use crate::iceberg::manifest_list::{inline_manifests, read_manifest_list};
use crate::iceberg::metadata::{Snapshot, Wanted};

impl Table {
    /// The manifest list of the snapshot, with all columns; no rows where the table stands at none.
    ///
    /// Snapshots of version 1 may name their manifests themselves.
    ///
    /// # Errors
    /// `SnapshotNotFound` as [`Table::snapshot`]; those of reading the list, with its path.
    pub(crate) fn manifest_list(&self) -> Result<RecordBatch> {
        match self.snapshot()? {
            Some(snapshot) => self.list_of(snapshot),
            None => inline_manifests(&[], &[], 0),
        }
    }

    /// The manifest list of any snapshot of the table.
    ///
    /// # Errors
    /// Those of reading it, with its path.
    pub(crate) fn list_of(&self, snapshot: &Snapshot) -> Result<RecordBatch> {
        let Some(path) = &snapshot.manifest_list else {
            let spec_ids = self.inline_spec_ids(&snapshot.manifests)?;
            return inline_manifests(&snapshot.manifests, &spec_ids, snapshot.snapshot_id);
        };
        let bytes = self.storage().read(path)?;
        read_manifest_list(bytes, None, self.decoding()).map_err(|error| error.in_file(path))
    }

    /// The specs of manifests without a list: where the table has several, as the manifests' own headers
    /// say, for which each is read.
    fn inline_spec_ids(&self, manifests: &[String]) -> Result<Vec<i32>> {
        if self.metadata().partition_specs.len() < 2 {
            return Ok(Vec::new());
        }
        let spec_id = |path: &String| {
            let bytes = self.storage().read(path)?;
            let header = ManifestHeader::read(&bytes, self.decoding().limits);
            Ok(header.map_err(|error| error.in_file(path))?.spec_id.unwrap_or(0))
        };
        manifests.iter().map(spec_id).collect()
    }

    /// When each snapshot was committed [milliseconds since 1970 UTC], by id.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub(crate) fn commit_times(&self) -> Result<HashMap<i64, i64>> {
        let lineage = self.read(&Wanted { lineage: true, ..Wanted::CURRENT })?.lineage;
        Ok(lineage.into_iter().map(|place| (place.snapshot_id, place.timestamp_ms)).collect())
    }
}
