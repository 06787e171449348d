//! Checks that deletes of one file each fit their file, when partitions distributed the two to different
//! parts.

use arrow_array::RecordBatch;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{DeleteIndex, DeleteIndexBuilder};
use crate::iceberg::table::TableTypes;

/// The deletes of a part that was distributed by paths: all are added before the first data file.
pub(super) enum ByPath {
    Taking(Box<DeleteIndexBuilder>),
    Holding(Box<DeleteIndex>),
}

impl ByPath {
    /// No deletes yet.
    ///
    /// # Errors
    /// Those of [`DeleteIndexBuilder::new`].
    pub(super) fn new(types: TableTypes) -> Result<ByPath> {
        Ok(ByPath::Taking(Box::new(DeleteIndexBuilder::new(types)?)))
    }

    /// Adds deletes of one file each.
    ///
    /// # Errors
    /// Those of [`DeleteIndexBuilder::push`]; `Argument` after a data file.
    pub(super) fn deletes(&mut self, rows: &RecordBatch) -> Result<()> {
        match self {
            ByPath::Taking(deletes) => deletes.push(rows),
            ByPath::Holding(_) => Err(Error::new(ErrorKind::Argument, "deletes behind data files")),
        }
    }

    /// Looks up the deletes of data files.
    ///
    /// # Errors
    /// Those of [`DeleteIndex::append`].
    pub(super) fn files(self, rows: &RecordBatch) -> Result<ByPath> {
        let index = match self {
            ByPath::Taking(deletes) => Box::new(deletes.finish(Vec::new())?),
            ByPath::Holding(index) => index,
        };
        let (files, mut found) = (index.files(rows)?, Vec::new());
        for row in 0..rows.num_rows() {
            found.clear();
            index.append(&files, row, &mut found)?;
        }
        Ok(ByPath::Holding(index))
    }
}
