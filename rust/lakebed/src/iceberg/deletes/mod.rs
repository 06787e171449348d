//! Finds the deletes that apply to a data file (Iceberg specification, "Scan Planning"; Iceberg's
//! `DeleteFileIndex.java`).
//!
//! | delete | applies to |
//! |---|---|
//! | deletion vector | the one data file that it refers to, which must not be newer; position deletes are
//! then ignored |
//! | position delete of a single file | that file, unless it is newer |
//! | other position delete | files of the same spec and partition that are not newer |
//! | equality delete | older files of the same spec and partition; of an unpartitioned spec, all older files |
//!
//! A position delete is of a single file if it refers to one, or if both bounds of its paths are the same. As
//! in the engine, bounds that differ exclude nothing. The specification asks that a delete of a single file has
//! the spec and partition of that file; one that has others applies all the same, as in Iceberg's Java up to
//! 1.11 (1.12 refuses to plan it), and [`crate::verify`] reports it. An equality delete is left out where the
//! metrics of both files show that they share no value.

mod build;
mod equality;
mod marks;
mod narrowed;
mod sequence;
mod single;
mod spans;
mod stats;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use arrow_array::{Int64Array, RecordBatch, StringArray};

pub(crate) use build::{DELETE_INPUT, DeleteIndexBuilder};
use equality::EqualityDeletes;
pub(crate) use marks::{MarkedDeletes, compared_ids, comparing, sent_deletes};
pub(crate) use narrowed::FileKeys;
use sequence::SequencedDeletes;
pub(crate) use single::{SINGLE_INPUT, links, wrong};
pub(crate) use stats::EqualityField;
use stats::{ColumnStats, STATS_INPUT};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::PartitionNumbers;
use crate::record::{column, find};

/// The live deletes of a snapshot, numbered in the order in which they were read, and indexed by what they
/// apply to.
///
/// Memory grows with the deletes. A file costs a few lookups, and a binary search in each group of deletes
/// that it belongs to.
pub(crate) struct DeleteIndex {
    partitions: PartitionNumbers,
    /// The paths of files that have deletes of their own.
    paths: HashMap<Box<str>, usize>,
    /// By the number of the path.
    vectors: Vec<Option<Vector>>,
    by_path: SequencedDeletes,
    by_partition: SequencedDeletes,
    equality: EqualityDeletes,
    /// By the number of the delete.
    partition_of: Vec<usize>,
}

/// A deletion vector.
#[derive(Debug, Clone, Copy)]
struct Vector {
    delete: i32,
    sequence: i64,
}

/// The columns of entries by which deletes are looked up, without metrics.
const FILE_INPUT: [&str; 4] = ["file_path", "spec_id", "partition", "sequence_number"];

/// The columns of entries by which deletes are looked up, if equality deletes compare `fields`.
pub(crate) fn file_input(fields: &[EqualityField]) -> impl Iterator<Item = &'static str> + use<> {
    let stats = if fields.is_empty() { &[] as &[&str] } else { &STATS_INPUT };
    FILE_INPUT.iter().chain(stats).copied()
}

/// Data files, with the columns by which deletes are looked up.
pub(crate) struct DataFiles {
    paths: StringArray,
    sequences: Int64Array,
    partitions: Vec<Option<usize>>,
    stats: Vec<ColumnStats>,
}

impl DeleteIndex {
    /// The number of deletes.
    pub(crate) fn len(&self) -> usize {
        self.partition_of.len()
    }

    /// The columns of entries that [`DeleteIndex::files`] needs.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'static str> {
        file_input(self.equality.fields())
    }

    /// The ids of the columns whose metrics it needs.
    pub(crate) fn field_ids(&self) -> Vec<i32> {
        self.equality.fields().iter().map(|field| field.id).collect()
    }

    /// Prepares the data files in `entries` for [`DeleteIndex::append`].
    ///
    /// # Errors
    /// `Required` for a missing column.
    pub(crate) fn files(&self, entries: &RecordBatch) -> Result<DataFiles> {
        Ok(DataFiles {
            paths: column::<StringArray>(entries, "file_path")?.clone(),
            sequences: column::<Int64Array>(entries, "sequence_number")?.clone(),
            partitions: self.partitions.find(&find(entries, "spec_id")?, column(entries, "partition")?)?,
            stats: self.equality.stats_of(entries)?,
        })
    }

    /// Adds to `found` the numbers of the deletes that apply to the file in `row`: first its deletion vector
    /// or its position deletes (those of the file alone, then those of its partition), then equality deletes
    /// (those of its partition, then global ones); each kind by sequence number.
    ///
    /// # Errors
    /// `Mismatch` for a deletion vector that is older than the file.
    pub(crate) fn append(&self, files: &DataFiles, row: usize, found: &mut Vec<i32>) -> Result<()> {
        let sequence = files.sequences.value(row);
        let partition = files.partitions.get(row).copied().flatten();
        self.append_of_file(files, row, found)?;
        if self.vector(files, row).is_none() {
            let others = partition.map_or(&[] as &[i32], |group| self.by_partition.since(group, sequence));
            found.extend_from_slice(others);
        }
        self.equality.append(partition, sequence, (&files.stats, row), found);
        Ok(())
    }

    /// Adds to `found` the numbers of the deletes of the file in `row` alone that apply to it.
    ///
    /// # Errors
    /// As [`DeleteIndex::append`].
    fn append_of_file(&self, files: &DataFiles, row: usize, found: &mut Vec<i32>) -> Result<()> {
        let sequence = files.sequences.value(row);
        match (self.vector(files, row), self.path(files, row)) {
            (Some(vector), _) if vector.sequence < sequence => {
                return Err(older(files.paths.value(row), vector.sequence, sequence));
            }
            (Some(vector), _) => found.push(vector.delete),
            (None, Some(path)) => found.extend_from_slice(self.by_path.since(path, sequence)),
            (None, None) => {}
        }
        Ok(())
    }

    /// Whether some delete of the file in `row` alone, which applies to it, has another spec or partition.
    ///
    /// # Errors
    /// As [`DeleteIndex::append`].
    pub(crate) fn has_foreign(&self, files: &DataFiles, row: usize) -> Result<bool> {
        let mut found = Vec::new();
        self.append_of_file(files, row, &mut found)?;
        let partition = files.partitions.get(row).copied().flatten();
        let of =
            |delete: &i32| usize::try_from(*delete).ok().and_then(|delete| self.partition_of.get(delete));
        Ok(found.iter().any(|delete| of(delete).copied() != partition))
    }

    fn path(&self, files: &DataFiles, row: usize) -> Option<usize> {
        if self.paths.is_empty() { None } else { self.paths.get(files.paths.value(row)).copied() }
    }

    fn vector(&self, files: &DataFiles, row: usize) -> Option<Vector> {
        self.vectors.get(self.path(files, row)?).copied().flatten()
    }
}

#[cold]
fn older(path: &str, vector: i64, file: i64) -> Error {
    let message = format!(
        "the deletion vector of {path} does not apply to it: its sequence number is {vector}, the file's {file}"
    );
    Error::new(ErrorKind::Mismatch, message)
}
