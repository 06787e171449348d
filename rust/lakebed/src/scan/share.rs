//! A share of a manifest, for engines that spread a large one over several tasks.
//!
//! Blocks belong to the range that the marker in front of them begins in, the header's for the first: every block
//! has one range, whatever the cuts. A marker that is damaged is found by the range before it, whose last block
//! must end in one.

use std::ops::Range;

use arrow_buffer::Buffer;
use lakebed_avro::{Blocks, ErrorKind as AvroKind, Header, Input, Limits};

use crate::columnar::is_columnar;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Storage, read_recorded};

/// How much is read to look for a header's or a block's end, which is doubled until it is found.
const WINDOW: u64 = 64 << 10;
/// Bytes of a sync marker.
const MARKER: u64 = 16;

/// What a task has of a manifest: all of its bytes, or some blocks behind its header, which make a file of their own.
pub struct Content {
    pub(crate) bytes: Buffer,
    pub(crate) part: Option<Part>,
}

impl From<Buffer> for Content {
    fn from(bytes: Buffer) -> Content {
        Content { bytes, part: None }
    }
}

/// Where the blocks of a part stand in their file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Bytes of the header.
    header: u64,
    /// How much further on the blocks stand.
    shift: u64,
}

impl Part {
    /// The same error, its place seen in the whole file, where it is not known how many blocks and records stand
    /// before those of the part.
    pub(crate) fn placed(self, error: Error) -> Error {
        let further = |offset| if offset < self.header { offset } else { self.shift.saturating_add(offset) };
        error.elsewhere(further)
    }
}

impl Content {
    /// The bytes of a whole manifest.
    ///
    /// # Errors
    /// `Argument` for a part of one.
    pub fn whole(self) -> Result<Buffer> {
        if self.part.is_none() {
            return Ok(self.bytes);
        }
        Err(Error::new(ErrorKind::Argument, "a part of a manifest, where all of it is wanted"))
    }

    /// What `range` has of a file of which `length` bytes are recorded; `None` where no block is of it.
    ///
    /// A file of another length is all of its first range: what is cut at a block would else look complete. So is
    /// one in ORC or Parquet.
    ///
    /// # Errors
    /// Those of the storage, and the Avro layer's of a header.
    pub fn of_range(
        storage: &dyn Storage,
        path: &str,
        length: u64,
        range: Range<u64>,
        limits: &Limits,
    ) -> Result<Option<Content>> {
        let file = File { storage, path, length };
        let all = range == (0..length);
        let header = if !all && file.is_as_long()? { file.header(limits)? } else { None };
        let Some((header, start)) = header else {
            return Ok(if range.start == 0 {
                Some(read_recorded(storage, path, Some(length), limits)?.into())
            } else {
                None
            });
        };
        let Some(blocks) = file.blocks(&header, range)? else { return Ok(None) };
        let bytes = storage.read_range(path, blocks.start, blocks.end.saturating_sub(blocks.start))?;
        let bytes = Buffer::from_vec([start.as_slice(), bytes.as_slice()].concat());
        let part = Part { header: header.length, shift: blocks.start.saturating_sub(header.length) };
        Ok(Some(Content { bytes, part: Some(part) }))
    }
}

struct File<'a> {
    storage: &'a dyn Storage,
    path: &'a str,
    length: u64,
}

impl File<'_> {
    /// Whether the file ends where it is recorded to.
    fn is_as_long(&self) -> Result<bool> {
        let Some(last) = self.length.checked_sub(1) else { return Ok(false) };
        Ok(self.storage.read_range(self.path, last, 2)?.len() == 1)
    }

    /// The header and its bytes; `None` for a file that is not Avro.
    fn header(&self, limits: &Limits) -> Result<Option<(Header, Buffer)>> {
        let mut window = WINDOW;
        loop {
            let bytes = self.storage.read_range(self.path, 0, window)?;
            if is_columnar(&bytes) {
                return Ok(None);
            }
            match Blocks::open(Input::from(bytes.clone()), *limits) {
                Ok((header, _)) => {
                    let length = usize::try_from(header.length).unwrap_or(usize::MAX).min(bytes.len());
                    return Ok(Some((header, bytes.slice_with_length(0, length))));
                }
                Err(error) if error.kind() == AvroKind::Truncated && window < self.length => {
                    window = window.saturating_mul(2);
                }
                Err(error) => return Err(Error::from(error).in_file(self.path)),
            }
        }
    }

    /// Where the blocks of a range stand; `None` where it has none.
    fn blocks(&self, header: &Header, range: Range<u64>) -> Result<Option<Range<u64>>> {
        let first = header.length.saturating_sub(MARKER);
        let behind = |marker: u64| marker.saturating_add(MARKER);
        let begins = match range.start <= first {
            true => Some(first),
            false => self.marker(&header.sync, range.start)?,
        };
        let Some(begins) = begins.filter(|begins| *begins < range.end) else { return Ok(None) };
        let ends = self.marker(&header.sync, range.end)?.map_or(self.length, behind);
        Ok(Some(behind(begins)..ends))
    }

    /// Where the first marker begins that does so at `from` or behind; `None` where there is none.
    fn marker(&self, sync: &[u8; 16], from: u64) -> Result<Option<u64>> {
        if from >= self.length {
            return Ok(None);
        }
        let mut window = WINDOW;
        loop {
            let bytes = self.storage.read_range(self.path, from, window)?;
            if let Some(at) = bytes.windows(sync.len()).position(|bytes| bytes == sync) {
                return Ok(from.checked_add(at as u64));
            }
            if from.saturating_add(window) >= self.length {
                return Ok(None);
            }
            window = window.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use lakebed_avro::{Codec, ReadOptions, Reader, WriteOptions, Writer};

    use super::*;

    /// One file in memory.
    struct Memory(Vec<u8>);

    impl Storage for Memory {
        fn read(&self, _path: &str) -> Result<Buffer> {
            Ok(Buffer::from_vec(self.0.clone()))
        }

        fn list(&self, _folder: &str) -> Result<Vec<String>> {
            Ok(Vec::new())
        }
    }

    /// A file of `rows` numbers in blocks of some hundred bytes.
    fn file(rows: i64) -> Memory {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * row)));
        let batch = RecordBatch::try_from_iter([("id", column)]).unwrap();
        let text = r#"{"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}"#;
        let options = WriteOptions {
            codec: Codec::Snappy,
            block_bytes: 700,
            ..WriteOptions::new(*b"0123456789abcdef")
        };
        let mut writer = Writer::new(Vec::new(), text, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        Memory(writer.finish().unwrap())
    }

    fn ids(content: Content) -> Vec<i64> {
        let batches = Reader::open(content.bytes.into(), ReadOptions::default()).unwrap();
        batches
            .flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec())
            .collect()
    }

    fn share(file: &Memory, length: u64, range: Range<u64>) -> Option<Content> {
        Content::of_range(file, "m", length, range, &Limits::DEFAULT).unwrap()
    }

    #[test]
    fn every_block_is_of_one_range() {
        let file = file(3000);
        let length = file.0.len() as u64;
        for step in [1, 7, 16, 100, 333, 701, 5000, length - 1, length, length + 9] {
            let starts = (0..length).step_by(step as usize);
            let shares = starts.filter_map(|start| share(&file, length, start..(start + step).min(length)));
            let rows: Vec<i64> = shares.flat_map(ids).collect();
            assert_eq!(rows, (0..3000).map(|row| row * row).collect::<Vec<_>>(), "{step}");
        }
    }

    #[test]
    fn a_file_of_another_length_is_all_of_its_first_range() {
        let file = file(1000);
        let length = file.0.len() as u64;
        for recorded in [length - 1, length + 1, 2 * length] {
            assert_eq!(ids(share(&file, recorded, 0..300).unwrap()).len(), 1000);
            assert!(share(&file, recorded, 300..600).is_none());
        }
    }

    #[test]
    fn errors_stand_where_they_are_in_the_file() {
        let mut file = file(1000);
        let length = file.0.len() as u64;
        let (_, blocks) = Blocks::open(Buffer::from_vec(file.0.clone()).into(), Limits::DEFAULT).unwrap();
        let broken = blocks.last().unwrap().unwrap().offset;
        file.0[usize::try_from(broken).unwrap() + 20] ^= 0x55;
        let content = share(&file, length, broken - 40..length).unwrap();
        let part = content.part.unwrap();
        let error =
            Reader::open(content.bytes.into(), ReadOptions::default()).unwrap().find_map(|batch| batch.err());
        let error = part.placed(Error::from(error.unwrap()));
        assert_eq!((error.location().offset, error.location().block), (Some(broken), None));
        assert!(matches!(error.kind(), ErrorKind::Avro(_)));
    }
}
