//! Sums over the live files of each partition and bucket (Paimon's `PartitionEntry.java` and
//! `BucketEntry.java`), in one pass, in memory that grows only with the number of groups.

mod sums;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, PrimitiveArray, RecordBatch};

use super::manifest::DELETE;
use crate::error::Result;
use crate::grouping::Sizes;
use crate::grouping::sums::{beyond, known_sum, sum};
use crate::record::find;

/// The columns of [`ENTRY`](super::fields::ENTRY) that sums are made of.
pub(crate) const GROUP_INPUT: [&str; 8] = [
    "partition",
    "bucket",
    "total_buckets",
    "level",
    "row_count",
    "file_size",
    "creation_time",
    "delete_row_count",
];

/// The column that turns files into changes: files of DELETE entries are subtracted.
pub(crate) const KIND: &str = "kind";

/// The sums of the files of one bucket or partition. One file is a group too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Number of the partition, see [`Groups::partition_rows`].
    pub(crate) partition: usize,
    /// The bucket; of a partition, the bucket of its first file.
    pub(crate) bucket: i32,
    /// Number of buckets that have files.
    pub(crate) buckets: i64,
    pub(crate) files: i64,
    /// Physical rows, including rows that delete.
    pub(crate) records: i64,
    pub(crate) bytes: i64,
    /// Rows that delete or retract; `None` where some file does not record them.
    pub(crate) delete_rows: Option<i64>,
    /// Creation of the newest file [microseconds of the writers' wall clocks].
    pub(crate) last_created: Option<i64>,
    /// As the newest file records it: rescaling a partition rewrites all of its files.
    pub(crate) total_buckets: i32,
    pub(crate) min_level: i32,
    pub(crate) max_level: i32,
    pub(crate) level_0_files: i64,
    pub(crate) sizes: Sizes,
    /// Deletion vectors, see [`Groups::add_vectors`].
    pub(crate) vectors: i64,
    /// Rows that those vectors delete; `None` where they were not counted.
    pub(crate) vector_rows: Option<i64>,
}

impl Group {
    /// Adds the files of `other`, and its buckets as distinct ones if `buckets` is set.
    fn absorb(&mut self, other: &Group) -> Result<()> {
        self.files = sum("file_count", self.files, other.files)?;
        self.records = sum("record_count", self.records, other.records)?;
        self.bytes = sum("file_size_in_bytes", self.bytes, other.bytes)?;
        self.delete_rows = known_sum("delete_row_count", self.delete_rows, other.delete_rows)?;
        // Of files with the same time the larger number counts, so that their order does not matter.
        (self.last_created, self.total_buckets) =
            (self.last_created, self.total_buckets).max((other.last_created, other.total_buckets));
        self.min_level = self.min_level.min(other.min_level);
        self.max_level = self.max_level.max(other.max_level);
        self.level_0_files = sum("level_0_file_count", self.level_0_files, other.level_0_files)?;
        self.sizes.absorb(other.sizes)?;
        self.absorb_vectors(other.vectors, other.vector_rows)
    }

    fn absorb_vectors(&mut self, vectors: i64, rows: Option<i64>) -> Result<()> {
        self.vectors = sum("delete_file_count", self.vectors, vectors)?;
        self.vector_rows = known_sum("delete_record_count", self.vector_rows, rows)?;
        Ok(())
    }
}

fn difference(column: &'static str, left: i64, right: i64) -> Result<i64> {
    left.checked_sub(right).ok_or_else(|| beyond(column))
}

/// The buckets of a table, in the order of their first files.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    partitions: Numbered<Arc<[u8]>>,
    buckets: Numbered<(usize, i32)>,
    groups: Vec<Group>,
    /// Files with fewer bytes are small.
    small_bytes: i64,
}

impl Groups {
    /// Reads `files`, batches with the columns of [`GROUP_INPUT`], to their end. If they have [`KIND`] too
    /// they are changes, which may cancel out and leave groups without files.
    ///
    /// # Errors
    /// Those of the batches; `Mismatch` for a sum that does not fit 64 bits.
    pub(crate) fn read(files: impl Iterator<Item = Result<RecordBatch>>) -> Result<Groups> {
        Groups::default().reading(files)
    }

    /// No files yet; files with fewer than `small_bytes` bytes will count as small.
    pub(crate) fn with_small(small_bytes: i64) -> Groups {
        Groups { small_bytes, ..Groups::default() }
    }

    /// Adds more files to these groups, as in [`Groups::read`].
    pub(crate) fn reading(mut self, files: impl Iterator<Item = Result<RecordBatch>>) -> Result<Groups> {
        for batch in files {
            self.extend(&batch?)?;
        }
        Ok(self)
    }

    /// Adds files, with the columns of [`GROUP_INPUT`].
    ///
    /// # Errors
    /// `Mismatch` for a sum that does not fit 64 bits.
    pub(crate) fn extend(&mut self, files: &RecordBatch) -> Result<()> {
        let files = Files::new(files)?;
        let mut partition = None;
        for row in 0..files.partitions.len() {
            let bytes = files.partitions.value(row);
            // Files of one partition often follow each other.
            let number = match partition {
                Some((last, number)) if last == bytes => number,
                _ => self.partitions.number(bytes, Arc::from),
            };
            partition = Some((bytes, number));
            self.take(files.group(row, number, self.small_bytes)?)?;
        }
        Ok(())
    }

    /// Adds files of one bucket; their partition has its number here already.
    fn take(&mut self, files: Group) -> Result<()> {
        match self.groups.get_mut(self.buckets.number(&(files.partition, files.bucket), |key| *key)) {
            Some(group) => group.absorb(&files),
            None => {
                self.groups.push(files);
                Ok(())
            }
        }
    }

    /// Adds deletion vectors to their bucket, with the number of rows they delete if that is known. Vectors
    /// of a bucket without files are not counted.
    pub(crate) fn add_vectors(
        &mut self,
        partition: &[u8],
        bucket: i32,
        vectors: i64,
        rows: Option<i64>,
    ) -> Result<()> {
        let partition = self.partitions.numbers.get(partition);
        let number = partition.and_then(|partition| self.buckets.numbers.get(&(*partition, bucket)));
        match number.and_then(|number| self.groups.get_mut(*number)) {
            Some(group) => group.absorb_vectors(vectors, rows),
            None => Ok(()),
        }
    }

    /// The buckets, in the order of their first files.
    pub(crate) fn buckets(&self) -> &[Group] {
        &self.groups
    }

    /// The partitions, in the order of their first files, summed from the buckets that `keep` selects.
    pub(crate) fn partitions(&self, keep: impl Fn(&Group) -> bool) -> Result<Vec<Group>> {
        let mut numbers = Numbered::default();
        let mut partitions: Vec<Group> = Vec::new();
        for bucket in self.groups.iter().filter(|bucket| keep(bucket)) {
            match partitions.get_mut(numbers.number(&bucket.partition, |number| *number)) {
                Some(partition) => {
                    partition.absorb(bucket)?;
                    partition.buckets += bucket.buckets;
                }
                None => partitions.push(bucket.clone()),
            }
        }
        Ok(partitions)
    }

    /// The serialised partition row of each of `groups`.
    pub(crate) fn partition_rows(&self, groups: &[Group]) -> BinaryArray {
        let rows = groups.iter().filter_map(|group| self.partitions.values.get(group.partition));
        BinaryArray::from_iter_values(rows)
    }
}

/// Distinct values, numbered in the order of their first appearance.
#[derive(Debug)]
struct Numbered<T> {
    numbers: HashMap<T, usize>,
    values: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: std::hash::Hash + Eq + Clone> Numbered<T> {
    /// The number of `value`; a value not seen before gets the next number.
    fn number<'v, V>(&mut self, value: &'v V, own: impl Fn(&'v V) -> T) -> usize
    where
        V: std::hash::Hash + Eq + ?Sized,
        T: std::borrow::Borrow<V>,
    {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let (number, value) = (self.values.len(), own(value));
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// The columns of [`GROUP_INPUT`], typed.
struct Files {
    partitions: BinaryArray,
    buckets: PrimitiveArray<Int32Type>,
    total_buckets: PrimitiveArray<Int32Type>,
    levels: PrimitiveArray<Int32Type>,
    row_counts: PrimitiveArray<Int64Type>,
    sizes: PrimitiveArray<Int64Type>,
    created: PrimitiveArray<TimestampMicrosecondType>,
    delete_rows: PrimitiveArray<Int64Type>,
    kinds: Option<PrimitiveArray<Int8Type>>,
}

impl Files {
    fn new(files: &RecordBatch) -> Result<Files> {
        let int = |column: ArrayRef| column.as_primitive::<Int32Type>().clone();
        let long = |column: ArrayRef| column.as_primitive::<Int64Type>().clone();
        Ok(Files {
            partitions: find(files, "partition")?.as_binary::<i32>().clone(),
            buckets: find(files, "bucket").map(int)?,
            total_buckets: find(files, "total_buckets").map(int)?,
            levels: find(files, "level").map(int)?,
            row_counts: find(files, "row_count").map(long)?,
            sizes: find(files, "file_size").map(long)?,
            created: find(files, "creation_time")?.as_primitive::<TimestampMicrosecondType>().clone(),
            delete_rows: find(files, "delete_row_count").map(long)?,
            kinds: files.column_by_name(KIND).map(|kinds| kinds.as_primitive().clone()),
        })
    }

    /// One file as a group; its numbers are negative where it is deleted.
    fn group(&self, row: usize, partition: usize, small_bytes: i64) -> Result<Group> {
        let level = self.levels.value(row);
        let deleted = self.kinds.as_ref().is_some_and(|kinds| kinds.value(row) == DELETE);
        let signed = |column, value: i64| if deleted { difference(column, 0, value) } else { Ok(value) };
        let delete_rows = self.delete_rows.is_valid(row).then(|| self.delete_rows.value(row));
        Ok(Group {
            partition,
            bucket: self.buckets.value(row),
            buckets: 1,
            files: if deleted { -1 } else { 1 },
            records: signed("record_count", self.row_counts.value(row))?,
            bytes: signed("file_size_in_bytes", self.sizes.value(row))?,
            delete_rows: delete_rows.map(|rows| signed("delete_row_count", rows)).transpose()?,
            last_created: self.created.is_valid(row).then(|| self.created.value(row)),
            total_buckets: self.total_buckets.value(row),
            min_level: level,
            max_level: level,
            level_0_files: i64::from(level == 0),
            sizes: Sizes::of(self.sizes.value(row), small_bytes),
            vectors: 0,
            vector_rows: Some(0),
        })
    }
}
