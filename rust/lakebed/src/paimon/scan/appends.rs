//! Data files that appends added, as Paimon's `IncrementalDeltaStartingScanner.java` finds them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::jobs::{PaimonJob, RowsJob};
use super::plan::{keep, planned};
use super::program::EntryProgram;
use super::stream::EntrySource;
use crate::diff::{Appends, appended_step};
use crate::distributed::{Bounds, Planned};
use crate::error::Result;
use crate::notes::Notes;
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::snapshot::Snapshot;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::scan::{Batches, ManifestStream, ScanOptions, Step, threads};

/// The files that some appends of a table added.
pub(crate) struct Appended {
    /// The table, which gives the types of the rows.
    table: Table,
    /// The appends, the oldest first.
    snapshots: Arc<[Snapshot]>,
    options: ScanOptions,
    program: Arc<EntryProgram>,
}

impl Appended {
    /// The files that `snapshots` added, all of them appends, in the types of `table`.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
    pub(crate) fn new(table: Table, snapshots: Arc<[Snapshot]>, options: ScanOptions) -> Result<Appended> {
        let table = table.noting();
        let program = Arc::new(EntryProgram::new(Role::Appended, &table, &options)?);
        Ok(Appended { table, snapshots, options, program })
    }

    /// The manifests that the appends wrote: those to read, and those that the filter excludes.
    fn manifests(&self) -> Result<(Vec<ManifestFile>, Vec<ManifestFile>)> {
        let (mut kept, mut pruned) = (Vec::new(), Vec::new());
        for snapshot in self.snapshots.iter() {
            let list: RecordBatch = self.table.delta_list(snapshot)?;
            let keep = keep(self.options.table_filter.as_deref(), self.table.schema(), &list)?;
            for (manifest, keep) in manifest_files(&list)?.into_iter().zip(keep) {
                if keep { &mut kept } else { &mut pruned }.push(manifest);
            }
        }
        Ok((kept, pruned))
    }
}

impl Appends for Appended {
    fn schema(&self) -> &SchemaRef {
        self.program.view.schema()
    }

    fn options(&self) -> &ScanOptions {
        &self.options
    }

    fn with(&self, options: ScanOptions) -> Result<Appended> {
        Appended::new(self.table.clone(), Arc::clone(&self.snapshots), options)
    }

    fn read(&self) -> Result<(Step, Batches)> {
        let (manifests, pruned) = self.manifests()?;
        let bytes = |manifest: &ManifestFile| manifest.file_size;
        let why = "bounds of partition and bucket in the manifest lists";
        let step = appended_step(&manifests, &pruned, bytes, why);
        let source = EntrySource::new(Arc::clone(&self.program), self.table.clone());
        Ok((step, Box::new(ManifestStream::new(source, manifests, threads(self.options.threads)))))
    }

    fn notes(&self) -> Notes {
        self.table.noted().clone()
    }

    fn job(&self, bounds: &Bounds) -> Result<Planned> {
        let (manifests, _) = self.manifests()?;
        let inputs = planned(&self.table, &manifests)?;
        let job = RowsJob::new(Role::Appended, &self.table, &self.options, manifests)?;
        Ok(Planned::new(PaimonJob::Rows(job), inputs, bounds))
    }
}
