//! Snapshots, tags and changelogs that are removed, and the files that only they reach.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::TableReach;
use super::held::{Held, held};
use super::retention::expire;
use crate::error::Result;
use crate::paimon::table::{Files, Table};
use crate::reach::{Retention, freed};
use crate::record::find;

/// The holders of snapshots of a branch, some of which are removed.
#[derive(Clone)]
pub(in crate::paimon) struct Going {
    pub(super) branch: String,
    pub(super) held: Vec<Held>,
    /// Whether the branch itself is removed.
    pub(super) whole: bool,
}

impl Going {
    /// All snapshots, tags and changelogs of a branch; `goes` selects those that are removed.
    ///
    /// # Errors
    /// Those of reading them.
    pub(in crate::paimon) fn of(files: &Files<'_>, goes: impl Fn(&Held) -> bool) -> Result<Going> {
        let (mut held, _) = held(files)?;
        for one in &mut held {
            one.root.goes = goes(one);
        }
        Ok(Going { branch: files.branch.to_owned(), held, whole: false })
    }

    /// The whole branch is removed.
    ///
    /// # Errors
    /// As [`Going::of`].
    pub(in crate::paimon) fn branch(files: &Files<'_>) -> Result<Going> {
        Ok(Going { whole: true, ..Going::of(files, |_| true)? })
    }

    /// The expired ones by the retention rules, of the branch that the table is on.
    ///
    /// # Errors
    /// Those of reading them, and of the rules.
    pub(in crate::paimon) fn expired(table: &Table, retention: &Retention) -> Result<Going> {
        let mut going = Going::of(&table.files(), |_| false)?;
        expire(table, &mut going.held, retention)?;
        Ok(going)
    }

    /// What is removed, by snapshot; for one snapshot in the order of `Holder`.
    pub(in crate::paimon) fn roots(&self) -> Vec<&Held> {
        let mut roots: Vec<_> = self.held.iter().filter(|one| one.root.goes && one.path.is_some()).collect();
        roots.sort_by_cached_key(|one| one.order());
        roots
    }

    /// The changelogs that removed snapshots leave behind.
    pub(in crate::paimon) fn made(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(|one| !one.root.goes && one.path.is_none())
    }

    /// The files that nothing remaining reaches, in the columns of `reachable`, without the files of the
    /// removed snapshots, tags and changelogs themselves.
    ///
    /// # Errors
    /// Those of reading all files that name others.
    pub(in crate::paimon) fn freed(&self, table: &Table) -> Result<Vec<RecordBatch>> {
        let own: HashSet<&str> = self.roots().into_iter().filter_map(|one| one.path.as_deref()).collect();
        let files = Files { location: table.location(), branch: &self.branch, storage: table.storage() };
        let folder = files.own("");
        let stays = |path: Option<&str>| {
            path.is_some_and(|path| !(own.contains(path) || self.whole && path.starts_with(&folder)))
        };
        let goes = self.whole || !own.is_empty();
        let reach = goes.then(|| TableReach::letting_go(table.clone(), Arc::new(self.clone())));
        let mut rows = Vec::new();
        for batch in freed(reach.as_ref())? {
            let paths = find(&batch, "file_path")?;
            let keep: BooleanArray = paths.as_string::<i32>().iter().map(|path| Some(stays(path))).collect();
            rows.push(filter_record_batch(&batch, &keep)?);
        }
        Ok(rows)
    }
}
