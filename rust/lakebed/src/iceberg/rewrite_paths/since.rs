//! Which part of a table was copied before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::metadata::{MetadataFile, MetadataLogEntry, TableMetadata, WantedElements};
use super::super::reach::WalkInputs;
use super::super::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite_paths::Since;

/// The snapshots and metadata files that were copied before.
pub(super) struct EarlierCopies {
    /// `None` where nothing was copied before.
    pub(super) snapshots: Option<Arc<HashSet<i64>>>,
    /// The paths of metadata files that were copied before.
    files: HashSet<String>,
}

impl EarlierCopies {
    /// # Errors
    /// `SnapshotNotFound` and `Argument` for a state that the table does not have; those of reading a
    /// metadata file.
    pub(super) fn read(table: &Table, named: &WalkInputs, since: Option<&Since>) -> Result<EarlierCopies> {
        match since {
            None => Ok(EarlierCopies { snapshots: None, files: HashSet::new() }),
            Some(Since::Snapshot(id)) => EarlierCopies::of_snapshot(table, named, *id),
            Some(Since::Metadata(name)) => EarlierCopies::of_metadata(table, named, name),
        }
    }

    /// The snapshot, its ancestors, and the metadata log up to it.
    fn of_snapshot(table: &Table, named: &WalkInputs, id: i64) -> Result<EarlierCopies> {
        let known: HashMap<i64, _> = named.snapshots.iter().map(|one| (one.snapshot_id, one)).collect();
        let Some(last) = known.get(&id) else {
            let message = format!("snapshot {id} is not among the table's snapshots");
            return Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(table.metadata_file()));
        };
        let mut snapshots = HashSet::new();
        let mut next = Some(*last);
        while let Some(one) = next.filter(|one| snapshots.insert(one.snapshot_id)) {
            next = one.parent_id.and_then(|parent| known.get(&parent).copied());
        }
        let log = named.metadata.metadata_log.iter();
        let files = log.filter(|entry| entry.timestamp_ms <= last.timestamp_ms);
        let files = files.map(|entry| entry.metadata_file.clone()).collect();
        Ok(EarlierCopies { snapshots: Some(Arc::new(snapshots)), files })
    }

    /// The snapshots of that metadata file, and the log up to it.
    fn of_metadata(table: &Table, named: &WalkInputs, name: &str) -> Result<EarlierCopies> {
        let log = &named.metadata.metadata_log;
        let is_named = |path: &str| path == name || path.rsplit('/').next() == Some(name);
        let place = log.iter().position(|entry| is_named(&entry.metadata_file)).ok_or_else(|| {
            let message = format!("{name:?} is not a metadata file of the table's metadata log");
            Error::new(ErrorKind::Argument, message).in_file(table.metadata_file())
        })?;
        let earlier = log.get(..=place).unwrap_or_default();
        let mut snapshots = HashSet::new();
        if let Some(entry) = earlier.last() {
            let storage = Arc::clone(table.storage());
            let file = MetadataFile::open(&entry.metadata_file, storage, table.decoding().limits)?;
            let metadata = TableMetadata::read(&file, &WantedElements::CURRENT)?;
            metadata.each_snapshot(&file, |some| {
                snapshots.extend(some.iter().map(|snapshot| snapshot.snapshot_id));
                Ok(())
            })?;
        }
        let files = earlier.iter().map(|entry| entry.metadata_file.clone()).collect();
        Ok(EarlierCopies { snapshots: Some(Arc::new(snapshots)), files })
    }

    pub(super) fn has(&self, snapshot_id: i64) -> bool {
        self.snapshots.as_ref().is_some_and(|snapshots| snapshots.contains(&snapshot_id))
    }

    /// Whether the metadata file was not copied.
    pub(super) fn lacks(&self, entry: &MetadataLogEntry) -> bool {
        !self.files.contains(&entry.metadata_file)
    }
}
