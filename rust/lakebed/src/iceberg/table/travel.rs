//! Time travel: the same table on another branch, at another snapshot, tag or time.

use std::collections::HashSet;
use std::sync::Arc;

use super::{CurrentSnapshot, Table, current_schema, head, schema_of};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::discovery::{current_metadata, is_metadata_file};
use crate::iceberg::metadata::{
    ElementFilter, MAIN, MetadataFile, Oddity, RefKind, SnapshotLogEntry, TableMetadata, WantedElements,
};
use crate::iceberg::types::Schema;
use crate::notes::Notes;
use crate::words::{instant, listed};

impl Table {
    /// The table at the head of a branch, with the table's current schema.
    ///
    /// # Errors
    /// `SnapshotNotFound`, with the names of existing branches.
    pub fn at_branch(&self, branch: &str) -> Result<Table> {
        let id = match self.named(branch, RefKind::Branch) {
            None if branch == MAIN => None,
            None => return Err(self.no_ref(branch, RefKind::Branch)),
            id => id,
        };
        let metadata = self.read_snapshot(id)?;
        let (head, schema) = (head(&metadata, id)?, current_schema(&metadata)?);
        Ok(Table { core: self.core.at(branch, None), head, schema, ..self.clone() })
    }

    /// The table at the head of its branch, by the metadata file that is current now; an unchanged one is not
    /// read again.
    ///
    /// # Errors
    /// As [`Table::open`] and [`Table::at_branch`].
    pub fn latest(&self) -> Result<Table> {
        if is_metadata_file(&self.opened) {
            return self.at_branch(&self.branch);
        }
        let notes = Notes::default();
        let (known, storage) = (self.file.clone(), Arc::clone(&self.storage));
        let changed = MetadataFile::opener(&storage, self.decoding.limits);
        let open = move |path: &str| match path == known.path() {
            // It may have been removed.
            true => storage.read_range(path, 0, 1).map(|_| known.clone()),
            false => changed(path),
        };
        let file = current_metadata(&self.opened, &self.storage, open, &notes)?;
        if file.path() == self.file.path() {
            return self.at_branch(&self.branch);
        }
        let (storage, decoding) = (Arc::clone(&self.storage), self.decoding.clone());
        Table::of_file(&self.opened, file, storage, decoding, notes, &WantedElements::CURRENT)?
            .at_branch(&self.branch)
    }

    /// The table at a tag, with the schema of the tag's snapshot.
    ///
    /// # Errors
    /// `SnapshotNotFound`, with the names of existing tags.
    pub fn at_tag(&self, name: &str) -> Result<Table> {
        let id = self.named(name, RefKind::Tag).ok_or_else(|| self.no_ref(name, RefKind::Tag))?;
        self.pinned_at(Some(name), id)
    }

    /// The table at another of its snapshots, on any branch, with the schema of that snapshot.
    ///
    /// # Errors
    /// `SnapshotNotFound`, with the existing snapshots.
    pub fn at_snapshot(&self, id: i64) -> Result<Table> {
        self.pinned_at(None, id)
    }

    /// The table at the snapshot that was current at `millis` since 1970 UTC, with the schema of that
    /// snapshot: the last one that became current until then, by the times in the snapshot log, in whatever order it
    /// is (`SnapshotUtil.java`).
    ///
    /// The log is that of `main`. It goes back to the oldest snapshot since which none is missing.
    ///
    /// # Errors
    /// `SnapshotNotFound` for an earlier time, with the time.
    pub fn at_timestamp(&self, millis: i64) -> Result<Table> {
        let metadata = self.read(&WantedElements { snapshot_log: true, ..WantedElements::CURRENT })?;
        let known: HashSet<&Oddity> = self.metadata.oddities.iter().collect();
        let of_log = metadata.oddities.iter().filter(|odd| !known.contains(odd));
        of_log.for_each(|odd| self.notes.add(format!("{} ({})", odd.message, self.file.path())));
        let log = metadata.snapshot_log;
        match as_of(&log, millis) {
            Some(id) => self.pinned_at(None, id),
            None => {
                let (asked, there) = (instant(millis)?, range(&log)?);
                Err(self.not_found(format!("no snapshot at {asked} or before; {there}")))
            }
        }
    }

    /// The table at its snapshot, with another of its schemas; the current one for `None`.
    ///
    /// # Errors
    /// `Required` for a schema that the table no longer has.
    pub fn with_schema(&self, id: Option<i32>) -> Result<Table> {
        let id = id.unwrap_or(self.metadata.current_schema_id);
        let schema = match self.metadata.schema(id) {
            Some(schema) => Arc::clone(schema),
            None => self.schema_of_id(id)?,
        };
        Ok(Table { schema, ..self.clone() })
    }

    fn pinned_at(&self, tag: Option<&str>, id: i64) -> Result<Table> {
        let metadata = self.read_snapshot(Some(id))?;
        let Some(snapshot) = metadata.snapshot(id).cloned() else {
            let lineage = self.read(&WantedElements { lineage: true, ..WantedElements::CURRENT })?.lineage;
            let ids: Vec<i64> = lineage.iter().map(|one| one.snapshot_id).collect();
            return Err(self.not_found(format!("no snapshot {id}; there {}", listed(&ids))));
        };
        let schema_id = snapshot.schema_id.unwrap_or(metadata.current_schema_id);
        let schema = match metadata.schema(schema_id) {
            Some(schema) => Arc::clone(schema),
            None => self.schema_of_id(schema_id)?,
        };
        let head = CurrentSnapshot::At(Arc::new(snapshot));
        Ok(Table { core: self.core.at(&self.branch, tag), head, schema, ..self.clone() })
    }

    fn schema_of_id(&self, id: i32) -> Result<Arc<Schema>> {
        let metadata = self.read(&WantedElements {
            schemas: ElementFilter::Ids([id.into()].into()),
            ..WantedElements::CURRENT
        })?;
        schema_of(&metadata, id).map_err(|error| error.in_file(self.metadata_file()))
    }

    /// The metadata with this snapshot, which may not be the current one.
    fn read_snapshot(&self, id: Option<i64>) -> Result<Arc<TableMetadata>> {
        match id.filter(|id| self.metadata.snapshot(*id).is_none()) {
            Some(id) => Ok(Arc::new(self.read(&WantedElements {
                snapshots: ElementFilter::Ids([id].into()),
                ..WantedElements::CURRENT
            })?)),
            None => Ok(Arc::clone(&self.metadata)),
        }
    }

    /// The snapshot of a branch or tag.
    fn named(&self, name: &str, kind: RefKind) -> Option<i64> {
        self.metadata.refs.get(name).filter(|one| one.kind == kind).map(|one| one.snapshot_id)
    }

    #[cold]
    fn no_ref(&self, name: &str, kind: RefKind) -> Error {
        let of_kind = self.metadata.refs.iter().filter(|(_, one)| one.kind == kind);
        let names: Vec<&str> = of_kind.map(|(name, _)| name.as_str()).collect();
        self.not_found(format!("no {} {name:?}; there {}", kind.name(), listed(&names)))
    }

    #[cold]
    pub(super) fn not_found(&self, message: String) -> Error {
        Error::new(ErrorKind::SnapshotNotFound, message).in_file(&self.location)
    }
}

/// The snapshot that was current at a time: that of the entry with the latest time until then, wherever it is in the
/// log; of several with that time, the last one's.
pub(crate) fn as_of(log: &[SnapshotLogEntry], millis: i64) -> Option<i64> {
    let until = log.iter().filter(|entry| entry.timestamp_ms <= millis);
    until.max_by_key(|entry| entry.timestamp_ms).map(|entry| entry.snapshot_id)
}

/// The earliest time of the log, in words.
fn range(log: &[SnapshotLogEntry]) -> Result<String> {
    Ok(match log.iter().map(|entry| entry.timestamp_ms).min() {
        Some(first) => format!("the table's log starts at {}", instant(first)?),
        None => "the table has none".to_owned(),
    })
}
