//! Iceberg as the entry engine sees it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_schema::SchemaRef;

use super::history::{listed, of_commit};
use super::jobs::PlanJob;
use super::plan::Plan;
use super::program::EntryProgram;
use super::repairs::IcebergRepairs;
use crate::columnar::Decoding;
use crate::diff::{Change, Difference, OneSide};
use crate::distributed::{Bounds, Distributed, JobPlan, PlannedManifest};
use crate::error::Result;
use crate::history::{Commit, SnapshotLists, with_change};
use crate::iceberg::deletes::MarkedDeletes;
use crate::iceberg::groups::PartitionGroups;
use crate::iceberg::manifest::{ADDED, ROW_ID_COLUMNS};
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::reach::TableReach;
use crate::iceberg::system::SYSTEM_TABLES;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::Role;
use crate::reach::{NewestReach, UnreachedFiles, newest_reach};
use crate::record::find;
use crate::scan::{
    Batches, Content, EntrySource, ExpressionForm, Format, Funnel, LiveFiles, OpenManifest, RowsJob,
    ScanOptions, ViewScan,
};
use crate::system::SystemTable;
use crate::table::{Newest, TableCore};
use crate::verify::VerifyScan;
use crate::view::View;

impl Format for Table {
    const NAME: &'static str = "iceberg";
    const LIST_BOUNDS: &'static str = "bounds of the partition in the manifest lists";
    const COUNTED: usize = 4;
    const FILES: Role = Role::Files;
    const APPENDED: Role = Role::Added;
    const HISTORY: Role = Role::History;
    const DIFFERENCE: &'static [Difference<Table>] = &[
        Difference { change: Change::Removed, of: Change::Removed, role: Role::Identified, has: |_| true },
        Difference { change: Change::Added, of: Change::Added, role: Role::Identified, has: |_| true },
    ];

    const PLANS_NUMBER_FILTERED_DELETES: bool = true;
    const SYSTEM_TABLES: &'static [SystemTable<Table>] = SYSTEM_TABLES;

    type Snapshot = Snapshot;
    type Manifest = ManifestFile;
    type Role = Role;
    type Types = StoredTypes;
    type Program = EntryProgram;
    type Job = PlanJob;
    type LiveJob = RowsJob<Table>;
    type Groups = PartitionGroups;
    type Deletes = MarkedDeletes;
    type Repairs = IcebergRepairs;
    type Reach = TableReach;
    type StoredEntries = StoredTypes;

    fn core_mut(&mut self) -> &mut TableCore {
        &mut self.core
    }

    fn at_state(&self, snapshot: &Snapshot) -> Result<Table> {
        self.at_snapshot(snapshot.snapshot_id)
    }

    fn name_of(manifest: &ManifestFile) -> &str {
        &manifest.path
    }

    fn path_of(&self, manifest: &ManifestFile) -> String {
        manifest.path.clone()
    }

    fn size_of(manifest: &ManifestFile) -> Option<u64> {
        manifest.length
    }

    fn read_manifest(&self, program: &EntryProgram, manifest: &ManifestFile) -> Result<Content> {
        program.read(self, manifest)
    }

    /// No manifest deletes files that another one adds.
    fn planned(&self, manifest: &ManifestFile) -> Result<PlannedManifest> {
        let entries = [manifest.added, manifest.existing].map(|recorded| recorded.files.unwrap_or(0));
        Ok(PlannedManifest {
            path: self.storage().place(&manifest.path)?,
            size: manifest.length.unwrap_or(0),
            added: entries.iter().sum(),
            deleted: 0,
            entries: manifest.entries(),
            divisible: manifest.is_divisible(self.metadata().format_version),
            counted: if manifest.first_row_id.is_some() { &ROW_ID_COLUMNS } else { &[] },
        })
    }

    fn manifests_at(&self, at: &Table, filter: Option<&str>) -> Result<OneSide<ManifestFile>> {
        let mut plan = Plan::of_list(self, at.list_for(filter)?, filter)?;
        let pruned = std::mem::take(&mut plan.pruned);
        Ok(OneSide { kept: plan.of_role(Role::Files), pruned })
    }

    fn appends(&self, after: Option<i64>) -> Result<Vec<Snapshot>> {
        self.appends_after(after)
    }

    /// Those of data, as `BaseIncrementalAppendScan.java` finds them.
    fn appended(&self, snapshots: &[Snapshot], filter: Option<&str>) -> Result<OneSide<ManifestFile>> {
        let ids = Table::ids_of(snapshots).unwrap_or_default();
        let (mut kept, mut pruned, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for snapshot in snapshots {
            let mut plan = Plan::of_list(self, self.list_of(snapshot)?, filter)?;
            let mut own = |manifest: &ManifestFile| {
                manifest.content == DATA
                    && manifest.added_snapshot_id.is_none_or(|id| ids.contains(&id))
                    && seen.insert(manifest.path.clone())
            };
            pruned.extend(std::mem::take(&mut plan.pruned).into_iter().filter(&mut own));
            kept.extend(plan.of_role(Role::Added).into_iter().filter(own));
        }
        Ok(OneSide { kept, pruned })
    }

    fn ids_of(snapshots: &[Snapshot]) -> Option<HashSet<i64>> {
        Some(snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect())
    }

    fn line(&self) -> Result<Vec<(Commit, Snapshot)>> {
        let commit = |snapshot: Snapshot| {
            let commit = Commit {
                snapshot_id: snapshot.snapshot_id,
                parent_id: snapshot.parent_id,
                committed_ms: snapshot.timestamp_ms,
                operation: snapshot.operation.clone(),
            };
            (commit, snapshot)
        };
        Ok(self.snapshots_to_here()?.into_iter().map(commit).collect())
    }

    /// As `BaseIncrementalChangelogScan.java` tells them.
    fn changes_rows(commit: &Commit) -> bool {
        commit.operation.as_deref() != Some("replace")
    }

    fn listed(&self, snapshot: &Snapshot, filter: Option<&str>) -> Result<SnapshotLists<ManifestFile>> {
        listed(self, snapshot, filter)
    }

    fn sent_types(&self, _options: &ScanOptions) -> Result<StoredTypes> {
        Ok(StoredTypes::from(&self.types()?))
    }

    /// It also reads deletion vectors.
    fn program(&self, role: Role, options: &ScanOptions) -> Result<EntryProgram> {
        let program = EntryProgram::new(role, self.types()?, options, self.decoding().clone())?;
        Ok(program.in_process(self, options))
    }

    fn sent_program(
        types: &StoredTypes,
        role: Role,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        EntryProgram::new(role, TableTypes::try_from(types)?, options, decoding)
    }

    fn added_by(program: EntryProgram, ids: HashSet<i64>) -> Result<EntryProgram> {
        program.added_by(ids)
    }

    fn columns(program: &EntryProgram) -> &SchemaRef {
        program.view.schema()
    }

    fn rows(program: &Arc<EntryProgram>, manifest: OpenManifest<'_, ManifestFile>) -> Result<Batches> {
        let (path, own) = (manifest.recorded.path.clone(), Arc::clone(program));
        let entries = program.entries(manifest)?;
        Ok(Box::new(
            entries.map(move |entries| own.rows(&entries?, &path).map_err(|error| error.in_file(&path))),
        ))
    }

    /// A plan is made of entries and deletes.
    fn role_of(view: &View, _options: &ScanOptions) -> Option<Role> {
        match view {
            View::Entries => Some(Role::Entries),
            View::Files => Some(Role::Files),
            View::Deletes => Some(Role::Deletes),
            _ => None,
        }
    }

    fn check_filter(&self, filter: Option<&str>) -> Result<()> {
        Plan::empty(self, filter).map(drop)
    }

    fn view_schema(&self, view: &View, options: &ScanOptions) -> Result<SchemaRef> {
        super::schema_of(self, view, options)
    }

    fn view_rows(scan: &ViewScan<Table>) -> Result<Batches> {
        super::rows(scan)
    }

    fn view_job(scan: &ViewScan<Table>, bounds: &Bounds) -> Result<Option<JobPlan>> {
        super::job(scan, bounds)
    }

    fn scan_tasks(scan: &ViewScan<Table>, form: ExpressionForm) -> Result<String> {
        scan.answer(form)
    }

    fn counted_role(view: &View, options: &ScanOptions) -> Option<Role> {
        match view {
            View::Plan => Some(Role::LiveData),
            view if view.group_by().is_some() => Some(Role::Live),
            view => Table::role_of(view, options),
        }
    }

    fn counting(scan: &ViewScan<Table>, role: Role, funnel: &Funnel) -> Result<Batches> {
        super::counting(scan, role, funnel)
    }

    fn live_files(&self, columns: &[&str], options: &ScanOptions) -> Result<Batches> {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        let options = ScanOptions { columns: Some(columns), limit: None, ..options.clone() };
        let program = EntryProgram::new(Role::Live, self.types()?, &options, self.decoding().clone())?;
        let manifests = Plan::new(self, options.table_filter.as_deref())?.of_role(Role::Live);
        Ok(EntrySource::new(Arc::new(program), self.clone()).stream(manifests, &options))
    }

    fn live_job(&self, options: &ScanOptions, bounds: &Bounds) -> Result<Option<LiveFiles<Table>>> {
        let manifests = Plan::new(self, options.table_filter.as_deref())?.of_role(Role::Live);
        RowsJob::of_live(Role::Live, self, options, manifests, bounds)
    }

    fn types_of(files: &RowsJob<Table>) -> &StoredTypes {
        &files.types
    }

    fn commit_times(&self) -> Result<HashMap<i64, i64>> {
        Table::commit_times(self)
    }

    fn schema_id(&self) -> i64 {
        i64::from(self.schema().schema_id)
    }

    fn reach(&self, is_of_catalog: bool) -> Result<TableReach> {
        let table = self.clone();
        Ok(if is_of_catalog { TableReach::of_catalog(table) } else { TableReach::new(table) })
    }

    fn newest_reach(&self, catalog: Option<Newest>) -> Result<NewestReach<TableReach>> {
        let table = self.clone();
        Ok(newest_reach(catalog, TableReach::of_catalog, move || table.latest().map(TableReach::new)))
    }

    fn verify(self, data_files: bool, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        Ok(Box::new(VerifyScan::new(self, options, data_files)?))
    }

    fn freed(
        &self,
        before: String,
        newest: Option<Newest>,
        options: ScanOptions,
    ) -> Result<Box<dyn Distributed>> {
        let of = move |newest: &TableReach| newest.before(&before);
        Ok(Box::new(UnreachedFiles::freed(self.newest_reach(newest)?, of, options)?))
    }

    fn changes(
        program: &Arc<EntryProgram>,
        manifest: OpenManifest<'_, ManifestFile>,
        commit: &Commit,
    ) -> Result<Batches> {
        let (path, own) = (manifest.recorded.path.clone(), Arc::clone(program));
        // A manifest without a list may also have entries of other commits.
        let of = manifest.recorded.added.files.is_none().then_some(commit.snapshot_id);
        let entries = program.entries(manifest)?;
        Ok(Box::new(entries.map(move |entries| {
            let entries = of_commit(&entries?, of)?;
            let files = own.rows(&entries, &path).map_err(|error| error.in_file(&path))?;
            let statuses = find(&entries, "status")?;
            with_change(
                &files,
                statuses.as_primitive::<Int32Type>().values().iter().map(|status| *status == ADDED),
            )
        })))
    }
}
