//! Reads every manifest completely: the findings in it, and the files that it names.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use super::entries::CheckedColumns;
use super::finding::{Finding, Severity};
use super::inventory::NamedManifest;
use super::live::IdentityKeys;
use super::totals::ContentTotals;
use super::{CheckedEntries, EntryBatches, WholeEntries, caught};
use crate::error::Result;
use crate::notes::Notes;
use crate::pipeline::{Give, Pipeline, Source, Width};
use crate::storage::{Storage, read_recorded};

/// What is done with the entries of a manifest.
pub(super) trait Take: Send + Sync + 'static {
    /// Whether entries are checked.
    const CHECKS: bool;
    /// What is kept of them.
    type Output: Default + Send + 'static;

    /// Adds entries, the first of which is record `first`.
    fn take(&self, entries: &CheckedColumns, first: u64, taken: &mut Self::Output);

    /// Adds rows of [`Links`](super::links::Links).
    fn link(&self, _links: RecordBatch, _taken: &mut Self::Output) {}

    /// The memory that the result takes \[bytes\].
    fn held(&self, taken: &Self::Output) -> u64;
}

/// The findings in a manifest.
pub(super) struct ManifestFindings<T> {
    pub(super) findings: Vec<Finding>,
    pub(super) taken: T,
    /// Whether it could be read to its end.
    pub(super) is_whole: bool,
    pub(super) is_live: bool,
    pub(super) path: String,
}

/// Reads several manifests at a time; errors in one do not end the others.
pub(super) struct CheckedManifests<E, T> {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) entries: Arc<E>,
    pub(super) take: T,
    /// Whether data files of live manifests are compared with their deletes.
    pub(super) linked: bool,
}

impl<E: WholeEntries, T: Take> CheckedManifests<E, T> {
    pub(super) fn pipeline(
        self,
        manifests: Vec<Arc<NamedManifest<E::Manifest>>>,
        threads: usize,
    ) -> Pipeline<CheckedManifests<E, T>> {
        let width = Width::new(self.storage.as_ref(), threads);
        Pipeline::new(self, manifests, width)
    }

    /// Takes the entries of a manifest, and adds the findings in them to `within`.
    fn each_batch(
        &self,
        path: &str,
        batches: EntryBatches,
        taken: &mut T::Output,
        within: &mut Vec<Finding>,
    ) -> Result<()> {
        let mut first = 0;
        for batch in batches {
            let CheckedEntries { rows, wrong, links } = batch?;
            let entries = CheckedColumns::new(&rows)?;
            if T::CHECKS {
                within.extend(entries.wrong(first, &wrong));
            }
            self.take.take(&entries, first, taken);
            if !links.is_empty() {
                self.take.link(links.rows(path, first)?, taken);
            }
            first += rows.num_rows() as u64;
        }
        Ok(())
    }
}

impl<E: WholeEntries, T: Take> Source for CheckedManifests<E, T> {
    type Request = Arc<NamedManifest<E::Manifest>>;
    type Bytes = Result<Buffer>;
    type Made = ManifestFindings<T::Output>;

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
        give: Give<'_, ManifestFindings<T::Output>>,
    ) -> Result<()> {
        let (path, _) = self.entries.place_of(&named.manifest);
        let (taken, notes, mut within) = (T::Output::default(), Notes::default(), Vec::new());
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

    fn held(&self, read: &ManifestFindings<T::Output>) -> u64 {
        read.findings.iter().map(Finding::held).sum::<u64>() + self.take.held(&read.taken)
    }

    fn interrupted(&self) -> Result<()> {
        self.storage.interrupted()
    }
}

/// Checks entries, and counts the files of live ones.
pub(super) struct Check(pub(super) Arc<IdentityKeys>);

/// The files that entries add and delete.
#[derive(Default)]
pub(super) struct CheckedFiles {
    pub(super) counts: Vec<(u128, i32)>,
    pub(super) totals: ContentTotals,
    pub(super) links: Vec<RecordBatch>,
}

impl Take for Check {
    const CHECKS: bool = true;

    type Output = CheckedFiles;

    fn take(&self, entries: &CheckedColumns, _: u64, checked: &mut CheckedFiles) {
        checked.totals.take(entries);
        checked.counts.extend(self.0.counts(&entries.signs, &entries.identities));
    }

    fn link(&self, links: RecordBatch, checked: &mut CheckedFiles) {
        checked.links.push(links);
    }

    fn held(&self, checked: &CheckedFiles) -> u64 {
        let links = checked.links.iter().map(RecordBatch::get_array_memory_size).sum::<usize>();
        (checked.counts.len() * size_of::<(u128, i32)>() + links) as u64
    }
}

/// Keeps the files that entries add and delete.
pub(super) struct Keep(pub(super) Arc<IdentityKeys>);

/// A file that an entry names.
pub(super) struct Entry {
    pub(super) hashed: u128,
    pub(super) sign: i32,
    pub(super) record: u64,
    pub(super) path: String,
    pub(super) size: Option<u64>,
}

impl Take for Keep {
    const CHECKS: bool = false;

    type Output = Vec<Entry>;

    fn take(&self, entries: &CheckedColumns, first: u64, kept: &mut Vec<Entry>) {
        for (row, (sign, identity)) in entries.signs.values().iter().zip(&entries.identities).enumerate() {
            if *sign != 0 {
                let hashed = self.0.hashed(identity.unwrap_or_default());
                let path = entries.paths.value(row).to_owned();
                let size = u64::try_from(entries.sizes.value(row)).ok();
                kept.push(Entry { hashed, sign: *sign, record: first + row as u64, path, size });
            }
        }
    }

    fn held(&self, kept: &Vec<Entry>) -> u64 {
        kept.iter().map(|entry| (size_of::<Entry>() + entry.path.len()) as u64).sum()
    }
}
