//! The state that a commit starts from.

use std::cell::OnceCell;

use arrow_array::{Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::fields::{ENTRY, known};
use crate::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use crate::paimon::manifest_list::{ManifestFile, manifest_files, read_manifest_list};
use crate::paimon::paths::{snapshot_file, tag_file};
use crate::paimon::scan::RebuiltLists;
use crate::paimon::schema::TableSchema;
use crate::paimon::snapshot::Snapshot;
use crate::paimon::table::{ListFile, Table};
use crate::paimon::write::json::carried_keys;
use crate::paimon::write::options::ManifestFormat;
use crate::record::{RecordResolver, carried, column, find};
use crate::repair::RowChange;
use crate::scan::threads;
use crate::storage::present;
use crate::write::commit::check_committable;

/// The table at the latest snapshot of its branch, and the manifests of that.
pub(super) struct Base {
    /// With the latest schema.
    pub(super) table: Table,
    /// Its base list and its delta list, as bytes.
    pub(super) lists: Vec<ListFile>,
    /// The records of both, once they are needed.
    read: OnceCell<(RecordBatch, Vec<ManifestFile>)>,
    /// Unknown keys of other writers in the snapshot's file.
    pub(super) carried: Map<String, Value>,
}

impl Base {
    /// Reads the latest snapshot and its lists.
    ///
    /// # Errors
    /// `Unsupported` for a table on a storage without commits; those of reading.
    pub(super) fn latest(table: &Table) -> Result<Base> {
        Base::at(table.latest()?)
    }

    /// The same of the latest snapshot, which must be `id`, whose lists cannot be read: with what they had.
    ///
    /// # Errors
    /// As [`Base::latest`]; `Conflict` for another snapshot, and where what they had is not known.
    pub(super) fn relisted(table: &Table, id: i64) -> Result<Base> {
        let table = table.latest()?;
        check_committable(table.storage().as_ref(), table.location())?;
        check_latest(&table, id, table.snapshot().map_or(0, |snapshot| snapshot.id))?;
        let rebuilt = RebuiltLists::of(&table, 0)?.filter(|rebuilt| rebuilt.change == RowChange::NONE);
        let Some(RebuiltLists { lists, unlisted, .. }) = rebuilt else {
            let message = format!("what the lists of snapshot {id} had is not known");
            return Err(Error::new(ErrorKind::Conflict, message).in_file(table.location()));
        };
        let list = table.carrying_list(lists.clone())?;
        let manifests = manifest_files(&list)?.into_iter().chain(unlisted).collect();
        let carried = carried_of(&table)?;
        Ok(Base { table, lists, read: OnceCell::from((list, manifests)), carried })
    }

    /// The same of the snapshot that the table is at.
    ///
    /// # Errors
    /// As [`Base::latest`].
    pub(super) fn at(table: Table) -> Result<Base> {
        check_committable(table.storage().as_ref(), table.location())?;
        let lists = table.list_files()?;
        let carried = carried_of(&table)?;
        Ok(Base { table, lists, read: OnceCell::new(), carried })
    }

    /// The format of the table's manifests: that of its lists, else that of its option. Some writers do not
    /// set the option where their default is ORC.
    ///
    /// # Errors
    /// `Unsupported` for lists in a format other than the option's: engines read all by the option. Only Avro
    /// is taken in any case, since Paimon from 2.1 on has no such option and writes Avro.
    pub(super) fn format(&self) -> Result<ManifestFormat> {
        let option = ManifestFormat::of_option(self.schema())?;
        let Some(first) = self.lists.first() else { return Ok(option.unwrap_or(ManifestFormat::Avro)) };
        let format = ManifestFormat::of(&first.bytes);
        let expected = if format == ManifestFormat::Avro { format } else { option.unwrap_or(format) };
        for list in &self.lists {
            let found = ManifestFormat::of(&list.bytes);
            if found != expected {
                let (found, expected) = (found.name(), expected.name());
                let message = format!(
                    "a manifest list in {found}, where option \"manifest.format\" and other lists have \
                     {expected}: engines read all of them as {expected}"
                );
                return Err(Error::new(ErrorKind::Unsupported, message).in_file(&list.path));
            }
        }
        Ok(format)
    }

    /// The records of the base list, then of the delta list, with unknown fields of other writers.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn list(&self) -> Result<&RecordBatch> {
        Ok(&self.listed()?.0)
    }

    /// The manifests of both.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn manifests(&self) -> Result<&[ManifestFile]> {
        Ok(&self.listed()?.1)
    }

    /// Checks the lists, unless that was done already: a damaged list must not be copied.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn check_lists(&self) -> Result<()> {
        if self.read.get().is_some() {
            return Ok(());
        }
        let names = ["file_name".to_owned()];
        let check = |list: &ListFile| {
            let read = read_manifest_list(list.bytes.clone(), Some(&names), self.table.decoding());
            read.map(drop).map_err(|error| error.in_file(&list.path))
        };
        self.lists.iter().try_for_each(check)
    }

    fn listed(&self) -> Result<&(RecordBatch, Vec<ManifestFile>)> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let list = self.table.carrying_list(self.lists.clone())?;
        let manifests = manifest_files(&list)?;
        Ok(self.read.get_or_init(|| (list, manifests)))
    }

    pub(super) fn schema(&self) -> &TableSchema {
        self.table.schema()
    }

    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.table.snapshot()
    }

    /// The entries of one manifest with all columns and unknown fields of other writers.
    pub(super) fn whole_entries(
        &self,
        manifest: &ManifestFile,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let path = self.table.manifest_path(&manifest.file_name);
        let read = || {
            let bytes = self.table.read_recorded(&path, Some(manifest.file_size))?;
            whole_entries(&self.table, bytes, Some(manifest.clone()), threads(0))
        };
        let entries = read().map_err(|error| error.in_file(&path))?;
        Ok(entries.map(move |entries| entries.map_err(|error| error.in_file(&path))))
    }
}

/// The entries of a manifest of these bytes, decoded by so many threads, with all columns and unknown fields of other
/// writers; its list may record its counts.
///
/// # Errors
/// Those of reading.
pub(super) fn whole_entries(
    table: &Table,
    bytes: Buffer,
    recorded: Option<ManifestFile>,
    threads: usize,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let limits = table.decoding().limits;
    let carried = carried::read(&bytes, &|record, field| known(&ENTRY, record, field), limits)?;
    let mut first = 0;
    Ok(entries(table, bytes, recorded, &entry_columns(None)?, threads)?.map(move |entries| {
        let entries = entries?;
        let Some(carried) = &carried else { return Ok(entries) };
        let own = carried.slice(first, entries.num_rows());
        first = fitting(first.checked_add(entries.num_rows()), "the number of entries")?;
        carried::with(&entries, &own)
    }))
}

/// The same, with these columns alone.
///
/// # Errors
/// Those of reading.
pub(super) fn entries(
    table: &Table,
    bytes: Buffer,
    recorded: Option<ManifestFile>,
    columns: &RecordResolver,
    threads: usize,
) -> Result<EntryReader> {
    let filter = EntryFilter::default();
    let reader = EntryReader::open(bytes, columns, filter, recorded, table.decoding(), threads)?;
    Ok(reader.noting(table.noted()))
}

/// Refuses to change the snapshot `own` of a table where another one is the latest.
///
/// # Errors
/// `Conflict`.
pub(super) fn check_latest(table: &Table, own: i64, latest: i64) -> Result<()> {
    if own == latest {
        return Ok(());
    }
    let message = format!("snapshot {latest} is the latest by now, not {own}");
    Err(Error::new(ErrorKind::Conflict, message).in_file(table.location()))
}

/// Whether any value of a column is not null.
pub(super) fn has_values(batch: &RecordBatch, name: &str) -> Result<bool> {
    let column = find(batch, name)?;
    Ok(column.null_count() < column.len())
}

/// The file names of entries.
pub(super) fn names_of(entries: &RecordBatch) -> Result<Vec<String>> {
    let names = column::<StringArray>(entries, "file_name")?;
    Ok(names.iter().flatten().map(str::to_owned).collect())
}

/// Unknown keys of other writers in the file of the table's snapshot, or of its tag where the snapshot has
/// expired.
///
/// # Errors
/// Those of reading it.
pub(in crate::paimon::write) fn carried_of(table: &Table) -> Result<Map<String, Value>> {
    let Some(snapshot) = table.snapshot() else { return Ok(Map::new()) };
    let places = [Some(snapshot_file(snapshot.id)), table.tag().map(tag_file)];
    for path in places.into_iter().flatten().map(|place| table.files().own(&place)) {
        if let Some(bytes) = present(table.read_recorded(&path, None))? {
            return carried_keys(&bytes).map_err(|error| error.in_file(&path));
        }
    }
    Ok(Map::new())
}
