//! The manifests of the table's snapshot.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use super::Table;
use crate::error::{Error, Result};
use crate::iceberg::encryption::SealedKey;
use crate::iceberg::manifest::ManifestHeader;
use crate::iceberg::manifest_list::{InlineManifest, brief, inline_manifests, read_list};
use crate::iceberg::metadata::{Snapshot, WantedElements};

impl Table {
    /// The manifest list of the snapshot, with all columns; no rows where the table has no snapshot.
    ///
    /// Snapshots of version 1 may name their manifests directly.
    ///
    /// # Errors
    /// `SnapshotNotFound` as [`Table::snapshot`]; those of reading the list, with its path.
    pub(crate) fn manifest_list(&self) -> Result<RecordBatch> {
        match self.snapshot()? {
            Some(snapshot) => self.list_of(snapshot),
            None => inline_manifests(&[], 0),
        }
    }

    /// The same, with partition summaries only where a filter tests them.
    ///
    /// # Errors
    /// As [`Table::manifest_list`].
    pub(crate) fn list_for(&self, filter: Option<&str>) -> Result<RecordBatch> {
        match self.snapshot()? {
            Some(snapshot) if filter.is_none() => self.brief_list_of(snapshot),
            _ => self.manifest_list(),
        }
    }

    /// The manifest list of any snapshot of the table.
    ///
    /// # Errors
    /// Those of reading it, with its path.
    pub(crate) fn list_of(&self, snapshot: &Snapshot) -> Result<RecordBatch> {
        self.list_by(snapshot, None)
    }

    /// The same with the columns of [`brief`].
    ///
    /// # Errors
    /// As [`Table::list_of`].
    pub(crate) fn brief_list_of(&self, snapshot: &Snapshot) -> Result<RecordBatch> {
        self.list_by(snapshot, Some(&brief()))
    }

    fn list_by(&self, snapshot: &Snapshot, columns: Option<&[String]>) -> Result<RecordBatch> {
        let Some(path) = &snapshot.manifest_list else {
            let manifests = snapshot.manifests.iter().map(|path| self.inline(path));
            return inline_manifests(&manifests.collect::<Result<Vec<_>>>()?, snapshot.snapshot_id);
        };
        self.read_list(snapshot, path, columns).map(|(list, _)| list)
    }

    /// The list of a snapshot that is this file, and the size of the file.
    ///
    /// # Errors
    /// Those of reading it, with its path.
    pub(in crate::iceberg) fn read_list(
        &self,
        snapshot: &Snapshot,
        path: &str,
        columns: Option<&[String]>,
    ) -> Result<(RecordBatch, u64)> {
        let bytes = self.read_recorded(path, None)?;
        let length = bytes.len() as u64;
        let read = || {
            let key =
                snapshot.key_id.as_deref().map(|id| SealedKey::of_list(&self.metadata, id)).transpose()?;
            read_list(bytes, columns, self.decoding(), Some(&self.format()), key.as_ref())
        };
        Ok((read().map_err(|error: Error| error.in_file(path))?, length))
    }

    /// A manifest without a list, as its header describes it; spec 0 where it names none.
    fn inline(&self, path: &str) -> Result<InlineManifest> {
        let bytes = self.read_recorded(path, None)?;
        let header = ManifestHeader::read(&bytes, self.decoding()).map_err(|error| error.in_file(path))?;
        let (length, spec_id) = (bytes.len() as u64, header.spec_id.unwrap_or(0));
        Ok(InlineManifest { path: path.to_owned(), length, spec_id })
    }

    /// The commit time of each snapshot [milliseconds since 1970 UTC], by id.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub(crate) fn commit_times(&self) -> Result<HashMap<i64, i64>> {
        let lineage = self.read(&WantedElements { lineage: true, ..WantedElements::CURRENT })?.lineage;
        Ok(lineage.into_iter().map(|place| (place.snapshot_id, place.timestamp_ms)).collect())
    }
}
