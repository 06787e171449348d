//! Index files of removed data files (Paimon's `IndexManifestFileHandler.java`).

use std::collections::{HashMap, HashSet};
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
use super::vectors::{live_among, wrong};
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
        let mut gone = vec![false; names.len()];
        for (row, item) in items_of(ranges).filter(|(_, item)| names.is_valid(*item)) {
            let file = (partition(row).to_vec(), bucket(row), names.value(item).to_owned());
            gone[item] = files.contains(&file);
        }
        self.without_vectors(&gone)
    }

    /// The same without vectors of data files that are not live, given by their index files and offsets; with
    /// `restores_rows` also of live ones, and without those that are not there.
    ///
    /// # Errors
    /// `Conflict` for one that is not there, `Argument` for one of a file that stays live.
    pub(super) fn without_dangling(
        self,
        base: &Base,
        vectors: &[(String, i64)],
        removed: &RecordBatch,
        restores_rows: bool,
    ) -> Result<IndexEntries> {
        let mut wanted: HashMap<(&str, i64), usize> = HashMap::with_capacity(vectors.len());
        for (row, (path, offset)) in vectors.iter().enumerate() {
            wanted.insert((path.rsplit('/').next().unwrap_or_default(), *offset), row);
        }
        let entries = &self.records;
        let index_files = column::<StringArray>(entries, "file_name")?;
        let partitions = column::<BinaryArray>(entries, "partition")?;
        let buckets = column::<Int32Array>(entries, "bucket")?;
        let ranges = column::<ListArray>(entries, RANGES)?;
        let (names, offsets) = (names_of(ranges.values())?, offsets_of(ranges.values())?);
        let (mut of, mut gone) = (Vec::with_capacity(vectors.len()), vec![false; names.len()]);
        for (row, item) in items_of(ranges).filter(|(_, item)| names.is_valid(*item)) {
            let Some(given) = wanted.get(&(index_files.value(row), i64::from(offsets.value(item)))) else {
                continue;
            };
            gone[item] = true;
            of.push((
                (partitions.value(row).to_vec(), buckets.value(row), names.value(item).to_owned()),
                *given,
            ));
        }
        if restores_rows {
            return self.without_vectors(&gone);
        }
        let found: HashSet<usize> = of.iter().map(|(_, given)| *given).collect();
        if let Some(row) = (0..vectors.len()).find(|row| !found.contains(row)) {
            let (path, offset) = &vectors[row];
            let message = format!("there is no deletion vector at {offset} of {path:?}");
            return Err(Error::new(ErrorKind::Conflict, message).in_field("content_offset").in_row(row));
        }
        let live = live_among(base, of.iter().map(|(file, _)| file), removed)?;
        if let Some(((.., name), row)) = of.iter().find(|(file, _)| live.contains(file)) {
            let message = format!("the vector is of {name:?}, which is live: its rows would be read again");
            return Err(wrong(&message, "content_offset", *row));
        }
        self.without_vectors(&gone)
    }

    /// The same without some of the vectors, of which `gone` marks the items of all ranges.
    fn without_vectors(self, gone: &[bool]) -> Result<IndexEntries> {
        let entries = &self.records;
        let ranges = column::<ListArray>(entries, RANGES)?;
        let stays: Vec<bool> = gone.iter().map(|gone| !gone).collect();
        let keep = ranges.value_offsets().windows(2).map(|bounds| {
            let items = &stays[bounds[0] as usize..bounds[1] as usize];
            // An index file without any vector of a live file is removed.
            Some(items.is_empty() || items.contains(&true))
        });
        let keep: BooleanArray = keep.collect();
        if !gone.contains(&true) {
            return self.kept(&keep);
        }
        let shorter = IndexEntries { records: without_ranges(entries, ranges, &stays)?, changed: true };
        shorter.kept(&keep)
    }

    /// The kept entries.
    fn kept(self, keep: &BooleanArray) -> Result<IndexEntries> {
        let records = filter_record_batch(&self.records, keep)?;
        let changed = self.changed || records.num_rows() < self.records.num_rows();
        Ok(IndexEntries { records, changed })
    }
}

/// The rows of index files, each with the place of a range among all.
fn items_of(ranges: &ListArray) -> impl Iterator<Item = (usize, usize)> + '_ {
    let rows = ranges.value_offsets().windows(2).enumerate();
    rows.flat_map(|(row, bounds)| (bounds[0] as usize..bounds[1] as usize).map(move |item| (row, item)))
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

/// Where the vectors of ranges begin in their index file \[bytes\].
fn offsets_of(ranges: &ArrayRef) -> Result<&Int32Array> {
    let offsets = typed::<StructArray>(ranges, RANGES)?.column_by_name("f1");
    typed(offsets.ok_or_else(|| Error::new(ErrorKind::Required, "ranges without offsets"))?, RANGES)
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
