//! A table on a branch at a snapshot, as its metadata describes it.

mod expressions;
mod lineage;
mod lists;
#[cfg(test)]
mod tests;
mod travel;
mod types;
mod views;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use lakebed_avro::Limits;

pub(crate) use travel::as_of;
pub(crate) use types::{StoredTypes, TableTypes};

use super::discovery::{FOLDER, current_metadata, hint, hinted_metadata, table_folder};
use super::metadata::{ElementFilter, MetadataFile, Oddity, Snapshot, TableMetadata, WantedElements};
use super::types::Schema;
use super::write::commit::CommittedMetadata;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::storage::Storage;
use crate::table::{HintAhead, TableCore, capped};

/// An Iceberg table at one of its snapshots, or at none before the first commit.
#[derive(Clone)]
pub struct Table {
    pub(in crate::iceberg) core: TableCore,
    /// What it was opened with: its folder, or a metadata file.
    opened: String,
    file: MetadataFile,
    metadata: Arc<TableMetadata>,
    head: CurrentSnapshot,
    schema: Arc<Schema>,
}

/// The snapshot that a table is at.
#[derive(Clone)]
enum CurrentSnapshot {
    /// Before the first commit.
    Nowhere,
    At(Arc<Snapshot>),
    /// A snapshot that the metadata refers to but does not have.
    Gone(i64),
}

impl Deref for Table {
    type Target = TableCore;

    fn deref(&self) -> &TableCore {
        &self.core
    }
}

impl Table {
    /// Opens the table at `location`, its folder or one of its metadata files, at the current snapshot with
    /// the current schema.
    ///
    /// In a folder, the current metadata file is the one of the version hint or a later version, else the one
    /// with the highest version. It is read once, and [`WantedElements::CURRENT`] is kept of it; see
    /// [`TableMetadata::read`] for the cost.
    ///
    /// # Errors
    /// `TableNotFound` where there is no metadata file, with what was looked for; those of
    /// [`TableMetadata::read`].
    pub fn open(location: &str, storage: Arc<dyn Storage>, decoding: impl Into<Decoding>) -> Result<Table> {
        let hint = hint(location, &storage, 1);
        Table::open_hinted(location, storage, decoding, hint)
    }

    /// The same, by what is read ahead of the table's hint.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(crate) fn open_hinted(
        location: &str,
        storage: Arc<dyn Storage>,
        decoding: impl Into<Decoding>,
        hint: HintAhead,
    ) -> Result<Table> {
        let location = location.trim_end_matches('/');
        let decoding = capped(decoding);
        let notes = Notes::default();
        let open = MetadataFile::opener(&storage, decoding.limits);
        let file = hinted_metadata(location, &storage, hint, open, &notes)?;
        Table::of_file(location, file, storage, decoding, notes, &WantedElements::CURRENT)
    }

    /// The same table with the requested parts of its metadata, and the text of its metadata file, which is
    /// read once.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(crate) fn open_whole(
        location: &str,
        storage: Arc<dyn Storage>,
        limits: Limits,
        wanted: &WantedElements,
    ) -> Result<(Table, String)> {
        let (location, notes) = (location.trim_end_matches('/'), Notes::default());
        let decoding = capped(limits);
        let limits = decoding.limits;
        let reading = Arc::clone(&storage);
        let open = move |path: &str| MetadataFile::open_whole(path, reading.as_ref(), limits);
        let file = current_metadata(location, &storage, open, &notes)?;
        let table = Table::of_file(location, file, storage, decoding, notes, wanted)?;
        let text = table.file.to_text()?;
        Ok((table, text))
    }

    /// The same table, on `main`, as another text of its metadata file describes it, with the requested parts.
    ///
    /// # Errors
    /// Those of [`TableMetadata::read`].
    pub(crate) fn with_metadata(&self, text: String, wanted: &WantedElements) -> Result<Table> {
        let (storage, decoding) = (Arc::clone(&self.storage), self.decoding.clone());
        Table::of_file(&self.opened, self.file.with_text(text), storage, decoding, self.notes.clone(), wanted)
    }

    /// The table in this one's folder after a commit to its branch, whose metadata file is not read again.
    ///
    /// # Errors
    /// Those of [`TableMetadata::read`].
    pub fn after(&self, committed: &CommittedMetadata) -> Result<Table> {
        let name = committed.path.rsplit('/').next().unwrap_or_default();
        let path = format!("{}/{FOLDER}/{name}", self.location());
        let (storage, decoding) = (Arc::clone(&self.storage), self.decoding.clone());
        let file = MetadataFile::with_bytes(&path, committed.bytes.clone(), decoding.limits);
        let (notes, wanted) = (Notes::default(), &WantedElements::CURRENT);
        let table = Table::of_file(self.location(), file, Arc::clone(&storage), decoding, notes, wanted)?;
        Table { file: table.file.clone().on_storage(storage), ..table }.at_branch(&self.branch)
    }

    /// The table that was opened with `opened`, from its current metadata file, with the requested parts.
    fn of_file(
        opened: &str,
        file: MetadataFile,
        storage: Arc<dyn Storage>,
        decoding: Decoding,
        notes: Notes,
        wanted: &WantedElements,
    ) -> Result<Table> {
        let metadata = Arc::new(TableMetadata::read(&file, wanted)?);
        let place = |odd: &Oddity| notes.add(format!("{} ({})", odd.message, file.path()));
        metadata.oddities.iter().for_each(place);
        let (head, schema) = (head(&metadata, metadata.current_snapshot_id)?, current_schema(&metadata)?);
        Ok(Table {
            core: TableCore { notes, ..TableCore::new(table_folder(opened), storage, decoding) },
            opened: opened.to_owned(),
            file,
            metadata,
            head,
            schema,
        })
    }

    /// What the table was opened with: its folder, or a metadata file.
    pub(crate) fn opened(&self) -> &str {
        &self.opened
    }

    /// The path of the metadata file.
    pub fn metadata_file(&self) -> &str {
        self.file.path()
    }

    /// The metadata file.
    pub(crate) fn file(&self) -> &MetadataFile {
        &self.file
    }

    /// The metadata; its lists have only the current elements: see [`Table::read`] for others.
    pub fn metadata(&self) -> &TableMetadata {
        &self.metadata
    }

    /// The same, as a shared pointer.
    pub(crate) fn shared_metadata(&self) -> Arc<TableMetadata> {
        Arc::clone(&self.metadata)
    }

    /// Reads more of the metadata file that the table was opened from.
    ///
    /// # Errors
    /// Those of [`TableMetadata::read`].
    pub fn read(&self, wanted: &WantedElements) -> Result<TableMetadata> {
        TableMetadata::read(&self.file, wanted)
    }

    /// Reads every snapshot of the metadata file, some at a time, in file order.
    ///
    /// # Errors
    /// Those of [`TableMetadata::each_snapshot`].
    pub(crate) fn each_snapshot(&self, each: impl FnMut(Vec<Snapshot>) -> Result<()>) -> Result<()> {
        self.metadata.each_snapshot(&self.file, each)
    }

    /// The id of the table's snapshot; `None` before the first commit.
    pub fn snapshot_id(&self) -> Option<i64> {
        match &self.head {
            CurrentSnapshot::Nowhere => None,
            CurrentSnapshot::At(snapshot) => Some(snapshot.snapshot_id),
            CurrentSnapshot::Gone(id) => Some(*id),
        }
    }

    /// The snapshot of the table; `None` before the first commit.
    ///
    /// # Errors
    /// `SnapshotNotFound` where the metadata refers to a snapshot that it does not have.
    pub fn snapshot(&self) -> Result<Option<&Snapshot>> {
        match &self.head {
            CurrentSnapshot::Nowhere => Ok(None),
            CurrentSnapshot::At(snapshot) => Ok(Some(snapshot)),
            CurrentSnapshot::Gone(id) => {
                let message = format!("snapshot {id} is current, but not among the table's snapshots");
                Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(self.file.path()))
            }
        }
    }

    /// The schema by which rows are read: on a branch the table's current one, else the snapshot's.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Every version of the schema, by id.
    ///
    /// # Errors
    /// Those of [`TableMetadata::read`].
    pub fn schemas(&self) -> Result<BTreeMap<i32, Arc<Schema>>> {
        let metadata =
            self.read(&WantedElements { schemas: ElementFilter::All, ..WantedElements::CURRENT })?;
        Ok(metadata.schemas.into_iter().map(|schema| (schema.schema_id, schema)).collect())
    }
}

/// The head of a branch with this snapshot id, in metadata that was read for it.
fn head(metadata: &TableMetadata, id: Option<i64>) -> Result<CurrentSnapshot> {
    Ok(match id {
        None => CurrentSnapshot::Nowhere,
        Some(id) => match metadata.snapshot(id) {
            Some(snapshot) => CurrentSnapshot::At(Arc::new(snapshot.clone())),
            None => CurrentSnapshot::Gone(id),
        },
    })
}

/// The schema of that id, in metadata that was read for it.
fn schema_of(metadata: &TableMetadata, id: i32) -> Result<Arc<Schema>> {
    metadata.schema(id).cloned().ok_or_else(|| {
        Error::new(ErrorKind::Required, format!("schema {id} is not among the table's schemas"))
    })
}

fn current_schema(metadata: &TableMetadata) -> Result<Arc<Schema>> {
    schema_of(metadata, metadata.current_schema_id)
}
