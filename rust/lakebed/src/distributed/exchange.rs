//! Rows that are made of the entries of several manifests, made elsewhere: entries are dealt out to parts
//! that need nothing of each other, an engine brings together what is of one part, and rows are made there.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use twox_hash::XxHash64;

use super::{PlannedManifest, Travels};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Batches;
use crate::view::with_columns;

/// The column of [`Pieces`] that says which part each row is of.
const PART: &str = "_part";

/// Entries on their way to their parts, in the core's own columns: the side that a batch is of, and its rows,
/// whose last column `_part` int32 is the part of each; null for one that every part needs.
pub type Pieces = Box<dyn Iterator<Item = Result<(i32, RecordBatch)>> + Send>;

/// Deals the entries of one manifest out, given its path, which engines may spell as they like, and its bytes. Gives
/// `Missing` for a manifest that is not the scan's, and the errors of reading entries, with the path.
pub type Dealing = Box<dyn Fn(&str, Buffer) -> Result<Pieces> + Send + Sync>;

/// What makes the rows of one part.
pub trait Gather: Send {
    /// Takes in rows of a side, and gives the rows of the scan that can be made by now. Of lower sides all
    /// must have come.
    ///
    /// # Errors
    /// Those of the scan; `Argument` or `Required` for what are no rows of the side.
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches>;

    /// The rows of the scan that are left, once all has come.
    ///
    /// # Errors
    /// Those of the scan.
    fn finish(&mut self) -> Result<Batches> {
        Ok(Box::new(std::iter::empty()))
    }
}

/// A scan's work as one plans it: which manifests it is on.
pub struct Exchanged {
    /// What crosses to executors.
    pub exchange: Box<dyn Exchange>,
    /// The manifests that entries of each side are in; one manifest may be of several sides.
    pub sides: Vec<Vec<PlannedManifest>>,
    /// Whether entries have to be brought together; if not, one manifest after the other may be gathered.
    pub together: bool,
    /// Rows of the scan that are made already, of no manifest.
    pub made: Vec<RecordBatch>,
}

/// A scan's work on manifests whose entries are brought together, apart from the table.
pub trait Exchange: Travels {
    /// The schema of the rows.
    ///
    /// # Errors
    /// Those of resolving a scan, for work that was changed on its way.
    fn schema(&self) -> Result<SchemaRef>;

    /// Resolves what it takes to deal entries out to so many parts, once for all manifests.
    ///
    /// # Errors
    /// As [`Exchange::schema`].
    fn dealing(&self, decoding: Decoding, parts: u32) -> Result<Dealing>;

    /// What makes the rows of a part.
    ///
    /// # Errors
    /// As [`Exchange::schema`].
    fn gather(&self) -> Result<Box<dyn Gather>>;
}

/// The hash by which keys are dealt out: the same on every machine.
pub(crate) fn hash(key: &[u8]) -> u64 {
    XxHash64::oneshot(0, key)
}

/// `rows` with the part of each, given the hash of its key; `None` where every part needs it.
pub(crate) fn dealt(
    rows: &RecordBatch,
    keys: impl Iterator<Item = Option<u64>>,
    parts: u32,
) -> Result<RecordBatch> {
    let part = |key: u64| i32::try_from(key.checked_rem(u64::from(parts))?).ok();
    let numbers: Option<Int32Array> = keys
        .map(|key| match key {
            Some(key) => part(key).map(Some),
            None => Some(None),
        })
        .collect();
    let numbers = numbers.ok_or_else(|| Error::new(ErrorKind::Argument, format!("{parts} parts")))?;
    with_columns(rows, vec![(PART, Arc::new(numbers) as ArrayRef)])
}
