//! What a job is made of.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Batches, Content};
use crate::storage::Storage;
use crate::table::{LakeTable, Newest};

/// A view that several processes make, independent of the table: inputs → map → reduce → … → rows.
pub trait Job: Send + Sync {
    /// The columns of the rows.
    ///
    /// # Errors
    /// Those of resolving a scan, for a job that was changed in transit.
    fn schema(&self) -> Result<SchemaRef>;

    /// What is done with pieces before each reduce; empty for rows that the map makes.
    fn shuffles(&self) -> Vec<Shuffle> {
        Vec::new()
    }

    /// Resolves what is needed to make pieces of manifests, once for all of them.
    ///
    /// # Errors
    /// As [`Job::schema`].
    fn map(&self, process: &Process) -> Result<ManifestMap>;

    /// Whether it maps manifests by their paths, and reads them itself.
    fn reads_manifests(&self) -> bool {
        false
    }

    /// Whether its last reduce compares rows with the table as it is by then, which needs [`Process::table`].
    fn looks_again(&self) -> bool {
        false
    }

    /// A reduce of the pieces of one part; `step` counts reduces from 0.
    ///
    /// # Errors
    /// As [`Job::schema`]; `Argument` for a job without such a reduce.
    fn reduce(&self, step: usize, _process: &Process) -> Result<Box<dyn Reduce>> {
        Err(Error::new(ErrorKind::Argument, format!("the job has no reduce {step}")))
    }
}

/// What is done with pieces before they are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shuffle {
    /// Nothing: the process that made them reduces them.
    Here,
    /// Pieces with the same key are moved to the same part.
    ByKey,
    /// All of them are moved to one process.
    ToOne,
}

/// Makes pieces of a manifest, given its path in any spelling that engines use, and its bytes or those of a part.
/// Returns `Missing` for a manifest that is not the job's; other errors have the path.
pub type MapContent = dyn Fn(&str, Content) -> Result<Pieces> + Send;

/// Makes pieces of manifests, given by their paths, which it reads itself.
pub type MapPaths = dyn Fn(&[String]) -> Result<Pieces> + Send;

/// How manifests are mapped.
pub enum ManifestMap {
    /// By their bytes, which the engine reads.
    Content(Box<MapContent>),
    /// By their paths, for a job of which a manifest that cannot be read is a result too.
    Paths(Box<MapPaths>),
}

impl ManifestMap {
    /// A map of the bytes of manifests.
    pub(crate) fn of_content(
        map: impl Fn(&str, Content) -> Result<Pieces> + Send + 'static,
    ) -> Result<ManifestMap> {
        Ok(ManifestMap::Content(Box::new(map)))
    }
}

/// Some rows on their way to a reduce, or rows of the view.
#[derive(Debug, Clone)]
pub struct Piece {
    /// What the rows are to the reduce: it gets all rows of a side before those of the next one.
    pub side: i32,
    /// The rows.
    pub rows: RecordBatch,
    /// The hash of each row's key; `None` for a row that every part needs. Empty where no shuffle by keys follows.
    pub keys: Vec<Option<u64>>,
}

impl Piece {
    /// Rows of a side, to be moved by their keys.
    pub(crate) fn keyed(
        side: impl Into<i32>,
        rows: RecordBatch,
        keys: impl IntoIterator<Item = Option<u64>>,
    ) -> Piece {
        Piece { side: side.into(), rows, keys: keys.into_iter().collect() }
    }

    /// Rows of a side that are not moved by a key.
    pub(crate) fn alone(side: impl Into<i32>, rows: RecordBatch) -> Piece {
        Piece { side: side.into(), rows, keys: Vec::new() }
    }

    /// Rows of the view.
    pub(crate) fn rows(rows: RecordBatch) -> Piece {
        Piece { side: 0, rows, keys: Vec::new() }
    }
}

/// Pieces, made as they are requested.
pub type Pieces = Box<dyn Iterator<Item = Result<Piece>> + Send>;

/// Reduces the pieces of one part to rows of the view, or to pieces for the next reduce.
pub trait Reduce: Send {
    /// Takes rows of a side, after all rows of lower sides. Returns what is complete by now.
    ///
    /// # Errors
    /// Those of the job; `Argument` or `Required` for rows that are not of the side.
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces>;

    /// Whether it needs no more rows of a side: where they are read meanwhile, the others are not.
    fn is_done(&mut self, _side: i32) -> bool {
        false
    }

    /// What is left, once all rows have been taken.
    ///
    /// # Errors
    /// Those of the job.
    fn finish(&mut self) -> Result<Pieces> {
        Ok(Box::new(std::iter::empty()))
    }
}

/// What a process that does some of a job has.
#[derive(Clone)]
pub struct Process {
    /// The storage of the table's files, for a job that reads them itself.
    pub storage: Arc<dyn Storage>,
    /// How manifests are decoded.
    pub decoding: Decoding,
    /// The table, and what reads its newest version, for a job whose rows are compared with the table again.
    pub table: Option<TableToLookAt>,
}

/// A table, and what reads its newest version if the table does not do so itself.
pub type TableToLookAt = (Arc<dyn LakeTable>, Option<Newest>);

/// No pieces yet.
pub(crate) fn nothing() -> Result<Pieces> {
    Ok(Box::new(std::iter::empty()))
}

/// Rows of the view.
pub(crate) fn rows(rows: Batches) -> Pieces {
    Box::new(rows.map(|rows| rows.map(Piece::rows)))
}

/// The rows of pieces.
pub(crate) fn batches(pieces: Pieces) -> Batches {
    Box::new(pieces.map(|piece| Ok(piece?.rows)))
}

/// One piece.
pub(crate) fn one(piece: Piece) -> Result<Pieces> {
    Ok(Box::new(std::iter::once(Ok(piece))))
}

/// The error for pieces of a job that was changed in transit.
#[cold]
pub(crate) fn foreign(what: impl ToString) -> Error {
    Error::new(ErrorKind::Argument, format!("not of this job: {}", what.to_string()))
}

/// The sides of a job's pieces, in the order in which a reduce gets them.
macro_rules! sides {
    ($vis:vis enum $name:ident { $($(#[$doc:meta])* $side:ident),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$doc])* $side),+ }

        impl $name {
            $vis fn of(number: i32) -> $crate::error::Result<$name> {
                let sides = [$($name::$side),+];
                let side = usize::try_from(number).ok().and_then(|number| sides.get(number).copied());
                side.ok_or_else(|| $crate::distributed::foreign(format!("side {number}")))
            }
        }

        impl From<$name> for i32 {
            fn from(side: $name) -> i32 {
                side as i32
            }
        }
    };
}
pub(crate) use sides;
