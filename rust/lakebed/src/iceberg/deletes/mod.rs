//! Which deletes apply to a data file (Iceberg specification, "Scan Planning"; Iceberg's
//! `DeleteFileIndex.java`).
//!
//! | delete | applies to |
//! |---|---|
//! | deletion vector | the one data file it refers to, which is not newer, in place of all position deletes |
//! | position delete of one file | that file, unless it is newer |
//! | other position delete | files of the same spec and partition that are not newer |
//! | equality delete | older files of the same spec and partition; of an unpartitioned spec, all older files |
//!
//! A position delete is of one file where it refers to it, or where both bounds of its paths are that path.
//! Bounds that differ narrow nothing, as in the engine. An equality delete is left out where the metrics of
//! both files show that they share no value.

mod build;
mod equality;
mod sequence;
mod spans;
mod stats;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch, StringArray};

pub(crate) use build::{DELETE_INPUT, DeleteIndexBuilder};
use equality::EqualityDeletes;
use sequence::BySequence;
pub(crate) use stats::EqualityField;
use stats::{ColumnStats, STATS_INPUT, StoredStats};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::PartitionNumbers;
use crate::record::find;

/// The live deletes of a snapshot, numbered in the order in which they were read, by what they apply to.
///
/// Memory grows with the deletes. A file costs a few look-ups, a binary search in each group of deletes that
/// it belongs to, and its answer.
pub(crate) struct DeleteIndex {
    partitions: PartitionNumbers,
    /// The files that deletes are of alone.
    paths: HashMap<Box<str>, usize>,
    /// By the number of such a path.
    vectors: Vec<Option<Vector>>,
    by_path: BySequence,
    by_partition: BySequence,
    equality: EqualityDeletes,
    deletes: usize,
}

/// A deletion vector.
#[derive(Debug, Clone, Copy)]
struct Vector {
    delete: i32,
    sequence: i64,
    partition: usize,
}

/// The columns of entries that say which deletes apply, without metrics.
const FILE_INPUT: [&str; 4] = ["file_path", "spec_id", "partition", "sequence_number"];

/// The columns of entries by which deletes are looked up, where equality deletes compare `fields`.
pub(crate) fn file_input(fields: &[EqualityField]) -> impl Iterator<Item = &'static str> + use<> {
    let stats = if fields.is_empty() { &[] as &[&str] } else { &STATS_INPUT };
    FILE_INPUT.iter().chain(stats).copied()
}

/// Data files, as far as deletes are looked up by it.
pub(crate) struct DataFiles {
    paths: StringArray,
    sequences: Int64Array,
    partitions: Vec<Option<usize>>,
    stats: Vec<ColumnStats>,
}

impl DeleteIndex {
    /// How many deletes there are.
    pub(crate) fn len(&self) -> usize {
        self.deletes
    }

    /// The columns of entries that [`DeleteIndex::files`] needs.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'static str> {
        file_input(self.equality.fields())
    }

    /// The columns of the table whose metrics it needs.
    pub(crate) fn field_ids(&self) -> Vec<i32> {
        self.equality.fields().iter().map(|field| field.id).collect()
    }

    /// Prepares the data files in `entries` for [`DeleteIndex::append`].
    ///
    /// # Errors
    /// `Required` for a column that is not there.
    pub(crate) fn files(&self, entries: &RecordBatch) -> Result<DataFiles> {
        let tuples = find(entries, "partition")?;
        let fields = self.equality.fields();
        let stats = if fields.is_empty() { Vec::new() } else { StoredStats::of(entries, &self.field_ids())? };
        Ok(DataFiles {
            paths: find(entries, "file_path")?.as_string::<i32>().clone(),
            sequences: find(entries, "sequence_number")?.as_primitive::<Int64Type>().clone(),
            partitions: self.partitions.find(&find(entries, "spec_id")?, tuples.as_struct())?,
            stats: fields.iter().zip(stats).map(|(field, stats)| stats.interpret(field)).collect(),
        })
    }

    /// Adds to `found` the numbers of the deletes that apply to the file in `row`: its deletion vector or
    /// position deletes, those of the file alone before those of its partition, then equality deletes, those
    /// of its partition before global ones; of each kind, by sequence number.
    ///
    /// # Errors
    /// `Mismatch` for a deletion vector that is older than the file or of another partition.
    pub(crate) fn append(&self, files: &DataFiles, row: usize, found: &mut Vec<i32>) -> Result<()> {
        let sequence = files.sequences.value(row);
        let partition = files.partitions.get(row).copied().flatten();
        let path = if self.paths.is_empty() { None } else { self.paths.get(files.paths.value(row)) };
        match path.and_then(|path| self.vectors.get(*path).copied().flatten()) {
            Some(vector) => found.push(vector.of(files.paths.value(row), sequence, partition)?),
            None => {
                let of = |groups: &BySequence, group: Option<usize>, found: &mut Vec<i32>| {
                    found.extend_from_slice(group.map_or(&[], |group| groups.since(group, sequence)));
                };
                of(&self.by_path, path.copied(), found);
                of(&self.by_partition, partition, found);
            }
        }
        self.equality.append(partition, sequence, (&files.stats, row), found);
        Ok(())
    }
}

impl Vector {
    /// The number of this deletion vector of a file.
    fn of(self, path: &str, sequence: i64, partition: Option<usize>) -> Result<i32> {
        let wrong = if self.sequence < sequence {
            format!("its sequence number is {}, the file's {sequence}", self.sequence)
        } else if partition != Some(self.partition) {
            "it is of another partition".to_owned()
        } else {
            return Ok(self.delete);
        };
        let message = format!("the deletion vector of {path} does not apply to it: {wrong}");
        Err(Error::new(ErrorKind::Mismatch, message))
    }
}
