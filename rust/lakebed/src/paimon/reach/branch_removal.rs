//! Snapshots, tags and changelogs that are removed, and the files that only they reach.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use super::TableReach;
use super::retention::expire;
use super::snapshot_roots::{SnapshotRoot, snapshot_roots};
use crate::error::Result;
use crate::paimon::table::{BranchFiles, Table};
use crate::reach::{FreedRows, Retention, ReviewedRemovals, freed};
use crate::record::column;

/// The snapshots, tags and changelogs of a branch, some of which are removed.
#[derive(Clone)]
pub(in crate::paimon) struct BranchRemoval {
    pub(super) branch: String,
    pub(super) roots: Vec<SnapshotRoot>,
    /// Whether the branch itself is removed.
    pub(super) whole: bool,
}

impl BranchRemoval {
    /// All snapshots, tags and changelogs of a branch; `is_removed` selects those that are removed.
    ///
    /// # Errors
    /// Those of reading them.
    pub(in crate::paimon) fn of(
        files: &BranchFiles<'_>,
        is_removed: impl Fn(&SnapshotRoot) -> bool,
    ) -> Result<BranchRemoval> {
        let (mut roots, _) = snapshot_roots(files, None)?;
        for one in &mut roots {
            one.root.is_removed = is_removed(one);
        }
        Ok(BranchRemoval { branch: files.branch.to_owned(), roots, whole: false })
    }

    /// The whole branch is removed.
    ///
    /// # Errors
    /// As [`BranchRemoval::of`].
    pub(in crate::paimon) fn branch(files: &BranchFiles<'_>) -> Result<BranchRemoval> {
        Ok(BranchRemoval { whole: true, ..BranchRemoval::of(files, |_| true)? })
    }

    /// The expired ones by the retention rules, of the branch that the table is on, and of what was reviewed.
    ///
    /// # Errors
    /// Those of reading them, and of the rules.
    pub(in crate::paimon) fn expired(
        table: &Table,
        retention: &Retention,
        reviewed: Option<&ReviewedRemovals>,
    ) -> Result<BranchRemoval> {
        let mut removal = BranchRemoval::of(&table.files(), |_| false)?;
        expire(table, &mut removal.roots, retention, reviewed)?;
        Ok(removal)
    }

    /// What is removed, by snapshot; for one snapshot in the order of `RootKind`.
    pub(in crate::paimon) fn removed(&self) -> Vec<&SnapshotRoot> {
        let mut roots: Vec<_> =
            self.roots.iter().filter(|one| one.root.is_removed && one.path.is_some()).collect();
        roots.sort_by_cached_key(|one| one.order());
        roots
    }

    /// The changelogs that removed snapshots leave behind.
    pub(in crate::paimon) fn made(&self) -> impl Iterator<Item = &SnapshotRoot> {
        self.roots.iter().filter(|one| !one.root.is_removed && one.path.is_none())
    }

    /// The files that nothing remaining reaches, in the columns of `reachable`, without the files of the
    /// removed snapshots, tags and changelogs themselves.
    ///
    /// # Errors
    /// Those of reading all files that name others.
    pub(in crate::paimon) fn freed(&self, table: &Table) -> Result<FreedFiles<'_>> {
        let any = self.whole || !self.removed().is_empty();
        let reach = any.then(|| TableReach::with_removal(table.clone(), Arc::new(self.clone())));
        Ok(FreedFiles { removal: self, table: table.clone(), rows: freed(reach.as_ref())? })
    }
}

/// The files that nothing reached any more when the table was walked.
pub(in crate::paimon) struct FreedFiles<'r> {
    removal: &'r BranchRemoval,
    table: Table,
    rows: FreedRows,
}

impl FreedFiles<'_> {
    /// The rows after the removal, without files that the table keeps by now: a tag or branch may have been made
    /// of what was removed.
    ///
    /// # Errors
    /// Those of reading all files that name others.
    pub(in crate::paimon) fn rows(self) -> Result<Vec<RecordBatch>> {
        let FreedFiles { removal, table, rows } = self;
        let removed = removal.removed();
        let own: HashSet<&str> = removed.into_iter().filter_map(|one| one.path.as_deref()).collect();
        let files =
            BranchFiles { location: table.location(), branch: &removal.branch, storage: table.storage() };
        let folder = files.own("");
        let remains = |path: Option<&str>| {
            path.is_some_and(|path| !(own.contains(path) || removal.whole && path.starts_with(&folder)))
        };
        let of = table.clone();
        let newest = Arc::new(move || TableReach::newest(&of));
        let without_own = |batch: RecordBatch| {
            let paths = column::<StringArray>(&batch, "file_path")?.iter();
            let keep: BooleanArray = paths.map(|path| Some(remains(path))).collect();
            Ok(filter_record_batch(&batch, &keep)?)
        };
        rows.checked(newest)?.into_iter().map(without_own).collect()
    }
}
