//! Record files in ORC and Parquet, distinguished from Avro by their first bytes. They are read here; an
//! encoder that the caller gives writes them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
pub use lakebed_columnar::{
    Bound, Format, OrcColumn, OrcSummary, ParquetElement, ParquetSummary, Statistics, orc_summary,
    parquet_summary,
};
use lakebed_columnar::{File, FileKey};

use crate::cache::Cache;
use crate::error::Result;
use crate::iceberg::Keys;
use crate::scan::Part;

/// How record files are decoded, and their limits.
#[derive(Debug, Clone)]
pub struct Decoding {
    /// Limits for one file, in any container.
    pub limits: Limits,
    /// What unwraps the keys of encrypted tables; `None` where there is nothing.
    pub(crate) keys: Option<Keys>,
    /// What keeps decoded columns; `None` where nothing does.
    pub(crate) cache: Option<Arc<Cache>>,
    /// What the pages of this file are decrypted by, of an encrypted Parquet file.
    pub(crate) file_key: Option<Arc<FileKey>>,
    /// The range of this file whose row groups are read, of a Parquet file that several tasks read.
    pub(crate) range: Option<Range<u64>>,
}

impl Decoding {
    /// The same with what unwraps keys.
    #[must_use]
    pub fn with_keys(self, keys: Option<Keys>) -> Decoding {
        Decoding { keys, ..self }
    }

    /// The same with what keeps decoded columns.
    #[must_use]
    pub fn with_cache(self, cache: Option<Arc<Cache>>) -> Decoding {
        Decoding { cache, ..self }
    }

    /// Whether something keeps decoded columns.
    pub fn has_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// The same for what is there of a file.
    pub(crate) fn of_part(&self, part: Option<&Part>) -> Decoding {
        Decoding { range: part.and_then(Part::range).cloned(), ..self.clone() }
    }
}

impl From<Limits> for Decoding {
    fn from(limits: Limits) -> Decoding {
        Decoding { limits, keys: None, cache: None, file_key: None, range: None }
    }
}

/// A codec of ORC and Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// None.
    None,
    /// Snappy.
    Snappy,
    /// Deflate: zlib in ORC, gzip in Parquet.
    Deflate,
    /// LZ4, in Parquet without Hadoop's frames.
    Lz4,
    /// Zstandard; ORC's encoders may have one level only.
    Zstandard {
        /// The level.
        level: i32,
    },
}

/// Encodes record batches as ORC or Parquet.
///
/// A library that both formats' users rely on does that better than this crate could; which one, its caller
/// chooses.
pub trait Encoder: fmt::Debug + Send + Sync {
    /// A file of these rows. The metadata of fields has their ids, with the keys of [`field_id_key`].
    ///
    /// # Errors
    /// `Unsupported` for a format or codec that the encoder lacks; those of the encoder.
    fn encode(&self, rows: &RecordBatch, format: Format, codec: Codec) -> Result<Buffer>;
}

/// The key under which Parquet readers keep a field's id.
pub(crate) const PARQUET_FIELD_ID: &str = "PARQUET:field_id";

/// The metadata key of a field's id: in ORC an attribute of the type, as it is in the file.
pub(crate) fn field_id_key(format: Format) -> &'static str {
    match format {
        Format::Orc => "paimon.id",
        Format::Parquet => PARQUET_FIELD_ID,
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
        decoding: &Decoding,
    ) -> Option<Result<ColumnarBatches>> {
        let format = Format::of(bytes)?;
        let file = File::open(format, bytes.clone(), columns, decoding.limits, decoding.file_key.as_ref());
        let of_range = |file: File| match &decoding.range {
            Some(range) => file.of_range(range),
            None => file,
        };
        Some(file.map(of_range).map(ColumnarBatches).map_err(Into::into))
    }

    /// The same, of maps with int keys only with the items of these keys: others may be left out.
    pub(crate) fn with_keys(self, keys: Option<&[i32]>) -> ColumnarBatches {
        match keys {
            Some(keys) => ColumnarBatches(self.0.with_keys(keys)),
            None => self,
        }
    }

    /// The number of rows of the file in front of the first batch.
    pub(crate) fn first_row(&self) -> u64 {
        self.0.first_row()
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
