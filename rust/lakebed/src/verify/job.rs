//! The view as a job. The process that plans reads what names manifests. Others read the manifests, report what is wrong
//! with each, and move its entries to parts by the identity of their files. Where all entries of some files are, files
//! that are in the table twice are found, and files are looked for. The totals that the snapshot claims are compared
//! last, with the totals of all parts.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::data_files::looked_for;
use super::finding::rows;
use super::inventory::{Inventory, NamedFile, NamedManifest};
use super::links::keys_of;
use super::manifests::{CheckedManifests, ManifestFindings, Pass};
use super::reduce::{PartContext, ReduceAll, ReducePart};
use super::scan::known_deletes;
use super::totals::{Claim, ContentTotals};
use super::{IDENTITY_COLUMN, StoredEntries, VerifiedFormat, WholeEntries};
use crate::distributed::{
    Bounds, Job, JobPlan, ManifestMap, Piece, PlannedManifest, Process, Reduce, Shuffle, absent, foreign,
    hash, placed, sides,
};
use crate::error::Result;
use crate::record::column;
use crate::scan::{EntryJob, ScanOptions, each};
use crate::storage::PlacingRules;
use crate::view::{Rows, select, whole, with_columns};

sides! {
    pub(super) enum VerifySide {
        /// The totals of manifests, and of parts.
        Totals,
        /// Findings.
        Found,
        Entries,
        /// Files that no manifest names.
        Files,
        /// Deletes of one data file each, and data files.
        Links,
    }
}

/// The column with totals.
pub(super) const TOTALS_COLUMN: &str = "_totals";

/// The column with the number of an entry's manifest.
pub(super) const MANIFEST: &str = "_manifest";

type ManifestOf<S> = <<S as StoredEntries>::Entries as WholeEntries>::Manifest;

/// What is wrong with a table.
#[derive(Serialize, Deserialize)]
#[serde(bound = "S: StoredEntries")]
pub(crate) struct VerifyJob<S: StoredEntries> {
    entries: S,
    /// Manifests, and where they are read from.
    manifests: Vec<(String, Arc<NamedManifest<ManifestOf<S>>>)>,
    /// A file that exists: a process that cannot read it would report all others as missing.
    anchor: String,
    placing: PlacingRules,
    claims: Vec<Claim>,
    is_whole: bool,
    data_files: bool,
    /// Whether data files are compared with their deletes.
    linked: bool,
    options: ScanOptions,
}

/// The totals of the live files, of some manifests or of a part.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct PartialTotals {
    /// Whether all that names live files could be read.
    pub(super) is_whole: bool,
    /// Whether each file is in the table once or not at all.
    pub(super) is_right: bool,
    pub(super) totals: ContentTotals,
}

/// The job on a table. Findings of what names manifests are made here already.
///
/// # Errors
/// Those without which nothing can be named.
pub(super) fn planned<V: VerifiedFormat>(
    table: &V,
    data_files: bool,
    options: &ScanOptions,
    bounds: &Bounds,
) -> Result<JobPlan> {
    let Inventory { mut findings, manifests, files, is_whole, .. } = table.inventory(options.threads)?;
    findings.extend(looked_for(table.core().storage(), files, options.threads)?);
    let entries = table.whole_entries()?;
    let linked = known_deletes(table, &entries, manifests.iter())?.is_some();
    let (mut planned, mut stored) = (Vec::new(), Vec::new());
    for named in manifests {
        let (path, size) = entries.place_of(&named.manifest);
        let size = size.unwrap_or(0);
        planned.push(PlannedManifest { path: path.clone(), size, ..PlannedManifest::default() });
        stored.push((path, Arc::new(named)));
    }
    let job = VerifyJob::<V::StoredEntries> {
        entries: table.stored_entries()?,
        manifests: stored,
        anchor: table.anchor(),
        placing: table.core().storage().placing(),
        claims: table.claims(),
        is_whole,
        data_files,
        linked,
        options: options.clone(),
    };
    let totals = PartialTotals::of_nothing(is_whole);
    let mut made = vec![(1, Piece::alone(VerifySide::Found, rows(&findings)?)), (1, totals.piece([None])?)];
    if data_files {
        made.push((0, files_piece(table.data_files()?)?));
    }
    if let Some(deletes) = table.unlisted_deletes()? {
        made.push((0, by_data_file(deletes)?));
    }
    Ok(JobPlan { made, ..JobPlan::new(EntryJob::<V>::Verify(job), planned, bounds) })
}

/// Files that no manifest names, to be looked for.
fn files_piece(files: Vec<NamedFile>) -> Result<Piece> {
    let rows = Rows(files.iter());
    let columns = vec![
        ("file_path", rows.texts(|file| file.path.as_str())),
        ("file_size_in_bytes", rows.longs(|file| i64::try_from(file.size?).ok())),
        ("named_by", rows.texts(|file| &*file.named_by)),
    ];
    let rows = whole(columns, files.len())?;
    Ok(Piece::keyed(VerifySide::Files, rows, files.iter().map(|file| Some(hash(file.path.as_bytes())))))
}

/// Deletes and data files, by the data file.
fn by_data_file(rows: RecordBatch) -> Result<Piece> {
    let keys = keys_of(&rows)?;
    Ok(Piece::keyed(VerifySide::Links, rows, hashes(&keys)))
}

fn hashes(keys: &BinaryArray) -> impl Iterator<Item = Option<u64>> {
    keys.iter().map(|key| Some(hash(key.unwrap_or_default())))
}

impl<S: StoredEntries> Job for VerifyJob<S> {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(selected(&rows(&[])?, &self.options)?.schema())
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        vec![Shuffle::ByKey, Shuffle::ToOne]
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let storage = placed(&self.placing, Arc::clone(&process.storage));
        storage.read_range(&self.anchor, 0, 1)?;
        let mut known = HashMap::<String, Vec<(i32, Arc<_>)>>::new();
        for (number, (path, named)) in (0..).zip(&self.manifests) {
            known.entry(path.clone()).or_default().push((number, Arc::clone(named)));
        }
        let (entries, linked) = (Arc::new(self.entries.entries(process.decoding.clone())?), self.linked);
        Ok(ManifestMap::Paths(Box::new(move |paths| {
            let (mut numbers, mut manifests) = (Vec::new(), Vec::new());
            for path in paths {
                for (number, named) in known.get(path).ok_or_else(|| absent(path))? {
                    numbers.push(*number);
                    manifests.push(Arc::clone(named));
                }
            }
            let (storage, entries) = (Arc::clone(&storage), Arc::clone(&entries));
            let reads = CheckedManifests { storage, entries, pass: Pass::Send, linked };
            // Each manifest is read once.
            let reads = reads.pipeline(manifests, 1).zip(numbers);
            Ok(Box::new(reads.flat_map(|(read, number)| each(read.and_then(|read| pieces(read, number))))))
        })))
    }

    fn reads_manifests(&self) -> bool {
        true
    }

    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        let totals = PartialTotals::of_nothing(self.is_whole);
        if step > 0 {
            let options = self.options.clone();
            return Ok(Box::new(ReduceAll { totals, claims: self.claims.clone(), options }));
        }
        Ok(Box::new(ReducePart::new(PartContext {
            paths: self.manifests.iter().map(|(path, _)| path.clone()).collect(),
            looked_for_in: self.data_files.then(|| placed(&self.placing, Arc::clone(&process.storage))),
            totals,
        })))
    }
}

/// What a manifest has for each side.
fn pieces(read: ManifestFindings, number: i32) -> Result<Vec<Piece>> {
    let key = Some(hash(&number.to_le_bytes()));
    let mut pieces = Vec::new();
    if !read.findings.is_empty() {
        let found = rows(&read.findings)?;
        let keys = std::iter::repeat_n(key, found.num_rows());
        pieces.push(Piece::keyed(VerifySide::Found, found, keys));
    }
    if !read.is_live {
        return Ok(pieces);
    }
    let totals = PartialTotals { is_whole: read.is_whole, is_right: true, totals: read.taken.totals };
    // Every part must learn that some files are unknown: then the totals cannot be compared.
    pieces.push(totals.piece([key.filter(|_| read.is_whole)])?);
    for rows in &read.taken.named {
        let keys = hashes(column(rows, IDENTITY_COLUMN)?);
        let manifest: ArrayRef = Arc::new(Int32Array::from_value(number, rows.num_rows()));
        pieces.push(Piece::keyed(VerifySide::Entries, with_columns(rows, vec![(MANIFEST, manifest)])?, keys));
    }
    for links in read.taken.links {
        pieces.push(by_data_file(links)?);
    }
    Ok(pieces)
}

impl PartialTotals {
    pub(super) fn of_nothing(is_whole: bool) -> PartialTotals {
        PartialTotals { is_whole, is_right: true, totals: ContentTotals::default() }
    }

    pub(super) fn add(&mut self, other: &PartialTotals) {
        self.is_whole &= other.is_whole;
        self.is_right &= other.is_right;
        self.totals.add(&other.totals);
    }

    /// As a piece of one row.
    pub(super) fn piece(&self, key: [Option<u64>; 1]) -> Result<Piece> {
        let text = serde_json::to_string(self).map_err(foreign)?;
        let text: ArrayRef = Arc::new(StringArray::from_iter_values([text]));
        Ok(Piece::keyed(VerifySide::Totals, whole(vec![(TOTALS_COLUMN, text)], 1)?, key))
    }
}

/// Of findings the rows that are requested.
pub(super) fn selected(found: &RecordBatch, options: &ScanOptions) -> Result<RecordBatch> {
    select(found, options.columns.as_deref(), options.filter.as_deref())
}
