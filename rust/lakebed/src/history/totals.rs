//! Sums over files, added up manifest by manifest.

use arrow_array::{Int32Array, Int64Array, RecordBatch};

use super::columns::are_added;
use super::{CommittedManifest, Counts, opened};
use crate::error::{Result, fitting};
use crate::field::DATA;
use crate::grouping::sums::sum;
use crate::pipeline::{Sink, Source};
use crate::record::column;
use crate::scan::{Content, EntrySource, Format, ManifestSource};

/// What is added up.
pub(super) const SUMMED: [&str; 5] =
    ["file_count", "record_count", "file_size_in_bytes", "delete_file_count", "delete_record_count"];

/// The columns of the view `files` that are added up.
pub(super) const READ: [&str; 3] = ["content", "record_count", "file_size_in_bytes"];

/// Sums over some files, in the order of [`SUMMED`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CommitTotals(pub(super) [i64; 5]);

impl CommitTotals {
    pub(super) fn and(self, other: CommitTotals, sign: i64) -> Result<CommitTotals> {
        let mut both = self;
        for ((left, right), name) in both.0.iter_mut().zip(other.0).zip(SUMMED) {
            *left = sum(name, *left, fitting(right.checked_mul(sign), name)?)?;
        }
        Ok(both)
    }

    pub(super) fn count(&mut self, content: i32, rows: i64, bytes: i64) -> Result<()> {
        // Deletes count as files and rows; bytes are those of data files.
        let file = if content == DATA { [1, rows, bytes, 0, 0] } else { [0, 0, 0, 1, rows] };
        *self = self.and(CommitTotals(file), 1)?;
        Ok(())
    }

    /// The part that lists count.
    fn counts(self) -> Counts {
        let [files, rows, _, delete_files, delete_rows] = self.0;
        [files, rows, delete_files, delete_rows]
    }
}

/// What a commit added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CommitChange {
    pub(super) added: CommitTotals,
    pub(super) removed: CommitTotals,
}

/// Sums up the changes that manifests record of their commits; each manifest in one thread.
pub(super) struct Sums<F: Format> {
    pub(super) source: EntrySource<F>,
}

impl<F: Format> Source for Sums<F> {
    type Request = CommittedManifest<F::Manifest>;
    type Bytes = Content;
    type Output = (i64, CommitChange);

    fn size(&self, written: &CommittedManifest<F::Manifest>) -> u64 {
        self.source.size(&written.manifest)
    }

    fn read(&self, written: &CommittedManifest<F::Manifest>) -> Result<Content> {
        self.source.read(&written.manifest)
    }

    fn make(
        &self,
        written: &CommittedManifest<F::Manifest>,
        content: Content,
        give: Sink<'_, (i64, CommitChange)>,
    ) -> Result<()> {
        let mut changed = CommitChange::default();
        for files in opened(&self.source, written, content, 1)? {
            changed.take(&files?)?;
        }
        give((written.commit.snapshot_id, changed));
        Ok(())
    }

    fn interrupted(&self) -> Result<()> {
        self.source.storage().interrupted()
    }
}

impl CommitChange {
    /// Adds other changes.
    pub(super) fn and(&mut self, other: CommitChange) -> Result<()> {
        let CommitChange { added, removed } = other;
        *self = CommitChange { added: self.added.and(added, 1)?, removed: self.removed.and(removed, 1)? };
        Ok(())
    }

    /// Adds files that a commit changed.
    pub(super) fn take(&mut self, files: &RecordBatch) -> Result<()> {
        let added = are_added(files)?;
        each_file(files, |row, content, rows, bytes| {
            let is_added = added.get(row).copied().unwrap_or_default();
            let totals = if is_added { &mut self.added } else { &mut self.removed };
            totals.count(content, rows, bytes)
        })
    }

    /// Whether the counts in the lists are the same.
    pub(super) fn is_as_listed<F: Format>(&self, listed: Option<Counts>) -> Result<bool> {
        let changed = self.added.and(self.removed, -1)?.counts();
        Ok(listed.is_some_and(|listed| {
            listed.iter().zip(changed).take(F::COUNTED).all(|(one, other)| *one == other)
        }))
    }
}

/// Calls a function with the number, content, rows and bytes of each row.
pub(super) fn each_file(
    files: &RecordBatch,
    mut take: impl FnMut(usize, i32, i64, i64) -> Result<()>,
) -> Result<()> {
    let [content, rows, bytes] = READ;
    let content = column::<Int32Array>(files, content)?.values().iter();
    let [rows, bytes] = [rows, bytes].map(|name| column::<Int64Array>(files, name));
    for (row, ((content, rows), bytes)) in content.zip(rows?.values()).zip(bytes?.values()).enumerate() {
        take(row, *content, *rows, *bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_cannot_be_taken_away_is_refused() {
        let forged = CommitTotals([0, i64::MIN, 0, 0, 0]);
        assert!(CommitTotals::default().and(forged, 1).is_ok());
        let error = CommitTotals::default().and(forged, -1).expect_err("no number");
        assert_eq!(error.message(), "record_count does not fit 64 bits");
    }
}
