//! Files that commits remove by their paths.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, Int8Array, RecordBatch, StringArray};

use super::base::Base;
use super::row_ids::with_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::manifest::DELETE;
use crate::paimon::paths::DataPaths;
use crate::paimon::table::Table;
use crate::paimon::write::options::is_on;
use crate::paimon::write::place::{absolute, rooted};
use crate::paimon::write::stats::dropped;
use crate::record::column;

/// Files of a caller, by their paths.
#[derive(Default)]
pub(super) struct CallerPaths {
    paths: Vec<String>,
    /// The row of each in the caller's table.
    rows: Vec<usize>,
}

impl CallerPaths {
    /// Adds the paths of another table.
    pub(super) fn extend(&mut self, paths: Vec<String>) {
        self.rows.extend(0..paths.len());
        self.paths.extend(paths);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    pub(super) fn path(&self, at: usize) -> &str {
        self.paths.get(at).map(String::as_str).unwrap_or_default()
    }

    /// Refuses a path that appears twice.
    pub(super) fn check_once(&self) -> Result<()> {
        let mut seen = HashSet::with_capacity(self.paths.len());
        match self.paths.iter().position(|path| !seen.insert(rooted(path))) {
            Some(at) => Err(self.refused(at, ErrorKind::Argument, "appears twice")),
            None => Ok(()),
        }
    }

    /// The first path that is, or is not, among others.
    pub(super) fn first(&self, others: &[&str], is_there: bool) -> Option<usize> {
        let others: HashSet<_> = others.iter().map(|path| rooted(path)).collect();
        self.paths.iter().position(|path| others.contains(&rooted(path)) == is_there)
    }

    /// Which of `others` are among these paths.
    pub(super) fn among(&self, others: &[&str]) -> BooleanArray {
        let own: HashSet<_> = self.paths.iter().map(|path| rooted(path)).collect();
        others.iter().map(|path| Some(own.contains(&rooted(path)))).collect()
    }

    /// The error for a file, with its row.
    #[cold]
    pub(super) fn error(&self, at: usize, kind: ErrorKind, message: String) -> Error {
        Error::new(kind, message).in_row(self.rows.get(at).copied().unwrap_or_default())
    }

    /// The error for the path of a file.
    #[cold]
    pub(super) fn refused(&self, at: usize, kind: ErrorKind, why: &str) -> Error {
        self.error(at, kind, format!("{:?} {why}", self.path(at))).in_field("file_path")
    }
}

/// Files that are removed.
#[derive(Default)]
pub(super) struct RemovedFiles {
    pub(super) paths: CallerPaths,
    pub(super) names: HashSet<String>,
}

impl RemovedFiles {
    /// Adds paths, absolute or relative to the table.
    ///
    /// # Errors
    /// `Required` for a null, with its row.
    pub(super) fn extend(&mut self, table: &Table, paths: &StringArray) -> Result<()> {
        if let Some(row) = (0..paths.len()).find(|row| paths.is_null(*row)) {
            let null = Error::new(ErrorKind::Required, "file_path is null");
            return Err(null.in_row(row).in_field("file_path"));
        }
        let paths: Vec<String> =
            paths.iter().flatten().map(|path| absolute(path, table.location())).collect();
        self.names.extend(paths.iter().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()));
        self.paths.extend(paths);
        Ok(())
    }

    /// Which of these live files are removed. `compacted` files were live when the compaction read them.
    ///
    /// # Errors
    /// `Argument` for a path that is not of a live file, with its row; `Conflict` for a `compacted` one.
    pub(super) fn among(&self, live: &[&str], compacted: bool) -> Result<BooleanArray> {
        let (kind, why) = match compacted {
            true => (ErrorKind::Conflict, ": another commit has removed it, or none added it"),
            false => (ErrorKind::Argument, ""),
        };
        match self.paths.first(live, false) {
            Some(at) => Err(self.paths.refused(at, kind, &format!("is not the path of a live file{why}"))),
            None => Ok(self.paths.among(live)),
        }
    }
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
    let partitions = column::<BinaryArray>(entries, "partition")?;
    Ok(partitions.iter().flatten().map(<[u8]>::to_vec).collect())
}

pub(super) fn paths_of(table: &Table, entries: &RecordBatch) -> Result<Vec<String>> {
    let external = column::<StringArray>(entries, "external_path")?;
    let paths = DataPaths::new(table.location(), table.schema()).of(entries, external)?;
    Ok(paths.iter().flatten().map(str::to_owned).collect())
}
