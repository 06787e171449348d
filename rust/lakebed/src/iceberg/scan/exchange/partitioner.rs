//! Which part an entry belongs to, so that deletes are in the parts of the data files that they may apply to.
//!
//! Both are distributed by partition, since deletes apply within a partition. Data files of unpartitioned
//! specs, which would all be in one part, are distributed by their path. Deletes of such a spec that do not
//! name a single file go to every part, including equality deletes, which apply to all specs.
//!
//! A delete that names one file but has another partition than the file would be in another part, and would
//! silently apply to nothing. So deletes of one file are also distributed by its path, as are the columns of
//! data files that are needed to refuse such a plan.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::matched::{DATA, DATA_BY_PATH, DELETES, DELETES_BY_PATH};
use crate::distributed::{hash, with_parts};
use crate::error::Result;
use crate::iceberg::deletes::file_input;
use crate::iceberg::partition::{PartitionNumbers, PartitionSpec};
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::target_files;
use crate::record::find;

/// Distributes entries to parts.
pub(super) struct EntryPartitioner {
    types: TableTypes,
    partitions: PartitionNumbers,
    parts: u32,
    /// Whether deletes of one file are also distributed by its path.
    by_path: bool,
}

impl EntryPartitioner {
    /// A partitioner for a plan with or without deletes.
    pub(super) fn new(types: TableTypes, parts: u32, with_deletes: bool) -> Result<EntryPartitioner> {
        let partitioned = !types.specs.iter().all(PartitionSpec::is_unpartitioned);
        let by_path = with_deletes && parts > 1 && partitioned;
        Ok(EntryPartitioner { partitions: PartitionNumbers::new(&types.partition)?, types, parts, by_path })
    }

    /// The entries of a side in pieces, each with the side that it belongs to.
    pub(super) fn pieces(&self, side: i32, entries: &RecordBatch) -> Result<Vec<(i32, RecordBatch)>> {
        let rows = if side == DELETES { self.deletes(entries) } else { self.files(entries) };
        let mut pieces = vec![(side, rows?)];
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
        with_parts(&entries, keys.as_string::<i32>().iter().map(of_path), self.parts)
    }

    /// The columns of data files that deletes of one file are checked against.
    fn files_by_path(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let places = file_input(&[]).map(|name| entries.schema_ref().index_of(name));
        let entries = entries.project(&places.collect::<std::result::Result<Vec<_>, _>>()?)?;
        let paths = find(&entries, "file_path")?;
        with_parts(&entries, paths.as_string::<i32>().iter().map(of_path), self.parts)
    }

    fn files(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let paths = find(entries, "file_path")?;
        let paths = paths.as_string::<i32>();
        self.by_partition(entries, |row| of_path(Some(paths.value(row))))
    }

    fn deletes(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let targets = target_files(entries)?;
        let targets = targets.as_string::<i32>();
        self.by_partition(entries, |row| of_path(targets.is_valid(row).then(|| targets.value(row))))
    }

    /// Entries with the part of their partition, those of unpartitioned specs with the part that
    /// `unpartitioned` returns for their row.
    fn by_partition(
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
        with_parts(entries, keys, self.parts)
    }
}

fn of_path(path: Option<&str>) -> Option<u64> {
    path.map(|path| hash(path.as_bytes()))
}
