//! Reads every manifest completely: the findings in it, and the files that it names.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_select::filter::filter_record_batch;

use super::entries::CheckedColumns;
use super::finding::{Finding, Severity};
use super::inventory::NamedManifest;
use super::links::record_numbers;
use super::live::IdentityKeys;
use super::totals::ContentTotals;
use super::{CheckedEntries, ENTRY_SIGN, EntryBatches, IDENTITY_COLUMN, WholeEntries, caught};
use crate::distributed::foreign;
use crate::error::Result;
use crate::notes::Notes;
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::record::column;
use crate::storage::{Storage, read_recorded};
use crate::view::whole;

/// What is done with the entries of a manifest.
pub(super) enum Pass {
    /// They are checked, and those of live manifests are counted by the hashes of their files.
    Count(Arc<IdentityKeys>),
    /// They are checked, and named for other processes.
    Send,
    /// They were checked, and are named.
    Name,
}

/// What is kept of entries.
#[derive(Default)]
pub(super) struct TakenEntries {
    pub(super) totals: ContentTotals,
    /// Those that add a file (1) or delete it (-1), by the hashes of its identity.
    pub(super) counts: Vec<(u128, i32)>,
    /// Those that add or delete a file, with the number of each among the records.
    pub(super) named: Vec<RecordBatch>,
    /// Rows of [`Links`](super::links::Links).
    pub(super) links: Vec<RecordBatch>,
}

impl TakenEntries {
    /// The memory that it takes \[bytes\].
    fn held(&self) -> u64 {
        let batches = self.named.iter().chain(&self.links).map(RecordBatch::get_array_memory_size);
        (self.counts.len() * size_of::<(u128, i32)>() + batches.sum::<usize>()) as u64
    }
}

/// The findings in a manifest.
pub(super) struct ManifestFindings {
    pub(super) findings: Vec<Finding>,
    pub(super) taken: TakenEntries,
    /// Whether it could be read to its end.
    pub(super) is_whole: bool,
    pub(super) is_live: bool,
    pub(super) path: String,
}

/// Reads several manifests at a time; errors in one do not end the others.
pub(super) struct CheckedManifests<E> {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) entries: Arc<E>,
    pub(super) pass: Pass,
    /// Whether data files of live manifests are compared with their deletes.
    pub(super) linked: bool,
}

impl<E: WholeEntries> CheckedManifests<E> {
    pub(super) fn pipeline(
        self,
        manifests: Vec<Arc<NamedManifest<E::Manifest>>>,
        threads: usize,
    ) -> Pipeline<CheckedManifests<E>> {
        let width = Width::new(self.storage.as_ref(), threads);
        Pipeline::new(self, manifests, width)
    }

    /// Takes the entries of a manifest, and adds the findings in them to `within`.
    fn each_batch(
        &self,
        path: &str,
        batches: EntryBatches,
        taken: &mut TakenEntries,
        within: &mut Vec<Finding>,
    ) -> Result<()> {
        let mut first = 0;
        for batch in batches {
            let CheckedEntries { rows, wrong, links } = batch?;
            let entries = CheckedColumns::new(&rows)?;
            if !matches!(self.pass, Pass::Name) {
                within.extend(entries.wrong(first, &wrong));
                taken.totals.take(&entries);
            }
            match &self.pass {
                Pass::Count(keys) => taken.counts.extend(keys.counts(&entries.signs, &entries.identities)),
                Pass::Send | Pass::Name => taken.named.push(named(&entries, first)?),
            }
            if !links.is_empty() {
                taken.links.push(links.rows(path, first)?);
            }
            first += rows.num_rows() as u64;
        }
        Ok(())
    }
}

impl<E: WholeEntries> Source for CheckedManifests<E> {
    type Request = Arc<NamedManifest<E::Manifest>>;
    type Bytes = Result<Buffer>;
    type Output = ManifestFindings;

    fn size(&self, named: &Self::Request) -> u64 {
        self.entries.place_of(&named.manifest).1.unwrap_or(0)
    }

    fn read(&self, named: &Self::Request) -> Result<Result<Buffer>> {
        let storage = self.storage.as_ref();
        let (path, size) = self.entries.place_of(&named.manifest);
        caught(storage, read_recorded(storage, &path, size, &self.entries.limits()))
    }

    fn make(
        &self,
        named: &Self::Request,
        bytes: Result<Buffer>,
        give: Sink<'_, ManifestFindings>,
    ) -> Result<()> {
        let (path, _) = self.entries.place_of(&named.manifest);
        let (taken, notes, mut within) = (TakenEntries::default(), Notes::default(), Vec::new());
        let mut read =
            ManifestFindings { findings: Vec::new(), taken, is_whole: true, is_live: named.is_live, path };
        let entries = bytes
            .and_then(|bytes| {
                let linked = self.linked && named.is_live;
                self.entries.entries_of(&named.manifest, bytes, linked, &notes)
            })
            .and_then(|entries| self.each_batch(&read.path, entries, &mut read.taken, &mut within));
        match entries {
            Ok(()) => {
                let odd = notes.take().into_iter();
                read.findings.extend(odd.map(|note| Finding::new(Severity::Warning, "odd", note)));
            }
            // Other notes on the manifest follow from the error.
            Err(error) => {
                read.is_whole = false;
                read.findings.push(Finding::of(&error));
            }
        }
        let located = |finding: Finding| finding.in_file(&read.path).named_by(&named.named_by);
        let within = within.into_iter().map(|finding| finding.in_file(&read.path));
        read.findings = std::mem::take(&mut read.findings).into_iter().map(located).chain(within).collect();
        give(read);
        Ok(())
    }

    fn held(&self, read: &ManifestFindings) -> u64 {
        read.findings.iter().map(Finding::held).sum::<u64>() + read.taken.held()
    }

    fn interrupted(&self) -> Result<()> {
        self.storage.interrupted()
    }
}

/// A file that an entry names.
pub(super) struct Entry {
    pub(super) hashed: u128,
    pub(super) sign: i32,
    pub(super) record: u64,
    pub(super) path: String,
    pub(super) size: Option<u64>,
}

/// The column with the number of an entry among the records of its manifest.
pub(super) const RECORD: &str = "_record";

/// The entries that add or delete a file, of which the first of all is record `first`.
fn named(entries: &CheckedColumns, first: u64) -> Result<RecordBatch> {
    let count = entries.signs.len();
    let columns: Vec<(&str, ArrayRef)> = vec![
        (IDENTITY_COLUMN, Arc::new(entries.identities.clone())),
        (ENTRY_SIGN, Arc::new(entries.signs.clone())),
        ("file_path", Arc::new(entries.paths.clone())),
        ("file_size_in_bytes", Arc::new(entries.sizes.clone())),
        (RECORD, Arc::new(record_numbers(first, 0..count)?)),
    ];
    let counted: BooleanArray = entries.signs.iter().map(|sign| Some(sign != Some(0))).collect();
    Ok(filter_record_batch(&whole(columns, count)?, &counted)?)
}

/// The entries of [`TakenEntries::named`].
///
/// # Errors
/// `Required` and `Mismatch` for other rows.
pub(super) fn entries_of<'r>(
    rows: &'r RecordBatch,
    keys: &'r IdentityKeys,
) -> Result<impl Iterator<Item = Result<Entry>> + use<'r>> {
    let signs = column::<Int32Array>(rows, ENTRY_SIGN)?;
    let sizes = column::<Int64Array>(rows, "file_size_in_bytes")?;
    let records = column::<Int64Array>(rows, RECORD)?;
    let identities = column::<BinaryArray>(rows, IDENTITY_COLUMN)?;
    let paths = column::<StringArray>(rows, "file_path")?;
    Ok((0..rows.num_rows()).map(move |row| {
        Ok(Entry {
            hashed: keys.hashed(identities.value(row)),
            sign: signs.value(row),
            record: u64::try_from(records.value(row)).map_err(foreign)?,
            path: paths.value(row).to_owned(),
            size: u64::try_from(sizes.value(row)).ok(),
        })
    }))
}
