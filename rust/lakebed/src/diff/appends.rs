//! Scans the files that appends added.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::OneSide;
use crate::distributed::{Bounds, Distributed, JobPlan};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, EntryJob, EntrySource, Format, RowsJob, Scan, ScanOptions, Step, limited};
use crate::storage::total_size;

/// The files that appends added, resolved: the snapshots are known, no manifest list is read.
pub(crate) struct AppendScan<F: Format> {
    /// The table, which gives the types of the rows.
    table: F,
    /// The appends, the oldest first.
    snapshots: Arc<[F::Snapshot]>,
    options: ScanOptions,
    program: Arc<F::Program>,
}

impl<F: Format> AppendScan<F> {
    /// The files that `snapshots` added, all of them appends, in the types of `table`.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
    pub(crate) fn new(
        table: F,
        snapshots: Arc<[F::Snapshot]>,
        options: ScanOptions,
    ) -> Result<AppendScan<F>> {
        let table = table.noting();
        let mut program = table.program(F::APPENDED, &options)?;
        if let Some(ids) = F::ids_of(&snapshots) {
            program = F::added_by(program, ids)?;
        }
        Ok(AppendScan { table, snapshots, options, program: Arc::new(program) })
    }

    fn manifests(&self) -> Result<OneSide<F::Manifest>> {
        self.table.appended(&self.snapshots, self.options.table_filter.as_deref())
    }

    fn files(&self, manifests: Vec<F::Manifest>) -> Batches {
        EntrySource::new(Arc::clone(&self.program), self.table.clone()).stream(manifests, &self.options)
    }
}

impl<F: Format> Scan for AppendScan<F> {
    fn schema(&self) -> &SchemaRef {
        F::columns(&self.program)
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || Ok(self.files(self.manifests()?.kept)))
    }

    fn notes(&self) -> Notes {
        self.table.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let columns = Some(vec!["record_count".to_owned()]);
        let options = ScanOptions { columns, stats: None, limit: None, ..self.options.clone() };
        let counted = AppendScan::new(self.table.clone(), Arc::clone(&self.snapshots), options)?;
        let OneSide { kept, pruned } = counted.manifests()?;
        let read = (kept.len(), total_size(kept.iter().filter_map(F::size_of)));
        let all = kept.iter().chain(&pruned);
        let all = (all.clone().count(), total_size(all.filter_map(F::size_of)));
        let manifests = manifests_step(read, all, F::LIST_BOUNDS);
        let files = counted.files(kept).map(|files| Ok(files?.num_rows() as u64)).sum::<Result<u64>>()?;
        Ok(vec![manifests, Step::rows("files", files, files, "added by an append")])
    }
}

impl<F: Format> Distributed for AppendScan<F> {
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let manifests = self.manifests()?.kept;
        let (job, inputs) = RowsJob::planned(F::APPENDED, &self.table, &self.options, manifests)?;
        let job = EntryJob::Rows(job.added_by(F::ids_of(&self.snapshots)));
        Ok(bounds.unless_small(JobPlan::new(job, inputs, bounds)))
    }

    fn is_light(&self) -> bool {
        true
    }
}

/// The funnel's step for manifests: how many of how many are read, and their bytes.
pub(super) fn manifests_step(read: (usize, u64), all: (usize, u64), why: &'static str) -> Step {
    let step = Step::rows("manifests", read.0 as u64, all.0 as u64, why);
    Step { bytes_kept: Some(read.1), bytes_total: Some(all.1), ..step }
}
