//! Which part entries are of, so that deletes meet the data files that they may apply to.
//!
//! Both go by their partition, which is what deletes apply within; those of unpartitioned specs, where that
//! would be one part for all, by the data file. Deletes of such a spec that are of no single file go to every
//! part, the equality deletes that apply to all specs among them.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};

use crate::distributed::{dealt, hash};
use crate::error::Result;
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::target_files;
use crate::record::find;

/// Deals entries out to parts.
pub(super) struct Deal {
    types: TableTypes,
    partitions: PartitionNumbers,
    parts: u32,
}

impl Deal {
    pub(super) fn new(types: TableTypes, parts: u32) -> Result<Deal> {
        Ok(Deal { partitions: PartitionNumbers::new(&types.partition)?, types, parts })
    }

    pub(super) fn files(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let paths = find(entries, "file_path")?;
        let paths = paths.as_string::<i32>();
        self.deal(entries, |row| Some(hash(paths.value(row).as_bytes())))
    }

    pub(super) fn deletes(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let targets = target_files(entries)?;
        let targets = targets.as_string::<i32>();
        self.deal(entries, |row| targets.is_valid(row).then(|| hash(targets.value(row).as_bytes())))
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
