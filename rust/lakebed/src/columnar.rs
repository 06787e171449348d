//! Record files in ORC and Parquet, distinguished from Avro by their first bytes.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use lakebed_columnar::{File, Format};

use crate::error::Result;

/// How record files are decoded, and their limits.
#[derive(Debug, Clone)]
pub struct Decoding {
    /// Limits for one file, in any container.
    pub limits: Limits,
}

impl From<Limits> for Decoding {
    fn from(limits: Limits) -> Decoding {
        Decoding { limits }
    }
}

/// Whether a file is ORC or Parquet.
pub(crate) fn is_columnar(bytes: &[u8]) -> bool {
    Format::of(bytes).is_some()
}

/// The record batches of an ORC or Parquet file.
pub(crate) struct ColumnarBatches(File);

impl ColumnarBatches {
    /// Opens `bytes` for those of `columns`, dotted paths, that exist; `None` for a file that is neither ORC
    /// nor Parquet.
    pub(crate) fn open(
        bytes: &Buffer,
        columns: &[String],
        limits: Limits,
    ) -> Option<Result<ColumnarBatches>> {
        let format = Format::of(bytes)?;
        let file = File::open(format, bytes.clone(), columns, limits);
        Some(file.map(ColumnarBatches).map_err(Into::into))
    }

    /// The schema of the file, with all of its columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }
}

impl Iterator for ColumnarBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        Some(self.0.next()?.map_err(Into::into))
    }
}
