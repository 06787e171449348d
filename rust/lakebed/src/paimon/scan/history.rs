//! What the commits of a table changed, by their delta lists.

use std::collections::HashMap;

use arrow_array::{Int64Array, RecordBatch};

use super::deletes::counted_vectors;
use super::plan::keep;
use crate::error::{Result, fitting};
use crate::grouping::sums::{known_sum, sum};
use crate::history::{DeleteChanges, SnapshotLists, UnlistedDeletes};
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::snapshot::Snapshot;
use crate::paimon::table::Table;
use crate::pipeline::read_each;
use crate::record::column;
use crate::scan::ScanOptions;
use crate::storage::Storage;

/// What the lists of a snapshot record of its commit.
pub(super) fn listed(
    table: &Table,
    snapshot: &Snapshot,
    filter: Option<&str>,
) -> Result<SnapshotLists<ManifestFile>> {
    let (base, delta) = (table.base_list(snapshot)?, table.delta_list(snapshot)?);
    let changed = added_less_deleted(&delta)?;
    let live = sum("file_count", added_less_deleted(&base)?, changed)?;
    let kept = keep(filter, table.schema(), &delta)?;
    let (mut own, mut pruned) = (Vec::new(), 0);
    for (manifest, kept) in manifest_files(&delta)?.into_iter().zip(kept) {
        match manifest.added > 0 || manifest.deleted > 0 {
            true if kept => own.push(manifest),
            has_entries => pruned += u64::from(has_entries),
        }
    }
    Ok(SnapshotLists { own, pruned, live: Some([live, 0, 0, 0]), changed: Some([changed, 0, 0, 0]) })
}

/// For each snapshot its deletion vectors. Index files never change, so what a commit did follows from their names.
pub(super) fn unlisted(table: &Table, snapshots: &[Snapshot], threads: usize) -> Result<Vec<DeleteChanges>> {
    let mut named: Vec<_> = snapshots.iter().filter(|one| one.index_manifest.is_some()).collect();
    named.dedup_by_key(|snapshot| snapshot.index_manifest.as_deref());
    let tables = named.into_iter().map(|one| (one.index_manifest.clone(), table.at_lists_of(one)));
    let read = |_: &dyn Storage, (name, table): &(Option<String>, Table)| {
        Ok((name.clone(), vectors_by_file(table)?))
    };
    let found = read_each(table.storage(), tables.collect(), threads, read)?;
    let found: HashMap<Option<String>, VectorFiles> = found.into_iter().collect();
    let none = VectorFiles::new();
    // Nothing was live before the first snapshot of a table; before one whose parent expired it is
    // unknown.
    let mut before = (0, &none);
    let mut changes = Vec::with_capacity(snapshots.len());
    for snapshot in snapshots {
        let live = found.get(&snapshot.index_manifest).unwrap_or(&none);
        let old = (snapshot.id.checked_sub(1) == Some(before.0)).then_some(before.1);
        changes.push(DeleteChanges {
            live: all(live.values())?,
            added: old.map(|old| all(beside(live, old))).transpose()?,
            removed: old.map(|old| all(beside(old, live))).transpose()?,
        });
        before = (snapshot.id, live);
    }
    Ok(changes)
}

/// The sums of the deletion vectors of index files, by the path of each index file.
type VectorFiles = HashMap<String, UnlistedDeletes>;

fn vectors_by_file(table: &Table) -> Result<VectorFiles> {
    let (vectors, rows) = counted_vectors(table, &ScanOptions { threads: 1, ..ScanOptions::default() })?;
    let mut files = VectorFiles::new();
    for (path, rows) in vectors.paths.iter().zip(&rows) {
        let file = files.entry(path.unwrap_or_default().to_owned()).or_insert(UnlistedDeletes::NONE);
        *file = all([*file, UnlistedDeletes { files: 1, rows }].iter())?;
    }
    Ok(files)
}

fn all<'d>(deletes: impl IntoIterator<Item = &'d UnlistedDeletes>) -> Result<UnlistedDeletes> {
    deletes.into_iter().try_fold(UnlistedDeletes::NONE, |all, one| {
        let files = sum("delete_file_count", all.files, one.files)?;
        Ok(UnlistedDeletes { files, rows: known_sum("delete_record_count", all.rows, one.rows)? })
    })
}

/// The index files of one snapshot that another does not have.
fn beside<'f>(files: &'f VectorFiles, others: &'f VectorFiles) -> impl Iterator<Item = &'f UnlistedDeletes> {
    files.iter().filter(|(name, _)| !others.contains_key(*name)).map(|(_, file)| file)
}

/// The number of entries that add a file less those that delete one, as a list records it.
fn added_less_deleted(list: &RecordBatch) -> Result<i64> {
    let total = |name: &str| -> Result<i64> {
        let counts = column::<Int64Array>(list, name)?.values();
        counts.iter().try_fold(0, |total, more| sum("file_count", total, *more))
    };
    let added = total("num_added_files")?.checked_sub(total("num_deleted_files")?);
    fitting(added, "file_count")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;

    #[test]
    fn counts_that_cannot_be_taken_away_are_refused() {
        let counted = |added: i64, deleted: i64| {
            let column = |number| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
            let columns = [("num_added_files", column(added)), ("num_deleted_files", column(deleted))];
            added_less_deleted(&RecordBatch::try_from_iter(columns).expect("a list"))
        };
        assert_eq!(counted(3, 1).expect("a count"), 2);
        assert_eq!(counted(0, i64::MIN).expect_err("no count").message(), "file_count does not fit 64 bits");
    }
}
