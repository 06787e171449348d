//! The files that a table reaches: the snapshots, tags and changelogs of its branches, and the files that
//! those name (Paimon's `OrphanFilesClean.java`, `FileDeletionBase.java`).

mod entries;
mod going;
mod held;
mod lists;
mod places;
mod retention;

use std::sync::Arc;

use self::entries::Entries;
pub(super) use self::entries::{NamedFiles, Reached};
pub(super) use self::going::Going;
use self::held::Own;
pub(super) use self::held::{Held, Holder};
pub(super) use self::retention::duration;
use super::paths::MAIN;
use super::table::Table;
use crate::error::Result;
use crate::notes::Notes;
use crate::reach::{Apart, Files, Kinds, Place, Reach, Retention, Root, RootSets, Walk, Wanted};
use crate::scan::{Batches, ManifestStream, Step};
use crate::storage::{Storage, present};

/// The first root: the table itself.
const TABLE: usize = 0;

/// A table and its files.
pub(super) struct TableReach {
    table: Table,
    /// The holders of its snapshots, if they were read before and must not be read again.
    held: Option<OfBranches>,
    /// The holders of one branch, if it is known already which of them are removed.
    going: Option<Arc<Going>>,
}

/// The holders of every branch, the main branch first.
pub(super) type OfBranches = Vec<(String, Vec<Held>, Own)>;

/// The files that are named without a manifest, and the manifests.
pub(super) struct Named {
    pub(super) roots: Vec<Root>,
    pub(super) sets: RootSets,
    pub(super) files: Files,
    pub(super) manifests: Vec<Reached>,
    /// How many manifests the lists name.
    named: u64,
}

impl TableReach {
    pub(super) fn new(table: Table) -> TableReach {
        TableReach { table: table.noting(), held: None, going: None }
    }

    /// The same for a table of which some holders of a branch are removed.
    fn letting_go(table: Table, going: Arc<Going>) -> TableReach {
        TableReach { going: Some(going), ..TableReach::new(table) }
    }

    /// A table whose current holders are kept for all later calls.
    ///
    /// # Errors
    /// Those of reading snapshots, tags and changelogs.
    pub(super) fn held(table: Table) -> Result<TableReach> {
        let held = Held::of_table(&table)?;
        Ok(TableReach { held: Some(held), ..TableReach::new(table) })
    }

    /// The holders that were kept, see [`TableReach::held`].
    pub(super) fn stays_at(&self) -> OfBranches {
        self.held.clone().unwrap_or_default()
    }

    /// Reads all but manifests.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    pub(super) fn named(
        &self,
        held: OfBranches,
        retention: Option<&Retention>,
        kinds: Kinds,
        threads: usize,
    ) -> Result<Named> {
        let (mut files, mut sets) = (Files::default(), RootSets::new());
        let mut roots = vec![Root::new(None, "table".to_owned())];
        let mut all = Vec::new();
        for (branch, of_branch, besides) in held {
            let going = self.going.as_ref().filter(|going| going.branch == branch);
            all.extend(going.map_or(of_branch, |going| going.held.clone()));
            let root = if branch == MAIN { TABLE } else { roots.len() };
            if root != TABLE {
                let goes = going.is_some_and(|going| going.whole);
                roots.push(Root { goes, ..Root::new(None, format!("branch {branch}")) });
            }
            let set = sets.of([root]);
            for (kind, path) in besides.files {
                files.add(path, kind, None, set, &mut sets);
            }
        }
        if let Some(retention) = retention {
            retention::expire(&self.table, &mut all, retention)?;
        }
        all.sort_by_cached_key(Held::order);
        let first = roots.len();
        roots.extend(all.iter().map(|one| one.root.clone()));
        for (at, one) in all.iter().enumerate() {
            if let Some(path) = &one.path {
                let set = sets.of([first + at]);
                files.add(path.clone(), one.holder.kind(), Some(one.size), set, &mut sets);
            }
        }
        let (manifests, named) =
            lists::named(&self.table, &all, first, (kinds, threads), &mut files, &mut sets)?;
        Ok(Named { roots, sets, files, manifests, named })
    }

    /// A walk without the entries, and the manifests that have them.
    fn begun(&self, wanted: &Wanted<'_>) -> Result<(Walk, Vec<Reached>)> {
        let held = match &self.held {
            Some(held) => held.clone(),
            None => Held::of_table(&self.table)?,
        };
        let Named { roots, sets, files, mut manifests, named } =
            self.named(held, wanted.retention, wanted.kinds, wanted.threads)?;
        manifests.retain(|one| one.is_of(wanted.kinds));
        let step = manifests_step(&manifests, named);
        let entries: Batches = Box::new(std::iter::empty());
        Ok((Walk { roots, sets, files, entries, manifests: step, removed: Vec::new() }, manifests))
    }

    fn is_there(&self, reached: &Reached) -> Result<bool> {
        let path = self.table.manifest_path(&reached.manifest.file_name);
        Ok(present(self.table.storage().read_range(&path, 0, 1))?.is_some())
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
        let (walk, manifests) = self.begun(wanted)?;
        let entries = Entries::new(self.table.clone(), Arc::clone(&wanted.dealer))?;
        let entries = Box::new(ManifestStream::new(entries, manifests, wanted.threads));
        Ok(Walk { entries, ..walk })
    }

    type Naming = NamedFiles;

    fn apart(&self, wanted: &Wanted<'_>, all: bool) -> Result<Apart<NamedFiles>> {
        let (walk, manifests) = self.begun(wanted)?;
        let mut needed = Vec::with_capacity(manifests.len());
        for reached in manifests {
            if !reached.may_be_gone() || (all && self.is_there(&reached)?) {
                needed.push(reached);
            }
        }
        let (naming, planned) = NamedFiles::of(&self.table, needed)?;
        Ok(Apart { walk, naming, planned })
    }

    fn newest(&self) -> Result<TableReach> {
        Ok(TableReach::new(self.table.latest()?))
    }

    fn places(&self) -> Result<Vec<Place>> {
        places::places(&self.table)
    }
}

/// The step of the funnel for manifests: how many are read, of those that the lists name.
fn manifests_step(manifests: &[Reached], named: u64) -> Step {
    let bytes = manifests.iter().map(|reached| reached.manifest.file_size).sum();
    let step =
        Step::rows("manifests", manifests.len() as u64, named, "each is read once, however many have it");
    Step { bytes_kept: Some(bytes), ..step }
}
