//! The findings of one part, where all entries of its files are, and the last ones, of the totals of all parts.

use std::sync::Arc;

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray};

use super::data_files::looked_for;
use super::finding::{Finding, rows};
use super::inventory::NamedFile;
use super::job::{MANIFEST, PartialTotals, TOTALS_COLUMN, VerifySide, selected};
use super::live::IdentityKeys;
use super::live_files::LiveFiles;
use super::manifests::entries_of;
use super::totals::Claim;
use super::{ENTRY_SIGN, IDENTITY_COLUMN};
use crate::distributed::{Piece, Pieces, Reduce, foreign, nothing, one};
use crate::error::Result;
use crate::record::column;
use crate::scan::ScanOptions;
use crate::storage::Storage;

/// Finds what is wrong with the files of one part.
pub(super) struct ReducePart {
    known: PartContext,
    entries: Vec<RecordBatch>,
    files: Vec<NamedFile>,
    links: Vec<RecordBatch>,
}

/// What every part is made with.
pub(super) struct PartContext {
    /// Where manifests are, by number.
    pub(super) paths: Vec<String>,
    /// Where files are looked for; `None` if they are not.
    pub(super) looked_for_in: Option<Arc<dyn Storage>>,
    pub(super) totals: PartialTotals,
}

impl ReducePart {
    pub(super) fn new(known: PartContext) -> ReducePart {
        ReducePart { known, entries: Vec::new(), files: Vec::new(), links: Vec::new() }
    }
}

impl Reduce for ReducePart {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        match VerifySide::of(side)? {
            VerifySide::Found => return one(Piece::alone(VerifySide::Found, rows)),
            VerifySide::Totals => self.known.totals.add_rows(&rows)?,
            VerifySide::Entries => self.entries.push(rows),
            VerifySide::Links => self.links.push(rows),
            VerifySide::Files => self.files.extend(named_files(&rows)?),
        }
        nothing()
    }

    fn finish(&mut self) -> Result<Pieces> {
        let found = rows(&self.found()?)?;
        let pieces = [Piece::alone(VerifySide::Found, found), self.known.totals.piece([None])?];
        Ok(Box::new(pieces.into_iter().map(Ok)))
    }
}

/// Gives the findings of all parts, and then those of their totals.
pub(super) struct ReduceAll {
    pub(super) totals: PartialTotals,
    pub(super) claims: Vec<Claim>,
    pub(super) options: ScanOptions,
}

impl Reduce for ReduceAll {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        match VerifySide::of(side)? {
            VerifySide::Found => one(Piece::rows(selected(&rows, &self.options)?)),
            VerifySide::Totals => {
                self.totals.add_rows(&rows)?;
                nothing()
            }
            side => Err(foreign(format!("{side:?} of all parts"))),
        }
    }

    fn finish(&mut self) -> Result<Pieces> {
        let PartialTotals { is_whole, is_right, totals } = self.totals;
        let found = if is_whole && is_right { totals.contradicted(&self.claims) } else { Vec::new() };
        one(Piece::rows(selected(&rows(&found)?, &self.options)?))
    }
}

impl PartialTotals {
    fn add_rows(&mut self, rows: &RecordBatch) -> Result<()> {
        column::<StringArray>(rows, TOTALS_COLUMN)?.iter().flatten().try_for_each(|text| {
            self.add(&serde_json::from_str(text).map_err(foreign)?);
            Ok(())
        })
    }
}

impl ReducePart {
    /// The findings for the files of the part.
    fn found(&mut self) -> Result<Vec<Finding>> {
        let (keys, mut live) = (IdentityKeys::default(), LiveFiles::new(self.known.totals.is_whole));
        let batches = std::mem::take(&mut self.entries);
        for rows in &batches {
            live.count(keys.counts(column(rows, ENTRY_SIGN)?, column(rows, IDENTITY_COLUMN)?));
        }
        self.known.totals.is_right = live.is_right();
        live.link(&std::mem::take(&mut self.links))?;
        let (mut found, mut files) = (live.misplaced_deletes(), std::mem::take(&mut self.files));
        if !live.is_right() || self.known.looked_for_in.is_some() {
            let mut entries = Vec::new();
            for rows in &batches {
                let manifests = column::<Int32Array>(rows, MANIFEST)?.values().iter().copied();
                let own =
                    manifests.zip(entries_of(rows, &keys)?).map(|(manifest, entry)| Ok((manifest, entry?)));
                entries.extend(own.collect::<Result<Vec<_>>>()?);
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
        if let Some(storage) = &self.known.looked_for_in {
            found.extend(looked_for(storage, files, 1)?);
        }
        Ok(found)
    }
}

/// The files of a piece.
fn named_files(rows: &RecordBatch) -> Result<Vec<NamedFile>> {
    let sizes = column::<Int64Array>(rows, "file_size_in_bytes")?;
    let text = |name| column::<StringArray>(rows, name);
    let (paths, named_by) = (text("file_path")?, text("named_by")?);
    let file = |row| NamedFile {
        path: paths.value(row).to_owned(),
        size: sizes.is_valid(row).then(|| sizes.value(row)).and_then(|size| u64::try_from(size).ok()),
        named_by: Arc::from(named_by.value(row)),
    };
    Ok((0..rows.num_rows()).map(file).collect())
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Float64Array};

    use super::*;
    use crate::error::{Error, ErrorKind};

    fn part() -> ReducePart {
        let totals = PartialTotals::of_nothing(true);
        ReducePart::new(PartContext { paths: Vec::new(), looked_for_in: None, totals })
    }

    fn refused(side: VerifySide, name: &str) -> Error {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.5]));
        let rows = RecordBatch::try_from_iter([(name, floats)]).expect("a batch");
        let mut part = part();
        let reduced = part.push(side.into(), rows).and_then(|_| part.finish());
        reduced.err().expect("an error")
    }

    #[test]
    fn columns_of_other_types_are_refused_by_name() {
        for (side, name) in [
            (VerifySide::Totals, TOTALS_COLUMN),
            (VerifySide::Entries, ENTRY_SIGN),
            (VerifySide::Files, "file_size_in_bytes"),
            (VerifySide::Links, "_named_by"),
        ] {
            let error = refused(side, name);
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            assert_eq!(error.location().field.as_deref(), Some(name), "{error}");
            assert_eq!(refused(side, "other").kind(), ErrorKind::Required);
        }
    }

    #[test]
    fn totals_beyond_64_bits_are_exact_in_another_process() {
        let mut sent = PartialTotals::of_nothing(true);
        sent.totals.rows[0] = i128::from(i64::MAX) * 3;
        let mut part = part();
        for _ in 0..2 {
            let piece = sent.piece([None]).expect("a piece");
            drop(part.push(VerifySide::Totals.into(), piece.rows).expect("totals"));
        }
        assert_eq!(part.known.totals.totals.rows[0], i128::from(i64::MAX) * 6);
    }
}
