//! Full blocks before they are written: compressed, framed and verified, several at a time.

use std::io::Write;

use arrow_buffer::Buffer;

use super::WriteOptions;
use crate::codec::Compressor;
use crate::encode::{Output, bind_row};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::reader::{ReadOptions, Reader};
use crate::schema::Schema;
use crate::threads::each;

/// The fewest bytes of records for which another thread is started.
const SHARE_BYTES: usize = 1 << 20;

/// A block that is full.
#[derive(Default)]
struct Frame {
    records: u64,
    /// Its records, not compressed.
    records_bytes: Vec<u8>,
    /// The bytes that are written.
    bytes: Vec<u8>,
}

/// Full blocks that wait to be written, and the compressors of the threads that encode them.
pub(super) struct Frames {
    /// One per thread.
    compressors: Vec<Compressor>,
    /// The header, if blocks are verified: it is read before each.
    header: Option<Vec<u8>>,
    sync: [u8; 16],
    limits: Limits,
    frames: Vec<Frame>,
    /// How many of `frames` wait; the others keep their memory for later blocks.
    waiting: usize,
    waiting_bytes: usize,
}

impl Frames {
    /// # Errors
    /// [`ErrorKind::Codec`] for a level that the codec does not have.
    pub(super) fn new(options: &WriteOptions, header: Option<Vec<u8>>) -> Result<Frames> {
        let compressors = (0..options.threads.max(1)).map(|_| Compressor::new(options.codec, options.level));
        Ok(Frames {
            compressors: compressors.collect::<Result<_>>()?,
            header,
            sync: options.sync,
            limits: options.limits,
            frames: Vec::new(),
            waiting: 0,
            waiting_bytes: 0,
        })
    }

    /// Takes the bytes of a block's records; `records_bytes` is empty afterwards, with memory that can be filled again.
    pub(super) fn push(&mut self, records: u64, records_bytes: &mut Vec<u8>) {
        if self.waiting == self.frames.len() {
            self.frames.push(Frame::default());
        }
        if let Some(frame) = self.frames.get_mut(self.waiting) {
            frame.records = records;
            std::mem::swap(&mut frame.records_bytes, records_bytes);
            records_bytes.clear();
            self.waiting += 1;
            self.waiting_bytes += frame.records_bytes.len();
        }
    }

    /// Whether there is enough for each thread.
    pub(super) fn full(&self) -> bool {
        let threads = self.compressors.len();
        threads == 1 || self.waiting >= threads && self.waiting_bytes >= threads * SHARE_BYTES
    }

    /// Writes the waiting blocks, in order.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] for a block that cannot be compressed, or that does not read back to its rows;
    /// [`ErrorKind::Io`].
    pub(super) fn write(&mut self, schema: &Schema, sink: &mut impl Write) -> Result<()> {
        let Frames { compressors, header, sync, limits, frames, waiting, .. } = self;
        let frames = frames.get_mut(..*waiting).unwrap_or_default();
        let framing = Framing { schema, header: header.as_deref(), sync: *sync, limits: *limits };
        let share = frames.len().div_ceil(compressors.len()).max(1);
        let shares = frames.chunks_mut(share).zip(compressors.iter_mut());
        // Of several errors, the first in file order is returned.
        let done = each(shares.collect(), |(frames, compressor)| framing.all(frames, compressor));
        done.into_iter().collect::<Result<()>>()?;
        for frame in frames {
            sink.write_all(&frame.bytes)?;
        }
        (self.waiting, self.waiting_bytes) = (0, 0);
        Ok(())
    }
}

/// What all blocks of a file have in common.
struct Framing<'a> {
    schema: &'a Schema,
    header: Option<&'a [u8]>,
    sync: [u8; 16],
    limits: Limits,
}

impl Framing<'_> {
    fn all(&self, frames: &mut [Frame], compressor: &mut Compressor) -> Result<()> {
        frames.iter_mut().try_for_each(|frame| self.one(frame, compressor))
    }

    /// Count, length, compressed records and marker.
    fn one(&self, frame: &mut Frame, compressor: &mut Compressor) -> Result<()> {
        let payload = compressor.compress(&frame.records_bytes)?;
        let mut out = Output::over(std::mem::take(&mut frame.bytes), self.limits);
        out.long(frame.records.cast_signed());
        out.long(payload.len() as i64);
        out.buffer.extend_from_slice(payload);
        out.buffer.extend_from_slice(&self.sync);
        frame.bytes = out.buffer;
        match self.header {
            Some(header) => self.verify([header, &frame.bytes].concat(), &frame.records_bytes),
            None => Ok(()),
        }
    }

    /// Reads the rows of a file with one block and encodes them again: the bytes must be the same.
    fn verify(&self, file: Vec<u8>, written: &[u8]) -> Result<()> {
        let options = ReadOptions { limits: self.limits, ..ReadOptions::default() };
        let mut again = Output::new(self.limits);
        for batch in Reader::open(Buffer::from(file).into(), options)? {
            let batch = batch?;
            let columns = bind_row(self.schema, &batch)?;
            (0..batch.num_rows()).try_for_each(|row| columns.encode(row, &mut again))?;
        }
        if again.buffer == written {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Codec, "the block that was written does not read back to its rows"))
    }
}
