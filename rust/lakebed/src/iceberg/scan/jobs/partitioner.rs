//! Which part an entry belongs to, so that deletes are in the parts of the data files that they may apply to.
//!
//! Both are distributed by partition, since deletes apply within a partition. Data files of unpartitioned
//! specs, which would all be in one part, are distributed by their path. Deletes of such a spec that do not
//! name a single file are sent to every part, including equality deletes, which apply to all specs.
//!
//! A delete that names one file but has another partition than the file would be in another part, and would
//! silently apply to nothing. So deletes of one file are also distributed by its path, as are the columns of
//! data files that are needed to refuse such a plan.

use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_select::filter::filter_record_batch;

use super::matched::PlanSide;
use crate::distributed::{Piece, hash};
use crate::error::Result;
use crate::iceberg::deletes::file_input;
use crate::iceberg::partition::{PartitionNumbers, PartitionSpec};
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::target_files;
use crate::record::{column, find, typed};

/// Gives entries the keys of their parts.
pub(super) struct EntryPartitioner {
    types: TableTypes,
    partitions: PartitionNumbers,
    /// Whether deletes of one file are also moved by its path.
    by_path: bool,
}

impl EntryPartitioner {
    /// A partitioner for several parts, or for one.
    ///
    /// # Errors
    /// `Unsupported` for a partition field of a type that cannot be compared.
    pub(super) fn new(types: TableTypes, are_several: bool) -> Result<EntryPartitioner> {
        let by_path = are_several && !types.specs.iter().all(PartitionSpec::is_unpartitioned);
        Ok(EntryPartitioner { partitions: PartitionNumbers::new(&types.partition)?, types, by_path })
    }

    /// The entries of a side in pieces.
    pub(super) fn pieces(&self, side: PlanSide, entries: RecordBatch) -> Result<Vec<Piece>> {
        let by_path = match side {
            PlanSide::Deletes if self.by_path => Some(deletes_by_path(&entries)?),
            PlanSide::Data if self.by_path => Some(files_by_path(&entries)?),
            _ => None,
        };
        let keys = if side == PlanSide::Deletes { self.deletes(&entries) } else { self.files(&entries) };
        Ok(std::iter::once(Piece::keyed(side, entries, keys?)).chain(by_path).collect())
    }

    fn files(&self, entries: &RecordBatch) -> Result<Vec<Option<u64>>> {
        let paths = column::<StringArray>(entries, "file_path")?;
        self.by_partition(entries, |row| of_path(Some(paths.value(row))))
    }

    fn deletes(&self, entries: &RecordBatch) -> Result<Vec<Option<u64>>> {
        let targets = target_files(entries)?;
        self.by_partition(entries, |row| of_path(targets.is_valid(row).then(|| targets.value(row))))
    }

    /// The keys of entries: that of their partition, for those of unpartitioned specs what `unpartitioned` returns for
    /// their row.
    fn by_partition(
        &self,
        entries: &RecordBatch,
        unpartitioned: impl Fn(usize) -> Option<u64>,
    ) -> Result<Vec<Option<u64>>> {
        let spec_ids = find(entries, "spec_id")?;
        let hashes = self.partitions.hashes(&spec_ids, column::<StructArray>(entries, "partition")?)?;
        let specs = &self.types.specs;
        let is_unpartitioned =
            |id: i32| specs.iter().any(|spec| spec.spec_id == id && spec.is_unpartitioned());
        let ids = typed::<Int32Array>(&spec_ids, "spec_id")?.values().iter();
        let key = |(row, (hash, id))| if is_unpartitioned(id) { unpartitioned(row) } else { Some(hash) };
        Ok(hashes.into_iter().zip(ids.copied()).enumerate().map(key).collect())
    }
}

fn deletes_by_path(entries: &RecordBatch) -> Result<Piece> {
    let targets = target_files(entries)?;
    let of_one: BooleanArray = (0..targets.len()).map(|row| Some(targets.is_valid(row))).collect();
    let entries = filter_record_batch(entries, &of_one)?;
    let keys = target_files(&entries)?;
    Ok(Piece::keyed(PlanSide::DeletesByPath, entries, keys.iter().map(of_path)))
}

/// The columns of data files that deletes of one file are checked against.
fn files_by_path(entries: &RecordBatch) -> Result<Piece> {
    let places = file_input(&[]).map(|name| entries.schema_ref().index_of(name));
    let entries = entries.project(&places.collect::<std::result::Result<Vec<_>, _>>()?)?;
    let keys: Vec<_> = column::<StringArray>(&entries, "file_path")?.iter().map(of_path).collect();
    Ok(Piece::keyed(PlanSide::DataByPath, entries, keys))
}

fn of_path(path: Option<&str>) -> Option<u64> {
    path.map(|path| hash(path.as_bytes()))
}
