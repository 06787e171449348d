//! The view as a scan: one check after another, none of which ends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::data_files::{check, looked_for};
use super::finding::{Finding, rows};
use super::inventory::{Inventory, NamedFile, NamedManifest};
use super::job::planned;
use super::live::IdentityKeys;
use super::live_files::LiveFiles;
use super::manifests::{CheckedManifests, ManifestFindings, Pass, entries_of};
use super::{EntriesOf, VerifiedFormat, WholeEntries};
use crate::distributed::{Bounds, Distributed, JobPlan};
use crate::error::Result;
use crate::pipeline::each;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, threads};
use crate::view::select;

/// The checks of a table, resolved: the schema is known, nothing is read.
pub(crate) struct VerifyScan<V> {
    table: V,
    options: ScanOptions,
    /// Whether data files are checked too.
    data_files: bool,
    schema: SchemaRef,
}

/// Findings, in groups.
type Findings = Box<dyn Iterator<Item = Result<Vec<Finding>>> + Send>;

impl<V: VerifiedFormat> VerifyScan<V> {
    /// Resolves the view: columns and filter are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(table: V, options: ScanOptions, data_files: bool) -> Result<VerifyScan<V>> {
        let none = select(&rows(&[])?, options.columns.as_deref(), options.filter.as_deref())?;
        let options = ScanOptions { threads: threads(options.threads), ..options };
        Ok(VerifyScan { table, options, data_files, schema: none.schema() })
    }

    /// All findings: from the inventory, files of statistics, manifests, then the live files.
    fn findings(&self) -> Result<Findings> {
        let Inventory { findings, manifests, files, is_whole, .. } =
            self.table.inventory(self.options.threads)?;
        let entries = Arc::new(self.table.whole_entries()?);
        let (storage, threads) = (self.table.core().storage(), self.options.threads);
        let named = std::iter::once(Ok(findings));
        let files = each(storage, files, threads, check).map(|found| Ok(found?.into_iter().collect()));
        let mut manifests: Vec<_> = manifests.into_iter().map(Arc::new).collect();
        // Deletes are known before the data files that they are compared with.
        manifests.sort_by_key(|named| !entries.may_have_deletes(&named.manifest));
        let (keys, tally) = (Arc::new(IdentityKeys::default()), Arc::new(LiveCounts::new(is_whole)));
        let linked = known_deletes(&self.table, entries.as_ref(), manifests.iter().map(Arc::as_ref))?;
        tally.counts().link(linked.as_deref().unwrap_or_default())?;
        let (pass, linked) = (Pass::Count(Arc::clone(&keys)), linked.is_some());
        let reads =
            CheckedManifests { storage: Arc::clone(storage), entries: Arc::clone(&entries), pass, linked };
        let checks = reads.pipeline(manifests.clone(), threads);
        let counted = Arc::clone(&tally);
        let checks = checks.map(move |read| counted.count(read?));
        let (claims, all) = (self.table.claims(), Arc::clone(&tally));
        let contradicted = std::iter::once_with(move || {
            let mut live = all.counts();
            Ok(live.misplaced_deletes().into_iter().chain(live.contradicted(&claims)).collect())
        });
        let once_more = {
            let data_files = self.data_files.then(|| self.table.data_files()).transpose()?;
            let storage = Arc::clone(storage);
            let reads = CheckedManifests { storage, entries, pass: Pass::Name, linked: false };
            let again = move || read_again(reads, manifests, (keys, tally), data_files, threads);
            std::iter::once_with(again).flatten()
        };
        Ok(Box::new(named.chain(files).chain(checks).chain(contradicted).chain(once_more)))
    }
}

impl<V: VerifiedFormat> Scan for VerifyScan<V> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        let options = self.options.clone();
        limited(options.limit, || {
            let found =
                self.findings()?.filter(|found| found.as_ref().map_or(true, |found| !found.is_empty()));
            Ok(Box::new(found.map(move |found| {
                select(&rows(&found?)?, options.columns.as_deref(), options.filter.as_deref())
            })))
        })
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let named = self.table.inventory(self.options.threads)?.manifests;
        let live = named.iter().filter(|named| named.is_live).count();
        let why = "of the snapshot that the table is at; those of all snapshots are read, each once";
        Ok(vec![Step::rows("manifests", live as u64, named.len() as u64, why)])
    }
}

impl<V: VerifiedFormat> Distributed for VerifyScan<V> {
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        planned(&self.table, self.data_files, &self.options, bounds).map(Some)
    }
}

/// The live files as manifests name them.
struct LiveCounts(Mutex<LiveFiles>);

impl LiveCounts {
    fn new(is_whole: bool) -> LiveCounts {
        LiveCounts(Mutex::new(LiveFiles::new(is_whole)))
    }

    fn counts(&self) -> MutexGuard<'_, LiveFiles> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the files of a manifest. Returns what is wrong with it.
    fn count(&self, read: ManifestFindings) -> Result<Vec<Finding>> {
        if read.is_live {
            let mut counts = self.counts();
            counts.add(&read);
            counts.count(read.taken.counts.iter().copied());
            counts.link(&read.taken.links)?;
        }
        Ok(read.findings)
    }
}

/// The deletes of the snapshot that no manifest names; `None` where there is no delete of one data file at all.
///
/// # Errors
/// As [`VerifiedFormat::unlisted_deletes`].
pub(super) fn known_deletes<'m, V: VerifiedFormat>(
    table: &V,
    entries: &EntriesOf<V>,
    mut manifests: impl Iterator<Item = &'m NamedManifest<V::Manifest>>,
) -> Result<Option<Vec<RecordBatch>>>
where
    V::Manifest: 'm,
{
    Ok(match table.unlisted_deletes()? {
        Some(deletes) => Some(vec![deletes]),
        None => {
            manifests.any(|named| named.is_live && entries.may_have_deletes(&named.manifest)).then(Vec::new)
        }
    })
}

/// Reads the live files again, where some are not live exactly once or all are to be looked for.
fn read_again<E: WholeEntries>(
    reads: CheckedManifests<E>,
    manifests: Vec<Arc<NamedManifest<E::Manifest>>>,
    (keys, tally): (Arc<IdentityKeys>, Arc<LiveCounts>),
    data_files: Option<Vec<NamedFile>>,
    threads: usize,
) -> Findings {
    let is_asked = data_files.is_some();
    if tally.counts().is_right() && !is_asked {
        return Box::new(std::iter::empty());
    }
    let storage = Arc::clone(&reads.storage);
    let beside = looked_for(&storage, data_files.unwrap_or_default(), threads);
    let live = manifests.into_iter().filter(|named| named.is_live).collect();
    let entries = reads.pipeline(live, threads).map(move |read| {
        let ManifestFindings { path, taken, .. } = read?;
        let mut own = Vec::new();
        for rows in &taken.named {
            own.extend(entries_of(rows, &keys)?.collect::<Result<Vec<_>>>()?);
        }
        let (found, files) = tally.counts().meet(&path, own);
        let files = if is_asked { files } else { Vec::new() };
        Ok(found.into_iter().chain(looked_for(&storage, files, threads)?).collect())
    });
    Box::new(std::iter::once(beside).chain(entries))
}
