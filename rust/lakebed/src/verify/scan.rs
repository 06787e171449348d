//! The view as a scan: one check after another, none of which ends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::SchemaRef;

use super::Verified;
use super::data_files::check;
use super::finding::{Finding, Severity, rows};
use super::inventory::{Inventory, NamedFile, NamedManifest};
use super::live::{Keys, Live, Met};
use super::manifests::{Check, Checked, Entry, Keep, Manifests, Read};
use super::totals::{Claim, Totals};
use crate::error::{ErrorKind, Result};
use crate::pipeline::{each, read_each};
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, threads};
use crate::storage::Storage;
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

impl<V: Verified> VerifyScan<V> {
    /// Resolves the view: columns and filter are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    pub(crate) fn new(table: V, options: ScanOptions, data_files: bool) -> Result<VerifyScan<V>> {
        let none = select(&rows(&[])?, options.columns.as_deref(), options.filter.as_deref())?;
        let options = ScanOptions { threads: threads(options.threads), ..options };
        Ok(VerifyScan { table, options, data_files, schema: none.schema() })
    }

    /// All findings: from the inventory, files of statistics, manifests, then the live files.
    fn findings(&self) -> Result<Findings> {
        let Inventory { findings, manifests, files, data_files, is_whole, .. } =
            self.table.inventory(self.options.threads)?;
        let program = Arc::new(self.table.whole_entries()?);
        let (storage, threads) = (self.table.files_storage(), self.options.threads);
        let named = std::iter::once(Ok(findings));
        let files = each(storage, files, threads, check).map(|found| Ok(found?.into_iter().collect()));
        let manifests: Vec<_> = manifests.into_iter().map(Arc::new).collect();
        let (keys, tally) = (Arc::new(Keys::default()), Arc::new(LiveCounts::new(is_whole)));
        let take = Check(Arc::clone(&keys));
        let reads = Manifests { table: self.table.clone(), program: Arc::clone(&program), take };
        let checks = reads.pipeline(manifests.clone(), threads);
        let counted = Arc::clone(&tally);
        let checks = checks.map(move |read| Ok(counted.count(read?)));
        let (claims, all) = (self.table.claims(), Arc::clone(&tally));
        let contradicted = std::iter::once_with(move || Ok(all.contradicted(&claims)));
        let once_more = {
            let (table, data_files) = (self.table.clone(), self.data_files.then_some(data_files));
            let reads = Manifests { table, program, take: Keep(keys) };
            std::iter::once_with(move || met(reads, manifests, tally, data_files, threads)).flatten()
        };
        Ok(Box::new(named.chain(files).chain(checks).chain(contradicted).chain(once_more)))
    }
}

impl<V: Verified> Scan for VerifyScan<V> {
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
        let why = "of the snapshot that the table stands at; those of all snapshots are read, each once";
        Ok(vec![Step::rows("manifests", live as u64, named.len() as u64, why)])
    }
}

/// The live files, shared by the threads that read manifests.
struct LiveCounts(Mutex<LiveFiles>);

/// The live files, their sums, and whether all manifests that name them could be read.
struct LiveFiles {
    live: Live,
    totals: Totals,
    is_whole: bool,
}

impl LiveCounts {
    fn new(is_whole: bool) -> LiveCounts {
        LiveCounts(Mutex::new(LiveFiles { live: Live::default(), totals: Totals::default(), is_whole }))
    }

    fn tally(&self) -> MutexGuard<'_, LiveFiles> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the files of a manifest. Returns what is wrong with it.
    fn count(&self, read: Read<Checked>) -> Vec<Finding> {
        let Checked { findings: within, counts, totals } = read.taken;
        if read.is_live {
            let mut tally = self.tally();
            tally.is_whole &= read.is_whole;
            // Entries are counted even if the manifest ends early.
            counts.into_iter().for_each(|(hashed, sign)| tally.live.count(hashed, sign));
            tally.totals.add(&totals);
        }
        let within = within.into_iter().map(|finding| finding.in_file(&read.path));
        read.findings.into_iter().chain(within).collect()
    }

    /// The recorded sums of the snapshot that its live files do not have, if all of these are known.
    fn contradicted(&self, claims: &[Claim]) -> Vec<Finding> {
        let tally = self.tally();
        if tally.is_whole && tally.live.is_right() { tally.totals.contradicted(claims) } else { Vec::new() }
    }
}

/// Reads the live files again, where some are wrong or all must be checked.
fn met<V: Verified>(
    reads: Manifests<V, Keep>,
    manifests: Vec<Arc<NamedManifest<V::Manifest>>>,
    tally: Arc<LiveCounts>,
    data_files: Option<Vec<NamedFile>>,
    threads: usize,
) -> Findings {
    let is_asked = data_files.is_some();
    if tally.tally().live.is_right() && !is_asked {
        return Box::new(std::iter::empty());
    }
    let storage = Arc::clone(reads.table.files_storage());
    let beside = looked_for(&storage, data_files.unwrap_or_default(), threads);
    let live = manifests.into_iter().filter(|named| named.is_live).collect();
    let entries = reads.pipeline(live, threads).map(move |read| {
        let (found, files) = tally.meet(read?);
        let files = if is_asked { files } else { Vec::new() };
        Ok(found.into_iter().chain(looked_for(&storage, files, threads)?).collect())
    });
    Box::new(std::iter::once(beside).chain(entries))
}

/// The findings of files, which are requested in parallel.
fn looked_for(storage: &Arc<dyn Storage>, files: Vec<NamedFile>, threads: usize) -> Result<Vec<Finding>> {
    Ok(read_each(storage, files, threads, check)?.into_iter().flatten().collect())
}

impl LiveCounts {
    /// What is wrong with the live files of a manifest, and the files that are seen for the first time.
    fn meet(&self, read: Read<Vec<Entry>>) -> (Vec<Finding>, Vec<NamedFile>) {
        let (mut found, mut files) = (Vec::new(), Vec::new());
        let named_by: Arc<str> = Arc::from(read.path.as_str());
        let LiveFiles { live, is_whole, .. } = &mut *self.tally();
        for Entry { hashed, sign, record, path, size } in read.taken {
            let wrong = |kind, message: String| {
                Finding::new(Severity::Error, kind, message).in_file(&named_by).in_record(record)
            };
            match live.meet(hashed, sign) {
                Met::First => files.push(NamedFile { path, size, named_by: Arc::clone(&named_by) }),
                Met::Again => {
                    found.push(wrong("duplicate", format!("the file {path:?} is twice in the snapshot")));
                }
                // It may have been added in a part that could not be read.
                Met::Owed if *is_whole => {
                    let message = format!("the file {path:?} is deleted, and no manifest adds it");
                    found.push(wrong(ErrorKind::Mismatch.name(), message));
                }
                Met::Owed | Met::Gone => {}
            }
        }
        (found, files)
    }
}
