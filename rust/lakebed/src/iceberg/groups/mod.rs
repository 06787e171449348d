//! Sums over live files by partition.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StructArray, UInt64Array,
};
use arrow_select::take::take;

use super::fields::{DATA, POSITION_DELETES};
use super::partition::{PartitionNumbers, PartitionType};
use super::table::{StoredTypes, Table, TableTypes};
use super::view;
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::sums::{self, beyond, sent_sums, sum};
use crate::grouping::{self, Sizes, SumOptions};
use crate::health::{HealthTotals, ManifestBounds};
use crate::record::{column, find};

/// Files of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) files: i64,
    pub(crate) records: i64,
}

impl Count {
    fn add(&mut self, files: Count) -> Result<()> {
        self.files = sum("file_count", self.files, files.files)?;
        self.records = sum("record_count", self.records, files.records)?;
        Ok(())
    }

    fn times(self, times: i64) -> Result<Count> {
        let product = |column, count: i64| count.checked_mul(times).ok_or_else(|| beyond(column));
        Ok(Count {
            files: product("file_count", self.files)?,
            records: product("record_count", self.records)?,
        })
    }

    fn is_negative(self) -> bool {
        self.files < 0 || self.records < 0
    }
}

/// The files of one partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartitionSums {
    /// The spec of the tuple: nulls of different specs differ.
    pub(crate) spec_id: i32,
    pub(crate) data: Count,
    /// Size of the data files \[bytes\].
    pub(crate) data_bytes: i64,
    /// Position delete files and deletion vectors.
    pub(crate) position_deletes: Count,
    /// The deletion vectors among them.
    pub(crate) vectors: Count,
    pub(crate) equality_deletes: Count,
    /// The sizes of the data files.
    pub(crate) sizes: Sizes,
    /// Commit time and id of the newest snapshot that added a file; files of expired snapshots are ignored.
    pub(crate) last_updated: (Option<i64>, Option<i64>),
}

sent_sums! { PartitionSums:
    spec_id,
    data.files,
    data.records,
    data_bytes,
    position_deletes.files,
    position_deletes.records,
    vectors.files,
    vectors.records,
    equality_deletes.files,
    equality_deletes.records,
    sizes.min,
    sizes.max,
    sizes.small_files,
    sizes.small_bytes,
    last_updated.0,
    last_updated.1,
}

impl PartitionSums {
    /// The same files so many times; their sizes once at most.
    fn times(self, times: i64) -> Result<PartitionSums> {
        if times == 1 {
            return Ok(self);
        }
        let bytes = self.data_bytes.checked_mul(times).ok_or_else(|| beyond("file_size_in_bytes"))?;
        Ok(PartitionSums {
            data: self.data.times(times)?,
            data_bytes: bytes,
            position_deletes: self.position_deletes.times(times)?,
            vectors: self.vectors.times(times)?,
            equality_deletes: self.equality_deletes.times(times)?,
            sizes: Sizes::default(),
            ..self
        })
    }

    /// Whether there are fewer than none of something.
    pub(crate) fn is_negative(&self) -> bool {
        let counts = [self.data, self.position_deletes, self.equality_deletes];
        let files_alone = self.position_deletes.files.checked_sub(self.vectors.files);
        counts.into_iter().any(Count::is_negative)
            || self.data_bytes < 0
            || self.vectors.files < 0
            || files_alone.is_none_or(|files| files < 0)
    }

    /// Adds the files of `other`, which is of the same partition.
    fn absorb(&mut self, other: &PartitionSums) -> Result<()> {
        self.spec_id = other.spec_id;
        self.data.add(other.data)?;
        self.data_bytes = sum("file_size_in_bytes", self.data_bytes, other.data_bytes)?;
        self.position_deletes.add(other.position_deletes)?;
        self.vectors.add(other.vectors)?;
        self.equality_deletes.add(other.equality_deletes)?;
        self.sizes.absorb(other.sizes)?;
        self.last_updated = self.last_updated.max(other.last_updated);
        Ok(())
    }
}

/// The partitions of a table, one per spec and tuple, in the order of their first files.
pub(crate) struct PartitionGroups {
    partitions: PartitionNumbers,
    groups: Vec<PartitionSums>,
    /// The commit time of each snapshot [milliseconds since 1970 UTC], by id.
    committed: HashMap<i64, i64>,
    /// Files with fewer bytes are small.
    small_bytes: i64,
}

impl PartitionGroups {
    /// No files yet; no file counts as small.
    ///
    /// # Errors
    /// `Unsupported` for a partition field of a type that cannot be compared.
    pub(crate) fn new(partition: &PartitionType, committed: HashMap<i64, i64>) -> Result<PartitionGroups> {
        let partitions = PartitionNumbers::new(partition)?;
        Ok(PartitionGroups { partitions, groups: Vec::new(), committed, small_bytes: 0 })
    }

    /// The groups, in the order of their first files.
    pub(crate) fn groups(&self) -> &[PartitionSums] {
        &self.groups
    }

    /// Adds the files of entries, each as often as `times` has it by the entry's status: -1 takes it away, 0
    /// leaves the time and snapshot of the change alone, `None` nothing.
    ///
    /// # Errors
    /// `Mismatch` for sums that do not fit 64 bits.
    pub(crate) fn extend_entries(
        &mut self,
        entries: &RecordBatch,
        times: impl Fn(i32) -> Option<i64>,
    ) -> Result<()> {
        let statuses = column::<Int32Array>(entries, "status")?;
        self.add(entries, |row| times(statuses.value(row)))
    }

    /// Adds files, each as often as `times` has it by its row.
    fn add(&mut self, files: &RecordBatch, times: impl Fn(usize) -> Option<i64>) -> Result<()> {
        let tuples = column::<StructArray>(files, "partition")?;
        let numbers = self.partitions.number(&find(files, "spec_id")?, tuples)?;
        self.groups.resize_with(self.partitions.len(), PartitionSums::default);
        let files = FileColumns::new(files)?;
        for (row, number) in numbers.into_iter().enumerate() {
            let Some(group) = self.groups.get_mut(number) else { continue };
            group.spec_id = files.spec_ids.value(row);
            let Some(times) = times(row) else { continue };
            let file = files.group(row, &self.committed, self.small_bytes).times(times);
            file.and_then(|file| group.absorb(&file)).map_err(|error| error.in_record(row as u64))?;
        }
        Ok(())
    }

    /// Adds partitions with their sums: the specs are the column `spec_id` of `rows`.
    ///
    /// # Errors
    /// `Mismatch` for a partition that is there already, with its row.
    pub(crate) fn extend_sums(
        &mut self,
        rows: &RecordBatch,
        tuples: &StructArray,
        sums: Vec<PartitionSums>,
    ) -> Result<()> {
        let numbers = self.partitions.number(&find(rows, "spec_id")?, tuples)?;
        for (row, (number, sums)) in numbers.into_iter().zip(sums).enumerate() {
            if number != self.groups.len() {
                let error = Error::new(ErrorKind::Mismatch, "a partition has two rows");
                return Err(error.in_field("partition").in_row(row));
            }
            self.groups.push(sums);
        }
        Ok(())
    }

    /// The groups with the tuple of each, sorted by tuple, nulls first, then by spec.
    pub(crate) fn sorted(&self) -> Result<(Vec<&PartitionSums>, ArrayRef)> {
        let order = self.partitions.sorted();
        let groups = order.iter().filter_map(|number| self.groups.get(*number)).collect();
        let rows = UInt64Array::from_iter_values(order.iter().map(|number| *number as u64));
        Ok((groups, take(&self.tuples()?, &rows, None)?))
    }

    /// The groups of each tuple in one, with its tuple, where `kind` says the same of their specs: the spec is that of the
    /// newest commit.
    ///
    /// # Errors
    /// `Mismatch` for sums that do not fit 64 bits.
    pub(crate) fn by_tuple(
        &self,
        kind: impl Fn(i32) -> Option<u64>,
    ) -> Result<(Vec<PartitionSums>, ArrayRef)> {
        let tuples = self.tuples()?;
        let kinds: UInt64Array = self.groups.iter().map(|group| kind(group.spec_id)).collect();
        let rows = crate::view::groups(&[Arc::new(kinds), Arc::clone(&tuples)])?;
        let firsts = rows.iter().filter_map(|rows| rows.first()).map(|first| *first as u64);
        let firsts = UInt64Array::from_iter_values(firsts);
        let of_tuple = |rows: Vec<usize>| {
            let mut groups = rows.into_iter().filter_map(|row| self.groups.get(row));
            let first = groups.next().cloned().unwrap_or_default();
            groups.try_fold(first, |mut sums, group| {
                let is_newer = group.last_updated > sums.last_updated;
                let spec_id = if is_newer { group.spec_id } else { sums.spec_id };
                sums.absorb(group)?;
                Ok(PartitionSums { spec_id, ..sums })
            })
        };
        Ok((rows.into_iter().map(of_tuple).collect::<Result<_>>()?, take(&tuples, &firsts, None)?))
    }

    /// The tuple of each group.
    pub(crate) fn tuples(&self) -> Result<ArrayRef> {
        self.partitions.tuples()
    }
}

impl grouping::FileGroups<Table> for PartitionGroups {
    const INPUT: &'static [&'static str] = &[
        "content",
        "spec_id",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "snapshot_id",
        "content_offset",
    ];

    /// From the table's own types: the JSON that is sent nests as deep as its columns, and so does who writes it.
    fn of(table: &Table, summing: &SumOptions) -> Result<PartitionGroups> {
        let groups = PartitionGroups::new(&table.types()?.partition, summing.committed.clone())?;
        Ok(PartitionGroups { small_bytes: summing.small_bytes, ..groups })
    }

    fn sent(types: &StoredTypes, summing: &SumOptions) -> Result<PartitionGroups> {
        let groups =
            PartitionGroups::new(&TableTypes::try_from(types)?.partition, summing.committed.clone())?;
        Ok(PartitionGroups { small_bytes: summing.small_bytes, ..groups })
    }

    fn extend(&mut self, files: &RecordBatch) -> Result<()> {
        self.add(files, |_| Some(1))
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        sums::each(sums, |key, sums: PartitionSums| {
            let number = self.partitions.number_of(key);
            self.groups.resize_with(self.partitions.len(), PartitionSums::default);
            self.groups.get_mut(number).map_or(Ok(()), |known| known.absorb(&sums))
        })
    }

    fn count(&self) -> usize {
        self.groups.len()
    }

    fn drain(&mut self) -> Result<RecordBatch> {
        let groups = std::mem::take(&mut self.groups);
        let keys = BinaryArray::from_iter_values(self.partitions.keys());
        self.partitions.clear();
        sums::batch(keys, &groups)
    }

    fn shown_partitions(&self) -> Result<RecordBatch> {
        view::partitions(self)
    }

    fn shown_buckets(&self) -> Result<RecordBatch> {
        view::buckets(self)
    }

    fn totals(&self, bounds: &ManifestBounds) -> Result<HealthTotals> {
        view::totals(self, bounds)
    }
}

/// The columns of [`INPUT`](grouping::FileGroups::INPUT), typed.
struct FileColumns {
    contents: Int32Array,
    spec_ids: Int32Array,
    record_counts: Int64Array,
    sizes: Int64Array,
    snapshot_ids: Int64Array,
    offsets: ArrayRef,
}

impl FileColumns {
    fn new(files: &RecordBatch) -> Result<FileColumns> {
        let int = |name| column::<Int32Array>(files, name).cloned();
        let long = |name| column::<Int64Array>(files, name).cloned();
        Ok(FileColumns {
            contents: int("content")?,
            spec_ids: int("spec_id")?,
            record_counts: long("record_count")?,
            sizes: long("file_size_in_bytes")?,
            snapshot_ids: long("snapshot_id")?,
            offsets: find(files, "content_offset")?,
        })
    }

    /// One file as a group.
    fn group(&self, row: usize, committed: &HashMap<i64, i64>, small_bytes: i64) -> PartitionSums {
        let mut group = PartitionSums { spec_id: self.spec_ids.value(row), ..PartitionSums::default() };
        let file = Count { files: 1, records: self.record_counts.value(row) };
        match self.contents.value(row) {
            DATA => {
                let size = self.sizes.value(row);
                (group.data, group.data_bytes, group.sizes) = (file, size, Sizes::of(size, small_bytes));
            }
            POSITION_DELETES => {
                group.position_deletes = file;
                if self.offsets.is_valid(row) {
                    group.vectors = file;
                }
            }
            _ => group.equality_deletes = file,
        }
        if self.snapshot_ids.is_valid(row) {
            let id = self.snapshot_ids.value(row);
            group.last_updated = committed.get(&id).map(|millis| (*millis, id)).unzip();
        }
        group
    }
}
