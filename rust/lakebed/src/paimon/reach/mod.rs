//! What a table reaches: the snapshots, tags and changelogs of its branches, and what those name (Paimon's
//! `OrphanFilesClean.java`, `FileDeletionBase.java`).

mod entries;
mod held;
mod lists;
mod places;
mod retention;

use std::sync::Arc;

use self::entries::{Entries, Reached};
use self::held::held;
use super::paths::MAIN;
use super::table::Table;
use crate::error::Result;
use crate::notes::Notes;
use crate::reach::{Files, Place, Reach, Root, RootSets, Walk, Wanted};
use crate::scan::{ManifestStream, Step};
use crate::storage::Storage;

/// What the table itself keeps: the first of the roots.
const TABLE: usize = 0;

/// A table whose files are looked for.
pub(super) struct TableReach {
    table: Table,
}

impl TableReach {
    pub(super) fn new(table: Table) -> TableReach {
        TableReach { table: table.noting() }
    }
}

impl Reach for TableReach {
    fn storage(&self) -> &Arc<dyn Storage> {
        self.table.storage()
    }

    fn notes(&self) -> Notes {
        self.table.noted().clone()
    }

    fn walk(&self, wanted: &Wanted<'_>) -> Result<Walk> {
        let &Wanted { retention, kinds, ref dealer, threads } = wanted;
        let (mut files, mut sets) = (Files::default(), RootSets::new());
        let mut roots = vec![Root::new(None, "table".to_owned())];
        let mut all = Vec::new();
        let own = self.table.files();
        for branch in std::iter::once(MAIN.to_owned()).chain(own.branch_names()?) {
            let (of_branch, besides) = held(&own.of_branch(&branch))?;
            all.extend(of_branch);
            let root = if branch == MAIN { TABLE } else { roots.len() };
            if root != TABLE {
                roots.push(Root::new(None, format!("branch {branch}")));
            }
            let set = sets.of([root]);
            for (kind, path) in besides.files {
                files.add(path, kind, None, set, &mut sets);
            }
        }
        if let Some(retention) = retention {
            retention::expire(&self.table, &mut all, retention)?;
        }
        all.sort_by_cached_key(held::Held::order);
        let first = roots.len();
        roots.extend(all.iter().map(|one| one.root.clone()));
        for (at, one) in all.iter().enumerate() {
            if let Some(path) = &one.path {
                let set = sets.of([first + at]);
                files.add(path.clone(), one.holder.kind(), Some(one.size), set, &mut sets);
            }
        }
        let (mut manifests, named) =
            lists::named(&self.table, &all, first, (kinds, threads), &mut files, &mut sets)?;
        manifests.retain(|one| one.is_of(kinds));
        let step = manifests_step(&manifests, named);
        let entries = Entries::new(self.table.clone(), Arc::clone(dealer))?;
        let entries = Box::new(ManifestStream::new(entries, manifests, threads));
        Ok(Walk { roots, sets, files, entries, manifests: step, removed: Vec::new() })
    }

    fn newest(&self) -> Result<TableReach> {
        Ok(TableReach::new(self.table.latest()?))
    }

    fn places(&self) -> Result<Vec<Place>> {
        places::places(&self.table)
    }
}

/// The funnel's step: manifests that are read, of those that lists name.
fn manifests_step(manifests: &[Reached], named: u64) -> Step {
    let bytes = manifests.iter().map(|reached| reached.manifest.file_size).sum();
    let step =
        Step::rows("manifests", manifests.len() as u64, named, "each is read once, however many have it");
    Step { bytes_kept: Some(bytes), ..step }
}
