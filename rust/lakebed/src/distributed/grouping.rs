//! Sums over files that are made in several processes and brought together in one: a partial state in, a
//! partial state out.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use super::Travels;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Content;

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

    /// Takes live files in, rows of the scan's task of [`Part::Added`](super::Part::Added).
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
    fn know(&mut self, _what: Beforehand, _rows: &RecordBatch) -> Result<()> {
        Err(Error::new(ErrorKind::Argument, "entries of this format say themselves which files live"))
    }

    /// How many groups there are.
    fn count(&self) -> usize;

    /// The groups as they travel: `partition` binary, equal where partitions are, and numbers. None is left.
    ///
    /// # Errors
    /// None that input could cause.
    fn drain(&mut self) -> Result<RecordBatch>;

    /// The rows of the view; of `health` what [`GroupTask::health_row`] takes.
    ///
    /// # Errors
    /// Those of the view.
    fn rows(&self) -> Result<RecordBatch>;
}

/// What the driver knows of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beforehand {
    /// Identities of the files that entries delete.
    Deleted,
    /// Deletion vectors by partition and bucket.
    Vectors,
}

/// What an executor needs to make [`Grouping`]s, and what makes rows of their sums.
pub trait GroupTask: Travels {
    /// A grouping without groups.
    ///
    /// # Errors
    /// Those of resolving a scan, for a task that was changed on its way.
    fn start(&self, decoding: Decoding) -> Result<Box<dyn Grouping>>;

    /// The row of `health`, of rows that [`Grouping::rows`] gave for parts of the files.
    ///
    /// # Errors
    /// `Argument` for a task of another view; `Mismatch` for a sum beyond 64 bits; `Required` and `Argument` for
    /// other rows.
    fn health_row(&self, parts: &mut dyn Iterator<Item = Result<RecordBatch>>) -> Result<RecordBatch>;
}
