//! What the entry engine needs of a table format: its manifests, and how their entries become rows.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Amount, Batches, Content, EntrySource, ExpressionForm, Funnel, ScanOptions, Stage, ViewScan};
use crate::columnar::Decoding;
use crate::dangling::DeleteMarks;
use crate::diff::{Difference, OneSide};
use crate::distributed::{Bounds, Distributed, Job, JobPlan, Piece, PlannedManifest};
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::FileGroups;
use crate::history::{Commit, DeleteChanges, SnapshotLists};
use crate::notes::Notes;
use crate::pipeline::ReadCache;
use crate::reach::{NewestReach, Reach};
use crate::repair::TableRepairs;
use crate::storage::total_size;
use crate::system::SystemTable;
use crate::table::{LakeTable, Newest, TableCore};
use crate::verify::{StoredEntries, WholeEntries};
use crate::view::View;

/// A table of a format that has its files in the entries of manifests.
///
/// What is provided is for a format that lacks something, or has the simplest form of it; the type of what a format lacks
/// is `Absent`, in the file beside this one.
pub(crate) trait Format: LakeTable + Clone + 'static {
    /// The name of the format.
    const NAME: &'static str;

    /// Of what the lists have bounds for each manifest, as steps of a scan say it.
    const LIST_BOUNDS: &'static str = "nothing in the manifest lists";

    /// How many of the [`Counts`](crate::history::Counts) the lists have, from the first on.
    const COUNTED: usize = 0;

    /// The rows of the view `files`, of files that appends added, and of files that a commit added or removed.
    const FILES: Self::Role;
    const APPENDED: Self::Role = Self::FILES;
    const HISTORY: Self::Role = Self::FILES;

    /// What entries of manifests that only one of two snapshots has say of the difference, in the order in which rows
    /// are returned.
    const DIFFERENCE: &'static [Difference<Self>];

    /// Whether plans number those of the deletes that a filter leaves, or all of them.
    const PLANS_NUMBER_FILTERED_DELETES: bool = false;

    /// The metadata tables that the engines have.
    const SYSTEM_TABLES: &'static [SystemTable<Self>] = &[];

    /// A snapshot.
    type Snapshot: Clone + Send + Sync + 'static;
    /// A manifest, as a list records it.
    type Manifest: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// Which entries become which rows.
    type Role: Copy + PartialEq + Debug + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What decoding entries needs of the table, as it is sent.
    type Types: Clone + Debug + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// How entries become rows.
    type Program: Send + Sync + 'static;
    /// The jobs that only this format has.
    type Job: Job + Serialize + DeserializeOwned + 'static;
    /// The job that makes live files.
    type LiveJob: Job + Serialize + DeserializeOwned + 'static;
    /// Groups of live files.
    type Groups: FileGroups<Self>;
    /// The deletes of a snapshot, and which of them apply to live files.
    type Deletes: DeleteMarks<Self>;
    /// What can be done about what is wrong with a table.
    type Repairs: TableRepairs<Self>;
    /// What walks all files of a table.
    type Reach: Reach<Table = Self>;
    /// How all columns of entries are read, as it is sent.
    type StoredEntries: StoredEntries<Entries: WholeEntries<Manifest = Self::Manifest>>;

    /// What it was opened with, to be changed.
    fn core_mut(&mut self) -> &mut TableCore;

    /// The same table, with separate notes.
    fn noting(mut self) -> Self {
        self.core_mut().notes = Notes::default();
        self
    }

    /// The same table without a cache, for a scan that asks whether files are there and whole.
    fn uncached(mut self) -> Self {
        let core = self.core_mut();
        core.decoding = core.decoding.clone().with_cache(None);
        self
    }

    /// The same table, for a scan that reads some files more than once.
    fn keeping(mut self) -> Self {
        let core = self.core_mut();
        core.storage = ReadCache::around(&core.storage);
        self
    }

    /// The same table at one of its snapshots.
    ///
    /// # Errors
    /// Those of reading it.
    fn at_state(&self, _snapshot: &Self::Snapshot) -> Result<Self> {
        Err(no_view::<Self>(HISTORIES))
    }

    /// The name by which a manifest is told from the table's others.
    fn name_of(manifest: &Self::Manifest) -> &str;

    /// The path of a manifest.
    fn path_of(&self, manifest: &Self::Manifest) -> String;

    /// The size of a manifest \[bytes\], where it is recorded.
    fn size_of(_manifest: &Self::Manifest) -> Option<u64> {
        None
    }

    /// The content of a manifest, as a cache has it too, or its header and those blocks that may have entries which the
    /// program keeps.
    ///
    /// # Errors
    /// Those of the storage; `Limit`; `Mismatch` and `Truncated` for another size than is recorded.
    fn read_manifest(&self, _program: &Self::Program, manifest: &Self::Manifest) -> Result<Content> {
        self.core().read_recorded(&self.path_of(manifest), Self::size_of(manifest)).map(Content::from)
    }

    /// A manifest in the form that engines get.
    ///
    /// # Errors
    /// `Location` for one that the storage may not open.
    fn planned(&self, manifest: &Self::Manifest) -> Result<PlannedManifest> {
        let path = self.core().storage().place(&self.path_of(manifest))?;
        let size = Self::size_of(manifest).unwrap_or(0);
        Ok(PlannedManifest { path, size, ..PlannedManifest::default() })
    }

    /// The manifests of the snapshot of `at` that may have files, by a filter in the types of this table.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn manifests_at(&self, at: &Self, filter: Option<&str>) -> Result<OneSide<Self::Manifest>>;

    /// The snapshots after `after` that are appends, the oldest first.
    ///
    /// # Errors
    /// `SnapshotNotFound`; those of reading them.
    fn appends(&self, _after: Option<i64>) -> Result<Vec<Self::Snapshot>> {
        Err(no_view::<Self>("appends"))
    }

    /// The manifests that these appends wrote.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn appended(
        &self,
        _snapshots: &[Self::Snapshot],
        _filter: Option<&str>,
    ) -> Result<OneSide<Self::Manifest>> {
        Err(no_view::<Self>("appends"))
    }

    /// The ids of snapshots by which entries of their manifests are told from those of other commits; `None` where
    /// manifests have no others.
    fn ids_of(_snapshots: &[Self::Snapshot]) -> Option<HashSet<i64>> {
        None
    }

    /// The existing snapshots that led to the table's snapshot, the oldest first.
    ///
    /// # Errors
    /// Those of reading them.
    fn line(&self) -> Result<Vec<(Commit, Self::Snapshot)>> {
        Err(no_view::<Self>(HISTORIES))
    }

    /// Whether a commit may have changed rows; not where it has put the same rows into other files.
    fn changes_rows(_commit: &Commit) -> bool {
        true
    }

    /// Whether plans have all live data files.
    fn plans_all(&self) -> bool {
        true
    }

    /// Reads the lists of a snapshot.
    ///
    /// # Errors
    /// Those of reading the lists, and of a filter on the table's columns.
    fn listed(
        &self,
        _snapshot: &Self::Snapshot,
        _filter: Option<&str>,
    ) -> Result<SnapshotLists<Self::Manifest>> {
        Err(no_view::<Self>(HISTORIES))
    }

    /// For each snapshot the deletes that are in no manifest; `None` where the format has no such deletes.
    ///
    /// # Errors
    /// Those of reading the files that name them.
    fn unlisted(&self, _snapshots: &[Self::Snapshot], _threads: usize) -> Result<Option<Vec<DeleteChanges>>> {
        Ok(None)
    }

    /// The part of a filter that entries can be tested by which only say that a file is gone.
    ///
    /// # Errors
    /// `FilterColumn`, `Predicate`.
    fn filter_of_removed(&self, filter: Option<&str>) -> Result<Option<String>> {
        Ok(filter.map(str::to_owned))
    }

    /// What decoding its entries with these options needs, as it is sent.
    ///
    /// # Errors
    /// Those of reading the schemas, where statistics need them.
    fn sent_types(&self, options: &ScanOptions) -> Result<Self::Types>;

    /// The rows of a role in this process.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of [`Format::sent_types`].
    fn program(&self, role: Self::Role, options: &ScanOptions) -> Result<Self::Program> {
        self.check_filter(options.table_filter.as_deref())?;
        if options.stats.is_some() {
            let message = format!("entries of {} tables have no statistics", Self::NAME);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Self::sent_program(&self.sent_types(options)?, role, options, self.core().decoding().clone())
    }

    /// The rows of a role elsewhere, where a program has one manifest at a time.
    ///
    /// # Errors
    /// As [`Format::program`], for a job that was changed in transit.
    fn sent_program(
        types: &Self::Types,
        role: Self::Role,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<Self::Program>;

    /// The same program, for entries that these snapshots added.
    ///
    /// # Errors
    /// None that input could cause.
    fn added_by(program: Self::Program, _ids: HashSet<i64>) -> Result<Self::Program> {
        Ok(program)
    }

    /// The same program, which reports to `funnel` which entries it leaves out.
    fn counted(program: Self::Program, _funnel: &Funnel) -> Self::Program {
        program
    }

    /// The columns of the rows of a program.
    fn columns(program: &Self::Program) -> &SchemaRef;

    /// Called before the first of `manifests` is read: may read some of them for what the rows of all depend on, and
    /// drop those without rows.
    ///
    /// # Errors
    /// Those of reading manifests.
    fn start(
        &mut self,
        _program: &mut Arc<Self::Program>,
        _manifests: &mut Vec<Self::Manifest>,
        _threads: usize,
    ) -> Result<()> {
        Ok(())
    }

    /// The rows of a manifest, in file order.
    ///
    /// # Errors
    /// Those of decoding it, with its path.
    fn rows(program: &Arc<Self::Program>, manifest: OpenManifest<'_, Self::Manifest>) -> Result<Batches>;

    /// The rows that a view is made of one by one; `None` for views that are not made of entries, or of more than these.
    fn role_of(view: &View, _options: &ScanOptions) -> Option<Self::Role> {
        matches!(view, View::Files).then_some(Self::FILES)
    }

    /// Checks a filter on the table's columns.
    ///
    /// # Errors
    /// `FilterColumn`, `Predicate`; `Unsupported` where entries have nothing that filters test.
    fn check_filter(&self, filter: Option<&str>) -> Result<()> {
        let message =
            || format!("where tests columns of the table, which entries of {} tables lack", Self::NAME);
        filter.map_or(Ok(()), |_| Err(Error::new(ErrorKind::Unsupported, message())))
    }

    /// The columns of a view without a role that does not sum up files; checks columns and filters.
    ///
    /// # Errors
    /// `UnknownColumn`; `UnknownView` for a view that the format does not have; `FilterColumn`, `Predicate`.
    fn view_schema(&self, view: &View, _options: &ScanOptions) -> Result<SchemaRef> {
        Err(no_view::<Self>(view.name()))
    }

    /// The rows of a view that does not sum up files.
    ///
    /// # Errors
    /// Those of reading them.
    fn view_rows(scan: &ViewScan<Self>) -> Result<Batches> {
        let program = scan.program.as_ref().ok_or_else(|| no_view::<Self>(scan.view.name()))?;
        let source = EntrySource::new(Arc::clone(program), scan.table.clone());
        Ok(source.stream(scan.manifests()?.kept, &scan.options))
    }

    /// The job of such a view; `None` where one process makes the rows.
    ///
    /// # Errors
    /// Those of reading the manifest lists, and what is small enough to be sent along.
    fn view_job(scan: &ViewScan<Self>, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let Some(role) = Self::role_of(&scan.view, &scan.options) else { return Ok(None) };
        scan.rows_job(role, scan.manifests()?.kept, bounds)
    }

    /// The answer of a REST catalog to a client that asks it to plan the scan.
    ///
    /// # Errors
    /// `Unsupported`; those of the plan.
    fn scan_tasks(_scan: &ViewScan<Self>, _form: ExpressionForm) -> Result<String> {
        Err(no_scan_tasks())
    }

    /// The role whose entries are counted to explain a view; `None` for views that need no manifests.
    fn counted_role(view: &View, options: &ScanOptions) -> Option<Self::Role> {
        Self::role_of(view, options).or_else(|| view.group_by().map(|_| Self::FILES))
    }

    /// A scan of the entries of a role that makes no rows and reports to `funnel`.
    ///
    /// # Errors
    /// Those of reading the manifest lists.
    fn counting(scan: &ViewScan<Self>, role: Self::Role, funnel: &Funnel) -> Result<Batches> {
        let OneSide { kept, pruned } = scan.manifests()?;
        let amount = |manifests: &[Self::Manifest]| Amount {
            count: manifests.len() as u64,
            rows: 0,
            bytes: total_size(manifests.iter().filter_map(Self::size_of)),
        };
        funnel.pass(&MANIFESTS, || [amount(&kept) + amount(&pruned), amount(&kept)]);
        let table_filter = scan.options.table_filter.clone();
        let program = scan.table.program(role, &ScanOptions { table_filter, ..ScanOptions::default() })?;
        let program = Arc::new(Self::counted(program, funnel));
        Ok(EntrySource::new(program, scan.table.clone()).stream(kept, &scan.options))
    }

    /// The live files in this process, with columns of entries under their own names.
    ///
    /// # Errors
    /// Those of reading the manifest lists.
    fn live_files(&self, columns: &[&str], options: &ScanOptions) -> Result<Batches> {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        let options = ScanOptions { columns: Some(columns), limit: None, ..options.clone() };
        let manifests = self.manifests_at(self, options.table_filter.as_deref())?.kept;
        let program = Arc::new(self.program(Self::FILES, &options)?);
        Ok(EntrySource::new(program, self.clone()).stream(manifests, &options))
    }

    /// The job that makes live files with the columns of `options`; `None` for small manifests.
    ///
    /// # Errors
    /// Those of reading the manifest lists, and what is small enough to be sent along.
    fn live_job(&self, options: &ScanOptions, bounds: &Bounds) -> Result<Option<LiveFiles<Self>>>;

    /// What the job of live files has of the table, which decodes its sums too.
    fn types_of(files: &Self::LiveJob) -> &Self::Types;

    /// The commit times of snapshots [milliseconds since 1970 UTC], by id, where entries record which snapshot added
    /// their file.
    ///
    /// # Errors
    /// Those of reading the snapshots.
    fn commit_times(&self) -> Result<HashMap<i64, i64>> {
        Ok(HashMap::new())
    }

    /// The schema by which the table's rows are read; 0 where schemas have no ids.
    fn schema_id(&self) -> i64 {
        0
    }

    /// What walks all files of this version; `is_of_catalog` is whether a catalog says that this is the table.
    ///
    /// # Errors
    /// `UnknownView` for a format whose tables are not walked.
    fn reach(&self, _is_of_catalog: bool) -> Result<Self::Reach> {
        Err(no_view::<Self>(WALKS))
    }

    /// What reads the newest version: a catalog or, without one, the table itself.
    ///
    /// # Errors
    /// As [`Format::reach`].
    fn newest_reach(&self, _catalog: Option<Newest>) -> Result<NewestReach<Self::Reach>> {
        Err(no_view::<Self>(WALKS))
    }

    /// The view [`View::Verify`].
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; `UnknownView` for a format whose tables are not verified.
    fn verify(self, _data_files: bool, _options: ScanOptions) -> Result<Box<dyn Distributed>> {
        Err(no_view::<Self>("verify"))
    }

    /// The view [`View::Freed`].
    ///
    /// # Errors
    /// `UnknownView` for a format whose commits return the files that they have freed.
    fn freed(
        &self,
        _before: String,
        _newest: Option<Newest>,
        _options: ScanOptions,
    ) -> Result<Box<dyn Distributed>> {
        Err(no_view::<Self>("freed"))
    }

    /// The rows of [`Format::HISTORY`] of a manifest that a commit wrote, then `change`: "added" or "removed".
    ///
    /// # Errors
    /// As [`Format::rows`].
    fn changes(
        _program: &Arc<Self::Program>,
        _manifest: OpenManifest<'_, Self::Manifest>,
        _commit: &Commit,
    ) -> Result<Batches> {
        Err(no_view::<Self>(HISTORIES))
    }
}

/// The views that are made of [`Format::line`], and those of [`Format::reach`].
const HISTORIES: &str = "growth or file_history";
const WALKS: &str = "reachable, orphans or expire_plan";

static MANIFESTS: Stage = Stage { order: 0, step: "manifests", why: "what the lists say of them" };

/// The error for a view that a format does not have.
#[cold]
pub(crate) fn no_view<F: Format>(name: &str) -> Error {
    Error::new(ErrorKind::UnknownView, format!("{} tables have no view {name}", F::NAME)).in_field(name)
}

/// The job of live files, its manifests, and pieces that every process has, with the reduces that they are for.
pub(crate) type LiveFiles<F> = (<F as Format>::LiveJob, Vec<PlannedManifest>, Vec<(usize, Piece)>);

/// The error for scans that are no plans of Iceberg tables.
#[cold]
pub(crate) fn no_scan_tasks() -> Error {
    Error::new(ErrorKind::Unsupported, "only plans of Iceberg tables are what a REST catalog answers")
}

/// A manifest whose bytes were read.
pub(crate) struct OpenManifest<'m, M> {
    /// Its path, for errors.
    pub(crate) path: &'m str,
    /// What its list records of it.
    pub(crate) recorded: &'m M,
    /// Its bytes, or those of a part.
    pub(crate) content: Content,
    /// Threads that may decode it.
    pub(crate) threads: usize,
}

impl<'m, M> OpenManifest<'m, M> {
    /// All of a manifest, decoded by one thread.
    pub(crate) fn whole(path: &'m str, recorded: &'m M, content: impl Into<Content>) -> OpenManifest<'m, M> {
        OpenManifest { path, recorded, content: content.into(), threads: 1 }
    }
}
