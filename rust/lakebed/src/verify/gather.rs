//! The findings of one part: all entries of its files are here.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};

use super::data_files::looked_for;
use super::exchange::{
    ALL_TOTALS, ENTRIES, FILES, FOUND, LINKS, MANIFEST, PartialTotals, RECORD, TOTALS, TOTALS_COLUMN,
    foreign, selected, shown,
};
use super::finding::Finding;
use super::inventory::NamedFile;
use super::live::Keys;
use super::live_files::LiveFiles;
use super::manifests::Entry;
use super::totals::Claim;
use super::{ENTRY_SIGN, IDENTITY};
use crate::distributed::{Gather, placed};
use crate::error::Result;
use crate::record::find;
use crate::scan::{Batches, ScanOptions, once};
use crate::storage::{Placing, Storage};

/// Finds what is wrong with the files of one part.
pub(super) struct VerifyGather {
    known: PartContext,
    storage: Option<Arc<dyn Storage>>,
    entries: Vec<RecordBatch>,
    files: Vec<NamedFile>,
    links: Vec<RecordBatch>,
    is_last: bool,
}

/// What every part is made with.
pub(super) struct PartContext {
    /// Where manifests are, by number.
    pub(super) paths: Vec<String>,
    pub(super) placing: Placing,
    pub(super) claims: Vec<Claim>,
    /// Whether files are looked for.
    pub(super) data_files: bool,
    pub(super) options: ScanOptions,
    pub(super) totals: PartialTotals,
}

impl VerifyGather {
    pub(super) fn new(known: PartContext) -> VerifyGather {
        let (entries, files, links) = (Vec::new(), Vec::new(), Vec::new());
        VerifyGather { known, storage: None, entries, files, links, is_last: false }
    }
}

impl Gather for VerifyGather {
    fn open_through(&mut self, storage: Arc<dyn Storage>) {
        self.storage = Some(placed(&self.known.placing, storage));
    }

    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches> {
        match side {
            FOUND => return Ok(Box::new(std::iter::once(selected(&rows, &self.known.options)))),
            TOTALS | ALL_TOTALS => {
                self.is_last |= side == ALL_TOTALS;
                let totals = find(&rows, TOTALS_COLUMN)?;
                for totals in totals.as_string::<i32>().iter().flatten() {
                    self.known.totals.add(&serde_json::from_str(totals).map_err(foreign)?);
                }
            }
            ENTRIES => self.entries.push(rows),
            LINKS => self.links.push(rows),
            FILES => self.files.extend(named_files(&rows)?),
            _ => return Err(foreign(format!("no side {side}"))),
        }
        Ok(Box::new(std::iter::empty()))
    }

    fn finish(&mut self) -> Result<Batches> {
        if self.is_last {
            let PartialTotals { is_whole, is_right, totals } = self.known.totals;
            let found =
                if is_whole && is_right { totals.contradicted(&self.known.claims) } else { Vec::new() };
            return Ok(once(shown(&found, &self.known.options)?));
        }
        let found = self.found()?;
        let batches = [shown(&found, &self.known.options), self.known.totals.row(&self.known.options)];
        Ok(Box::new(batches.into_iter()))
    }
}

impl VerifyGather {
    /// The findings for the files of the part.
    fn found(&mut self) -> Result<Vec<Finding>> {
        let (keys, mut live) = (Keys::default(), LiveFiles::new(self.known.totals.is_whole));
        let batches = std::mem::take(&mut self.entries);
        for rows in &batches {
            let (signs, identities) = (find(rows, ENTRY_SIGN)?, find(rows, IDENTITY)?);
            live.count(keys.counts(signs.as_primitive(), identities.as_binary()));
        }
        self.known.totals.is_right = live.is_right();
        live.link(&std::mem::take(&mut self.links))?;
        let (mut found, mut files) = (live.misplaced_deletes(), std::mem::take(&mut self.files));
        if !live.is_right() || self.known.data_files {
            let mut entries = Vec::new();
            for rows in &batches {
                entries.extend(placed_entries(rows, &keys)?);
            }
            // The order in which entries are met where all manifests are read one after another.
            entries.sort_by_key(|(manifest, entry)| (*manifest, entry.record));
            let mut entries = entries.into_iter().peekable();
            while let Some((manifest, first)) = entries.next() {
                let mut own = vec![first];
                while let Some((_, entry)) = entries.next_if(|(other, _)| *other == manifest) {
                    own.push(entry);
                }
                let path = usize::try_from(manifest).ok().and_then(|number| self.known.paths.get(number));
                let (wrong, named) = live.meet(path.ok_or_else(|| foreign("no such manifest"))?, own);
                found.extend(wrong);
                files.extend(named);
            }
        }
        if self.known.data_files {
            let storage = self.storage.as_ref().ok_or_else(|| foreign("no storage to look for files"))?;
            found.extend(looked_for(storage, files, 1)?);
        }
        Ok(found)
    }
}

/// Entries, each with the number of its manifest.
fn placed_entries(rows: &RecordBatch, keys: &Keys) -> Result<Vec<(i32, Entry)>> {
    let column = |name: &str| find(rows, name);
    let (manifests, signs, identities) = (column(MANIFEST)?, column(ENTRY_SIGN)?, column(IDENTITY)?);
    let (records, paths, sizes) = (column(RECORD)?, column("file_path")?, column("file_size_in_bytes")?);
    let (manifests, signs) = (manifests.as_primitive::<Int32Type>(), signs.as_primitive::<Int32Type>());
    let (records, sizes) = (records.as_primitive::<Int64Type>(), sizes.as_primitive::<Int64Type>());
    let (identities, paths) = (identities.as_binary::<i32>(), paths.as_string::<i32>());
    let entry = |row| {
        let entry = Entry {
            hashed: keys.hashed(identities.value(row)),
            sign: signs.value(row),
            record: u64::try_from(records.value(row)).unwrap_or(0),
            path: paths.value(row).to_owned(),
            size: u64::try_from(sizes.value(row)).ok(),
        };
        (manifests.value(row), entry)
    };
    Ok((0..rows.num_rows()).map(entry).collect())
}

/// The files that `files_by_part` gave to a part.
fn named_files(rows: &RecordBatch) -> Result<Vec<NamedFile>> {
    let (paths, sizes, named_by) =
        (find(rows, "file_path")?, find(rows, "file_size_in_bytes")?, find(rows, "named_by")?);
    let (paths, named_by) = (paths.as_string::<i32>(), named_by.as_string::<i32>());
    let sizes = sizes.as_primitive::<Int64Type>();
    let file = |row| NamedFile {
        path: paths.value(row).to_owned(),
        size: sizes.is_valid(row).then(|| sizes.value(row)).and_then(|size| u64::try_from(size).ok()),
        named_by: Arc::from(named_by.value(row)),
    };
    Ok((0..rows.num_rows()).map(file).collect())
}
