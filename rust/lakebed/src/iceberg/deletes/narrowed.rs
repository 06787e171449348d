//! Which deletes may apply to some of a table's data files: those that a part of a plan keeps in memory.

use std::collections::HashSet;

use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray, StructArray};

use super::build::{DeleteRows, is_global};
use crate::error::Result;
use crate::iceberg::fields::EQUALITY_DELETES;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::TableTypes;
use crate::record::{column, find};

/// By what deletes are found that may apply to some data files: their paths, partitions and sequence numbers.
pub(crate) struct FileKeys {
    types: TableTypes,
    paths: HashSet<Box<str>>,
    partitions: PartitionNumbers,
    /// The lowest sequence number of the files.
    oldest: i64,
}

impl FileKeys {
    /// The columns of entries that [`FileKeys::push`] takes.
    pub(crate) const INPUT: [&str; 4] = super::FILE_INPUT;

    /// No files yet.
    ///
    /// # Errors
    /// Those of [`PartitionNumbers::new`].
    pub(crate) fn new(types: TableTypes) -> Result<FileKeys> {
        let partitions = PartitionNumbers::new(&types.partition)?;
        Ok(FileKeys { types, paths: HashSet::new(), partitions, oldest: i64::MAX })
    }

    /// Adds data files, with the columns of [`FileKeys::INPUT`].
    ///
    /// # Errors
    /// `Required` for a missing column.
    pub(crate) fn push(&mut self, entries: &RecordBatch) -> Result<()> {
        let tuples = column::<StructArray>(entries, "partition")?;
        self.partitions.number(&find(entries, "spec_id")?, tuples)?;
        self.paths.extend(column::<StringArray>(entries, "file_path")?.iter().flatten().map(Box::from));
        let sequences = column::<Int64Array>(entries, "sequence_number")?;
        // An unknown number is compared as the index does: as 0.
        self.oldest = sequences.values().iter().copied().fold(self.oldest, i64::min);
        Ok(())
    }

    /// Whether a manifest of deletes may have some that apply to the files: none is newer than its manifest.
    pub(crate) fn may_have_of(&self, manifest: &ManifestFile) -> bool {
        manifest.sequence_number >= self.oldest
    }

    /// Which deletes, with the columns of [`super::DELETE_INPUT`], may apply to the files.
    ///
    /// # Errors
    /// Those of [`super::DeleteIndexBuilder::push`].
    pub(crate) fn may_apply(&self, deletes: &RecordBatch) -> Result<BooleanArray> {
        let rows = DeleteRows::new(deletes)?;
        let tuples = column::<StructArray>(deletes, "partition")?;
        let partitions = self.partitions.find(&find(deletes, "spec_id")?, tuples)?;
        let may_apply = |(row, partition): (usize, Option<usize>)| {
            if rows.sequences.value(row) < self.oldest {
                return Ok(false);
            }
            if rows.contents.value(row) == EQUALITY_DELETES {
                let is_of_all = is_global(&self.types, rows.spec_ids.value(row));
                return is_of_all.map(|is_of_all| is_of_all || partition.is_some());
            }
            let target = rows.target(row)?;
            Ok(target.map_or(partition.is_some(), |target| self.paths.contains(target)))
        };
        let place = |row| rows.paths.value(row);
        let kept = partitions.into_iter().enumerate();
        kept.map(|(row, found)| may_apply((row, found)).map(Some).map_err(|error| error.in_file(place(row))))
            .collect()
    }
}
