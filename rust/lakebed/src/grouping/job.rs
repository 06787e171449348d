//! Sums over live files as a job: a reduce that runs twice. Where files are made they are summed up first; sums of the
//! same group are then moved to the same part, and summed up again. The row of `health` is made of all parts.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sums::keys;
use crate::distributed::{
    Bounds, Job, ManifestMap, Piece, Pieces, Process, Reduce, Shuffle, foreign, hash, nothing, one, sides,
};
use crate::error::Result;
use crate::health::{self, HealthTask, row_of_parts};
use crate::view::GroupBy;

/// Groups of live files.
pub(crate) trait Grouping: Send {
    /// Adds live files.
    ///
    /// # Errors
    /// `Required` for a missing column; `Mismatch` for a sum beyond 64 bits.
    fn add(&mut self, files: &RecordBatch) -> Result<()>;

    /// Adds what [`Grouping::drain`] returned in another process.
    ///
    /// # Errors
    /// As [`Grouping::add`].
    fn merge(&mut self, sums: &RecordBatch) -> Result<()>;

    /// Adds counts of deletion vectors by partition and bucket, after the last sums.
    ///
    /// # Errors
    /// As [`Grouping::add`]; `Argument` for a format whose sums have them.
    fn know_vectors(&mut self, _counts: &RecordBatch) -> Result<()> {
        Err(foreign("counts of deletion vectors"))
    }

    /// How many groups there are.
    fn count(&self) -> usize;

    /// Takes out the groups: `partition` binary, equal for equal partitions, and numbers.
    ///
    /// # Errors
    /// None that input could cause.
    fn drain(&mut self) -> Result<RecordBatch>;

    /// The rows of the view; for `health` those of which [`row_of_parts`] makes its row.
    ///
    /// # Errors
    /// Those of the view.
    fn rows(&self) -> Result<RecordBatch>;
}

/// What a format sums up, as it is sent.
pub(crate) trait SentSums: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The job that makes the live files.
    type Files: Job;

    /// The job that makes the live files.
    fn files(&self) -> &Self::Files;

    /// No groups yet; `health` is that of the job.
    ///
    /// # Errors
    /// Those of resolving a scan, for a job that was changed in transit.
    fn start(&self, by: GroupBy, health: Option<&HealthTask>) -> Result<Box<dyn Grouping>>;
}

/// Sums over live files.
#[derive(Serialize, Deserialize)]
#[serde(bound = "S: SentSums")]
pub(crate) struct GroupsJob<S> {
    sums: S,
    by: GroupBy,
    /// For the view `health`.
    health: Option<HealthTask>,
    /// Groups that a process holds before it sends on what it has, and rows of a batch of groups.
    held: usize,
}

sides! {
    enum Side {
        Sums,
        /// Counts of deletion vectors.
        Vectors,
    }
}

/// The side of what every process gets of deletion vectors.
pub(crate) struct Vectors;

impl From<Vectors> for i32 {
    fn from(_: Vectors) -> i32 {
        Side::Vectors.into()
    }
}

impl<S: SentSums> GroupsJob<S> {
    /// Sums by `by`; `health` is for that view.
    pub(crate) fn new(sums: S, by: GroupBy, health: Option<HealthTask>, bounds: &Bounds) -> GroupsJob<S> {
        GroupsJob { sums, by, health, held: bounds.groups.max(1) }
    }

    /// The reduce that merges sums.
    pub(crate) fn merging(&self) -> usize {
        self.sums.files().shuffles().len() + 1
    }

    /// What there must be even without a file: of `health` a part without files, for the reduce that makes its row.
    ///
    /// # Errors
    /// As [`SentSums::start`].
    pub(crate) fn made(&self) -> Result<Vec<(usize, Piece)>> {
        match &self.health {
            Some(_) => Ok(vec![(self.merging() + 1, Piece::alone(Side::Sums, self.start()?.rows()?))]),
            None => Ok(Vec::new()),
        }
    }

    fn start(&self) -> Result<Box<dyn Grouping>> {
        self.sums.start(self.by, self.health.as_ref())
    }
}

impl<S: SentSums> Job for GroupsJob<S> {
    fn schema(&self) -> Result<SchemaRef> {
        match &self.health {
            Some(health) => health::schema(health.columns()),
            None => Ok(self.start()?.rows()?.schema()),
        }
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        let mut shuffles = self.sums.files().shuffles();
        shuffles.extend([Shuffle::Here, Shuffle::ByKey]);
        shuffles.extend(self.health.as_ref().map(|_| Shuffle::ToOne));
        shuffles
    }

    fn map(&self, process: &Process, parts: u32) -> Result<ManifestMap> {
        self.sums.files().map(process, parts)
    }

    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        let merging = self.merging();
        if step + 1 < merging {
            return self.sums.files().reduce(step, process);
        }
        Ok(match &self.health {
            Some(health) if step > merging => {
                Box::new(ReduceToOne { health: health.clone(), parts: Vec::new() })
            }
            _ if step < merging => Box::new(Add { groups: self.start()?, held: self.held }),
            health => Box::new(Merge {
                groups: self.start()?,
                vectors: Vec::new(),
                batch: self.held,
                is_health: health.is_some(),
            }),
        })
    }
}

/// Sums up files.
struct Add {
    groups: Box<dyn Grouping>,
    held: usize,
}

impl Add {
    /// The sums so far, each with the key of its group.
    fn drained(&mut self) -> Result<Pieces> {
        let sums = self.groups.drain()?;
        let keys: Vec<Option<u64>> = keys(&sums)?.iter().map(|key| key.map(hash)).collect();
        one(Piece::keyed(Side::Sums, sums, keys))
    }
}

impl Reduce for Add {
    fn push(&mut self, _side: i32, files: RecordBatch) -> Result<Pieces> {
        self.groups.add(&files)?;
        if self.groups.count() >= self.held { self.drained() } else { nothing() }
    }

    fn finish(&mut self) -> Result<Pieces> {
        self.drained()
    }
}

/// Merges the sums of the groups of a part.
struct Merge {
    groups: Box<dyn Grouping>,
    /// Counts of deletion vectors, for the groups that there are in the end.
    vectors: Vec<RecordBatch>,
    /// Rows of a batch.
    batch: usize,
    is_health: bool,
}

impl Reduce for Merge {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        match Side::of(side)? {
            Side::Sums => self.groups.merge(&rows)?,
            Side::Vectors => self.vectors.push(rows),
        }
        nothing()
    }

    fn finish(&mut self) -> Result<Pieces> {
        self.vectors.iter().try_for_each(|counts| self.groups.know_vectors(counts))?;
        let (rows, most) = (self.groups.rows()?, self.batch);
        if self.is_health {
            return one(Piece::alone(Side::Sums, rows));
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
