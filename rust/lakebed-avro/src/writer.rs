//! Arrow batches to an object container file.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::Schema as ArrowSchema;

use crate::codec::{Codec, Compressor};
use crate::container::MAGIC;
use crate::encode::{Output, bind_row, check};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;
use crate::plan::{Program, Projection};
use crate::reader::{ReadOptions, Reader};
use crate::schema::Schema;

/// How a file is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The compression of the blocks.
    pub codec: Codec,
    /// Its level; `None` for the codec's own.
    pub level: Option<i32>,
    /// Bytes of records, not compressed, at which a block ends.
    pub block_bytes: usize,
    /// Entries of the header behind `avro.schema` and `avro.codec`.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// The marker behind every block. Files of the same rows, options and marker are the same bytes.
    pub sync: [u8; 16],
    /// What a reader would agree to: what it would refuse is not written.
    pub limits: Limits,
    /// Whether each block is read again, and its rows held against those that were written.
    pub verify: bool,
}

impl WriteOptions {
    /// Avro Java's: blocks of 64,000 bytes, not compressed, without metadata.
    pub fn new(sync: [u8; 16]) -> WriteOptions {
        WriteOptions {
            codec: Codec::Null,
            level: None,
            block_bytes: 64_000,
            metadata: Vec::new(),
            sync,
            limits: Limits::DEFAULT,
            verify: false,
        }
    }
}

/// Writes batches to a sink, a block at a time: memory is that of one block and one batch.
pub struct Writer<W> {
    sink: W,
    schema: Schema,
    compressor: Compressor,
    options: WriteOptions,
    /// The header, where blocks are read again behind it.
    header: Option<Vec<u8>>,
    block: Output,
    /// Records in the open block, and the most it may have.
    pending: u64,
    most_pending: u64,
    rows: u64,
    /// The most rows that readers agree to.
    most_rows: u64,
    /// Bytes of all blocks before compression.
    inflated: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a file of the schema in `text`, for batches of the schema `arrow`.
    ///
    /// # Errors
    /// [`ErrorKind::Schema`] and others for a schema that is not read here; [`ErrorKind::UnknownColumn`] and
    /// [`ErrorKind::Type`] for columns that do not fit it, by name; [`ErrorKind::Codec`];
    /// [`ErrorKind::Duplicate`] for metadata that is there twice or is Avro's own; [`ErrorKind::Limit`];
    /// [`ErrorKind::Io`].
    pub fn new(mut sink: W, text: &str, arrow: &ArrowSchema, options: WriteOptions) -> Result<Writer<W>> {
        let options = WriteOptions { limits: options.limits.capped(), ..options };
        let limits = options.limits;
        let schema = Schema::parse(text, &limits)?;
        check(&schema, arrow)?;
        let leaves = Program::resolve(&schema, &Projection::All, &[])?.pools.leaves();
        let compressor = Compressor::new(options.codec, options.level)?;
        let header = header(text, &options)?;
        sink.write_all(&header)?;
        Ok(Writer {
            sink,
            compressor,
            header: options.verify.then_some(header),
            block: Output::new(limits),
            pending: 0,
            // Records of no bytes never fill a block.
            most_pending: if schema.root().least_bytes() == 0 {
                limits.max_zero_width_items
            } else {
                u64::MAX
            },
            rows: 0,
            most_rows: limits.max_rows.min(limits.max_cells / leaves.max(1)),
            inflated: 0,
            schema,
            options,
        })
    }

    /// Writes the rows of a batch; full blocks go to the sink.
    ///
    /// # Errors
    /// [`ErrorKind::Required`], [`ErrorKind::Decimal`], [`ErrorKind::Enum`], [`ErrorKind::Timestamp`] and
    /// others for values that the schema does not have, with field and row; [`ErrorKind::Limit`] for what
    /// readers would refuse; [`ErrorKind::Codec`]; [`ErrorKind::Io`]. The file is of no use then.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = bind_row(&self.schema, batch).map_err(|error| error.records_later(self.rows))?;
        for row in 0..batch.num_rows() {
            let written = columns.encode(row, &mut self.block).and_then(|()| self.count());
            written.map_err(|error| error.at(Location { record: Some(self.rows), ..Location::default() }))?;
            if self.block.buffer.len() >= self.options.block_bytes || self.pending >= self.most_pending {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// Counts the record that was just written.
    fn count(&mut self) -> Result<()> {
        let limits = &self.options.limits;
        let bytes = self.block.buffer.len() as u64;
        if bytes > limits.max_block_bytes {
            return Err(Limits::exceeded("max_block_bytes", limits.max_block_bytes, bytes));
        }
        if self.rows >= self.most_rows {
            let name = if self.most_rows < limits.max_rows { "max_cells" } else { "max_rows" };
            let bound = if self.most_rows < limits.max_rows { limits.max_cells } else { limits.max_rows };
            return Err(Limits::exceeded(name, bound, bound.saturating_add(1)));
        }
        self.pending += 1;
        self.rows += 1;
        Ok(())
    }

    /// Writes what is left and gives the sink back, flushed.
    ///
    /// # Errors
    /// Those of [`Writer::write`].
    pub fn finish(mut self) -> Result<W> {
        self.end_block()?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Compresses and writes the open block.
    fn end_block(&mut self) -> Result<()> {
        if self.pending == 0 {
            return Ok(());
        }
        let limits = &self.options.limits;
        self.inflated = self.inflated.saturating_add(self.block.buffer.len() as u64);
        if self.inflated > limits.max_file_bytes {
            return Err(Limits::exceeded("max_file_bytes", limits.max_file_bytes, self.inflated));
        }
        let payload = self.compressor.compress(&self.block.buffer)?;
        let mut frame = Output::new(*limits);
        frame.long(self.pending.cast_signed());
        frame.long(payload.len() as i64);
        if let Some(header) = &self.header {
            let file = [header, &frame.buffer, payload, &self.options.sync].concat();
            verify(&self.schema, file, &self.block.buffer, *limits)?;
        }
        for bytes in [&frame.buffer, payload, &self.options.sync] {
            self.sink.write_all(bytes)?;
        }
        self.block.clear();
        self.pending = 0;
        Ok(())
    }
}

/// The magic, the metadata map and the marker.
fn header(text: &str, options: &WriteOptions) -> Result<Vec<u8>> {
    let own = [("avro.schema", text.as_bytes()), ("avro.codec", options.codec.name().as_bytes())];
    let given = options.metadata.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
    let entries: Vec<(&str, &[u8])> = own.into_iter().chain(given).collect();
    let mut out = Output::new(options.limits);
    out.buffer.extend_from_slice(&MAGIC);
    out.long(entries.len() as i64);
    for (number, (key, value)) in entries.iter().enumerate() {
        if entries.iter().take(number).any(|(known, _)| known == key) {
            return Err(Error::new(ErrorKind::Duplicate, format!("metadata key {key:?} is there twice")));
        }
        out.bytes(key.as_bytes())?;
        out.bytes(value)?;
    }
    out.long(0);
    out.buffer.extend_from_slice(&options.sync);
    let (bytes, most) = (out.buffer.len() as u64, options.limits.max_header_bytes);
    if bytes > most { Err(Limits::exceeded("max_header_bytes", most, bytes)) } else { Ok(out.buffer) }
}

/// Reads a file of one block again and writes its rows again: they must come to the same bytes.
fn verify(schema: &Schema, file: Vec<u8>, written: &[u8], limits: Limits) -> Result<()> {
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let mut again = Output::new(limits);
    for batch in Reader::open(Buffer::from(file).into(), options)? {
        let batch = batch?;
        let columns = bind_row(schema, &batch)?;
        (0..batch.num_rows()).try_for_each(|row| columns.encode(row, &mut again))?;
    }
    if again.buffer == written {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Codec, "the block that was written does not read back to its rows"))
}
