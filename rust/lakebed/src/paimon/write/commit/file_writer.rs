//! Writes one file of metadata in the format of its table.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::FieldRef;

use crate::columnar::{Decoding, Encoder};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::write::columnar::ColumnarRecords;
use crate::paimon::write::options::Container;
use crate::paimon::write::{FileKind, Layout, RecordWriter};

/// Writes the records of a file.
pub(super) enum FileWriter<'e> {
    Avro {
        writer: Box<RecordWriter<CountedFile>>,
        /// How many bytes are written.
        length: Rc<Cell<u64>>,
    },
    Columnar(ColumnarRecords<'e>),
}

impl<'e> FileWriter<'e> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the writers; `Unsupported` for ORC and Parquet without an encoder.
    pub(super) fn new(
        kind: FileKind,
        layout: Layout,
        carried: &[FieldRef],
        container: Container,
        encoder: Option<&'e dyn Encoder>,
        decoding: &'e Decoding,
    ) -> Result<FileWriter<'e>> {
        match container {
            Container::Avro(mut options) => {
                options.layout = layout;
                options.carried = carried.to_vec();
                let length = Rc::new(Cell::new(0));
                let sink = CountedFile { bytes: Vec::new(), length: Rc::clone(&length) };
                let writer = Box::new(RecordWriter::new(sink, kind, options)?);
                Ok(FileWriter::Avro { writer, length })
            }
            Container::Columnar(options) => {
                let encoder = encoder.ok_or_else(|| Error::new(ErrorKind::Unsupported, "no encoder"))?;
                let records = ColumnarRecords::new(kind, layout, carried, options, encoder, decoding)?;
                Ok(FileWriter::Columnar(records))
            }
        }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Those of [`RecordWriter::write`].
    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        match self {
            FileWriter::Avro { writer, .. } => writer.write(rows),
            FileWriter::Columnar(records) => records.write(rows),
        }
    }

    /// Whether the file has that many bytes already.
    ///
    /// # Errors
    /// Those of the encoder.
    pub(super) fn has(&mut self, bytes: u64) -> Result<bool> {
        match self {
            FileWriter::Avro { length, .. } => Ok(length.get() >= bytes),
            FileWriter::Columnar(records) => records.has(bytes),
        }
    }

    /// The file.
    ///
    /// # Errors
    /// Those of the writers.
    pub(super) fn finish(self) -> Result<Buffer> {
        match self {
            FileWriter::Avro { writer, .. } => Ok(writer.finish()?.bytes.into()),
            FileWriter::Columnar(records) => records.finish(),
        }
    }
}

/// A file's bytes, with their number readable while it is written.
pub(super) struct CountedFile {
    bytes: Vec<u8>,
    length: Rc<Cell<u64>>,
}

impl Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        self.length.set(self.bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
