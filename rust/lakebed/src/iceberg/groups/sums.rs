//! Groups in the form in which they are sent from where files are read to where they are combined.

use arrow_array::{BinaryArray, RecordBatch};

use super::{Count, Group, Groups};
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::{Sizes, sums};

const COLUMNS: [&str; 16] = [
    "spec_id",
    "data_files",
    "data_records",
    "position_deletes",
    "position_delete_records",
    "vectors",
    "vector_records",
    "equality_deletes",
    "equality_delete_records",
    "data_bytes",
    "updated_at",
    "updated_by",
    "min_size",
    "max_size",
    "small_files",
    "small_bytes",
];

impl Groups {
    /// The groups, each with the key of its partition.
    pub(crate) fn sums(&self) -> Result<RecordBatch> {
        let rows: Vec<_> = self.groups.iter().map(numbers).collect();
        sums::batch(BinaryArray::from_iter_values(self.partitions.keys()), &COLUMNS, &rows)
    }

    /// Adds a batch that [`Groups::sums`] made elsewhere.
    ///
    /// # Errors
    /// `Required` and `Argument` for a batch of another shape; `Mismatch` for a sum that does not fit 64
    /// bits.
    pub(crate) fn merge(&mut self, batch: &RecordBatch) -> Result<()> {
        for (key, row) in sums::keys(batch)?.iter().zip(sums::numbers(batch, &COLUMNS)?) {
            let number = self.partitions.number_of(key.unwrap_or_default());
            self.groups.resize_with(self.partitions.len(), Group::default);
            if let Some(known) = self.groups.get_mut(number) {
                known.absorb(&group(row)?)?;
            }
        }
        Ok(())
    }

    /// Removes all groups.
    pub(crate) fn clear(&mut self) {
        self.partitions.clear();
        self.groups.clear();
    }
}

fn numbers(group: &Group) -> [Option<i64>; 16] {
    let [min, max, small_files, small_bytes] = group.sizes.numbers();
    [
        Some(i64::from(group.spec_id)),
        Some(group.data.files),
        Some(group.data.records),
        Some(group.position_deletes.files),
        Some(group.position_deletes.records),
        Some(group.vectors.files),
        Some(group.vectors.records),
        Some(group.equality_deletes.files),
        Some(group.equality_deletes.records),
        Some(group.data_bytes),
        group.last_updated.map(|(millis, _)| millis),
        group.last_updated.map(|(_, id)| id),
        min,
        max,
        small_files,
        small_bytes,
    ]
}

fn group(numbers: [Option<i64>; 16]) -> Result<Group> {
    let [spec_id, counts @ .., bytes, millis, id, min, max, small_files, small_bytes] = numbers;
    let odd = || Error::new(ErrorKind::Argument, "these are not sums of a partition");
    let mut counts = counts.chunks(2).map(|pair| match pair {
        [Some(files), Some(records)] => Ok(Count { files: *files, records: *records }),
        _ => Err(odd()),
    });
    let mut count = || counts.next().unwrap_or_else(|| Err(odd()));
    Ok(Group {
        spec_id: spec_id.and_then(|id| i32::try_from(id).ok()).ok_or_else(odd)?,
        data: count()?,
        position_deletes: count()?,
        vectors: count()?,
        equality_deletes: count()?,
        data_bytes: bytes.ok_or_else(odd)?,
        last_updated: millis.zip(id),
        sizes: Sizes::of_numbers([min, max, small_files, small_bytes]),
    })
}
