//! Deletes that apply to no live data file: those of a snapshot that no live data file marks.
//!
//! Every process that reads data files gets all deletes, in some bytes each, and marks those that apply to its files. Users
//! remove what nobody has marked, so a delete of which it is not known what it applies to is marked from the beginning, and
//! so are those that plans would refuse.

mod amounts;
mod positions;
mod scan;

use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch};

pub(crate) use amounts::{AMOUNTS, DeleteAmounts};
pub(crate) use positions::{DELETES, DeleteKind, PositionMarks};
pub(crate) use scan::DanglingDeletes;

use crate::error::{Result, fitting};
use crate::record::column;
use crate::scan::{Format, ScanOptions};
use crate::view::whole;

/// The deletes of a snapshot. A delete's number is that of its row.
pub(crate) struct SnapshotDeletes {
    /// What every process gets: the columns of [`DELETES`], and what the format needs beside them.
    pub(crate) deletes: RecordBatch,
    /// How much each is: the columns of [`AMOUNTS`].
    pub(crate) amounts: RecordBatch,
}

/// Deletes of a snapshot, of which those are marked that apply to some live data file.
pub(crate) trait DeleteMarks<F: Format>: Send + Sized + 'static {
    /// Reads the deletes that the filter of `options` leaves; `None` where there are none.
    ///
    /// # Errors
    /// Those of reading the files that name them.
    fn read(table: &F, options: &ScanOptions) -> Result<Option<SnapshotDeletes>>;

    /// Marks no delete yet, in the process that has the table.
    ///
    /// # Errors
    /// As [`DeleteMarks::sent`].
    fn of(table: &F, deletes: &RecordBatch) -> Result<Self>;

    /// The same in another process.
    ///
    /// # Errors
    /// `Required` and `Mismatch` for a batch of another shape; those of resolving types, for a job that was changed in
    /// transit.
    fn sent(types: &F::Types, deletes: &RecordBatch) -> Result<Self>;

    /// The columns of entries that [`DeleteMarks::mark`] needs.
    fn input(&self) -> Vec<&'static str>;

    /// Marks the deletes that apply to some of these live files; delete files among them do not count.
    ///
    /// # Errors
    /// `Required` for a missing column.
    fn mark(&mut self, files: &RecordBatch) -> Result<()>;

    /// For each delete whether it is marked.
    fn marked(&self) -> &[bool];
}

/// The column of [`numbers`].
const NUMBER: &str = "delete_id";

/// The numbers of marked deletes, as they are sent.
pub(crate) fn numbers(marked: &[bool]) -> Result<RecordBatch> {
    let numbers = marked.iter().enumerate().filter(|(_, marked)| **marked).map(|(number, _)| number);
    let numbers = numbers.map(|number| fitting(i32::try_from(number).ok(), "the number of deletes"));
    let numbers = Int32Array::from(numbers.collect::<Result<Vec<_>>>()?);
    let count = numbers.len();
    whole(vec![(NUMBER, Arc::new(numbers))], count)
}

/// The numbers of which [`numbers`] made a batch.
///
/// # Errors
/// `Required` and `Mismatch` for a batch of another shape.
pub(crate) fn read_numbers(batch: &RecordBatch) -> Result<&Int32Array> {
    column(batch, NUMBER)
}
