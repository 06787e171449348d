//! Position delete files: which rows of which data files are deleted, in Avro, ORC or Parquet (Iceberg
//! specification, "Position Delete Files").

mod row;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;

pub(super) use row::conform as conform_row;

use super::fields::{POSITION_DELETE, ROW};
use super::manifest::canonical::canonical_position_delete;
use super::types::FieldRef;
use crate::columnar::Decoding;
use crate::error::Result;
use crate::record::{RecordReader, RecordResolver};

/// Reads position delete files; resolves each writer's schema once.
pub(super) struct DeleteFileReader {
    resolver: RecordResolver,
    /// The fields of the table, where deleted rows are shown.
    row: Option<Vec<FieldRef>>,
}

/// Some deleted rows of a file.
pub(super) struct DeletedRows {
    /// The columns `file_path` and `pos`.
    pub(super) positions: RecordBatch,
    /// The deleted rows, where they are shown and the writer stored them.
    pub(super) rows: Option<ArrayRef>,
}

impl DeletedRows {
    /// Deletes without the deleted rows.
    pub(super) fn new(data_files: ArrayRef, positions: ArrayRef) -> Result<DeletedRows> {
        let columns = [("file_path", data_files), ("pos", positions)];
        let positions = RecordBatch::try_from_iter(columns)?;
        Ok(DeletedRows { positions, rows: None })
    }

    /// The same deletes in pieces of `rows` rows.
    pub(super) fn pieces(&self, rows: usize) -> Vec<DeletedRows> {
        let count = self.positions.num_rows();
        let piece = |start: usize| {
            let length = rows.min(count - start);
            DeletedRows {
                positions: self.positions.slice(start, length),
                rows: self.rows.as_ref().map(|all| all.slice(start, length)),
            }
        };
        (0..count).step_by(rows.max(1)).map(piece).collect()
    }
}

impl DeleteFileReader {
    /// A reader that shows deleted rows with the fields `row`; without them for `None`.
    pub(super) fn new(row: Option<Vec<FieldRef>>) -> Result<DeleteFileReader> {
        let besides: &[&str] = if row.is_some() { &[ROW] } else { &[] };
        let columns = ["file_path", "pos"].map(str::to_owned);
        let resolver = RecordResolver::new(&POSITION_DELETE, Some(&columns), &[], besides)?;
        Ok(DeleteFileReader { resolver: resolver.rewriting(canonical_position_delete), row })
    }

    /// The deletes of a file, in file order.
    ///
    /// # Errors
    /// Those of the container's layer; `Required` for a path or position that is missing
    /// or null; those of reading rows of another type.
    pub(super) fn open(
        &self,
        bytes: Buffer,
        decoding: &Decoding,
    ) -> Result<impl Iterator<Item = Result<DeletedRows>> + Send + use<>> {
        let mut reader = RecordReader::open(bytes, &self.resolver, None, decoding, 1)?;
        let row = self.row.clone();
        let mut first = 0;
        Ok(std::iter::from_fn(move || {
            let batch = match reader.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            let start = first;
            first += batch.num_rows() as u64;
            Some(reader.conform(&batch, Some(start)).and_then(|positions| {
                let rows = row.as_deref().zip(batch.column_by_name(ROW));
                let rows = rows.map(|(fields, rows)| row::conform(rows, fields)).transpose();
                Ok(DeletedRows { positions, rows: rows.map_err(|error| error.within(ROW))? })
            }))
        }))
    }
}
