//! What is wrong with single deletes, and which data files they apply to alone.

use arrow_array::{Array, Int32Array, RecordBatch};

use super::build::{DeleteRows, is_global};
use super::equality::compared;
use crate::error::{Error, Result};
use crate::iceberg::deletion_vector::VectorEntry;
use crate::iceberg::fields::{DATA, EQUALITY_DELETES};
use crate::iceberg::manifest::DELETED;
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::TableTypes;
use crate::record::{column, find};
use crate::verify::{Links, SequenceAndPartition};

/// The columns of entries that [`wrong`] and [`links`] need.
pub(crate) const SINGLE_INPUT: [&str; 14] = [
    "status",
    "content",
    "file_path",
    "file_format",
    "spec_id",
    "partition",
    "sequence_number",
    "record_count",
    "lower_bounds",
    "upper_bounds",
    "equality_ids",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
];

/// The live deletes among entries that plans, or reading their positions, would refuse, each with its row.
///
/// # Errors
/// `Required` for entries without the columns of [`SINGLE_INPUT`].
pub(crate) fn wrong(types: &TableTypes, entries: &RecordBatch) -> Result<Vec<(usize, Error)>> {
    let (rows, equality_ids) = (DeleteRows::new(entries)?, column(entries, "equality_ids")?);
    let refused = |row: usize| match rows.contents.value(row) {
        EQUALITY_DELETES => {
            let columns = compared(equality_ids, row);
            columns.and_then(|_| is_global(types, rows.spec_ids.value(row))).err()
        }
        _ => rows.target(row).and_then(|_| VectorEntry::of(&entries.slice(row, 1))).err(),
    };
    let live = live(entries)?.into_iter().filter(|row| rows.contents.value(*row) != DATA);
    Ok(live.filter_map(|row| Some((row, refused(row)?))).collect())
}

/// The live data files among entries, and the live deletes that apply to one data file each.
///
/// # Errors
/// As [`wrong`].
pub(crate) fn links(partitions: &PartitionNumbers, entries: &RecordBatch) -> Result<Links> {
    let (rows, mut links) = (DeleteRows::new(entries)?, Links::default());
    let partitions = partitions.hashes(&find(entries, "spec_id")?, column(entries, "partition")?)?;
    for row in live(entries)? {
        let partition = partitions.get(row).map(|hash| i64::from_le_bytes(hash.to_le_bytes()));
        let sequence = rows.sequences.is_valid(row).then(|| rows.sequences.value(row));
        let (standing, path) = (SequenceAndPartition { sequence, partition }, rows.paths.value(row));
        match (rows.contents.value(row), rows.target(row)) {
            (DATA, _) => links.data_file(path.as_bytes(), 1, standing, row),
            (EQUALITY_DELETES, _) | (_, Ok(None) | Err(_)) => {}
            (_, Ok(Some(target))) => {
                let delete = (path, rows.is_vector(row));
                links.delete((target.as_bytes(), target), delete, standing, row);
            }
        }
    }
    Ok(links)
}

/// The rows of entries that are not deleted.
fn live(entries: &RecordBatch) -> Result<Vec<usize>> {
    let statuses = column::<Int32Array>(entries, "status")?.values().iter().enumerate();
    Ok(statuses.filter(|(_, status)| **status != DELETED).map(|(row, _)| row).collect())
}
