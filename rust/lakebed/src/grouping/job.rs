//! Sums over live files as a job: where files are made they are summed up first; sums of the same group are then moved to
//! the same part, and summed up again. The row of `health` is made of all parts.

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::{FileGroups, GroupSums, HealthSums, SumOptions, deletes_of, input_of};
use crate::dangling::{DeleteMarks, SnapshotDeletes};
use crate::distributed::{
    Bounds, Job, JobPlan, ManifestMap, Piece, Process, Reduce, Shuffle, SumReduce, SumSide,
};
use crate::error::Result;
use crate::health;
use crate::scan::{EntryJob, Format, ScanOptions};
use crate::view::GroupBy;

/// Sums over live files.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct GroupsJob<F: Format> {
    /// Makes the live files.
    files: F::LiveJob,
    summing: SumOptions,
    /// Groups that a process holds before it sends on what it has, and rows of a batch of groups.
    held: usize,
}

impl<F: Format> GroupsJob<F> {
    /// The job of a view of groups; `None` for small manifests.
    ///
    /// # Errors
    /// Those of reading the manifest lists, and what rows need besides live files.
    pub(crate) fn planned(
        table: &F,
        by: GroupBy,
        options: &ScanOptions,
        bounds: &Bounds,
    ) -> Result<Option<JobPlan>> {
        let live = |deletes: Option<&F::Deletes>| {
            let columns = input_of::<F>(deletes).into_iter().map(str::to_owned).collect();
            table.live_job(&ScanOptions { columns: Some(columns), ..options.clone() }, bounds)
        };
        let Some(mut live_files) = live(None)? else { return Ok(None) };
        let deletes = deletes_of(table, by, options)?;
        if let Some(deletes) = &deletes {
            // Whichever files the filter leaves, deletes are compared with all: more than the job's manifests.
            let compared = match options.table_filter {
                None => live(Some(&F::Deletes::of(table, &deletes.deletes)?))?,
                Some(_) => None,
            };
            let Some(compared) = compared else { return Ok(None) };
            live_files = compared;
        }
        let (files, manifests, mut known) = live_files;
        let summing = SumOptions::read(table, by, options)?;
        let job = GroupsJob::<F> { files, summing, held: bounds.groups.max(1) };
        if let Some(vectors) = F::Groups::vectors(table, options, by)? {
            known.push((job.merging(), Piece::alone(SumSide::Known, vectors)));
        }
        // There must be a part of `health` even without a file, for the reduce that makes its row.
        let mut made = match &job.summing.health {
            Some(_) => vec![(job.merging() + 1, Piece::alone(SumSide::Sums, job.no_groups()?.rows()?))],
            None => Vec::new(),
        };
        if let Some(SnapshotDeletes { deletes, amounts }) = deletes {
            known.push((job.merging() - 1, Piece::alone(SumSide::Deletes, deletes)));
            made.push((job.merging() + 1, Piece::alone(SumSide::Known, amounts)));
        }
        let are_files_moved = job.files.shuffles().contains(&Shuffle::ByKey);
        let task_bytes = if are_files_moved { bounds.task_bytes } else { bounds.sum_bytes };
        let bounds = Bounds { task_bytes, ..bounds.clone() };
        Ok(Some(JobPlan { known, made, ..JobPlan::new(EntryJob::Groups(Box::new(job)), manifests, &bounds) }))
    }

    /// The reduce that merges sums.
    fn merging(&self) -> usize {
        self.files.shuffles().len() + 1
    }

    fn no_groups(&self) -> Result<GroupSums<F>> {
        let types = F::types_of(&self.files);
        let groups = F::Groups::sent(types, &self.summing)?;
        let (summing, types) = (self.summing.clone(), Some(types.clone()));
        Ok(GroupSums { groups, summing, held: self.held, types, deletes: None })
    }
}

impl<F: Format> Job for GroupsJob<F> {
    fn schema(&self) -> Result<SchemaRef> {
        match &self.summing.health {
            Some(health) => health::schema(health.columns()),
            None => Ok(self.no_groups()?.rows()?.schema()),
        }
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        let mut shuffles = self.files.shuffles();
        shuffles.extend([Shuffle::Here, Shuffle::ByKey]);
        shuffles.extend(self.summing.health.as_ref().map(|_| Shuffle::ToOne));
        shuffles
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        self.files.map(process)
    }

    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        Ok(match step.checked_sub(self.files.shuffles().len()) {
            None => self.files.reduce(step, process)?,
            Some(0) => Box::new(SumReduce::first(self.no_groups()?)),
            Some(1) => Box::new(SumReduce::last(self.no_groups()?)),
            Some(_) => Box::new(SumReduce::last(HealthSums::of(&self.summing)?)),
        })
    }
}
