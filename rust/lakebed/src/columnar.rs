//! Files of records in ORC and Parquet: told from Avro by their first bytes, read by someone else.
//!
//! This crate has no decoder for them. Whoever embeds it lends one ([`ColumnarReader`]); without one
//! such files are refused by name.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};
use lakebed_avro::{ErrorKind as AvroKind, Limits};

use crate::error::{Error, ErrorKind, Location, Result};

/// A container format that is columnar itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnarFormat {
    /// Apache ORC.
    Orc,
    /// Apache Parquet.
    Parquet,
}

impl ColumnarFormat {
    /// The format of a file by its magic bytes, whatever it is called.
    pub fn of(bytes: &[u8]) -> Option<ColumnarFormat> {
        [ColumnarFormat::Orc, ColumnarFormat::Parquet]
            .into_iter()
            .find(|format| bytes.starts_with(format.magic()))
    }

    /// The format's own name.
    pub fn name(self) -> &'static str {
        match self {
            ColumnarFormat::Orc => "ORC",
            ColumnarFormat::Parquet => "Parquet",
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            ColumnarFormat::Orc => b"ORC",
            ColumnarFormat::Parquet => b"PAR1",
        }
    }

    /// Whether a file ends as its format demands: Parquet in its magic, ORC in a postscript whose last
    /// field is the magic, and one byte for the postscript's length.
    fn is_whole(self, bytes: &[u8]) -> bool {
        let end = match self {
            ColumnarFormat::Orc => bytes.split_last().map_or(bytes, |(_, postscript)| postscript),
            ColumnarFormat::Parquet => bytes,
        };
        bytes.len() > self.magic().len() && end.ends_with(self.magic())
    }
}

/// Opens ORC and Parquet files.
///
/// Called from several threads at once. A file that cannot be read is an error of the Avro layer's kind
/// `Codec`, one that needs what the reader lacks is [`ErrorKind::Unsupported`].
pub trait ColumnarReader: Send + Sync {
    /// Opens a whole file for those of `columns`, dotted paths, that it has; others are not decoded.
    fn open(&self, format: ColumnarFormat, bytes: Buffer, columns: &[String]) -> Result<ColumnarFile>;
}

/// An open ORC or Parquet file.
pub struct ColumnarFile {
    /// The schema of the file, columns that were not asked for included.
    pub schema: SchemaRef,
    /// Rows, as the footer says.
    pub rows: u64,
    /// Bytes of the rows when they are not compressed, where the footer says so.
    pub bytes: Option<u64>,
    /// The rows, in file order.
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

/// How files of records are decoded: what each may cost, and who reads those that are not Avro.
#[derive(Clone)]
pub struct Decoding {
    /// Bounds on one file. Of ORC and Parquet files, rows and bytes are bounded.
    pub limits: Limits,
    /// Reads ORC and Parquet; without one they are refused.
    pub columnar: Option<Arc<dyn ColumnarReader>>,
}

impl From<Limits> for Decoding {
    /// Avro alone.
    fn from(limits: Limits) -> Decoding {
        Decoding { limits, columnar: None }
    }
}

impl Decoding {
    /// Opens `bytes` if they are of a columnar format that is read here.
    pub(crate) fn open_columnar(
        &self,
        bytes: &Buffer,
        columns: &[String],
    ) -> Option<Result<(SchemaRef, ColumnarBatches)>> {
        let reader = self.columnar.as_ref()?;
        let format = ColumnarFormat::of(bytes)?;
        let is_whole = format.is_whole(bytes);
        let open = || {
            let file = reader.open(format, bytes.clone(), columns)?;
            let mut spent = Spent { limits: self.limits, rows: 0, bytes: 0 };
            Spent { ..spent }.add(file.rows, file.bytes.unwrap_or(0))?;
            let batches = file.batches.map(move |batch| spent.check(batch?));
            Ok((file.schema, batches))
        };
        let end = bytes.len() as u64;
        let place = move |error: Error| if is_whole { error } else { cut_off(error, format, end) };
        Some(open().map_err(place).map(|(schema, batches)| {
            let batches = batches.map(move |batch| batch.map_err(place));
            (schema, ColumnarBatches(Box::new(batches)))
        }))
    }
}

/// The record batches of an ORC or Parquet file, within the limits and well-formed.
pub(crate) struct ColumnarBatches(Box<dyn Iterator<Item = Result<RecordBatch>> + Send>);

impl Iterator for ColumnarBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.0.next()
    }
}

/// What a file has cost so far.
struct Spent {
    limits: Limits,
    rows: u64,
    bytes: u64,
}

impl Spent {
    fn add(&mut self, rows: u64, bytes: u64) -> Result<()> {
        self.rows = self.rows.saturating_add(rows);
        self.bytes = self.bytes.saturating_add(bytes);
        let bounds = [
            ("max_rows", self.limits.max_rows, self.rows),
            ("max_file_bytes", self.limits.max_file_bytes, self.bytes),
        ];
        let over = bounds.into_iter().find(|(_, bound, needed)| needed > bound);
        over.map_or(Ok(()), |(name, bound, needed)| Err(Limits::exceeded(name, bound, needed).into()))
    }

    /// Counts a batch, and proves what its producer only promised: offsets in order, text in UTF-8.
    fn check(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        self.add(batch.num_rows() as u64, batch.get_array_memory_size() as u64)?;
        for (column, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
            let checked = column.to_data().validate_full();
            checked.map_err(|error| malformed(&error).in_field(field.name()))?;
        }
        Ok(batch)
    }
}

#[cold]
fn malformed(error: &ArrowError) -> Error {
    let message = error.to_string();
    let kind = if message.contains("UTF8") { AvroKind::Utf8 } else { AvroKind::Codec };
    Error::new(ErrorKind::Avro(kind), message)
}

/// What the reader says of a file without an end means that it was cut.
#[cold]
fn cut_off(error: Error, format: ColumnarFormat, end: u64) -> Error {
    if error.kind() != ErrorKind::Avro(AvroKind::Codec) {
        return error;
    }
    let message = format!("{} file ends without its footer: {}", format.name(), error.message());
    let place = Location { offset: Some(end), ..Location::default() };
    Error::new(ErrorKind::Avro(AvroKind::Truncated), message).caused_by(error).at(place)
}
