//! Rows that depend on entries of several manifests, made by several processes. Entries are distributed to
//! parts that are independent of each other, an engine shuffles them by part, and each part's rows are made
//! in one place.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use twox_hash::XxHash64;

use super::{PlannedManifest, SerializableWork};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Batches;
use crate::storage::Storage;
use crate::view::with_columns;

/// The column of [`Pieces`] with the part of each row.
const PART: &str = "_part";

/// Entries on their way to their parts, in internal columns: the side of a batch, and its rows. The last
/// column `_part` int32 is the part of each row; null for a row that every part needs.
pub type Pieces = Box<dyn Iterator<Item = Result<(i32, RecordBatch)>> + Send>;

/// Distributes the entries of one manifest, given its path, in any spelling that engines use, and its bytes.
/// Returns `Missing` for a manifest that is not the scan's, and errors of reading entries with the path.
pub type ManifestPartitioner = Box<dyn Fn(&str, Buffer) -> Result<Pieces> + Send + Sync>;

/// Makes the rows of one part.
pub trait Gather: Send {
    /// Takes the storage of the table's files, before any rows, for rows that are made of other files than
    /// manifests.
    fn open_through(&mut self, _storage: Arc<dyn Storage>) {}

    /// Takes rows of a side, and returns the rows of the scan that are complete by now. All rows of lower
    /// sides must have come before.
    ///
    /// # Errors
    /// Those of the scan; `Argument` or `Required` for a batch that does not have the columns of the side.
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches>;

    /// The remaining rows of the scan, once all rows have come.
    ///
    /// # Errors
    /// Those of the scan.
    fn finish(&mut self) -> Result<Batches> {
        Ok(Box::new(std::iter::empty()))
    }
}

/// The work of a scan as the driver plans it, with the manifests that it reads.
pub struct Exchanged {
    /// The work that is sent to executors.
    pub exchange: Box<dyn Exchange>,
    /// The manifests with the entries of each side; one manifest may belong to several sides.
    pub sides: Vec<Vec<PlannedManifest>>,
    /// Whether entries must be shuffled by part; if not, manifests may be gathered one after another.
    pub together: bool,
    /// Rows of the scan that need no manifest and are made already.
    pub made: Vec<RecordBatch>,
    /// For [`Distributed::looked_again`](super::Distributed::looked_again): what planning has read of the table,
    /// if its rows are to be compared with the table as it is when all else has been read.
    pub seen: Option<String>,
}

/// The work of a scan whose entries are shuffled by part, independent of the table.
pub trait Exchange: SerializableWork {
    /// The schema of the rows.
    ///
    /// # Errors
    /// Those of resolving a scan, for work that was changed in transit.
    fn schema(&self) -> Result<SchemaRef>;

    /// Resolves what is needed to distribute entries to `parts` parts, once for all manifests.
    ///
    /// # Errors
    /// As [`Exchange::schema`].
    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner>;

    /// Reads manifests, given by their paths, and distributes their entries to `parts` parts: for work of which
    /// a manifest that cannot be read is a result too.
    ///
    /// # Errors
    /// As [`Exchange::schema`]; `Missing` where this process does not reach the table; `Argument` for work whose
    /// manifests an engine may read.
    fn reading(
        &self,
        _storage: Arc<dyn Storage>,
        _decoding: Decoding,
        _paths: &[String],
        _parts: u32,
    ) -> Result<Pieces> {
        Err(Error::new(ErrorKind::Argument, "only work of verify reads the manifests itself"))
    }

    /// A maker of the rows of one part.
    ///
    /// # Errors
    /// As [`Exchange::schema`].
    fn gather(&self) -> Result<Box<dyn Gather>>;
}

/// The hash by which keys are distributed: the same on every machine.
pub(crate) fn hash(key: &[u8]) -> u64 {
    XxHash64::oneshot(0, key)
}

/// `rows` with the part of each row, given the hash of its key; `None` where every part needs the row.
pub(crate) fn with_parts(
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
