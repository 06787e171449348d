//! Views that several processes make together.
//!
//! ```text
//!             a process for each share of the manifests      a process for each part
//! manifests → map → reduces that need no other process  ⇄  reduce → …  ⇄  reduce → rows
//!                                                     shuffle
//! ```
//!
//! One process runs the same reduces without a shuffle, over sides that it opens one after another (`reduced_here`).
//!
//! A [`Job`] is the work, [`JobPlan`] what the process that plans it knows of its inputs, and [`SentJob`] what the
//! others get. An engine such as Spark only moves batches between them: nothing of it knows a view, a side or a key.
//!
//! # Advice for whoever changes this
//! - A reduce must not depend on the order of the pieces of one side: tasks are tried again, and run twice.
//! - What crosses a shuffle has the same columns and types in every process ([`shuffle`]), and the same hash.
//! - A job is read by the version that wrote it alone, so its form may change with any commit.
//! - No format is named here: `scan::EntryJob` has the jobs of all, each format's own among them, and `format.rs` a row
//!   for each format.

mod inputs;
mod job;
mod sent;
mod shuffle;
mod stages;
mod sums;
#[cfg(test)]
mod tests;

pub use inputs::PlannedManifest;
pub(crate) use inputs::{LocatedManifests, absent, placed};
pub use job::{Job, ManifestMap, Piece, Pieces, Process, Reduce, Shuffle, TableToLookAt};
pub(crate) use job::{batches, foreign, nothing, one, rows, sides};
pub use sent::{AnyJob, ReadJob, RowFilter, SentJob};
pub(crate) use shuffle::{from_ipc, hash, ipc, sorted_by_part};
pub(crate) use stages::reduced_here;
pub(crate) use sums::{MergedSums, SumReduce, SumSide};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::{Error, ErrorKind, Result};
use crate::scan::{ExpressionForm, NumberedRows, Scan, no_scan_tasks};
use crate::storage::total_size;

/// A scan that an engine can run in many processes.
pub trait Distributed: Scan {
    /// The work of making the rows in many processes; `None` where one process makes them, or where the manifests are
    /// small by [`Bounds::small_bytes`]. Reads the manifest lists, and what is small enough to be sent along.
    ///
    /// # Errors
    /// Those of reading them.
    fn job(&self, _bounds: &Bounds) -> Result<Option<JobPlan>> {
        Ok(None)
    }

    /// Whether the rows, where there is no job, are made of so little that starting a process takes longer.
    fn is_light(&self) -> bool {
        false
    }

    /// Files that rows may be of and that no manifest names, as pieces for the first reduce of the job: those of a
    /// listing, among which orphans are found. Lists the table's folders, unless the scan was given a listing.
    ///
    /// # Errors
    /// `Argument` for a scan that needs no such files; those of listing.
    fn listed(&self) -> Result<Pieces> {
        Err(Error::new(ErrorKind::Argument, "only orphans are found among listed files"))
    }

    /// For a plan, the deletes that its files may have: `delete_id` int32, which [`DeletesAs::Ids`](crate::scan::DeletesAs::Ids) refers
    /// to, then the columns of the view `deletes`.
    ///
    /// # Errors
    /// `Argument` where the scan is not a plan.
    fn deletes(&self) -> Result<Box<dyn Distributed>> {
        Err(Error::new(ErrorKind::Argument, "only plans have deletes"))
    }

    /// For a plan of an Iceberg table, the answer of a REST catalog to a client that asks it to plan the
    /// scan: the JSON object of a completed planning result, with residuals in that form.
    ///
    /// # Errors
    /// Those of reading the plan; `Unsupported` for other scans, and where Iceberg's expressions cannot
    /// express the residual of the filter.
    fn scan_tasks(&self, _form: ExpressionForm) -> Result<String> {
        Err(no_scan_tasks())
    }
}

impl<S: Scan> Distributed for NumberedRows<S> {}

/// By what a job is planned.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// How many tasks run at a time.
    pub at_once: usize,
    /// Manifests of no more bytes in all are small; `None`: none are.
    pub small_bytes: Option<u64>,
    /// Bytes of manifests of deletes that are read while a plan is made, so that every process gets their entries.
    pub delete_bytes: u64,
    /// The same for manifests of Paimon that delete files.
    pub deleting_bytes: u64,
    /// How many entries in them do so at most.
    pub deletions: u64,
    /// Bytes of manifests whose entries one task reduces.
    pub task_bytes: u64,
    /// The same where it merges sums of them, which are far fewer.
    pub sum_bytes: u64,
    /// Into how many parts keys are divided; `None`: some for each task.
    pub parts: Option<u32>,
    /// Groups that a process holds before it sends on what it has, and rows of a batch of groups.
    pub groups: usize,
    /// The rows of a job with [`JobPlan::is_question`], if planning asked for them.
    pub answer: Option<Vec<RecordBatch>>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            at_once: 1,
            small_bytes: None,
            delete_bytes: 16 << 20,
            deleting_bytes: 128 << 20,
            deletions: 100_000,
            task_bytes: 16 << 20,
            sum_bytes: 256 << 20,
            parts: None,
            groups: 65_536,
            answer: None,
        }
    }
}

/// What opening a file costs, in bytes that could be decoded meanwhile, where many are opened at a time.
const OPENING: u64 = 32 << 10;

/// No shuffle has more tasks, since the sizes that they are counted by may be forged, and some pieces are sent to all.
const MOST_TASKS: u32 = 1 << 16;

impl Bounds {
    /// Whether manifests of these sizes \[bytes\] are small.
    pub(crate) fn are_small(&self, sizes: impl Iterator<Item = u64>) -> bool {
        self.small_bytes
            .is_some_and(|most| total_size(sizes.map(|size| size.saturating_add(OPENING))) <= most)
    }

    /// The job, unless its manifests are small.
    pub(crate) fn unless_small(&self, planned: JobPlan) -> Option<JobPlan> {
        let sizes = planned.manifests.iter().map(|manifest| manifest.size);
        (!self.are_small(sizes)).then_some(planned)
    }
}

/// A job, and its inputs.
pub struct JobPlan {
    /// The work.
    pub job: Box<dyn AnyJob>,
    /// The manifests to map, each once.
    pub manifests: Vec<PlannedManifest>,
    /// Pieces that every process has, with the reduce that they are for: small deletes.
    pub known: Vec<(usize, Piece)>,
    /// Pieces that were made while the job was planned, with the reduce that they are for; those after the last reduce
    /// are rows.
    pub made: Vec<(usize, Piece)>,
    /// How many tasks share the parts of a shuffle by keys.
    pub tasks: usize,
    /// How many parts there are; `None`: some for each task.
    pub parts: Option<u32>,
    /// Whether this is not the scan's own work: its rows are wanted as [`Bounds::answer`] to plan that.
    pub is_question: bool,
    /// The rows to keep, and their columns.
    pub filter: Option<RowFilter>,
}

impl JobPlan {
    /// A job on manifests, of which some may be given twice.
    pub(crate) fn new(
        job: impl AnyJob + 'static,
        mut manifests: Vec<PlannedManifest>,
        bounds: &Bounds,
    ) -> JobPlan {
        let mut seen = std::collections::HashSet::new();
        manifests.retain(|manifest| seen.insert(manifest.path.clone()));
        let bytes = total_size(manifests.iter().map(|manifest| manifest.size));
        let tasks = bytes.div_ceil(bounds.task_bytes.max(1)).clamp(1, u64::from(MOST_TASKS)) as usize;
        let (known, made) = (Vec::new(), Vec::new());
        let (job, is_question) = (Box::new(job), false);
        JobPlan { job, manifests, known, made, tasks, parts: bounds.parts, is_question, filter: None }
    }

    /// The same job, whose manifests are read as a whole each.
    pub(crate) fn whole(mut self) -> JobPlan {
        self.manifests.iter_mut().for_each(|manifest| manifest.divisible = false);
        self
    }

    /// The columns of the rows.
    ///
    /// # Errors
    /// Those of the job.
    pub fn schema(&self) -> Result<SchemaRef> {
        sent::wanted_schema(self.job.job(), self.filter.as_ref())
    }
}
