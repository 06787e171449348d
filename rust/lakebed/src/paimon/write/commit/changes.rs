//! The changes of commits: files added, removed and replaced.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use super::base::Base;
use super::compact::Rewritten;
use super::index::{Index, without_files};
use super::live::live_entries;
use super::row_ids::with_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::manifest::DELETE;
use crate::paimon::paths::DataPaths;
use crate::paimon::table::Table;
use crate::paimon::write::options::is_on;
use crate::paimon::write::place::{absolute, rooted};
use crate::paimon::write::stats::dropped;
use crate::record::find;

/// The columns that identify the file of an entry, and the number of buckets of its partition.
pub(super) const PLACED: [&str; 9] = [
    "kind",
    "partition",
    "bucket",
    "total_buckets",
    "file_name",
    "level",
    "extra_files",
    "embedded_file_index",
    "external_path",
];

/// The changes of a snapshot.
pub(super) struct Changes {
    /// The entries of its delta.
    pub(super) entries: Vec<RecordBatch>,
    /// Its base list, where that is not simply everything that was live before.
    pub(super) rewritten: Option<Rewritten>,
    /// Its index files.
    pub(super) index: Index,
    /// The target size of manifests, where it is not the table's.
    pub(super) target_bytes: Option<u64>,
    /// The entries of its changelog.
    pub(super) changelog: Option<RecordBatch>,
}

impl Changes {
    /// Changes that consist of these entries alone.
    pub(super) fn of(entries: Vec<RecordBatch>) -> Changes {
        Changes { entries, rewritten: None, index: Index::AsBefore, target_bytes: None, changelog: None }
    }
}

/// Files that are removed.
pub(super) struct Removed {
    pub(super) paths: Vec<String>,
    pub(super) names: HashSet<String>,
}

impl Removed {
    /// Takes paths, absolute or relative to the table.
    pub(super) fn new(table: &Table, paths: &StringArray) -> Result<Removed> {
        if let Some(row) = (0..paths.len()).find(|row| paths.is_null(*row)) {
            let null = Error::new(ErrorKind::Required, "file_path is null");
            return Err(null.in_row(row).in_field("file_path"));
        }
        let paths: Vec<String> =
            paths.iter().flatten().map(|path| absolute(path, table.location())).collect();
        let mut seen = HashSet::with_capacity(paths.len());
        if let Some(row) = paths.iter().position(|path| !seen.insert(rooted(path))) {
            return Err(refused_path(&paths[row], "appears twice", row));
        }
        let names = paths.iter().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()).collect();
        Ok(Removed { paths, names })
    }

    /// The entries that delete the files, all of which must be live.
    pub(super) fn changes(&self, base: &Base) -> Result<Option<Changes>> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        refuse_evolution(base)?;
        let named = live_entries(base, None, None, |entries| {
            let names = find(entries, "file_name")?;
            Ok(names.as_string::<i32>().iter().map(|name| Some(self.names.contains(name?))).collect())
        })?;
        let keep = self.among(&base.table, &named)?;
        let keep =
            keep.map_err(|row| refused_path(&self.paths[row], "is not the path of a live file", row))?;
        let removed = filter_record_batch(&named, &keep)?;
        let index = Index::of(without_files(base, &removed)?);
        Ok(Some(Changes { index, ..Changes::of(vec![deletions(&removed, base)?]) }))
    }

    /// Which of these live files are removed; or the row of the first path that is not among them.
    pub(super) fn among(&self, table: &Table, live: &RecordBatch) -> Result<Result<BooleanArray, usize>> {
        let there = paths_of(table, live)?;
        let live: HashSet<_> = there.iter().map(|path| rooted(path)).collect();
        if let Some(row) = self.paths.iter().position(|path| !live.contains(&rooted(path))) {
            return Ok(Err(row));
        }
        let wanted: HashSet<_> = self.paths.iter().map(|path| rooted(path)).collect();
        Ok(Ok(there.iter().map(|path| Some(wanted.contains(&rooted(path)))).collect()))
    }
}

/// True where `mask` is false or null.
pub(super) fn not(mask: &BooleanArray) -> BooleanArray {
    mask.iter().map(|mask| Some(mask != Some(true))).collect()
}

/// Refuses tables in which several files share rows.
pub(super) fn refuse_evolution(base: &Base) -> Result<()> {
    if is_on(base.schema(), "data-evolution.enabled", false) {
        let message = "single files of a table with data evolution cannot be removed, since files share rows";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// The entries that delete live files: copies of those that added them, since every field may be part of the
/// identity.
pub(super) fn deletions(live: &RecordBatch, base: &Base) -> Result<RecordBatch> {
    let kinds: ArrayRef = Arc::new(Int8Array::from_value(DELETE, live.num_rows()));
    let mut changed = vec![("kind", kinds)];
    if is_on(base.schema(), "manifest.delete-file-drop-stats", false) {
        let (stats, names) = dropped(live.num_rows())?;
        changed.extend([("value_stats", stats), ("value_stats_cols", names)]);
    }
    with_columns(live, &changed)
}

pub(super) fn partitions_of(entries: &RecordBatch) -> Result<HashSet<Vec<u8>>> {
    let partitions = find(entries, "partition")?;
    Ok(partitions.as_binary::<i32>().iter().flatten().map(<[u8]>::to_vec).collect())
}

pub(super) fn paths_of(table: &Table, entries: &RecordBatch) -> Result<Vec<String>> {
    let external = find(entries, "external_path")?;
    let paths = DataPaths::new(table.location(), table.schema()).of(entries, external.as_string::<i32>())?;
    Ok(paths.iter().flatten().map(str::to_owned).collect())
}

#[cold]
pub(super) fn refused_path(path: &str, why: &str, row: usize) -> Error {
    Error::new(ErrorKind::Argument, format!("{path:?} {why}")).in_row(row).in_field("file_path")
}
