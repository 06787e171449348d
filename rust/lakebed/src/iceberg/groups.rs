//! Live files summed up by partition, as they stream by: memory grows with the partitions, not with the
//! files.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};

use super::partition::{PartitionNumbers, PartitionType};
use crate::error::{Error, ErrorKind, Result};
use crate::record::find;

/// The columns of entries that groups are made of.
pub(crate) const GROUP_INPUT: [&str; 7] = [
    "content",
    "spec_id",
    "partition",
    "record_count",
    "file_size_in_bytes",
    "snapshot_id",
    "content_offset",
];

/// Files of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) files: i64,
    pub(crate) records: i64,
}

impl Count {
    fn add(&mut self, records: i64) -> Result<()> {
        self.files = sum("file_count", self.files, 1)?;
        self.records = sum("record_count", self.records, records)?;
        Ok(())
    }
}

/// The files of one partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    /// The spec that the tuple is of: null in one is not null in another.
    pub(crate) spec_id: i32,
    pub(crate) data: Count,
    /// Size of the data files [bytes].
    pub(crate) data_bytes: i64,
    /// Position delete files and deletion vectors.
    pub(crate) position_deletes: Count,
    /// Those of them that are deletion vectors.
    pub(crate) vectors: Count,
    pub(crate) equality_deletes: Count,
    /// When the newest snapshot that some file came with was committed, and its id; files of snapshots that
    /// expired do not say.
    pub(crate) last_updated: Option<(i64, i64)>,
}

fn sum(column: &'static str, left: i64, right: i64) -> Result<i64> {
    left.checked_add(right).ok_or_else(|| {
        Error::new(ErrorKind::Mismatch, "the sum over the files is beyond 64 bits").in_field(column)
    })
}

/// The partitions of a table, each of one spec, in the order in which their first files appear.
pub(crate) struct Groups {
    partitions: PartitionNumbers,
    groups: Vec<Group>,
    /// When each snapshot was committed [milliseconds since 1970 UTC], by id.
    committed: HashMap<i64, i64>,
}

impl Groups {
    /// No files yet.
    ///
    /// # Errors
    /// `Unsupported` for a partition field of a type that cannot be compared.
    pub(crate) fn new(partition: &PartitionType, committed: HashMap<i64, i64>) -> Result<Groups> {
        Ok(Groups { partitions: PartitionNumbers::new(partition)?, groups: Vec::new(), committed })
    }

    /// Takes files in, with the columns of [`GROUP_INPUT`].
    ///
    /// # Errors
    /// `Mismatch` for a sum beyond 64 bits, and for negative counts.
    pub(crate) fn extend(&mut self, files: &RecordBatch) -> Result<()> {
        let tuples = find(files, "partition")?;
        let numbers = self.partitions.number(&find(files, "spec_id")?, tuples.as_struct())?;
        self.groups.resize_with(self.partitions.len(), Group::default);
        let files = Files::new(files)?;
        for (row, number) in numbers.into_iter().enumerate() {
            if let Some(group) = self.groups.get_mut(number) {
                files.add(row, group, &self.committed).map_err(|error| error.in_record(row as u64))?;
            }
        }
        Ok(())
    }

    /// The groups, in the order in which their first files appear.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The tuple of each group.
    pub(crate) fn tuples(&self) -> Result<ArrayRef> {
        self.partitions.tuples()
    }
}

/// The columns of [`GROUP_INPUT`], typed.
struct Files {
    contents: PrimitiveArray<Int32Type>,
    spec_ids: PrimitiveArray<Int32Type>,
    record_counts: PrimitiveArray<Int64Type>,
    sizes: PrimitiveArray<Int64Type>,
    snapshot_ids: PrimitiveArray<Int64Type>,
    offsets: ArrayRef,
}

impl Files {
    fn new(files: &RecordBatch) -> Result<Files> {
        let int = |name| find(files, name).map(|column| column.as_primitive::<Int32Type>().clone());
        let long = |name| find(files, name).map(|column| column.as_primitive::<Int64Type>().clone());
        Ok(Files {
            contents: int("content")?,
            spec_ids: int("spec_id")?,
            record_counts: long("record_count")?,
            sizes: long("file_size_in_bytes")?,
            snapshot_ids: long("snapshot_id")?,
            offsets: find(files, "content_offset")?,
        })
    }

    /// Takes one file in.
    fn add(&self, row: usize, group: &mut Group, committed: &HashMap<i64, i64>) -> Result<()> {
        let records = self.record_counts.value(row);
        match self.contents.value(row) {
            0 => {
                group.data.add(records)?;
                group.data_bytes = sum("file_size_in_bytes", group.data_bytes, self.sizes.value(row))?;
            }
            1 => {
                group.position_deletes.add(records)?;
                if self.offsets.is_valid(row) {
                    group.vectors.add(records)?;
                }
            }
            _ => group.equality_deletes.add(records)?,
        }
        let snapshot_id = self.snapshot_ids.value(row);
        let updated = committed.get(&snapshot_id).map(|millis| (*millis, snapshot_id));
        if updated > group.last_updated && self.snapshot_ids.is_valid(row) {
            group.last_updated = updated;
        }
        group.spec_id = self.spec_ids.value(row);
        Ok(())
    }
}
