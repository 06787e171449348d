//! Groups in the form in which they are sent from where files are read to where they are combined.

use super::{Count, PartitionSums};
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::Sizes;

pub(super) const COLUMNS: [&str; 12] = [
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
];

pub(super) fn numbers(group: &PartitionSums) -> [Option<i64>; 12] {
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
    ]
}

pub(super) fn group(numbers: [Option<i64>; 12], sizes: Sizes) -> Result<PartitionSums> {
    let [spec_id, counts @ .., bytes, millis, id] = numbers;
    let odd = || Error::new(ErrorKind::Argument, "these are not sums of a partition");
    let mut counts = counts.chunks(2).map(|pair| match pair {
        [Some(files), Some(records)] => Ok(Count { files: *files, records: *records }),
        _ => Err(odd()),
    });
    let mut count = || counts.next().unwrap_or_else(|| Err(odd()));
    Ok(PartitionSums {
        spec_id: spec_id.and_then(|id| i32::try_from(id).ok()).ok_or_else(odd)?,
        data: count()?,
        position_deletes: count()?,
        vectors: count()?,
        equality_deletes: count()?,
        data_bytes: bytes.ok_or_else(odd)?,
        last_updated: millis.zip(id),
        sizes,
    })
}
