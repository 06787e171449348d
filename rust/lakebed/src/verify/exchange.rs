//! The view made by several processes. One reads what names manifests. Others read the manifests, report what is
//! wrong with each, and distribute its entries to parts by the identity of their files. Where all entries of some
//! files arrive, files that are in the table twice are found, and files are looked for. The totals that the snapshot
//! claims are compared last, with the totals of all parts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array,
};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use serde::{Deserialize, Serialize};

use super::data_files::looked_for;
use super::entries::Entries;
use super::finding::{Finding, rows};
use super::gather::{PartContext, VerifyGather};
use super::inventory::{Inventory, NamedFile, NamedManifest};
use super::links::keys_of;
use super::manifests::{Manifests, Read, Take};
use super::scan::known_deletes;
use super::totals::{Claim, Totals};
use super::{ENTRY_SIGN, IDENTITY, StoredEntries, Verified, WholeEntries};
use crate::columnar::Decoding;
use crate::distributed::{
    Exchange, Exchanged, Gather, ManifestPartitioner, NamedWork, Pieces, PlannedManifest, StoredOptions,
    hash, placed, with_parts,
};
use crate::error::{Error, ErrorKind, Result};
use crate::record::find;
use crate::scan::ScanOptions;
use crate::storage::{Placing, Storage};
use crate::view::{select, whole, with_columns};

/// The sides of a part: the totals of manifests, findings, entries, and files that no manifest names.
pub(super) const TOTALS: i32 = 0;
pub(super) const FOUND: i32 = 1;
pub(super) const ENTRIES: i32 = 2;
pub(super) const FILES: i32 = 3;
/// The totals of all parts, from which the last rows are made.
pub(super) const ALL_TOTALS: i32 = 4;
/// Deletes of one data file each, and data files.
pub(super) const LINKS: i32 = 5;

/// The column with totals, in rows that are not findings.
pub(super) const TOTALS_COLUMN: &str = "_totals";

/// The columns with the position of an entry: the number of its manifest, and of its record there.
pub(super) const MANIFEST: &str = "_manifest";
pub(super) const RECORD: &str = "_record";

type ManifestOf<S> = <<S as StoredEntries>::Entries as WholeEntries>::Manifest;

/// The work of finding what is wrong with a table.
#[derive(Serialize, Deserialize)]
#[serde(bound = "S: StoredEntries")]
pub(crate) struct VerifyExchange<S: StoredEntries> {
    entries: S,
    manifests: Vec<Stored<ManifestOf<S>>>,
    /// A file that exists: a process that cannot read it would report all others as missing.
    anchor: String,
    placing: Placing,
    claims: Vec<Claim>,
    is_whole: bool,
    data_files: bool,
    /// Whether data files are compared with their deletes.
    linked: bool,
    options: StoredOptions,
}

/// A manifest as it is sent.
#[derive(Serialize, Deserialize)]
struct Stored<M> {
    path: String,
    manifest: M,
    named_by: String,
    is_live: bool,
}

/// The totals of the live files, of some manifests or of a part.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct PartialTotals {
    /// Whether all that names live files could be read.
    pub(super) is_whole: bool,
    /// Whether each file is in the table once or not at all.
    pub(super) is_right: bool,
    pub(super) totals: Totals,
}

/// The work on a table. Findings of what names manifests are made here already.
///
/// # Errors
/// Those without which nothing can be named.
pub(super) fn exchanged<V: Verified>(
    table: &V,
    data_files: bool,
    options: &ScanOptions,
) -> Result<Exchanged> {
    let Inventory { mut findings, manifests, files, is_whole, .. } = table.inventory(options.threads)?;
    findings.extend(looked_for(table.files_storage(), files, options.threads)?);
    let entries = table.whole_entries()?;
    let linked = known_deletes(table, &entries, manifests.iter())?.is_some();
    let (mut planned, mut stored, mut named) = (Vec::new(), Vec::new(), HashSet::new());
    for NamedManifest { manifest, named_by, is_live } in manifests {
        let (path, size) = entries.place_of(&manifest);
        let size = size.unwrap_or(0);
        stored.push(Stored { path: path.clone(), manifest, named_by: named_by.as_ref().to_owned(), is_live });
        if !named.insert(path.clone()) {
            continue;
        }
        planned.push(PlannedManifest { path, size, added: 0, deleted: 0, divisible: false });
    }
    let exchange = VerifyExchange::<V::Stored> {
        entries: table.stored_entries()?,
        manifests: stored,
        anchor: table.anchor(),
        placing: table.files_storage().placing(),
        claims: table.claims(),
        is_whole,
        data_files,
        linked,
        options: StoredOptions::from(options),
    };
    let totals = PartialTotals { is_whole, is_right: true, totals: Totals::default() };
    let made = vec![shown(&findings, options)?, totals.row(options)?];
    Ok(Exchanged { exchange: Box::new(exchange), sides: vec![planned], together: true, made, seen: None })
}

/// Files that no manifest names, to be looked for, distributed to parts.
///
/// # Errors
/// Those of making a batch.
pub(super) fn files_by_part(files: Vec<NamedFile>, parts: u32) -> Result<Pieces> {
    let sizes = files.iter().map(|file| file.size.and_then(|size| i64::try_from(size).ok()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("file_path", Arc::new(StringArray::from_iter_values(files.iter().map(|file| &file.path)))),
        ("file_size_in_bytes", Arc::new(sizes.collect::<Int64Array>())),
        ("named_by", Arc::new(StringArray::from_iter_values(files.iter().map(|file| &file.named_by)))),
    ];
    let rows = whole(columns, files.len())?;
    let rows = with_parts(&rows, files.iter().map(|file| Some(hash(file.path.as_bytes()))), parts)?;
    Ok(Box::new(std::iter::once(Ok((FILES, rows)))))
}

/// Deletes that no manifest names, distributed to the parts of their data files.
///
/// # Errors
/// Those of making a batch.
pub(super) fn links_by_part(deletes: Option<RecordBatch>, parts: u32) -> Result<Pieces> {
    let pieces = deletes.map(|rows| by_data_file(&rows, parts)).transpose()?;
    Ok(Box::new(pieces.into_iter().map(|rows| Ok((LINKS, rows)))))
}

fn by_data_file(rows: &RecordBatch, parts: u32) -> Result<RecordBatch> {
    let keys = keys_of(rows)?;
    with_parts(rows, keys.iter().map(|key| Some(hash(key.unwrap_or_default()))), parts)
}

impl<S: StoredEntries> NamedWork for VerifyExchange<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: StoredEntries> Exchange for VerifyExchange<S> {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(shown(&[], &ScanOptions::from(&self.options))?.schema())
    }

    /// A manifest that cannot be read is a row too, so it is not read elsewhere.
    fn partitioner(&self, _: Decoding, _: u32) -> Result<ManifestPartitioner> {
        Err(Error::new(
            ErrorKind::Argument,
            "manifests to verify are read by the work itself, not by the engine",
        ))
    }

    fn reading(
        &self,
        storage: Arc<dyn Storage>,
        decoding: Decoding,
        paths: &[String],
        parts: u32,
    ) -> Result<Pieces> {
        let storage = placed(&self.placing, storage);
        storage.read_range(&self.anchor, 0, 1)?;
        let mut known: HashMap<&str, Vec<(usize, &Stored<_>)>> = HashMap::new();
        for (number, stored) in self.manifests.iter().enumerate() {
            known.entry(stored.path.as_str()).or_default().push((number, stored));
        }
        let (mut numbers, mut manifests) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(records) = known.get(path.as_str()) else {
                return Err(Error::new(ErrorKind::Missing, "not a manifest of this work").in_file(path));
            };
            for (number, stored) in records {
                let (manifest, named_by) = (stored.manifest.clone(), Arc::from(stored.named_by.as_str()));
                numbers.push(i32::try_from(*number).unwrap_or(i32::MAX));
                manifests.push(Arc::new(NamedManifest { manifest, named_by, is_live: stored.is_live }));
            }
        }
        let entries = Arc::new(self.entries.entries(decoding)?);
        let reads = Manifests { storage, entries, take: Collect, linked: self.linked };
        // Each manifest gives one piece.
        let reads = reads.pipeline(manifests, 1).zip(numbers);
        Ok(Box::new(reads.flat_map(move |(read, number)| {
            match read.and_then(|read| pieces(&read, number, parts)) {
                Ok(pieces) => pieces.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        })))
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        Ok(Box::new(VerifyGather::new(PartContext {
            paths: self.manifests.iter().map(|stored| stored.path.clone()).collect(),
            placing: self.placing.clone(),
            claims: self.claims.clone(),
            data_files: self.data_files,
            options: ScanOptions::from(&self.options),
            totals: PartialTotals { is_whole: self.is_whole, is_right: true, totals: Totals::default() },
        })))
    }
}

/// Checks entries, and keeps what identifies their files.
struct Collect;

/// What a manifest has of files.
#[derive(Default)]
struct CollectedEntries {
    totals: Totals,
    /// Entries, and the number of the first among the records.
    entries: Vec<(Entries, u64)>,
    links: Vec<RecordBatch>,
}

impl Take for Collect {
    const CHECKS: bool = true;

    type Taken = CollectedEntries;

    fn take(&self, entries: &Entries, first: u64, taken: &mut CollectedEntries) {
        taken.totals.take(entries);
        taken.entries.push((entries.named(), first));
    }

    fn link(&self, links: RecordBatch, taken: &mut CollectedEntries) {
        taken.links.push(links);
    }

    fn held(&self, taken: &CollectedEntries) -> u64 {
        let held = |(entries, _): &(Entries, u64)| {
            entries.identities.get_array_memory_size() + entries.paths.get_array_memory_size()
        };
        let links = taken.links.iter().map(RecordBatch::get_array_memory_size);
        taken.entries.iter().map(held).chain(links).sum::<usize>() as u64
    }
}

/// What a manifest has for each side.
fn pieces(read: &Read<CollectedEntries>, number: i32, parts: u32) -> Result<Vec<(i32, RecordBatch)>> {
    let key = hash(&number.to_le_bytes());
    let mut pieces = Vec::new();
    if !read.findings.is_empty() {
        let found = rows(&read.findings)?;
        pieces.push((FOUND, with_parts(&found, std::iter::repeat_n(Some(key), found.num_rows()), parts)?));
    }
    if !read.is_live {
        return Ok(pieces);
    }
    let totals = PartialTotals { is_whole: read.is_whole, is_right: true, totals: read.taken.totals };
    // Every part must learn that some files are unknown: then the totals cannot be compared.
    let key = read.is_whole.then_some(key);
    pieces.push((TOTALS, with_parts(&totals.alone()?, std::iter::once(key), parts)?));
    for (entries, first) in &read.taken.entries {
        let rows = entry_rows(entries, *first, number)?;
        let keys = find(&rows, IDENTITY)?;
        let keys = keys.as_binary::<i32>().iter().map(|key| Some(hash(key.unwrap_or_default())));
        pieces.push((ENTRIES, with_parts(&rows, keys, parts)?));
    }
    for links in &read.taken.links {
        pieces.push((LINKS, by_data_file(links, parts)?));
    }
    Ok(pieces)
}

/// The entries that add or delete a file, with their positions.
fn entry_rows(entries: &Entries, first: u64, manifest: i32) -> Result<RecordBatch> {
    let count = entries.signs.len();
    let first = i64::try_from(first).unwrap_or(i64::MAX);
    let records = (0..count).map(|row| first.saturating_add(i64::try_from(row).unwrap_or(i64::MAX)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (IDENTITY, Arc::new(entries.identities.clone())),
        (ENTRY_SIGN, Arc::new(entries.signs.clone())),
        ("file_path", Arc::new(entries.paths.clone())),
        ("file_size_in_bytes", Arc::new(entries.sizes.clone())),
        (RECORD, Arc::new(Int64Array::from_iter_values(records))),
        (MANIFEST, Arc::new(Int32Array::from_value(manifest, count))),
    ];
    let counted: BooleanArray = entries.signs.iter().map(|sign| Some(sign != Some(0))).collect();
    Ok(filter_record_batch(&whole(columns, count)?, &counted)?)
}

impl PartialTotals {
    pub(super) fn add(&mut self, other: &PartialTotals) {
        self.is_whole &= other.is_whole;
        self.is_right &= other.is_right;
        self.totals.add(&other.totals);
    }

    /// As a row of its own.
    fn alone(&self) -> Result<RecordBatch> {
        let text = serde_json::to_string(self).map_err(foreign)?;
        whole(vec![(TOTALS_COLUMN, Arc::new(StringArray::from_iter_values([text])) as ArrayRef)], 1)
    }

    /// As a row among findings.
    pub(super) fn row(&self, options: &ScanOptions) -> Result<RecordBatch> {
        let findings = select(&rows(&[])?, options.columns.as_deref(), options.filter.as_deref())?.schema();
        let nulls = findings.fields().iter().map(|field| new_null_array(field.data_type(), 1)).collect();
        let nulls = RecordBatch::try_new(findings, nulls)?;
        with_columns(&nulls, vec![(TOTALS_COLUMN, Arc::clone(self.alone()?.column(0)))])
    }
}

/// Findings as the rows that are requested.
pub(super) fn shown(findings: &[Finding], options: &ScanOptions) -> Result<RecordBatch> {
    selected(&rows(findings)?, options)
}

pub(super) fn selected(found: &RecordBatch, options: &ScanOptions) -> Result<RecordBatch> {
    let rows = select(found, options.columns.as_deref(), options.filter.as_deref())?;
    let none = Arc::new(StringArray::new_null(rows.num_rows())) as ArrayRef;
    with_columns(&rows, vec![(TOTALS_COLUMN, none)])
}

/// The error for work or rows that were changed in transit.
pub(super) fn foreign(what: impl ToString) -> Error {
    Error::new(ErrorKind::Argument, format!("not of this work: {}", what.to_string()))
}
