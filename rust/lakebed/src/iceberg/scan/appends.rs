//! Data files that appends added, as Iceberg's `BaseIncrementalAppendScan.java` finds them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use super::jobs::{IcebergJob, RowsJob};
use super::plan::{EntrySource, Plan, planned};
use super::program::{EntryProgram, program};
use crate::diff::{Appends, appended_step};
use crate::distributed::{Bounds, Planned};
use crate::error::Result;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{Batches, ManifestStream, ScanOptions, Step, threads};
use crate::view::only;

/// The entry's column with the id of the snapshot that added the file.
const ADDED_BY: &str = "snapshot_id";

/// The files that some appends of a table added.
pub(crate) struct Appended {
    /// The table whose schema gives the types of the rows.
    table: Table,
    /// The appends, the oldest first.
    snapshots: Arc<[Snapshot]>,
    options: ScanOptions,
    program: Arc<EntryProgram>,
    schema: SchemaRef,
    notes: Notes,
}

impl Appended {
    /// The files that `snapshots` added, which are all appends, in the types of `table`.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(table: Table, snapshots: Arc<[Snapshot]>, options: ScanOptions) -> Result<Appended> {
        let schema = Arc::clone(program(Role::Files, &table, &options)?.view.schema());
        let program = program(Role::Added, &table, &with_snapshot(&options))?;
        let (program, notes) = (Arc::new(program), Notes::default());
        Ok(Appended { table, snapshots, options, program, schema, notes })
    }

    fn ids(&self) -> HashSet<i64> {
        self.snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect()
    }

    /// The data manifests that `ids` added: those that must be read, and those that need not.
    fn manifests(&self, ids: &HashSet<i64>) -> Result<(Vec<ManifestFile>, Vec<ManifestFile>)> {
        let (mut kept, mut pruned) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for snapshot in self.snapshots.iter() {
            let list = self.table.list_of(snapshot)?;
            let mut plan = Plan::of_list(&self.table, list, self.options.table_filter.as_deref())?;
            let mut own = |manifest: &ManifestFile| {
                manifest.content == DATA
                    && manifest.added_snapshot_id.is_none_or(|id| ids.contains(&id))
                    && seen.insert(manifest.path.clone())
            };
            pruned.extend(std::mem::take(&mut plan.pruned).into_iter().filter(&mut own));
            kept.extend(plan.of_role(Role::Added).into_iter().filter(own));
        }
        Ok((kept, pruned))
    }
}

impl Appends for Appended {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn options(&self) -> &ScanOptions {
        &self.options
    }

    fn with(&self, options: ScanOptions) -> Result<Appended> {
        Appended::new(self.table.clone(), Arc::clone(&self.snapshots), options)
    }

    fn read(&self) -> Result<(Step, Batches)> {
        let ids = self.ids();
        let (manifests, pruned) = self.manifests(&ids)?;
        let bytes = |manifest: &ManifestFile| manifest.length.unwrap_or(0);
        let step = appended_step(&manifests, &pruned, bytes, "bounds of the partition in the manifest lists");
        let source = EntrySource::new(Arc::clone(&self.program), self.table.clone(), self.notes.clone());
        let schema = Arc::clone(&self.schema);
        let files = ManifestStream::new(source, manifests, threads(self.options.threads));
        let files = files.map(move |files| only(&of_snapshots(&files?, &ids)?, &schema));
        Ok((step, Box::new(files)))
    }

    fn job(&self, bounds: &Bounds) -> Result<Planned> {
        let ids = self.ids();
        let (manifests, _) = self.manifests(&ids)?;
        let inputs = planned(&manifests, self.table.storage().as_ref())?;
        let job = RowsJob::new(Role::Added, &self.table, &self.options, manifests, Some(ids))?;
        Ok(Planned::new(IcebergJob::Rows(job), inputs, bounds))
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

/// The options for reading files with the requested columns and the snapshot that added each file.
pub(super) fn with_snapshot(options: &ScanOptions) -> ScanOptions {
    ScanOptions { columns: options.columns_and(&[ADDED_BY]), ..options.clone() }
}

/// The files that one of the snapshots `ids` added.
pub(super) fn of_snapshots(files: &RecordBatch, ids: &HashSet<i64>) -> Result<RecordBatch> {
    let by = find(files, ADDED_BY)?;
    let by = by.as_primitive::<Int64Type>().iter();
    let added: BooleanArray = by.map(|id| Some(id.is_some_and(|id| ids.contains(&id)))).collect();
    filter_record_batch(files, &added).map_err(Into::into)
}
