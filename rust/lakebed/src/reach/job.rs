//! Walks as jobs. The process that plans reads the files that name manifests; others read the manifests and move their
//! records to parts, and the rows of a part are made where all its records are.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::entries::SentManifests;
use super::kind::Kinds;
use super::looks::{LookAgain, Looks, VisitedSet};
use super::moved::MovedTable;
use super::partitioner::{Partitioner, seed};
use super::partitions::MakeRows;
use super::plan_columns::PlanColumns;
use super::rows::{nothing, plan_schema};
use super::walk::{Removal, Retention, WalkOptions};
use super::walk_roots::WalkRoots;
use super::{NewestReach, Reach};
use crate::distributed::{
    self, Bounds, Job, JobPlan, ManifestMap, Piece, Pieces, Process, Reduce, Shuffle, foreign, one, sides,
};
use crate::error::Result;
use crate::notes::Notes;
use crate::record::typed;
use crate::scan::{EntryJob, ScanOptions, threads};
use crate::view::select;

sides! {
    pub(super) enum RecordSide {
        /// Records of the files that manifests name.
        Named,
        /// Records of listed files.
        Listed,
    }
}

/// The files that roots reach.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct ReachJob<R: Reach> {
    manifests: SentManifests<R>,
    /// The seed of the hashes by which records of one file are found.
    seed: u64,
    moved: Option<MovedTable>,
    roots: WalkRoots,
    options: ScanOptions,
    /// Of the rows of a plan.
    plan: Option<PlanColumns>,
    /// For rows that people delete by: what is looked at again once they are there.
    look: Option<Recheck>,
}

/// How the table is looked at after it was walked.
#[derive(Serialize, Deserialize)]
struct Recheck {
    seen: VisitedSet,
    retention: Option<Retention>,
}

/// The job that returns the rows of [`Reachable`](super::Reachable). Rows of files that no manifest names are
/// made here already.
///
/// # Errors
/// Those of reading what names manifests.
pub(super) fn planned<R: Reach>(
    reach: &R,
    removal: Removal<'_>,
    options: &ScanOptions,
    bounds: &Bounds,
) -> Result<JobPlan> {
    let kinds = Kinds::matching(options.filter.as_deref(), plan_schema()?.as_ref())?;
    let (partitioner, threads) = (Arc::new(Partitioner::new()), threads(options.threads));
    let (mut seen, retention) = (VisitedSet::default(), removal.retention());
    let (walk, manifests) =
        reach.begun(&WalkOptions { retention, kinds, partitioner, threads }, &mut seen)?;
    let (manifests, planned) = SentManifests::of(reach, manifests, false)?;
    let moved = if removal.is_some() { reach.moved() } else { None };
    let mut walk = walk.of_moved(moved.as_ref())?;
    let roots = WalkRoots::of(&mut walk, removal.is_some());
    let named = roots.named(&walk)?;
    let (seed, options) = (seed(), options.clone());
    let look = removal.is_some().then(|| Recheck { seen, retention: retention.copied() });
    let plan = retention.map(|rules| PlanColumns::of_expiry(reach.table(), rules)).transpose()?;
    let job = ReachJob::<R> { manifests, seed, moved, roots, options, plan, look };
    let made = vec![(1, job.piece(&named)?)];
    Ok(JobPlan { made, ..JobPlan::new(EntryJob::<R::Table>::Reach(job), planned, bounds).whole() })
}

impl<R: Reach> ReachJob<R> {
    /// The wanted rows: for the look, if there is one, with all columns.
    fn piece(&self, rows: &RecordBatch) -> Result<Piece> {
        Ok(Piece::rows(wanted(rows, &self.wanted_now(), self.plan.as_ref())?))
    }

    /// The options of rows before a look, if there is one.
    fn wanted_now(&self) -> ScanOptions {
        let options = self.options.clone();
        if self.look.is_some() { ScanOptions { columns: None, ..options } } else { options }
    }
}

impl<R: Reach> Job for ReachJob<R> {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(wanted(&nothing()?, &self.options, self.plan.as_ref())?.schema())
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        std::iter::once(Shuffle::ByKey).chain(self.look.as_ref().map(|_| Shuffle::ToOne)).collect()
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let partitioner = Partitioner::keyed(self.seed).of_moved(self.moved.clone());
        self.manifests.map(&Arc::new(partitioner), process.decoding.clone())
    }

    fn looks_again(&self) -> bool {
        self.look.is_some()
    }

    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        let options = self.options.clone();
        match &self.look {
            Some(Recheck { seen, retention }) if step > 0 => {
                let looks = Looks::at_paths(newest_of::<R>(process)?, *retention, &options)?;
                let (seen, columns) = (seen.clone(), options.columns);
                Ok(Box::new(LookAgain::new(looks, seen, Notes::default(), columns)))
            }
            _ => {
                let (roots, options, plan) = (self.roots.clone(), self.wanted_now(), self.plan.clone());
                let making: MakeRows =
                    Box::new(move |records| wanted(&roots.part(records)?, &options, plan.as_ref()));
                Ok(Box::new(RecordReduce { pieces: Vec::new(), making }))
            }
        }
    }
}

/// The wanted rows, which are those of a plan where there is one.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(super) fn wanted(
    rows: &RecordBatch,
    options: &ScanOptions,
    plan: Option<&PlanColumns>,
) -> Result<RecordBatch> {
    match plan {
        Some(plan) => plan.selected(rows, options),
        None => select(rows, options.columns.as_deref(), options.filter.as_deref()),
    }
}

/// What reads the newest version of the table that a process has.
///
/// # Errors
/// `Argument` for a process that has none.
pub(super) fn newest_of<R: Reach>(process: &Process) -> Result<NewestReach<R>> {
    let (table, catalog) = process.table.clone().ok_or_else(|| foreign("there is no table to look at"))?;
    R::newest(table.as_ref(), catalog)
}

/// Records, with their parts as keys.
pub(super) fn keyed(side: RecordSide, mut rows: RecordBatch) -> Result<Piece> {
    let parts = rows.remove_column(rows.schema_ref().index_of("part")?);
    let parts = typed::<UInt32Array>(&parts, "part")?.iter().map(|part| part.map(u64::from));
    Ok(Piece::keyed(side, rows, parts))
}

/// Keeps the records of one part until its rows can be made.
pub(super) struct RecordReduce {
    pub(super) pieces: Vec<RecordBatch>,
    pub(super) making: MakeRows,
}

impl Reduce for RecordReduce {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        RecordSide::of(side)?;
        self.pieces.push(rows);
        distributed::nothing()
    }

    fn finish(&mut self) -> Result<Pieces> {
        one(Piece::rows((self.making)(&std::mem::take(&mut self.pieces))?))
    }
}
