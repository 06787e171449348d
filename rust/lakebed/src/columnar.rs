//! Files of records in ORC and Parquet: told from Avro by their first bytes.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use lakebed_columnar::{File, Format};

use crate::error::Result;

/// How files of records are decoded: what each may cost.
#[derive(Debug, Clone)]
pub struct Decoding {
    /// Bounds on one file, in whichever container.
    pub limits: Limits,
}

impl From<Limits> for Decoding {
    fn from(limits: Limits) -> Decoding {
        Decoding { limits }
    }
}

/// Whether a file is of a columnar format.
pub(crate) fn is_columnar(bytes: &[u8]) -> bool {
    Format::of(bytes).is_some()
}

/// The record batches of an ORC or Parquet file.
pub(crate) struct ColumnarBatches(File);

impl ColumnarBatches {
    /// Opens `bytes` for those of `columns`, dotted paths, that there are; `None` for what is not of a columnar format.
    pub(crate) fn open(
        bytes: &Buffer,
        columns: &[String],
        limits: Limits,
    ) -> Option<Result<ColumnarBatches>> {
        let format = Format::of(bytes)?;
        let file = File::open(format, bytes.clone(), columns, limits);
        Some(file.map(ColumnarBatches).map_err(Into::into))
    }

    /// The schema of the file, columns that were not asked for included.
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
