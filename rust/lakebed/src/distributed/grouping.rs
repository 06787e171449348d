//! Aggregates over files that several processes compute partially and one merges. Partial states are batches.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use super::SerializableWork;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Content;

/// Groups of live files: aggregates manifests one by one, and merges the partial states of other processes.
pub trait Grouping: Send {
    /// Adds the files of one manifest, or of a part of one, given its path in any spelling that engines use.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path.
    fn read(&mut self, path: &str, content: Content) -> Result<()> {
        let Content { bytes, part } = content;
        let read = self.read_blocks(path, bytes, part.is_none());
        read.map_err(|error| match part {
            Some(part) => part.in_whole_file(error),
            None => error,
        })
    }

    /// Like [`Grouping::read`], with the bytes of a file that may have only some of the manifest's blocks.
    ///
    /// # Errors
    /// As [`Grouping::read`], with positions in this file.
    fn read_blocks(&mut self, path: &str, bytes: Buffer, whole: bool) -> Result<()>;

    /// Adds live files: rows of the scan's task of [`Part::Added`](super::Part::Added).
    ///
    /// # Errors
    /// `Required` for a missing column; `Mismatch` for a sum beyond 64 bits.
    fn add(&mut self, files: &RecordBatch) -> Result<()>;

    /// Merges what [`Grouping::drain`] returned in another process.
    ///
    /// # Errors
    /// As [`Grouping::add`].
    fn merge(&mut self, sums: &RecordBatch) -> Result<()>;

    /// Adds what the driver knows of all files: deletions before the first file, vectors after the last.
    ///
    /// # Errors
    /// As [`Grouping::add`]; `Argument` for a format that does not need it.
    fn know(&mut self, _what: Prerequisite, _rows: &RecordBatch) -> Result<()> {
        Err(Error::new(ErrorKind::Argument, "entries of this format record themselves which files are live"))
    }

    /// How many groups there are.
    fn count(&self) -> usize;

    /// Takes out the groups in serialized form: `partition` binary, equal for equal partitions, and numbers.
    ///
    /// # Errors
    /// None that input could cause.
    fn drain(&mut self) -> Result<RecordBatch>;

    /// The rows of the view; for `health`, the rows that [`GroupTask::health_row`] takes.
    ///
    /// # Errors
    /// Those of the view.
    fn rows(&self) -> Result<RecordBatch>;
}

/// What the driver reads about all files before executors aggregate some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prerequisite {
    /// Identities of the files that entries delete.
    Deleted,
    /// Deletion vectors by partition and bucket.
    Vectors,
}

/// The work of an aggregating scan: makes [`Grouping`]s in executors, and rows of their sums in the driver.
pub trait GroupTask: SerializableWork {
    /// A grouping without groups.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed in transit.
    fn start(&self, decoding: Decoding) -> Result<Box<dyn Grouping>>;

    /// The row of `health`, from the rows of [`Grouping::rows`] for parts of the files.
    ///
    /// # Errors
    /// `Argument` for a task of another view; `Mismatch` for a sum beyond 64 bits; `Required` and `Argument` for
    /// other rows.
    fn health_row(&self, parts: &mut dyn Iterator<Item = Result<RecordBatch>>) -> Result<RecordBatch>;
}
