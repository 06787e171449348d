//! Index files of removed data files (Paimon's `IndexManifestFileHandler.java`).

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_select::filter::{filter, filter_record_batch};

use super::base::Base;
use super::row_ids::with_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::{INDEX, RANGES};
use crate::paimon::index_files::IndexFiles;
use crate::record::{carried, column, find, typed};

/// The index files of a snapshot.
pub(super) enum Index {
    /// Those of the last snapshot.
    AsBefore,
    /// None.
    None,
    /// These.
    New(RecordBatch),
}

/// The index files of a snapshot, and whether they differ from those before.
pub(super) struct IndexEntries {
    pub(super) records: RecordBatch,
    pub(super) changed: bool,
}

impl Index {
    /// The index with these files.
    pub(super) fn of(entries: IndexEntries) -> Index {
        match entries.records.num_rows() {
            _ if !entries.changed => Index::AsBefore,
            0 => Index::None,
            _ => Index::New(entries.records),
        }
    }
}

/// How vectors identify a data file: partition, bucket and name.
pub(super) type File = (Vec<u8>, i32, String);

impl IndexEntries {
    /// Those of the snapshot that a commit builds on, with unknown fields of other writers.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn read(base: &Base) -> Result<IndexEntries> {
        Ok(IndexEntries { records: IndexFiles::read_carrying(&base.table)?, changed: false })
    }

    /// The same without the index files of partitions, given by their rows.
    pub(super) fn without_partitions(self, partitions: &HashSet<Vec<u8>>) -> Result<IndexEntries> {
        let keep = column::<BinaryArray>(&self.records, "partition")?
            .iter()
            .map(|partition| Some(!partition.is_some_and(|partition| partitions.contains(partition))))
            .collect();
        self.kept(&keep)
    }

    /// The same without the deletion vectors of `removed`, which are live entries. Hashes of keys are kept: they
    /// record the bucket of a key, whether the key exists or not.
    ///
    /// # Errors
    /// `Unsupported` where a global index covers rows of a partition that files are removed from.
    pub(super) fn without_files(self, removed: &RecordBatch) -> Result<IndexEntries> {
        let entries = &self.records;
        let files = files_of(removed)?;
        let global = find(entries, "global_index")?;
        let partitions = column::<BinaryArray>(entries, "partition")?;
        let buckets = column::<Int32Array>(entries, "bucket")?;
        let partition = |row: usize| partitions.value(row);
        let bucket = |row: usize| buckets.value(row);
        let covered = |row: &usize| {
            global.is_valid(*row) && files.iter().any(|(of_file, _, _)| of_file.as_slice() == partition(*row))
        };
        if (0..entries.num_rows()).any(|row| covered(&row)) {
            let message = "files that a global index covers cannot be removed";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let ranges = column::<ListArray>(entries, RANGES)?;
        let names = names_of(ranges.values())?;
        let mut of_live = vec![true; ranges.values().len()];
        let mut keep = Vec::with_capacity(entries.num_rows());
        for (row, bounds) in ranges.value_offsets().windows(2).enumerate() {
            let &[start, end] = bounds else { continue };
            let items = start as usize..end as usize;
            for item in items.clone().filter(|item| names.is_valid(*item)) {
                let file = (partition(row).to_vec(), bucket(row), names.value(item).to_owned());
                of_live[item] = !files.contains(&file);
            }
            // An index file without any vector of a live file is removed.
            keep.push(Some(items.is_empty() || of_live[items].contains(&true)));
        }
        if !of_live.contains(&false) {
            return self.kept(&BooleanArray::from(keep));
        }
        let shorter = IndexEntries { records: without_ranges(entries, ranges, &of_live)?, changed: true };
        shorter.kept(&BooleanArray::from(keep))
    }

    /// The kept entries.
    fn kept(self, keep: &BooleanArray) -> Result<IndexEntries> {
        let records = filter_record_batch(&self.records, keep)?;
        let changed = self.changed || records.num_rows() < self.records.num_rows();
        Ok(IndexEntries { records, changed })
    }
}

pub(super) fn files_of(entries: &RecordBatch) -> Result<HashSet<File>> {
    let partitions = column::<BinaryArray>(entries, "partition")?;
    let buckets = column::<Int32Array>(entries, "bucket")?;
    let names = column::<StringArray>(entries, "file_name")?;
    let rows = partitions.iter().zip(buckets.values());
    let files = rows.zip(names).map(|((partition, bucket), name)| {
        (partition.unwrap_or_default().to_vec(), *bucket, name.unwrap_or_default().to_owned())
    });
    Ok(files.collect())
}

/// The names of the data files of ranges.
///
/// # Errors
/// `Required` and `Mismatch` for other items.
pub(super) fn names_of(ranges: &ArrayRef) -> Result<&StringArray> {
    let names = typed::<StructArray>(ranges, RANGES)?.column_by_name("f0");
    typed(names.ok_or_else(|| Error::new(ErrorKind::Required, "ranges without names"))?, RANGES)
}

/// The entries with the kept ranges only, with their row counts and with unknown fields of other writers.
fn without_ranges(entries: &RecordBatch, ranges: &ListArray, keep: &[bool]) -> Result<RecordBatch> {
    let kept_in = |row: usize| -> &[bool] {
        match ranges.value_offsets().get(row..) {
            Some([start, end, ..]) => keep.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    };
    let count = |row: usize| kept_in(row).iter().filter(|keep| **keep).count();
    let counted = column::<Int64Array>(entries, "row_count")?;
    let counts = (0..ranges.len()).map(|row| match ranges.is_valid(row) {
        true => count(row) as i64,
        false => counted.value(row),
    });
    let counts = Arc::new(Int64Array::from_iter_values(counts));
    let mut changed = vec![(RANGES.to_owned(), shorter(ranges, &kept_in)?), ("row_count".to_owned(), counts)];
    for disk in INDEX.iter().filter(|spec| spec.column == RANGES).map(|spec| spec.disk) {
        for (name, column) in carried::in_record(entries, disk) {
            let Some(lists) = column.as_list_opt() else { continue };
            changed.push((carried::column_name(&format!("{disk}.{name}")), shorter(lists, &kept_in)?));
        }
    }
    with_columns(entries, &changed)
}

/// Lists with only the items that `kept_in` marks in each row.
fn shorter<'k>(lists: &ListArray, kept_in: &dyn Fn(usize) -> &'k [bool]) -> Result<ArrayRef> {
    let arrow_schema::DataType::List(item) = lists.data_type() else {
        return Err(Error::new(ErrorKind::Argument, "ranges are a list"));
    };
    let mut keep = vec![false; lists.values().len()];
    let mut lengths = Vec::with_capacity(lists.len());
    for (row, bounds) in lists.value_offsets().windows(2).enumerate() {
        let items = bounds[0] as usize..bounds[1] as usize;
        let items = keep.get_mut(items).unwrap_or_default();
        items.iter_mut().zip(kept_in(row)).for_each(|(item, kept)| *item = *kept);
        lengths.push(items.iter().filter(|item| **item).count());
    }
    let values = filter(lists.values(), &BooleanArray::from(keep))?;
    // Only values of the rows' own lists are kept: a sliced array may have more on both sides.
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, lists.nulls().cloned())?))
}
