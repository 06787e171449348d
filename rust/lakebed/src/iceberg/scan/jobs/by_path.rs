//! Checks that no delete of one file has another spec or partition than its file: partitions distributed such
//! a delete to another part than its file, where it applies to nothing.

use arrow_array::{RecordBatch, StringArray};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{DeleteIndex, DeleteIndexBuilder};
use crate::iceberg::table::TableTypes;
use crate::record::column;

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
    pub(super) fn deletes(self, rows: &RecordBatch) -> Result<ByPath> {
        match self {
            ByPath::Taking(mut deletes) => {
                deletes.push(rows)?;
                Ok(ByPath::Taking(deletes))
            }
            ByPath::Holding(_) => Err(Error::new(ErrorKind::Argument, "deletes behind data files")),
        }
    }

    /// Looks up the deletes of data files.
    ///
    /// # Errors
    /// `Unsupported` for a file with a delete of another spec or partition; those of [`DeleteIndex::append`].
    pub(super) fn files(self, rows: &RecordBatch) -> Result<ByPath> {
        let index = match self {
            ByPath::Taking(deletes) => Box::new(deletes.finish(Vec::new())?),
            ByPath::Holding(index) => index,
        };
        let (files, paths) = (index.files(rows)?, column::<StringArray>(rows, "file_path")?);
        for row in 0..rows.num_rows() {
            if index.has_foreign(&files, row)? {
                let message = format!(
                    "a delete of {} alone is of another spec or partition: deletes=\"ids\" plans it, as one \
                    process does",
                    paths.value(row)
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(ByPath::Holding(index))
    }
}
