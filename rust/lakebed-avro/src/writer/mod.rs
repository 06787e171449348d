//! Arrow batches to an object container file.

mod frames;

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;

use self::frames::Frames;
use crate::codec::Codec;
use crate::container::{Block, MAGIC};
use crate::encode::{Output, bind_row, check};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;
use crate::plan::{Program, Projection};
use crate::schema::Schema;

/// How a file is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The compression of the blocks.
    pub codec: Codec,
    /// The level of compression; `None` for the default of the codec.
    pub level: Option<i32>,
    /// Bytes of records, not compressed, at which a block ends.
    pub block_bytes: usize,
    /// Entries of the header after `avro.schema` and `avro.codec`.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// The sync marker after every block. Files with the same rows, options and marker have the same bytes.
    pub sync: [u8; 16],
    /// The limits of readers: what they would refuse is not written.
    pub limits: Limits,
    /// Whether each block is read again and compared with the rows that were written.
    pub verify: bool,
    /// Threads that compress blocks; their number does not change the bytes.
    pub threads: usize,
}

impl WriteOptions {
    /// The defaults of Avro Java: blocks of 64,000 bytes, not compressed, without metadata, on one thread.
    pub fn new(sync: [u8; 16]) -> WriteOptions {
        WriteOptions {
            codec: Codec::Null,
            level: None,
            block_bytes: 64_000,
            metadata: Vec::new(),
            sync,
            limits: Limits::DEFAULT,
            verify: false,
            threads: 1,
        }
    }
}

/// Writes batches to a sink. The memory is that of one batch and one block; with several threads, that of a
/// block, but at least a megabyte, for each of them.
pub struct Writer<W> {
    sink: W,
    schema: Schema,
    options: WriteOptions,
    frames: Frames,
    block: Output,
    /// Records in the open block, and the most that it may have.
    pending: u64,
    most_pending: u64,
    rows: u64,
    /// The most rows that the limits of readers allow.
    most_rows: u64,
    /// Bytes of all blocks before compression.
    inflated: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a file of the schema in `text`, for batches of the schema `arrow`.
    ///
    /// # Errors
    /// [`ErrorKind::Schema`] and others for a schema that cannot be read; [`ErrorKind::UnknownColumn`] and
    /// [`ErrorKind::Type`] for columns that do not fit it, by name; [`ErrorKind::Codec`];
    /// [`ErrorKind::Duplicate`] for metadata that appears twice or is Avro's own; [`ErrorKind::Limit`];
    /// [`ErrorKind::Io`].
    pub fn new(sink: W, text: &str, arrow: &ArrowSchema, options: WriteOptions) -> Result<Writer<W>> {
        let schema = Schema::parse(text, &options.limits.capped())?;
        Writer::storing(sink, text, schema, arrow, options)
    }

    /// The same with records that are encoded by `schema`, whatever `text` is: for a copy of a file whose
    /// records do not follow its own schema.
    ///
    /// # Errors
    /// As [`Writer::new`].
    pub fn storing(
        mut sink: W,
        text: &str,
        schema: Schema,
        arrow: &ArrowSchema,
        options: WriteOptions,
    ) -> Result<Writer<W>> {
        let options = WriteOptions { limits: options.limits.capped(), ..options };
        let limits = options.limits;
        check(&schema, arrow)?;
        let leaves = Program::resolve(&schema, &Projection::All, &[])?.pools.leaves();
        let header = header(text, &options)?;
        let frames = Frames::new(&options, options.verify.then(|| header.clone()))?;
        sink.write_all(&header)?;
        Ok(Writer {
            sink,
            frames,
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

    /// Writes the rows of a batch; full blocks are written to the sink.
    ///
    /// # Errors
    /// [`ErrorKind::Required`], [`ErrorKind::Decimal`], [`ErrorKind::Enum`], [`ErrorKind::Timestamp`] and
    /// others for values that the schema cannot represent, with field and row; [`ErrorKind::Limit`] for what
    /// readers would refuse; [`ErrorKind::Codec`]; [`ErrorKind::Io`]. After an error the file is incomplete.
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

    /// Writes a block of another file of the same schema and codec unchanged, after the rows written so far, which
    /// end their block. It is neither inflated nor checked: callers have read it, so that they know that it is valid.
    ///
    /// # Errors
    /// Those of [`Writer::write`].
    pub fn copy_block(&mut self, block: &Block) -> Result<()> {
        self.end_block()?;
        self.frames.write(&self.schema, &mut self.sink)?;
        self.rows = self.rows.saturating_add(block.count);
        if self.rows > self.most_rows {
            return Err(self.too_many_rows());
        }
        let mut out = Output::new(self.options.limits);
        out.long(block.count.cast_signed());
        out.long(block.payload.len() as i64);
        self.sink.write_all(&out.buffer)?;
        self.sink.write_all(&block.payload)?;
        self.sink.write_all(&self.options.sync)?;
        Ok(())
    }

    #[cold]
    fn too_many_rows(&self) -> Error {
        let limits = &self.options.limits;
        let name = if self.most_rows < limits.max_rows { "max_cells" } else { "max_rows" };
        let bound = if self.most_rows < limits.max_rows { limits.max_cells } else { limits.max_rows };
        Limits::exceeded(name, bound, bound.saturating_add(1))
    }

    /// Counts the record that was just written.
    fn count(&mut self) -> Result<()> {
        let limits = &self.options.limits;
        let bytes = self.block.buffer.len() as u64;
        if bytes > limits.max_block_bytes {
            return Err(Limits::exceeded("max_block_bytes", limits.max_block_bytes, bytes));
        }
        if self.rows >= self.most_rows {
            return Err(self.too_many_rows());
        }
        self.pending += 1;
        self.rows += 1;
        Ok(())
    }

    /// Writes the remaining rows, flushes the sink and returns it.
    ///
    /// # Errors
    /// Those of [`Writer::write`].
    pub fn finish(mut self) -> Result<W> {
        self.end_block()?;
        self.frames.write(&self.schema, &mut self.sink)?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the open block. Full blocks are compressed and written once there are enough of them.
    fn end_block(&mut self) -> Result<()> {
        if self.pending == 0 {
            return Ok(());
        }
        let limits = &self.options.limits;
        self.inflated = self.inflated.saturating_add(self.block.buffer.len() as u64);
        if self.inflated > limits.max_file_bytes {
            return Err(Limits::exceeded("max_file_bytes", limits.max_file_bytes, self.inflated));
        }
        self.frames.push(self.pending, &mut self.block.buffer);
        self.block.clear();
        self.pending = 0;
        if self.frames.full() { self.frames.write(&self.schema, &mut self.sink) } else { Ok(()) }
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
            return Err(Error::new(ErrorKind::Duplicate, format!("metadata key {key:?} appears twice")));
        }
        out.bytes(key.as_bytes())?;
        out.bytes(value)?;
    }
    out.long(0);
    out.buffer.extend_from_slice(&options.sync);
    let (bytes, most) = (out.buffer.len() as u64, options.limits.max_header_bytes);
    if bytes > most { Err(Limits::exceeded("max_header_bytes", most, bytes)) } else { Ok(out.buffer) }
}
