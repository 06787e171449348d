//! ORC and Parquet files of metadata to Arrow columns, within limits.
//!
//! [`File::open`] reads the end of a file, where both formats have their schema; [`File`] is then an iterator
//! of record batches with the requested columns. The supported features are those that manifests and manifest
//! lists use. All bytes are untrusted: numbers are compared with the available bytes before they are used,
//! and no file costs more than its [`Limits`].
//!
//! # Arrow forms
//!
//! | ORC | Parquet | Arrow |
//! |---|---|---|
//! | boolean | BOOLEAN | Boolean |
//! | tinyint, smallint | INT(8, true), INT(16, true) | Int8, Int16 |
//! | int, bigint | INT32, INT64 | Int32, Int64 |
//! | | INT(32, false) | Int64 |
//! | float, double | FLOAT, DOUBLE | Float32, Float64 |
//! | string, char, varchar | STRING, ENUM, JSON | Utf8 |
//! | binary | BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | Binary |
//! | date | DATE | Date32 |
//! | | TIME | Time32(ms), Time64(µs, ns) |
//! | timestamp | TIMESTAMP | Timestamp(µs) of ORC and INT96, else of the file's unit; without zone, or UTC |
//! | decimal | DECIMAL of up to 38 digits | Decimal128 |
//! | struct, list, map | groups, LIST and repeated fields, MAP | Struct, List, Map |
//! | uniontype | decimals that are wider | the column is left out |
//!
//! Field ids and ORC's type attributes are metadata of the fields, with the keys that other Arrow readers
//! use; keys and values of a Parquet footer are metadata of the schema.
//!
//! # Codecs
//!
//! None, zlib or gzip, snappy, lz4 and zstandard; Parquet's LZ4 in Hadoop's frames, LZO and Brotli are
//! refused, with their names.
#![forbid(unsafe_code)]
// A panic that input can reach is a bug: code is written so that nothing needs to be unwrapped.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::arithmetic_side_effects
    )
)]

mod arrays;
mod budget;
mod codec;
mod encryption;
mod input;
mod orc;
mod parquet;
mod projection;
mod summary;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::{Error, ErrorKind, Limits, Location, Result};

pub use self::encryption::{FileKey, OVERHEAD};
use self::orc::OrcFile;
pub use self::orc::{OrcColumn, OrcSummary, orc_summary};
use self::parquet::ParquetFile;
pub use self::parquet::{ParquetElement, ParquetSummary, RowGroupPlace, parquet_summary, row_groups};
use self::projection::FieldSelection;
pub use self::summary::{Bound, Statistics};

/// The number of rows of a batch, except the last.
const BATCH_ROWS: usize = 8192;

/// The magic of a Parquet file whose footer is encrypted.
const ENCRYPTED: &[u8; 4] = b"PARE";

/// A columnar file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache ORC.
    Orc,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// The format of a file by its magic bytes, whatever its name.
    pub fn of(bytes: &[u8]) -> Option<Format> {
        let format =
            [Format::Orc, Format::Parquet].into_iter().find(|format| bytes.starts_with(format.magic()));
        format.or_else(|| bytes.starts_with(ENCRYPTED).then_some(Format::Parquet))
    }

    /// The format's own name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Orc => "ORC",
            Format::Parquet => "Parquet",
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Format::Orc => b"ORC",
            Format::Parquet => b"PAR1",
        }
    }

    /// Whether a file ends as its format requires: Parquet with its magic, encrypted or not; ORC with a
    /// postscript whose last field is the magic, and one byte with the postscript's length.
    fn is_whole(self, bytes: &[u8]) -> bool {
        let end = match self {
            Format::Orc => bytes.split_last().map_or(bytes, |(_, postscript)| postscript),
            Format::Parquet => bytes,
        };
        let ends = end.ends_with(self.magic()) || (self == Format::Parquet && end.ends_with(ENCRYPTED));
        bytes.len().saturating_sub(self.magic().len()) > self.magic().len() && ends
    }
}

/// An open ORC or Parquet file: an iterator of its rows, in file order.
///
/// After an error it ends.
pub struct File {
    reader: Option<Reader>,
    schema: SchemaRef,
    first_row: u64,
}

enum Reader {
    Orc(Box<OrcFile>),
    Parquet(Box<ParquetFile>),
}

impl File {
    /// Opens a file for those of `columns`, dotted paths, that it has; others are not decoded.
    ///
    /// There are limits for the footer (`max_header_bytes`), the schema (`max_schema_depth`,
    /// `max_schema_nodes`), the memory of a stripe or of pages and of a batch (`max_block_bytes`), the
    /// inflated size of the whole file (`max_file_bytes`), single values, rows, items of lists, and cells.
    ///
    /// `key` is the one that the footer and all columns of an encrypted Parquet file are encrypted by.
    ///
    /// # Errors
    /// Those of a footer, placed at it: `Truncated` for a file that does not end as its format requires,
    /// `Length`, `Count`, `Schema`, `Codec`, `UnknownCodec`, `Unsupported`, `Limit` and others; `Encryption` for another
    /// key than that of the file.
    pub fn open(
        format: Format,
        bytes: Buffer,
        columns: &[String],
        limits: Limits,
        key: Option<&Arc<FileKey>>,
    ) -> Result<File> {
        if !format.is_whole(&bytes) {
            let about = key.map_or("", |key| key.about());
            let message = format!("{} file ends without its footer{about}", format.name());
            let place = Location { offset: Some(bytes.len() as u64), ..Location::default() };
            return Err(Error::new(ErrorKind::Truncated, message).at(place));
        }
        let wanted = FieldSelection::of(columns);
        let (reader, schema) = match format {
            Format::Orc => {
                let file = OrcFile::open(bytes, &wanted, limits)?;
                let schema = Arc::clone(&file.schema);
                (Reader::Orc(Box::new(file)), schema)
            }
            Format::Parquet => {
                let file = ParquetFile::open(bytes, &wanted, limits, key)?;
                let schema = Arc::clone(&file.schema);
                (Reader::Parquet(Box::new(file)), schema)
            }
        };
        Ok(File { reader: Some(reader), schema, first_row: 0 })
    }

    /// The same Parquet file, of which the row groups are read whose first byte is in this range. An ORC file stays whole.
    #[must_use]
    pub fn of_range(mut self, range: &Range<u64>) -> File {
        if let Some(Reader::Parquet(file)) = self.reader {
            let (file, first_row) = file.of_range(range);
            (self.reader, self.first_row) = (Some(Reader::Parquet(Box::new(file))), first_row);
        }
        self
    }

    /// The same file, of whose maps with int keys only the items of these keys are wanted: others may be left out.
    #[must_use]
    pub fn with_keys(mut self, keys: &[i32]) -> File {
        if let Some(Reader::Parquet(file)) = self.reader {
            self.reader = Some(Reader::Parquet(Box::new(file.with_keys(keys.to_vec()))));
        }
        self
    }

    /// The number of rows in front of the first one that is read.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The schema of the file, with all of its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for File {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = match self.reader.as_mut()? {
            Reader::Orc(file) => file.batch(),
            Reader::Parquet(file) => file.batch(),
        };
        if !matches!(batch, Ok(Some(_))) {
            self.reader = None;
        }
        batch.transpose()
    }
}
