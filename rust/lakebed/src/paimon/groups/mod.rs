//! Sums over the live files of each partition and bucket (Paimon's `PartitionEntry.java` and `BucketEntry.java`).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, BinaryArray, Int8Array, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};

use super::manifest::DELETE;
use super::partition::PartitionType;
use super::scan::{SentSchemas, know_vectors, vector_counts};
use super::table::Table;
use super::view;
use crate::error::Result;
use crate::grouping::sums::{self, beyond, known_sum, sent_sums, sum};
use crate::grouping::{self, Sizes, SumOptions};
use crate::health::{HealthTotals, ManifestBounds};
use crate::record::column;
use crate::scan::ScanOptions;
use crate::view::GroupBy;

/// The column that turns files into changes: files of DELETE entries are subtracted.
pub(crate) const KIND: &str = "kind";

/// The sums of the files of one bucket or partition. One file is a group too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BucketSums {
    /// Number of the partition, see [`BucketGroups::partition_rows`].
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
    /// Deletion vectors, see [`BucketGroups::add_vectors`].
    pub(crate) vectors: i64,
    /// Rows that those vectors delete; `None` where they were not counted.
    pub(crate) vector_rows: Option<i64>,
}

sent_sums! { BucketSums:
    bucket,
    buckets,
    files,
    records,
    bytes,
    delete_rows,
    last_created,
    total_buckets,
    min_level,
    max_level,
    level_0_files,
    sizes.min,
    sizes.max,
    sizes.small_files,
    sizes.small_bytes,
    vectors,
    vector_rows,
}

impl BucketSums {
    /// Adds the files of `other`, and its buckets as distinct ones if `buckets` is set.
    fn absorb(&mut self, other: &BucketSums) -> Result<()> {
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
pub(crate) struct BucketGroups {
    partitions: Numbers<Arc<[u8]>>,
    buckets: Numbers<(usize, i32)>,
    groups: Vec<BucketSums>,
    /// The columns of the partitions.
    partition: PartitionType,
    /// Files with fewer bytes are small.
    small_bytes: i64,
}

impl grouping::FileGroups<Table> for BucketGroups {
    const INPUT: &'static [&'static str] = &[
        "partition",
        "bucket",
        "total_buckets",
        "level",
        "row_count",
        "file_size",
        "creation_time",
        "delete_row_count",
    ];

    fn of(table: &Table, summing: &SumOptions) -> Result<BucketGroups> {
        // The view `health` shows no partition, of which there could be a note.
        let partition = match summing.by {
            GroupBy::Table => PartitionType::new(table.schema()),
            _ => table.partition_type(),
        };
        Ok(BucketGroups { partition, small_bytes: summing.small_bytes, ..BucketGroups::default() })
    }

    fn sent(types: &SentSchemas, summing: &SumOptions) -> Result<BucketGroups> {
        let partition = PartitionType::new(&types.table_schema()?);
        Ok(BucketGroups { partition, small_bytes: summing.small_bytes, ..BucketGroups::default() })
    }

    /// Files with [`KIND`] are changes, which may cancel out and leave groups without files.
    fn extend(&mut self, files: &RecordBatch) -> Result<()> {
        let files = FileColumns::new(files)?;
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

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        sums::each(sums, |key, sums: BucketSums| {
            let partition = self.partitions.number(key, Arc::from);
            self.take(BucketSums { partition, ..sums })
        })
    }

    fn vectors(table: &Table, options: &ScanOptions, by: GroupBy) -> Result<Option<RecordBatch>> {
        vector_counts(table, options, by)
    }

    fn know_vectors(&mut self, counts: &RecordBatch) -> Result<()> {
        know_vectors(self, counts)
    }

    fn count(&self) -> usize {
        self.groups.len()
    }

    fn drain(&mut self) -> Result<RecordBatch> {
        let empty = BucketGroups { partition: self.partition.clone(), ..BucketGroups::default() };
        std::mem::replace(self, BucketGroups { small_bytes: self.small_bytes, ..empty }).sums()
    }

    fn shown_partitions(&self) -> Result<RecordBatch> {
        view::partitions(self, &self.partition)
    }

    fn shown_buckets(&self) -> Result<RecordBatch> {
        view::buckets(self, &self.partition)
    }

    fn totals(&self, bounds: &ManifestBounds) -> Result<HealthTotals> {
        view::totals(self, bounds, &self.partition)
    }
}

impl BucketGroups {
    /// The buckets, each with the bytes of its partition.
    pub(crate) fn sums(&self) -> Result<RecordBatch> {
        sums::batch(self.partition_rows(&self.groups), &self.groups)
    }

    /// Adds files of one bucket; their partition has its number here already.
    fn take(&mut self, files: BucketSums) -> Result<()> {
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
    pub(crate) fn buckets(&self) -> &[BucketSums] {
        &self.groups
    }

    /// The partitions, in the order of their first files, summed from the buckets that `keep` selects.
    pub(crate) fn partitions(&self, keep: impl Fn(&BucketSums) -> bool) -> Result<Vec<BucketSums>> {
        let mut numbers = Numbers::default();
        let mut partitions: Vec<BucketSums> = Vec::new();
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
    pub(crate) fn partition_rows(&self, groups: &[BucketSums]) -> BinaryArray {
        let rows = groups.iter().filter_map(|group| self.partitions.values.get(group.partition));
        BinaryArray::from_iter_values(rows)
    }
}

/// Distinct values, numbered in the order of their first appearance.
#[derive(Debug)]
struct Numbers<T> {
    numbers: HashMap<T, usize>,
    values: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Numbers<T> {
        Numbers { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: std::hash::Hash + Eq + Clone> Numbers<T> {
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

/// The columns of [`INPUT`](grouping::FileGroups::INPUT), typed.
struct FileColumns {
    partitions: BinaryArray,
    buckets: Int32Array,
    total_buckets: Int32Array,
    levels: Int32Array,
    row_counts: Int64Array,
    sizes: Int64Array,
    created: TimestampMicrosecondArray,
    delete_rows: Int64Array,
    kinds: Option<Int8Array>,
}

impl FileColumns {
    fn new(files: &RecordBatch) -> Result<FileColumns> {
        let kinds = files.column_by_name(KIND).map(|_| column::<Int8Array>(files, KIND).cloned());
        Ok(FileColumns {
            partitions: column::<BinaryArray>(files, "partition")?.clone(),
            buckets: column::<Int32Array>(files, "bucket")?.clone(),
            total_buckets: column::<Int32Array>(files, "total_buckets")?.clone(),
            levels: column::<Int32Array>(files, "level")?.clone(),
            row_counts: column::<Int64Array>(files, "row_count")?.clone(),
            sizes: column::<Int64Array>(files, "file_size")?.clone(),
            created: column::<TimestampMicrosecondArray>(files, "creation_time")?.clone(),
            delete_rows: column::<Int64Array>(files, "delete_row_count")?.clone(),
            kinds: kinds.transpose()?,
        })
    }

    /// One file as a group; its numbers are negative where it is deleted.
    fn group(&self, row: usize, partition: usize, small_bytes: i64) -> Result<BucketSums> {
        let level = self.levels.value(row);
        let deleted = self.kinds.as_ref().is_some_and(|kinds| kinds.value(row) == DELETE);
        let signed = |column, value: i64| if deleted { difference(column, 0, value) } else { Ok(value) };
        let delete_rows = self.delete_rows.is_valid(row).then(|| self.delete_rows.value(row));
        Ok(BucketSums {
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
