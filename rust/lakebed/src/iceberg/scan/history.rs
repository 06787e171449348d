//! The changes of a table's commits, as recorded in the commits' manifests.

use arrow_array::{Array, BooleanArray, Int32Array, Int64Array, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::plan::Plan;
use crate::error::Result;
use crate::history::{Counts, SnapshotLists};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::table::Table;
use crate::record::column;

/// What the list of a snapshot records of its commit.
pub(super) fn listed(
    table: &Table,
    snapshot: &Snapshot,
    filter: Option<&str>,
) -> Result<SnapshotLists<ManifestFile>> {
    let list = match filter {
        Some(_) => table.list_of(snapshot)?,
        None => table.brief_list_of(snapshot)?,
    };
    let by = column::<Int64Array>(&list, "added_snapshot_id")?.iter();
    let is_own: BooleanArray = by.map(|id| Some(id.is_none_or(|id| id == snapshot.snapshot_id))).collect();
    let own = filter_record_batch(&list, &is_own)?;
    let (live, changed) =
        (counted(&list, ["added", "existing"], [1, 1])?, counted(&own, ["added", "deleted"], [1, -1])?);
    let Plan { mut manifests, mut pruned, .. } = Plan::of_list(table, own, filter)?;
    let has_own_entries = |manifest: &ManifestFile| {
        [manifest.added, manifest.deleted].iter().any(|recorded| recorded.files != Some(0))
    };
    manifests.retain(has_own_entries);
    pruned.retain(has_own_entries);
    Ok(SnapshotLists { own: manifests, pruned: pruned.len() as u64, live, changed })
}

/// The counts of two statuses in manifests, each times a factor; `None` where a manifest does not record one, and
/// for sums that counts of real files do not have.
fn counted(list: &RecordBatch, statuses: [&str; 2], times: [i64; 2]) -> Result<Option<Counts>> {
    let content = column::<Int32Array>(list, "content")?.values();
    let mut counts: Counts = [0; 4];
    for (status, times) in statuses.into_iter().zip(times) {
        let files = column::<Int32Array>(list, &format!("{status}_files_count"))?;
        let rows = column::<Int64Array>(list, &format!("{status}_rows_count"))?;
        if files.null_count() > 0 || rows.null_count() > 0 {
            return Ok(None);
        }
        for ((content, files), rows) in content.iter().zip(files.values()).zip(rows.values()) {
            let [data_files, data_rows, delete_files, delete_rows] = &mut counts;
            let (of_files, of_rows) =
                if *content == DELETES { (delete_files, delete_rows) } else { (data_files, data_rows) };
            let add = |sum: &mut i64, more: i64| {
                *sum = sum.checked_add(more.checked_mul(times)?)?;
                Some(())
            };
            if add(of_files, i64::from(*files)).and(add(of_rows, *rows)).is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(counts))
}

/// The entries of the commit `id`; all for `None`.
pub(super) fn of_commit(entries: &RecordBatch, id: Option<i64>) -> Result<RecordBatch> {
    let Some(id) = id else { return Ok(entries.clone()) };
    let by = column::<Int64Array>(entries, "snapshot_id")?.iter();
    let is_own: BooleanArray = by.map(|by| Some(by == Some(id))).collect();
    filter_record_batch(entries, &is_own).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iceberg::manifest_list::{RecordedCounts, manifest_rows};

    #[test]
    fn counts_that_add_up_to_too_many_are_unknown() {
        let counts_of = |rows: u64| {
            let counts = RecordedCounts { files: Some(1), rows: Some(rows) };
            let manifest = ManifestFile { added: counts, existing: counts, ..ManifestFile::default() };
            let list = manifest_rows(&[manifest.clone(), manifest]).expect("a list");
            counted(&list, ["added", "existing"], [1, 1]).expect("counts")
        };
        assert_eq!(counts_of(7), Some([4, 28, 0, 0]));
        assert_eq!(counts_of(i64::MAX as u64), None);
    }
}
