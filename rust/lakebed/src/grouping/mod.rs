//! Sums over files that are made in several processes and brought together in one: a partial state in, a
//! partial state out.

mod sizes;
pub(crate) mod sums;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

pub(crate) use sizes::Sizes;

use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::health::HealthTask;
use crate::scan::Content;
use crate::{iceberg, paimon};

/// Groups of live files, made of manifests one by one and of what others made of other manifests.
pub trait Grouping: Send {
    /// Takes the files of one manifest in, or of a part of one; an engine may spell its path as it likes.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path.
    fn read(&mut self, path: &str, content: Content) -> Result<()> {
        let Content { bytes, part } = content;
        let read = self.read_blocks(path, bytes, part.is_none());
        read.map_err(|error| match part {
            Some(part) => part.placed(error),
            None => error,
        })
    }

    /// The same with the bytes of a file, which may not be the whole manifest.
    ///
    /// # Errors
    /// As [`Grouping::read`], their places seen in this file.
    fn read_blocks(&mut self, path: &str, bytes: Buffer, whole: bool) -> Result<()>;

    /// Takes live files in, rows of the scan's task of [`Part::Added`](crate::scan::Part::Added).
    ///
    /// # Errors
    /// `Required` for a column that is not there; `Mismatch` for a sum beyond 64 bits.
    fn add(&mut self, files: &RecordBatch) -> Result<()>;

    /// Takes in what [`Grouping::drain`] gave elsewhere.
    ///
    /// # Errors
    /// As [`Grouping::add`].
    fn merge(&mut self, sums: &RecordBatch) -> Result<()>;

    /// Takes in what is known of all files: deletions before the first file, vectors behind the last.
    ///
    /// # Errors
    /// As [`Grouping::add`]; `Argument` for a format that has no such thing.
    fn know(&mut self, _known: Known, _rows: &RecordBatch) -> Result<()> {
        Err(Error::new(ErrorKind::Argument, "entries of this format say themselves which files live"))
    }

    /// How many groups there are.
    fn count(&self) -> usize;

    /// The groups as they travel: `partition` binary, equal where partitions are, and numbers. None is left.
    ///
    /// # Errors
    /// None that input could cause.
    fn drain(&mut self) -> Result<RecordBatch>;

    /// The rows of the view; of `health` what [`HealthTask::row`](crate::health::HealthTask::row) takes.
    ///
    /// # Errors
    /// Those of the view.
    fn rows(&self) -> Result<RecordBatch>;
}

/// What the driver knows of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Identities of the files that entries delete.
    Deleted,
    /// Deletion vectors by partition and bucket.
    Vectors,
}

/// What an executor needs to make [`Grouping`]s.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupTask {
    /// Of a Paimon table.
    Paimon(paimon::GroupTask),
    /// Of an Iceberg table.
    Iceberg(iceberg::GroupTask),
}

impl GroupTask {
    /// A grouping without groups.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed on its way.
    pub fn start(&self, decoding: Decoding) -> Result<Box<dyn Grouping>> {
        Ok(match self {
            GroupTask::Paimon(task) => Box::new(task.start(decoding)?),
            GroupTask::Iceberg(task) => Box::new(task.start(decoding)?),
        })
    }

    /// What makes the row of `health`.
    ///
    /// # Errors
    /// `Argument` for a task of another view.
    pub fn health(&self) -> Result<&HealthTask> {
        let health = match self {
            GroupTask::Paimon(task) => task.health(),
            GroupTask::Iceberg(task) => task.health(),
        };
        health.ok_or_else(|| Error::new(ErrorKind::Argument, "this task is not one of health"))
    }
}
