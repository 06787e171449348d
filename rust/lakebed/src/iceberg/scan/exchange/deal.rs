//! Which part entries are of, so that deletes meet the data files that they may apply to.
//!
//! Both go by their partition, which is what deletes apply within; those of unpartitioned specs, where that
//! would be one part for all, by the data file. Deletes of such a spec that are of no single file go to every
//! part, the equality deletes that apply to all specs among them.
//!
//! A delete of one file that is of another partition than the file would never meet it so, and apply to nothing
//! without a word. Such deletes are therefore dealt by the path of their file as well, beside what tells of the
//! data files whether they fit.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::matched::{DATA, DATA_BY_PATH, DELETES, DELETES_BY_PATH};
use crate::distributed::{dealt, hash};
use crate::error::Result;
use crate::iceberg::deletes::file_input;
use crate::iceberg::partition::{PartitionNumbers, PartitionSpec};
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::target_files;
use crate::record::find;

/// Deals entries out to parts.
pub(super) struct Deal {
    types: TableTypes,
    partitions: PartitionNumbers,
    parts: u32,
    /// Whether deletes of one file are dealt by its path as well.
    by_path: bool,
}

impl Deal {
    /// Of a plan with deletes or without.
    pub(super) fn new(types: TableTypes, parts: u32, with_deletes: bool) -> Result<Deal> {
        let partitioned = !types.specs.iter().all(PartitionSpec::is_unpartitioned);
        let by_path = with_deletes && parts > 1 && partitioned;
        Ok(Deal { partitions: PartitionNumbers::new(&types.partition)?, types, parts, by_path })
    }

    /// The entries of a side, dealt out, with the side that each piece is of.
    pub(super) fn pieces(&self, side: i32, entries: &RecordBatch) -> Result<Vec<(i32, RecordBatch)>> {
        let dealt = if side == DELETES { self.deletes(entries) } else { self.files(entries) };
        let mut pieces = vec![(side, dealt?)];
        match side {
            DELETES if self.by_path => pieces.push((DELETES_BY_PATH, self.deletes_by_path(entries)?)),
            DATA if self.by_path => pieces.push((DATA_BY_PATH, self.files_by_path(entries)?)),
            _ => {}
        }
        Ok(pieces)
    }

    fn deletes_by_path(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let targets = target_files(entries)?;
        let of_one: BooleanArray = (0..targets.len()).map(|row| Some(targets.is_valid(row))).collect();
        let entries = filter_record_batch(entries, &of_one)?;
        let keys = target_files(&entries)?;
        dealt(&entries, keys.as_string::<i32>().iter().map(of_path), self.parts)
    }

    /// Of data files only what deletes of one file are held to.
    fn files_by_path(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let places = file_input(&[]).map(|name| entries.schema_ref().index_of(name));
        let entries = entries.project(&places.collect::<std::result::Result<Vec<_>, _>>()?)?;
        let paths = find(&entries, "file_path")?;
        dealt(&entries, paths.as_string::<i32>().iter().map(of_path), self.parts)
    }

    fn files(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let paths = find(entries, "file_path")?;
        let paths = paths.as_string::<i32>();
        self.deal(entries, |row| of_path(Some(paths.value(row))))
    }

    fn deletes(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let targets = target_files(entries)?;
        let targets = targets.as_string::<i32>();
        self.deal(entries, |row| of_path(targets.is_valid(row).then(|| targets.value(row))))
    }

    /// Entries by their partition, those of unpartitioned specs by what `unpartitioned` says of their row.
    fn deal(
        &self,
        entries: &RecordBatch,
        unpartitioned: impl Fn(usize) -> Option<u64>,
    ) -> Result<RecordBatch> {
        let (spec_ids, tuples) = (find(entries, "spec_id")?, find(entries, "partition")?);
        let hashes = self.partitions.hashes(&spec_ids, tuples.as_struct())?;
        let specs = &self.types.specs;
        let is_unpartitioned =
            |id: i32| specs.iter().any(|spec| spec.spec_id == id && spec.is_unpartitioned());
        let ids = spec_ids.as_primitive::<Int32Type>().values().iter();
        let keys = hashes
            .into_iter()
            .zip(ids)
            .enumerate()
            .map(|(row, (hash, id))| if is_unpartitioned(*id) { unpartitioned(row) } else { Some(hash) });
        dealt(entries, keys, self.parts)
    }
}

fn of_path(path: Option<&str>) -> Option<u64> {
    path.map(|path| hash(path.as_bytes()))
}
