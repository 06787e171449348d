//! Paimon as the entry engine sees it.

use std::sync::Arc;

use arrow_array::Int8Array;
use arrow_schema::SchemaRef;

use super::history::{listed, unlisted};
use super::jobs::{FilesJob, SentSchemas, live_files};
use super::marks::MarkedVectors;
use super::plan::{Plan, bound, keep};
use super::program::EntryProgram;
use super::repairs::PaimonRepairs;
use super::rows::own_rows;
use crate::columnar::Decoding;
use crate::diff::{Change, Difference, OneSide};
use crate::distributed::{Bounds, Distributed, JobPlan, PlannedManifest};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{Commit, DeleteChanges, SnapshotLists, with_change};
use crate::paimon::groups::BucketGroups;
use crate::paimon::manifest::ADD;
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::prune::BatchRead;
use crate::paimon::reach::TableReach;
use crate::paimon::snapshot::Snapshot;
use crate::paimon::system::SYSTEM_TABLES;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::reach::{NewestReach, newest_reach};
use crate::record::column;
use crate::scan::{
    Batches, Content, Format, Funnel, LiveFiles, OpenManifest, RowsJob, ScanOptions, ViewScan,
};
use crate::system::SystemTable;
use crate::table::{Newest, TableCore};
use crate::verify::VerifyScan;
use crate::view::View;

impl Format for Table {
    const NAME: &'static str = "paimon";
    const LIST_BOUNDS: &'static str = "bounds of partition and bucket in the manifest lists";
    /// Lists record no rows, and deletion vectors are in no manifest: only files are counted.
    const COUNTED: usize = 1;
    const FILES: Role = Role::Files;
    const APPENDED: Role = Role::Appended;
    const HISTORY: Role = Role::History;
    /// Each snapshot is the sum of its additions less its deletions, so the difference is what one adds and the other
    /// deletes. Entries that add a file are first, since those that delete it may lack statistics.
    const DIFFERENCE: &'static [Difference<Table>] = &[
        Difference { change: Change::Removed, of: Change::Removed, role: Role::Added, has: adds },
        Difference { change: Change::Removed, of: Change::Added, role: Role::Removed, has: deletes },
        Difference { change: Change::Added, of: Change::Added, role: Role::Added, has: adds },
        Difference { change: Change::Added, of: Change::Removed, role: Role::Removed, has: deletes },
    ];

    const SYSTEM_TABLES: &'static [SystemTable<Table>] = SYSTEM_TABLES;

    type Snapshot = Snapshot;
    type Manifest = ManifestFile;
    type Role = Role;
    type Types = SentSchemas;
    type Program = EntryProgram;
    type Job = FilesJob;
    type LiveJob = FilesJob;
    type Groups = BucketGroups;
    type Deletes = MarkedVectors;
    type Repairs = PaimonRepairs;
    type Reach = TableReach;
    type StoredEntries = RowsJob<Table>;

    fn core_mut(&mut self) -> &mut TableCore {
        &mut self.core
    }

    fn at_state(&self, snapshot: &Snapshot) -> Result<Table> {
        self.standing_at(snapshot.clone())
    }

    fn name_of(manifest: &ManifestFile) -> &str {
        &manifest.file_name
    }

    fn path_of(&self, manifest: &ManifestFile) -> String {
        self.manifest_path(&manifest.file_name)
    }

    fn size_of(manifest: &ManifestFile) -> Option<u64> {
        Some(manifest.file_size)
    }

    /// Some blocks where the table has sidecars that rule out others.
    fn read_manifest(&self, program: &EntryProgram, manifest: &ManifestFile) -> Result<Content> {
        program.read(self, manifest)
    }

    fn planned(&self, manifest: &ManifestFile) -> Result<PlannedManifest> {
        let path = self.storage().place(&self.path_of(manifest))?;
        let (size, added, deleted) = (manifest.file_size, manifest.added, manifest.deleted);
        let entries = added.checked_add(deleted);
        Ok(PlannedManifest { path, size, added, deleted, entries, divisible: true, counted: &[] })
    }

    fn manifests_at(&self, at: &Table, filter: Option<&str>) -> Result<OneSide<ManifestFile>> {
        let Plan { manifests, pruned } = Plan::new(at, filter)?;
        Ok(OneSide { kept: manifests, pruned })
    }

    fn appends(&self, after: Option<i64>) -> Result<Vec<Snapshot>> {
        self.appends_after(after)
    }

    /// Those of the delta lists, as `IncrementalDeltaStartingScanner.java` finds them.
    fn appended(&self, snapshots: &[Snapshot], filter: Option<&str>) -> Result<OneSide<ManifestFile>> {
        let (mut kept, mut pruned) = (Vec::new(), Vec::new());
        for snapshot in snapshots {
            let list = self.delta_list(snapshot)?;
            let keep = keep(filter, self.schema(), &list)?;
            for (manifest, keep) in manifest_files(&list)?.into_iter().zip(keep) {
                if keep { &mut kept } else { &mut pruned }.push(manifest);
            }
        }
        Ok(OneSide { kept, pruned })
    }

    fn line(&self) -> Result<Vec<(Commit, Snapshot)>> {
        let commit = |snapshot: Snapshot| {
            let commit = Commit {
                snapshot_id: snapshot.id,
                parent_id: snapshot.id.checked_sub(1).filter(|parent| *parent > 0),
                committed_ms: snapshot.time_millis,
                operation: Some(snapshot.commit_kind.name().to_owned()),
            };
            (commit, snapshot)
        };
        Ok(self.snapshots_to_here()?.into_iter().map(commit).collect())
    }

    fn plans_all(&self) -> bool {
        BatchRead::new(self.schema()).reads_all()
    }

    /// As `IncrementalDeltaStartingScanner.java` tells them.
    fn changes_rows(commit: &Commit) -> bool {
        !matches!(commit.operation.as_deref(), Some("COMPACT" | "ANALYZE"))
    }

    fn listed(&self, snapshot: &Snapshot, filter: Option<&str>) -> Result<SnapshotLists<ManifestFile>> {
        listed(self, snapshot, filter)
    }

    fn unlisted(&self, snapshots: &[Snapshot], threads: usize) -> Result<Option<Vec<DeleteChanges>>> {
        unlisted(self, snapshots, threads).map(Some)
    }

    /// Entries that delete a file may lack statistics: only partitions and buckets are tested.
    fn filter_of_removed(&self, filter: Option<&str>) -> Result<Option<String>> {
        Ok(bound(filter, self.schema())?.map(|pruner| pruner.partitions().written()))
    }

    fn sent_types(&self, options: &ScanOptions) -> Result<SentSchemas> {
        SentSchemas::of(self, options)
    }

    fn program(&self, role: Role, options: &ScanOptions) -> Result<EntryProgram> {
        EntryProgram::new(role, self, options)
    }

    fn sent_program(
        types: &SentSchemas,
        role: Role,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        types.program(role, options, decoding)
    }

    fn columns(program: &EntryProgram) -> &SchemaRef {
        program.view.schema()
    }

    /// The files that entries of any manifest delete are read first, as Paimon's `AbstractFileStoreScan.java` does, so
    /// that added files can be streamed.
    fn start(
        &mut self,
        program: &mut Arc<EntryProgram>,
        manifests: &mut Vec<ManifestFile>,
        threads: usize,
    ) -> Result<()> {
        if program.role.is_live() {
            if manifests.iter().any(|manifest| manifest.deleted > 0 && manifest.added > 0) {
                *self = self.clone().keeping();
            }
            let deleted = program.read_deleted(self, manifests, threads)?;
            *program = Arc::new(program.as_ref().clone().without(deleted));
            manifests.retain(|manifest| manifest.added > 0);
        }
        Ok(())
    }

    fn rows(
        program: &Arc<EntryProgram>,
        OpenManifest { path, recorded, content, threads }: OpenManifest<'_, ManifestFile>,
    ) -> Result<Batches> {
        let entries = program.open(content, recorded, threads);
        let entries = entries.map_err(|error| error.in_file(path))?;
        let (program, path, name) = (Arc::clone(program), path.to_owned(), recorded.file_name.clone());
        Ok(Box::new(entries.map(move |entries| {
            let rows = entries.and_then(|entries| program.rows(&entries, &name));
            rows.map_err(|error| error.in_file(&path))
        })))
    }

    fn role_of(view: &View, options: &ScanOptions) -> Option<Role> {
        match view {
            View::Entries => Some(Role::Entries),
            View::Files => Some(Role::Files),
            View::Plan => Some(Role::Plan(options.deletes)),
            _ => None,
        }
    }

    fn check_filter(&self, filter: Option<&str>) -> Result<()> {
        bound(filter, self.schema()).map(drop)
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

    fn counting(scan: &ViewScan<Table>, role: Role, funnel: &Funnel) -> Result<Batches> {
        super::counting(scan, role, funnel)
    }

    fn live_files(&self, columns: &[&str], options: &ScanOptions) -> Result<Batches> {
        own_rows(Role::Live, self, columns, options)
    }

    fn live_job(&self, options: &ScanOptions, bounds: &Bounds) -> Result<Option<LiveFiles<Table>>> {
        let program = EntryProgram::new(Role::Live, self, options)?;
        let manifests = Plan::new(self, options.table_filter.as_deref())?.manifests;
        live_files(self, &program, manifests, options, bounds)
    }

    fn types_of(files: &FilesJob) -> &SentSchemas {
        files.types()
    }

    fn schema_id(&self) -> i64 {
        self.schema().id
    }

    fn reach(&self, _is_of_catalog: bool) -> Result<TableReach> {
        Ok(TableReach::new(self.clone()))
    }

    fn newest_reach(&self, catalog: Option<Newest>) -> Result<NewestReach<TableReach>> {
        let table = self.clone();
        Ok(newest_reach(catalog, TableReach::new, move || TableReach::newest(&table)))
    }

    fn verify(self, data_files: bool, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        Ok(Box::new(VerifyScan::new(self, options, data_files)?))
    }

    fn freed(
        &self,
        _before: String,
        _newest: Option<Newest>,
        _options: ScanOptions,
    ) -> Result<Box<dyn Distributed>> {
        let message = "commits to Paimon tables return the files that they have freed";
        Err(Error::new(ErrorKind::UnknownView, message))
    }

    fn changes(
        program: &Arc<EntryProgram>,
        OpenManifest { path, recorded, content, threads }: OpenManifest<'_, ManifestFile>,
        _commit: &Commit,
    ) -> Result<Batches> {
        let entries = program.open(content, recorded, threads);
        let entries = entries.map_err(|error| error.in_file(path))?;
        let (program, path) = (Arc::clone(program), path.to_owned());
        let rows = move |entries: &arrow_array::RecordBatch| {
            let entries = program.passing(entries)?;
            let kinds = column::<Int8Array>(&entries, "kind")?.values();
            with_change(&program.finish(&entries)?, kinds.iter().map(|kind| *kind == ADD))
        };
        Ok(Box::new(entries.map(move |entries| {
            entries.and_then(|entries| rows(&entries)).map_err(|error| error.in_file(&path))
        })))
    }
}

fn adds(manifest: &ManifestFile) -> bool {
    manifest.added > 0
}

fn deletes(manifest: &ManifestFile) -> bool {
    manifest.deleted > 0
}
