//! The files that the engine's file tables list.

use std::collections::HashSet;

use arrow_array::{BinaryArray, BooleanArray, Int32Array, RecordBatch};
use arrow_select::filter::filter_record_batch;

use crate::error::Result;
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::scan::{own_rows, read_changes};
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::record::column;
use crate::scan::ScanOptions;

/// The live files of the table's snapshot as Paimon's `FilesTable.java` plans them: without files that are
/// not assigned to a bucket yet, and without partitions that the branch's latest snapshot no longer has.
/// Batch by batch; unless the table is at the latest snapshot, that snapshot's entries are read first.
pub(super) fn planned_files(
    table: &Table,
    columns: &[&str],
    options: &ScanOptions,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + Send + use<>> {
    let partitions = partitions_of_the_latest(table, options.threads)?;
    Ok(own_rows(Role::Live, table, columns, options)?.map(move |files| {
        let files = files?;
        let rows = column::<BinaryArray>(&files, "partition")?;
        let buckets = column::<Int32Array>(&files, "bucket")?;
        let planned = |row: usize| {
            let known = partitions.as_ref().is_none_or(|known| known.contains(rows.value(row)));
            Some(known && buckets.value(row) != POSTPONE_BUCKET)
        };
        filter_record_batch(&files, &(0..files.num_rows()).map(planned).collect::<BooleanArray>())
            .map_err(Into::into)
    }))
}

/// The partition rows of the branch's latest snapshot; `None` where the table is at it.
fn partitions_of_the_latest(table: &Table, threads: usize) -> Result<Option<HashSet<Vec<u8>>>> {
    let latest = table.at_branch(table.branch())?;
    if latest.snapshot().map(|snapshot| snapshot.id) == table.snapshot().map(|snapshot| snapshot.id) {
        return Ok(None);
    }
    let groups = read_changes(&latest, threads)?;
    let mut partitions = groups.partitions(|_| true)?;
    partitions.retain(|partition| partition.files > 0);
    Ok(Some(groups.partition_rows(&partitions).iter().flatten().map(<[u8]>::to_vec).collect()))
}
