//! Files that are live in a snapshot (Paimon's `FileEntry.mergeEntries`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{BooleanArray, Int8Array, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;

use super::base::{Base, entries, whole_entries};
use super::prune::may_hold;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::identity::{DeletedIdentities, IDENTITY, identities};
use crate::paimon::manifest::{ADD, entry_columns};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::table::Table;
use crate::record::{RecordResolver, column};
use crate::scan::{Batches, Content, ManifestSource, ManifestStream, threads};
use crate::storage::Storage;

/// The entries that add live files, among those that `keep` keeps, in file order; `keep` must keep all
/// entries of a file or none. `columns` are the columns to read, which must include the identity; `None` for
/// all. Manifests that have no files of `partitions` by the bounds in their list are not read.
///
/// Takes memory for all kept entries.
///
/// # Errors
/// Those of reading; `Mismatch` for a file that is added twice.
pub(super) fn live_entries(
    base: &Base,
    partitions: Option<&HashSet<Vec<u8>>>,
    columns: Option<&[&str]>,
    keep: impl FnMut(&RecordBatch) -> Result<BooleanArray>,
) -> Result<RecordBatch> {
    let read = match partitions {
        Some(partitions) => may_hold(base, partitions)?,
        None => vec![true; base.manifests()?.len()],
    };
    live_entries_of(base, &read, columns, keep)
}

/// The same for the manifests that `read` marks. They are read in parallel.
///
/// # Errors
/// As [`live_entries`].
pub(super) fn live_entries_of(
    base: &Base,
    read: &[bool],
    columns: Option<&[&str]>,
    mut keep: impl FnMut(&RecordBatch) -> Result<BooleanArray>,
) -> Result<RecordBatch> {
    let mut merged = MergedEntries::default();
    let wanted = resolved(columns)?;
    let schema = Arc::clone(wanted.schema());
    let manifests = base.manifests()?.iter().zip(read).filter(|(_, read)| **read);
    let manifests = manifests.map(|(manifest, _)| manifest.clone()).collect();
    for entries in each_entry(&base.table, manifests, Some(wanted), Ok) {
        let entries = entries?;
        merged.extend(filter_record_batch(&entries, &keep(&entries)?)?)?;
    }
    merged.finish(&schema)
}

/// The columns of entries; `None` for all.
fn resolved(columns: Option<&[&str]>) -> Result<RecordResolver> {
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    entry_columns(columns.as_deref())
}

/// The entries of manifests, in their order, with these columns, or with all and unknown fields of other writers. Reads
/// and decodes manifests in parallel, and makes of each batch what `make` says there.
fn each_entry(
    table: &Table,
    manifests: Vec<ManifestFile>,
    columns: Option<RecordResolver>,
    make: impl Fn(RecordBatch) -> Result<RecordBatch> + Send + Sync + 'static,
) -> Batches {
    let source = ManifestEntries { table: table.clone(), columns, make: Arc::new(make) };
    Box::new(ManifestStream::new(source, manifests, threads(0)))
}

/// The same, with their kinds and what says which file they are of.
///
/// # Errors
/// Those of reading.
pub(super) fn each_identity(
    base: &Base,
    manifests: Vec<ManifestFile>,
    make: impl Fn(RecordBatch) -> Result<RecordBatch> + Send + Sync + 'static,
) -> Result<Batches> {
    let columns: Vec<&str> = ["kind"].iter().chain(&IDENTITY).copied().collect();
    Ok(each_entry(&base.table, manifests, Some(resolved(Some(&columns))?), make))
}

/// The entries of manifests that add files which are not `deleted`, with all columns and unknown fields of other writers.
pub(super) fn live_files(
    table: &Table,
    manifests: Vec<ManifestFile>,
    deleted: &Arc<DeletedIdentities>,
) -> Batches {
    let deleted = Arc::clone(deleted);
    each_entry(table, manifests, None, move |entries| {
        let added = of_kind(&entries, ADD)?;
        let live = deleted.live(&added)?;
        filter_record_batch(&added, &live.into()).map_err(Into::into)
    })
}

/// The entries of one kind.
pub(super) fn of_kind(entries: &RecordBatch, wanted: i8) -> Result<RecordBatch> {
    let kinds = column::<Int8Array>(entries, "kind")?;
    let keep = kinds.values().iter().map(|kind| Some(*kind == wanted));
    filter_record_batch(entries, &keep.collect::<BooleanArray>()).map_err(Into::into)
}

/// Reads manifests for their entries.
struct ManifestEntries<F> {
    table: Table,
    columns: Option<RecordResolver>,
    make: Arc<F>,
}

impl<F: Fn(RecordBatch) -> Result<RecordBatch> + Send + Sync + 'static> ManifestSource
    for ManifestEntries<F>
{
    type Manifest = ManifestFile;

    fn storage(&self) -> &dyn Storage {
        self.table.storage().as_ref()
    }

    fn size(&self, manifest: &ManifestFile) -> u64 {
        manifest.file_size
    }

    fn read(&self, manifest: &ManifestFile) -> Result<Content> {
        let path = self.table.manifest_path(&manifest.file_name);
        self.table.read_recorded(&path, Some(manifest.file_size)).map(Content::from)
    }

    fn open(&self, manifest: &ManifestFile, content: Content, threads: usize) -> Result<Batches> {
        let path = self.table.manifest_path(&manifest.file_name);
        let open = || -> Result<Batches> {
            let (bytes, recorded) = (content.into_bytes()?, Some(manifest.clone()));
            Ok(match &self.columns {
                Some(columns) => Box::new(entries(&self.table, bytes, recorded, columns, threads)?),
                None => Box::new(whole_entries(&self.table, bytes, recorded, threads)?),
            })
        };
        let (entries, make) = (open().map_err(|error| error.in_file(&path))?, Arc::clone(&self.make));
        let made = entries.map(move |entries| entries.and_then(|entries| make(entries)));
        Ok(Box::new(made.map(move |entries| entries.map_err(|error| error.in_file(&path)))))
    }
}

/// Entries, by the identity of their file.
#[derive(Default)]
struct MergedEntries {
    batches: Vec<RecordBatch>,
    /// The position of the entry that adds a live file.
    live: HashMap<Box<[u8]>, (usize, usize)>,
}

impl MergedEntries {
    fn extend(&mut self, entries: RecordBatch) -> Result<()> {
        if entries.num_rows() == 0 {
            return Ok(());
        }
        let kinds = column::<Int8Array>(&entries, "kind")?;
        for (row, identity) in identities(&entries)?.iter().flatten().enumerate() {
            if kinds.value(row) != ADD {
                // An entry that deletes a missing file has no effect, as for readers.
                self.live.remove(identity);
            } else if self.live.insert(identity.into(), (self.batches.len(), row)).is_some() {
                let message = "the file is added by two entries";
                return Err(Error::new(ErrorKind::Mismatch, message).in_row(row));
            }
        }
        self.batches.push(entries);
        Ok(())
    }

    fn finish(self, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut places: Vec<(usize, usize)> = self.live.into_values().collect();
        places.sort_unstable();
        let live = places.chunk_by(|one, next| one.0 == next.0).map(|places| {
            let rows = UInt64Array::from_iter_values(places.iter().map(|(_, row)| *row as u64));
            take_record_batch(&self.batches[places[0].0], &rows)
        });
        Ok(concat_batches(schema, &live.collect::<Result<Vec<_>, _>>()?)?)
    }
}
