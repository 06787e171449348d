//! The files that roots reach, as rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::Reach;
use super::job::planned;
use super::kind::Kinds;
use super::looks::VisitedSet;
use super::partitioner::Partitioner;
use super::partitions::RecordParts;
use super::rows::{plan_schema, schema};
use super::walk::{Removal, Root, Walk, WalkOptions};
use super::walk_roots::WalkRoots;
use crate::distributed::{Bounds, Distributed, JobPlan};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, lazily, limited, once, selected, threads};
use crate::storage::Storage;

/// Every file that a root reaches.
pub(crate) struct Reachable<R> {
    reach: R,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<R: Reach> Reachable<R> {
    /// The reachable files of a table. Columns and filter are checked; no file is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(reach: R, options: ScanOptions) -> Result<Reachable<R>> {
        let schema = schema(&options)?;
        Ok(Reachable { reach, options, schema })
    }
}

impl<R: Reach> Distributed for Reachable<R> {
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        planned(&self.reach, Removal::None, &self.options, bounds).map(Some)
    }
}

impl<R: Reach> Scan for Reachable<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let walked = walk(&self.reach, Removal::None, &self.options, &mut VisitedSet::default())?;
            Ok(selected(walked.found, &self.options))
        })
    }

    fn notes(&self) -> Notes {
        self.reach.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let walked = walk(&self.reach, Removal::None, &self.options, &mut VisitedSet::default())?;
        let manifests = walked.manifests.clone();
        let (files, roots) = (count(walked.found)?, "each file is one row, however many roots reach it");
        Ok(vec![manifests, Step::rows("files", files, files, roots)])
    }
}

/// How many rows there are.
pub(crate) fn count(rows: impl Iterator<Item = Result<RecordBatch>>) -> Result<u64> {
    rows.map(|batch| Ok(batch?.num_rows() as u64)).sum()
}

/// A walk whose manifests are being read.
pub(crate) struct WalkOutcome {
    /// How many manifests are read, of all that roots name.
    pub(super) manifests: Step,
    /// How many roots are removed, and how many there are, without the table itself.
    pub(super) snapshots: (u64, u64),
    /// The rows: first what is removed and is not a file, then files that are named without manifests, then the others
    /// part by part.
    pub(crate) found: Batches,
}

/// Starts reading what a table reaches, as far as `options` ask for it.
///
/// # Errors
/// As [`Reach::walk`]; `FilterColumn`, `Predicate`.
pub(super) fn walk<R: Reach>(
    reach: &R,
    removal: Removal<'_>,
    options: &ScanOptions,
    seen: &mut VisitedSet,
) -> Result<WalkOutcome> {
    let threads = threads(options.threads);
    let kinds = Kinds::matching(options.filter.as_deref(), plan_schema()?.as_ref())?;
    let (retention, moved) = (removal.retention(), if removal.is_some() { reach.moved() } else { None });
    let partitioner = Arc::new(Partitioner::new().of_moved(moved.clone()));
    let walk = reach.walk(&WalkOptions { retention, kinds, partitioner, threads }, seen)?;
    Ok(found_files(walk.of_moved(moved.as_ref())?, removal.is_some(), reach.storage(), threads))
}

/// Starts reading the manifests of a walk, for all files, or with `only_removed` for those that only removed
/// roots reach.
pub(crate) fn found_files(
    mut walk: Walk,
    only_removed: bool,
    storage: &Arc<dyn Storage>,
    threads: usize,
) -> WalkOutcome {
    let manifests = walk.manifests.clone();
    let of_snapshots = |only_removed: bool| {
        let counted = |root: &&Root| root.snapshot_id.is_some() && (root.is_removed || !only_removed);
        walk.roots.iter().filter(counted).count() as u64
    };
    let snapshots = (of_snapshots(true), of_snapshots(false));
    let roots = Arc::new(WalkRoots::of(&mut walk, only_removed));
    let entries = std::mem::replace(&mut walk.entries, Box::new(std::iter::empty()));
    let (of_parts, storage) = (Arc::clone(&roots), Arc::clone(storage));
    let parts = move || {
        let mut partitions = RecordParts::new();
        for records in entries {
            partitions.push(records?)?;
        }
        Ok(partitions.rows(&storage, threads, Box::new(move |records| of_parts.part(records))))
    };
    let named = move || roots.named(&walk);
    let rows: Batches = match only_removed {
        // They are checked by a look that is later than all reading.
        true => lazily(move || {
            let (named, parts) = (named()?, parts()?);
            Ok(Box::new(once(named).chain(parts)))
        }),
        false => Box::new(std::iter::once_with(named).chain(lazily(parts))),
    };
    let has_rows = |rows: &Result<RecordBatch>| !matches!(rows, Ok(rows) if rows.num_rows() == 0);
    WalkOutcome { manifests, snapshots, found: Box::new(rows.filter(has_rows)) }
}
