//! Sums over live files as a job: a reduce that runs twice. Where files are made they are summed up first; sums of the
//! same group are then moved to the same part, and summed up again. The row of `health` is made of all parts.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::sums::keys;
use super::{FileGroups, Summing};
use crate::distributed::{
    Bounds, Job, JobPlan, ManifestMap, Piece, Pieces, Process, Reduce, Shuffle, hash, nothing, one, sides,
};
use crate::error::Result;
use crate::health::{self, HealthTask, row_of_parts};
use crate::scan::{EntryJob, Format, ScanOptions};
use crate::view::GroupBy;

/// Sums over live files.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct GroupsJob<F: Format> {
    /// Makes the live files.
    files: F::LiveJob,
    summing: Summing,
    /// Groups that a process holds before it sends on what it has, and rows of a batch of groups.
    held: usize,
}

sides! {
    enum SumSide {
        Sums,
        /// Counts of deletion vectors.
        Vectors,
    }
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
        let columns = F::Groups::INPUT.iter().map(|name| (*name).to_owned()).collect();
        let of_files = ScanOptions { columns: Some(columns), ..options.clone() };
        let Some((files, manifests, mut known)) = table.live_job(&of_files, bounds)? else { return Ok(None) };
        let summing = Summing::read(table, by, options)?;
        let job = GroupsJob::<F> { files, summing, held: bounds.groups.max(1) };
        if let Some(vectors) = F::Groups::vectors(table, options, by)? {
            known.push((job.merging(), Piece::alone(SumSide::Vectors, vectors)));
        }
        // There must be a part of `health` even without a file, for the reduce that makes its row.
        let made = match &job.summing.health {
            Some(_) => vec![(job.merging() + 1, Piece::alone(SumSide::Sums, job.no_groups()?.rows()?))],
            None => Vec::new(),
        };
        let are_files_moved = job.files.shuffles().contains(&Shuffle::ByKey);
        let task_bytes = if are_files_moved { bounds.task_bytes } else { bounds.sum_bytes };
        let bounds = Bounds { task_bytes, ..bounds.clone() };
        Ok(Some(JobPlan { known, made, ..JobPlan::new(EntryJob::Groups(Box::new(job)), manifests, &bounds) }))
    }

    /// The reduce that merges sums.
    fn merging(&self) -> usize {
        self.files.shuffles().len() + 1
    }

    fn no_groups(&self) -> Result<PartGroups<F>> {
        Ok(PartGroups {
            groups: F::Groups::sent(F::types_of(&self.files), &self.summing)?,
            summing: self.summing.clone(),
        })
    }
}

/// The groups of a part.
struct PartGroups<F: Format> {
    groups: F::Groups,
    summing: Summing,
}

impl<F: Format> PartGroups<F> {
    fn rows(&self) -> Result<RecordBatch> {
        self.summing.rows::<F>(&self.groups)
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

    fn map(&self, process: &Process, parts: u32) -> Result<ManifestMap> {
        self.files.map(process, parts)
    }

    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        let merging = self.merging();
        if step + 1 < merging {
            return self.files.reduce(step, process);
        }
        Ok(match &self.summing.health {
            Some(health) if step > merging => {
                Box::new(ReduceToOne { health: health.clone(), parts: Vec::new() })
            }
            _ if step < merging => Box::new(Add { part: self.no_groups()?, held: self.held }),
            _ => Box::new(Merge { part: self.no_groups()?, vectors: Vec::new(), batch: self.held }),
        })
    }
}

/// Sums up files.
struct Add<F: Format> {
    part: PartGroups<F>,
    held: usize,
}

impl<F: Format> Add<F> {
    /// The sums so far, each with the key of its group.
    fn drained(&mut self) -> Result<Pieces> {
        let sums = self.part.groups.drain()?;
        let keys: Vec<Option<u64>> = keys(&sums)?.iter().map(|key| key.map(hash)).collect();
        one(Piece::keyed(SumSide::Sums, sums, keys))
    }
}

impl<F: Format> Reduce for Add<F> {
    fn push(&mut self, _side: i32, files: RecordBatch) -> Result<Pieces> {
        self.part.groups.extend(&files)?;
        if self.part.groups.count() >= self.held { self.drained() } else { nothing() }
    }

    fn finish(&mut self) -> Result<Pieces> {
        self.drained()
    }
}

/// Merges the sums of the groups of a part.
struct Merge<F: Format> {
    part: PartGroups<F>,
    /// Counts of deletion vectors, for the groups that there are in the end.
    vectors: Vec<RecordBatch>,
    /// Rows of a batch.
    batch: usize,
}

impl<F: Format> Reduce for Merge<F> {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        match SumSide::of(side)? {
            SumSide::Sums => self.part.groups.merge(&rows)?,
            SumSide::Vectors => self.vectors.push(rows),
        }
        nothing()
    }

    fn finish(&mut self) -> Result<Pieces> {
        self.vectors.iter().try_for_each(|counts| self.part.groups.know_vectors(counts))?;
        let (rows, most) = (self.part.rows()?, self.batch);
        if self.part.summing.health.is_some() {
            return one(Piece::alone(SumSide::Sums, rows));
        }
        let starts = (0..rows.num_rows()).step_by(most);
        Ok(Box::new(
            starts.map(move |start| Ok(Piece::rows(rows.slice(start, most.min(rows.num_rows() - start))))),
        ))
    }
}

/// Makes the row of `health`.
struct ReduceToOne {
    health: HealthTask,
    parts: Vec<RecordBatch>,
}

impl Reduce for ReduceToOne {
    fn push(&mut self, _side: i32, rows: RecordBatch) -> Result<Pieces> {
        self.parts.push(rows);
        nothing()
    }

    fn finish(&mut self) -> Result<Pieces> {
        let parts = std::mem::take(&mut self.parts);
        one(Piece::rows(row_of_parts(&self.health, parts.iter())?))
    }
}
