//! The only loop over blocks, for readers, statistics and tests.

use arrow_buffer::Buffer;

use super::{Header, Input};
use crate::cursor::{Cursor, Fault};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;

/// One block of a file, still compressed.
#[derive(Debug, Clone)]
pub struct Block {
    /// Number of the block, from 0.
    pub index: u64,
    /// Offset in the file of the payload's first byte.
    pub offset: u64,
    /// Number of the block's first record in the file, from 0.
    pub first_record: u64,
    /// The number of records that the block declares.
    pub count: u64,
    /// The compressed bytes.
    pub payload: Buffer,
}

/// The blocks of one file in file order; each is framed, bounded and followed by the sync marker.
pub struct Blocks {
    input: Input,
    sync: [u8; 16],
    limits: Limits,
    next_index: u64,
    next_record: u64,
    failed: bool,
}

impl Blocks {
    /// Reads the header of `input`; the first block is next.
    pub fn open(mut input: Input, limits: Limits) -> Result<(Header, Blocks)> {
        let limits = limits.capped();
        let header = Header::read(&mut input, &limits)?;
        let sync = header.sync;
        Ok((header, Blocks { input, sync, limits, next_index: 0, next_record: 0, failed: false }))
    }

    /// Bytes of the file that are left, where that is known.
    pub(crate) fn remaining(&self) -> Option<usize> {
        self.input.remaining()
    }

    fn read_block(&mut self) -> Result<Option<Block>> {
        if self.input.peek(1)?.is_empty() {
            return Ok(None);
        }
        let (count, size, framing) = self.read_framing()?;
        self.input.skip(framing);
        let count = u64::try_from(count)
            .map_err(|_| Error::new(ErrorKind::Count, format!("block declares {count} records")))?;
        let size = u64::try_from(size)
            .map_err(|_| Error::new(ErrorKind::Length, format!("block declares {size} bytes")))?;
        if size > self.limits.max_block_bytes {
            return Err(Limits::exceeded("max_block_bytes", self.limits.max_block_bytes, size));
        }
        let rows = self.next_record.saturating_add(count);
        if rows > self.limits.max_rows {
            return Err(Limits::exceeded("max_rows", self.limits.max_rows, rows));
        }
        let offset = self.input.position();
        let payload = self.input.take(size as usize, "block")?;
        let marker = self.input.peek(self.sync.len())?;
        if marker.len() < self.sync.len() {
            return Err(Error::new(ErrorKind::Truncated, "input ends in a sync marker"));
        }
        if marker != self.sync {
            return Err(Error::new(ErrorKind::Sync, "sync marker after the block differs from the header's"));
        }
        self.input.skip(self.sync.len());
        let block = Block { index: self.next_index, offset, first_record: self.next_record, count, payload };
        self.next_index = self.next_index.saturating_add(1);
        self.next_record = rows;
        Ok(Some(block))
    }

    /// The record count and byte size before a payload, and how many bytes the two take.
    fn read_framing(&mut self) -> Result<(i64, i64, usize)> {
        let mut cursor = Cursor::new(self.input.peek(20)?);
        let numbers = (|| Ok((cursor.long()?, cursor.long()?)))();
        match numbers {
            Ok((count, size)) => Ok((count, size, cursor.position())),
            Err(Fault::Truncated) => Err(Error::new(ErrorKind::Truncated, "input ends in a block's framing")),
            Err(fault) => {
                let (kind, words) = fault.describe();
                Err(Error::new(kind, format!("block framing: {words}")))
            }
        }
    }
}

impl Iterator for Blocks {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Result<Block>> {
        if self.failed {
            return None;
        }
        let offset = self.input.position();
        let result = self.read_block().map_err(|error| {
            self.failed = true;
            error.at(Location { offset: Some(offset), block: Some(self.next_index), ..Location::default() })
        });
        result.transpose()
    }
}
