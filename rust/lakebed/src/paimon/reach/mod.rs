//! The files that a table reaches: the snapshots, tags and changelogs of its branches, and the files that
//! those name (Paimon's `OrphanFilesClean.java`, `FileDeletionBase.java`).

mod branch_removal;
mod entries;
mod lists;
mod places;
mod retention;
mod snapshot_roots;

use std::sync::Arc;

pub(super) use self::branch_removal::BranchRemoval;
pub(super) use self::entries::{Program, ReachedManifest, TableTypes};
use self::lists::ListScope;
pub(super) use self::places::places;
pub(super) use self::retention::{RETAIN_MAX, RETAIN_MIN, check_options, duration};
use self::snapshot_roots::OtherFiles;
pub(super) use self::snapshot_roots::{RootKind, SnapshotRoot};
use super::manifest_list::ManifestFile;
use super::paths::{DataPaths, MAIN};
use super::schema::TableSchema;
use super::table::{Hint, Table};
use crate::columnar::Decoding;
use crate::error::Result;
use crate::notes::Notes;
use crate::reach::{
    self, Kinds, ListedFolder, NamedFiles, Partitioner, Prefixes, Reach, Retention, Root, RootSets,
    VisitedSet, Walk, WalkOptions, manifests_step,
};
use crate::scan::{Batches, Format};
use arrow_buffer::Buffer;

/// The first root: the table itself.
const TABLE: usize = 0;

/// A table and its files.
pub(crate) struct TableReach {
    table: Table,
    /// The hint of its branch, if it was read together with the table, just now.
    hint: Option<Hint>,
    /// Its snapshots, tags and changelogs, if they were read before and must not be read again.
    roots: Option<BranchRoots>,
    /// Those of one branch, if it is known already which of them are removed.
    removal: Option<Arc<BranchRemoval>>,
}

/// The snapshots, tags and changelogs of every branch, and its other files; the main branch is first.
pub(super) type BranchRoots = Vec<(String, Vec<SnapshotRoot>, OtherFiles)>;

/// The files that are named without a manifest, and the manifests.
pub(super) struct WalkInputs {
    pub(super) roots: Vec<Root>,
    pub(super) sets: RootSets,
    pub(super) files: NamedFiles,
    pub(super) manifests: Vec<ReachedManifest>,
    /// How many manifests the lists name.
    named: u64,
    /// The snapshots, tags and changelogs, in the order of their roots.
    snapshot_roots: Vec<SnapshotRoot>,
}

impl TableReach {
    pub(super) fn new(table: Table) -> TableReach {
        TableReach { table: table.noting(), hint: None, roots: None, removal: None }
    }

    /// The newest version of the table, for one walk at once.
    ///
    /// # Errors
    /// Those of [`Table::latest`].
    pub(super) fn newest(table: &Table) -> Result<TableReach> {
        let (table, hint) = table.latest_hinted()?;
        Ok(TableReach { hint: Some(hint), ..TableReach::new(table) })
    }

    /// The same for a table of which some snapshots, tags and changelogs of a branch are removed.
    fn with_removal(table: Table, removal: Arc<BranchRemoval>) -> TableReach {
        TableReach { removal: Some(removal), ..TableReach::new(table) }
    }

    /// A table whose current snapshots, tags and changelogs are used in all later calls.
    ///
    /// # Errors
    /// Those of reading snapshots, tags and changelogs.
    pub(super) fn with_current_roots(table: Table) -> Result<TableReach> {
        let roots = SnapshotRoot::of_table(&table, None)?;
        Ok(TableReach { roots: Some(roots), ..TableReach::new(table) })
    }

    /// The snapshots, tags and changelogs that [`TableReach::with_current_roots`] read.
    pub(super) fn current_roots(&self) -> BranchRoots {
        self.roots.clone().unwrap_or_default()
    }

    /// Reads all but manifests.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    pub(super) fn named(
        &self,
        branches: BranchRoots,
        retention: Option<&Retention>,
        kinds: Kinds,
        threads: usize,
    ) -> Result<WalkInputs> {
        let (mut files, mut sets) = (NamedFiles::default(), RootSets::new());
        let mut roots = vec![Root { is_current: true, ..Root::new(None, "table".to_owned()) }];
        let mut all = Vec::new();
        for (branch, of_branch, others) in branches {
            let removal = self.removal.as_ref().filter(|removal| removal.branch == branch);
            all.extend(removal.map_or(of_branch, |removal| removal.roots.clone()));
            let root = if branch == MAIN { TABLE } else { roots.len() };
            if root != TABLE {
                let is_removed = removal.is_some_and(|removal| removal.whole);
                let is_current = branch == self.table.branch();
                roots.push(Root { is_removed, is_current, ..Root::new(None, format!("branch {branch}")) });
            }
            let set = sets.of([root]);
            for (kind, path) in others.files {
                files.add(path, kind, None, set, &mut sets);
            }
        }
        if let Some(retention) = retention {
            retention::expire(&self.table, &mut all, retention, None)?;
        }
        all.sort_by_cached_key(SnapshotRoot::order);
        let first = roots.len();
        let at = self.table.snapshot().map(|snapshot| snapshot.id);
        let branch = Some(self.table.branch()).filter(|branch| *branch != MAIN).unwrap_or_default();
        roots.extend(all.iter().map(|one| {
            let is_there = one.kind != RootKind::Changelog && one.branch == branch;
            Root { is_current: is_there && Some(one.snapshot.id) == at, ..one.root.clone() }
        }));
        for (at, one) in all.iter().enumerate() {
            if let Some(path) = &one.path {
                let set = sets.of([first + at]);
                files.add(path.clone(), one.kind.file_kind(), Some(one.size), set, &mut sets);
            }
        }
        let uses = all.iter().zip(first..).map(|(one, root)| (one, root, ListScope::Own));
        let (manifests, named) = lists::named(&self.table, uses, (kinds, threads), &mut files, &mut sets)?;
        Ok(WalkInputs { roots, sets, files, manifests, named, snapshot_roots: all })
    }
}

impl Reach for TableReach {
    type Table = Table;

    const BY_NAME: bool = true;
    /// Snapshots, tags and changelogs of each branch have folders of their own.
    const QUIET_LOOKS: usize = 2;

    fn location(&self) -> &str {
        self.table.location()
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn notes(&self) -> Notes {
        self.table.noted().clone()
    }

    fn begun(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<(Walk, Vec<ReachedManifest>)> {
        let branches = match &self.roots {
            Some(roots) => roots.clone(),
            None => SnapshotRoot::of_table(&self.table, self.hint)?,
        };
        for (_, path) in branches.iter().flat_map(|(.., others)| &others.files) {
            seen.add(path.clone());
        }
        let WalkInputs { roots, sets, files, mut manifests, named, snapshot_roots } =
            self.named(branches, wanted.retention, wanted.kinds, wanted.threads)?;
        for one in snapshot_roots.iter().filter(|one| !one.root.is_removed) {
            for content in one.contents().chain(one.path.clone()) {
                seen.add(content);
            }
        }
        // Where a root is removed, the entries of one root may delete what another one keeps.
        if roots.iter().all(|root| !root.is_removed) {
            for one in &manifests {
                seen.add_manifest(&one.manifest.file_name);
            }
        }
        manifests.retain(|one| one.is_of(wanted.kinds));
        let step = manifests_step(manifests.iter().map(|one| one.manifest.file_size), named);
        let entries: Batches = Box::new(std::iter::empty());
        Ok((Walk { roots, sets, files, entries, manifests: step, removed: Vec::new() }, manifests))
    }

    fn walk_later(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<Option<Walk>> {
        let branches = SnapshotRoot::of_table(&self.table, self.hint)?;
        let (mut files, mut sets, mut all) = (NamedFiles::default(), RootSets::new(), Vec::new());
        let set = sets.of([TABLE]);
        let mut is_new = false;
        for (_, of_branch, others) in branches {
            all.extend(of_branch);
            for (kind, path) in others.files {
                is_new |= seen.add(path.clone());
                files.add(path, kind, None, set, &mut sets);
            }
        }
        if let Some(retention) = wanted.retention {
            retention::expire(&self.table, &mut all, retention, None)?;
        }
        all.retain(|one| !one.root.is_removed);
        let named: Vec<bool> =
            all.iter().map(|one| one.contents().any(|content| !seen.has(&content))).collect();
        for one in &all {
            one.contents().chain(one.path.clone()).for_each(|content| is_new |= seen.add(content));
            if let Some(path) = &one.path {
                files.add(path.clone(), one.kind.file_kind(), Some(one.size), set, &mut sets);
            }
        }
        if !is_new {
            return Ok(None);
        }
        let new = all.iter().zip(named).filter(|(_, is_new)| *is_new).map(|(one, _)| one);
        let uses = new.map(|one| {
            // What was live before a snapshot is live in the one before it.
            let follows = all.iter().any(|other| other.precedes(one));
            (one, TABLE, if follows { ListScope::Added } else { ListScope::All })
        });
        let wanted_files = (wanted.kinds, wanted.threads);
        let (mut manifests, named) = lists::named(&self.table, uses, wanted_files, &mut files, &mut sets)?;
        manifests.retain(|one| {
            !one.may_be_gone() && one.is_of(wanted.kinds) && seen.add_manifest(&one.manifest.file_name)
        });
        let step = manifests_step(manifests.iter().map(|one| one.manifest.file_size), named);
        let entries = reach::entries(self, manifests, wanted)?;
        let roots = all.into_iter().map(|one| one.root).collect();
        Ok(Some(Walk { roots, sets, files, entries, manifests: step, removed: Vec::new() }))
    }

    type Manifest = ReachedManifest;
    type Types = TableTypes;
    type Program = Program;

    fn recorded(one: &ReachedManifest) -> &ManifestFile {
        &one.manifest
    }

    fn may_be_gone(one: &ReachedManifest) -> bool {
        one.may_be_gone()
    }

    fn program(&self, partitioner: &Arc<Partitioner>) -> Result<Program> {
        let paths = DataPaths::new(self.table.location(), self.table.schema());
        let (decoding, notes) = (self.table.decoding().clone(), self.table.noted().clone());
        Program::new(paths, Arc::clone(partitioner), decoding, notes)
    }

    fn types(&self) -> Result<TableTypes> {
        let schema = self.table.schema_text(self.table.schema().id)?;
        Ok(TableTypes { location: self.table.location().to_owned(), schema })
    }

    fn sent_program(
        types: &TableTypes,
        partitioner: &Arc<Partitioner>,
        decoding: Decoding,
    ) -> Result<Program> {
        let schema = TableSchema::from_json(types.schema.as_bytes())?;
        let paths = DataPaths::new(&types.location, &schema);
        Program::new(paths, Arc::clone(partitioner), decoding, Notes::default())
    }

    fn records(
        program: &Program,
        one: &ReachedManifest,
        path: String,
        bytes: Buffer,
        threads: usize,
    ) -> Result<Batches> {
        program.open(one, path, bytes, threads)
    }

    fn places(&self, _spellings: &Prefixes) -> Result<Vec<ListedFolder>> {
        places(&self.table)
    }

    /// A table's folder is where it was opened.
    fn check_deletable(&self, _spellings: &Prefixes) -> Result<()> {
        Ok(())
    }

    fn other_folders(&self) -> Vec<String> {
        places::external(&self.table)
    }
}
