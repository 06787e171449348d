//! A share of a manifest, for engines that spread a large one over several tasks.
//!
//! A block belongs to the range in which the marker in front of it begins; for the first block that is the
//! header's marker. So every block belongs to exactly one range, wherever the ranges are cut. A damaged
//! marker is found by the range before it, whose last block must end with one.
//!
//! A row group of Parquet belongs to the range that has its first byte. A damaged footer is found before there are ranges.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{Blocks, ErrorKind as AvroKind, Input, Limits};

use super::row_groups;
use crate::columnar::{Format, is_columnar};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::pipeline::read_each;
use crate::record::Stored;
use crate::storage::{Storage, read_recorded};

/// How many bytes are read after a range to find the end of its last block, and from the start of a file to
/// find the end of its header. Doubled where that is not enough.
const WINDOW: u64 = 64 << 10;
/// Bytes of a sync marker.
const MARKER: u64 = 16;

/// A task's share of a manifest: all of its bytes, or those of a part.
#[derive(Clone)]
pub struct Content {
    pub(crate) stored: Stored,
    /// What is there; `None`: all.
    pub(crate) part: Option<Part>,
}

/// A part of a manifest.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// The header of Avro and some blocks, which together are a valid file.
    Blocks(PartBlocks),
    /// The row groups of Parquet whose first byte is in this range, where they are in the file. So are the footer, and
    /// of the groups in front of the range the columns that it needs; all else is zeros, which take no memory until
    /// something is read there.
    Groups(Range<u64>),
}

impl Part {
    /// The range whose row groups are there.
    pub(crate) fn range(&self) -> Option<&Range<u64>> {
        match self {
            Part::Blocks(_) => None,
            Part::Groups(range) => Some(range),
        }
    }

    /// The same error with its position in the whole file.
    pub(crate) fn in_whole_file(&self, error: Error) -> Error {
        match self {
            Part::Blocks(blocks) => blocks.in_whole_file(error),
            Part::Groups(_) => error,
        }
    }
}

impl From<Buffer> for Content {
    fn from(bytes: Buffer) -> Content {
        Content { stored: bytes.into(), part: None }
    }
}

/// Where the blocks of a part are in the whole file.
#[derive(Debug, Clone)]
pub(crate) struct PartBlocks {
    /// Where each run of blocks begins, in the part and in the whole file.
    runs: Arc<[(u64, u64)]>,
}

impl PartBlocks {
    /// The same error with its position in the whole file. The numbers of block and record are dropped, since
    /// it is not known how many are before the part.
    fn in_whole_file(&self, error: Error) -> Error {
        let further = |offset: u64| {
            // What is before the first run is the header.
            let run = self.runs.iter().rev().find(|(begin, _)| *begin <= offset);
            run.and_then(|(begin, whole)| offset.checked_sub(*begin)?.checked_add(*whole)).unwrap_or(offset)
        };
        error.elsewhere(further)
    }
}

impl Content {
    /// The blocks or row groups of `range` in a manifest with `length` recorded bytes, whose header is that of
    /// [`divisible`]; `None` where none belongs to the range. One request, where no block is longer than
    /// [`WINDOW`]. Of Parquet also the columns `counted` of the row groups in front of the range, in one more request for
    /// each column and group, or fewer where they are close together.
    ///
    /// # Errors
    /// Those of the storage; `Truncated` for a file that is shorter than it was; `Limit`.
    pub fn of_range(
        storage: &dyn Storage,
        path: &str,
        length: u64,
        range: Range<u64>,
        header: Buffer,
        (counted, limits): (&[String], &Limits),
    ) -> Result<Option<Content>> {
        if is_columnar(&header) {
            return row_groups::of_range((storage, path), length, range, &header, (counted, limits));
        }
        let (parsed, _) = Blocks::open(Input::from(header.clone()), Limits::DEFAULT)?;
        // The marker in front of the first block is the one that ends the header.
        let first = parsed.length.saturating_sub(MARKER);
        let from = range.start.max(first);
        if from >= range.end.min(length) {
            return Ok(None);
        }
        let mut window = Window { storage, path, length, from, bytes: Vec::new() };
        window.read_to(range.end.saturating_add(WINDOW))?;
        let behind = |marker: u64| marker.saturating_add(MARKER);
        let begins = match from == first {
            true => Some(first),
            false => window.marker(&parsed.sync, from)?,
        };
        let Some(begins) = begins.filter(|begins| *begins < range.end) else { return Ok(None) };
        let ends = window.marker(&parsed.sync, range.end)?.map_or(length, behind);
        let bytes = Buffer::from_vec([header.as_slice(), window.between(behind(begins), ends)].concat());
        let part = PartBlocks { runs: [(parsed.length, behind(begins))].into() };
        Ok(Some(Content { stored: bytes.into(), part: Some(Part::Blocks(part)) }))
    }

    /// The blocks at these places of a manifest with this header. One request for each.
    ///
    /// # Errors
    /// Those of the storage; `Truncated` for a file that is shorter.
    pub(crate) fn of_blocks(
        storage: &dyn Storage,
        path: &str,
        header: &[u8],
        places: Vec<Range<u64>>,
    ) -> Result<Content> {
        let (mut bytes, mut runs) = (header.to_vec(), Vec::with_capacity(places.len()));
        for Range { start, end } in places {
            let length = fitting(end.checked_sub(start), "the length of a run of blocks")?;
            let run = storage.read_range(path, start, length)?;
            if run.len() as u64 != length {
                let error =
                    Error::new(ErrorKind::Avro(AvroKind::Truncated), "file is shorter than its sidecar says");
                return Err(error.in_file(path));
            }
            runs.push((bytes.len() as u64, start));
            bytes.extend_from_slice(&run);
        }
        Ok(Content {
            stored: Buffer::from_vec(bytes).into(),
            part: Some(Part::Blocks(PartBlocks { runs: runs.into() })),
        })
    }

    /// All of a manifest with `length` recorded bytes.
    ///
    /// # Errors
    /// Those of the storage; `Limit`.
    pub fn of_file(storage: &dyn Storage, path: &str, length: u64, limits: &Limits) -> Result<Content> {
        read_recorded(storage, path, Some(length), limits).map(Content::from)
    }
}

/// A manifest that may be read in ranges, as its list records it.
#[derive(Debug, Clone, Default)]
pub struct DivisibleManifest {
    /// Its location.
    pub path: String,
    /// Its length \[bytes\].
    pub length: u64,
    /// Its entries; `None` where that is not recorded.
    pub entries: Option<u64>,
    /// Whether a range needs columns of the entries in front of it.
    pub is_counted: bool,
}

/// The headers of the manifests that can be read in ranges: of Parquet, magic and footer.
/// `None` for one that a single task has to read: one in ORC, Parquet of one row group, Avro of which a range needs
/// what is in front of it, and a file whose length is not the
/// recorded one, since a file that was cut at the end of a block looks complete. Parquet with fewer rows than the list has
/// entries is read whole too, which is where they are compared. Two requests for each, of Parquet three, in
/// parallel.
///
/// # Errors
/// Those of the storage, and the Avro layer's of a header.
pub fn divisible(
    storage: &Arc<dyn Storage>,
    manifests: Vec<DivisibleManifest>,
    limits: Limits,
) -> Result<Vec<Option<Buffer>>> {
    read_each(storage, manifests, 1, move |storage, manifest| {
        let Some(from) = manifest.length.checked_sub(row_groups::TRAILER) else { return Ok(None) };
        let end = storage.read_range(&manifest.path, from, row_groups::TRAILER.saturating_add(1))?;
        let Ok(end) = end.as_slice().try_into() else { return Ok(None) };
        match read_header(storage, &manifest.path, &limits)? {
            Header::Avro(header) => Ok((!manifest.is_counted).then_some(header)),
            Header::Columnar(Format::Parquet) => row_groups::header(storage, manifest, end, &limits),
            Header::Columnar(Format::Orc) => Ok(None),
        }
    })
}

/// The header of each manifest; `None` for one that is not Avro. One request for each, in parallel, where no
/// header is longer than [`WINDOW`].
///
/// # Errors
/// Those of the storage, and the Avro layer's of a header.
pub(crate) fn headers(
    storage: &Arc<dyn Storage>,
    manifests: Vec<String>,
    limits: Limits,
) -> Result<Vec<Option<Buffer>>> {
    read_each(storage, manifests, 1, move |storage, path| match read_header(storage, path, &limits)? {
        Header::Avro(header) => Ok(Some(header)),
        Header::Columnar(_) => Ok(None),
    })
}

/// What is in front of the entries of a file.
enum Header {
    /// The bytes of Avro's header.
    Avro(Buffer),
    /// Nothing but a magic.
    Columnar(Format),
}

/// The header of a file.
///
/// # Errors
/// Those of the storage, and the Avro layer's of a header.
fn read_header(storage: &dyn Storage, path: &str, limits: &Limits) -> Result<Header> {
    let mut window = WINDOW;
    loop {
        let bytes = storage.read_range(path, 0, window)?;
        if let Some(format) = Format::of(&bytes) {
            return Ok(Header::Columnar(format));
        }
        match Blocks::open(Input::from(bytes.clone()), *limits) {
            Ok((header, _)) => {
                let length = usize::try_from(header.length).unwrap_or(usize::MAX).min(bytes.len());
                return Ok(Header::Avro(bytes.slice_with_length(0, length)));
            }
            // The file is longer than what was read.
            Err(error) if error.kind() == AvroKind::Truncated && bytes.len() as u64 >= window => {
                window = window.saturating_mul(2);
            }
            Err(error) => return Err(Error::from(error).in_file(path)),
        }
    }
}

/// The bytes of a file that were read, from some offset on. Offsets saturate: there is nothing of a file beyond them.
struct Window<'a> {
    storage: &'a dyn Storage,
    path: &'a str,
    length: u64,
    from: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// The offset at which it ends.
    fn end(&self) -> u64 {
        self.from.saturating_add(self.bytes.len() as u64)
    }

    /// Reads up to `end`, or to the end of the file.
    fn read_to(&mut self, end: u64) -> Result<()> {
        let (start, end) = (self.end(), end.min(self.length));
        self.bytes.extend_from_slice(&self.storage.read_range(
            self.path,
            start,
            end.saturating_sub(start),
        )?);
        if self.end() < end {
            let message = format!("the file ends at {}, its list records {} bytes", self.end(), self.length);
            let error = Error::new(ErrorKind::Avro(AvroKind::Truncated), message);
            return Err(error.in_file(self.path));
        }
        Ok(())
    }

    /// The first offset, from `start` on, at which a marker begins; `None` where there is none.
    fn marker(&mut self, sync: &[u8; 16], start: u64) -> Result<Option<u64>> {
        let (mut start, mut more) = (start, WINDOW);
        while start < self.length {
            let bytes = self.between(start, self.end());
            if let Some(at) = bytes.windows(sync.len()).position(|bytes| bytes == sync) {
                return Ok(start.checked_add(at as u64));
            }
            if self.end() == self.length {
                break;
            }
            // A marker may begin in the last bytes of the window.
            start = start.max(self.end().saturating_sub(MARKER - 1));
            self.read_to(self.end().saturating_add(more))?;
            more = more.saturating_mul(2);
        }
        Ok(None)
    }

    /// The bytes from `start` up to `end`, as far as they were read.
    fn between(&self, start: u64, end: u64) -> &[u8] {
        let place = |offset: u64| usize::try_from(offset.saturating_sub(self.from)).unwrap_or(usize::MAX);
        let end = place(end).min(self.bytes.len());
        self.bytes.get(place(start).min(end)..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use lakebed_avro::{Codec, ReadOptions, Reader, WriteOptions, Writer};

    use super::*;

    /// One file in memory, with the number of requests.
    #[derive(Default)]
    struct Memory {
        bytes: Vec<u8>,
        requests: Mutex<usize>,
    }

    impl Storage for Memory {
        fn read(&self, _path: &str) -> Result<Buffer> {
            *self.requests.lock().unwrap() += 1;
            Ok(Buffer::from_vec(self.bytes.clone()))
        }

        fn list(&self, _folder: &str) -> Result<Vec<String>> {
            Ok(Vec::new())
        }
    }

    /// A file of `rows` numbers, in blocks of some hundred bytes.
    fn file(rows: i64) -> Arc<Memory> {
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
        Arc::new(Memory { bytes: writer.finish().unwrap(), ..Memory::default() })
    }

    fn ids(content: Content) -> Vec<i64> {
        let batches = Reader::open(content.into_bytes().unwrap().into(), ReadOptions::default()).unwrap();
        batches
            .flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec())
            .collect()
    }

    fn manifest(length: u64) -> DivisibleManifest {
        DivisibleManifest { path: "m".to_owned(), length, ..DivisibleManifest::default() }
    }

    fn of_range(
        file: &Memory,
        path: &str,
        length: u64,
        range: Range<u64>,
        header: Buffer,
    ) -> Result<Option<Content>> {
        Content::of_range(file, path, length, range, header, (&[], &Limits::DEFAULT))
    }

    fn divided(file: &Arc<Memory>, length: u64) -> Option<Buffer> {
        let storage: Arc<dyn Storage> = Arc::<Memory>::clone(file);
        divisible(&storage, vec![manifest(length)], Limits::DEFAULT).unwrap().remove(0)
    }

    #[test]
    fn every_block_is_of_one_range_and_a_range_is_one_request() {
        let file = file(3000);
        let length = file.bytes.len() as u64;
        let header = divided(&file, length).unwrap();
        for step in [1, 7, 16, 100, 333, 701, 5000, length - 1, length, length + 9] {
            let share = |start: u64| {
                let range = start..(start + step).min(length);
                *file.requests.lock().unwrap() = 0;
                let content = of_range(&file, "m", length, range, header.clone()).unwrap();
                assert!(*file.requests.lock().unwrap() <= 1);
                content
            };
            let rows: Vec<i64> = (0..length).step_by(step as usize).filter_map(share).flat_map(ids).collect();
            assert_eq!(rows, (0..3000).map(|row| row * row).collect::<Vec<_>>(), "{step}");
        }
    }

    #[test]
    fn a_cut_at_a_marker_leaves_its_block_to_the_next_range() {
        let file = file(3000);
        let length = file.bytes.len() as u64;
        let header = divided(&file, length).unwrap();
        let is_marker = |at: &usize| file.bytes[*at..].starts_with(b"0123456789abcdef");
        let markers: Vec<u64> = (0..file.bytes.len()).filter(is_marker).map(|marker| marker as u64).collect();
        assert!(markers.len() > 10);
        for cut in markers.iter().flat_map(|marker| marker - 1..=marker + MARKER) {
            let share = |range| of_range(&file, "m", length, range, header.clone()).unwrap();
            let ranges = [0..cut, cut..length].into_iter();
            let rows: Vec<i64> = ranges.filter_map(share).flat_map(ids).collect();
            assert_eq!(rows, (0..3000).map(|row| row * row).collect::<Vec<_>>(), "{cut}");
        }
    }

    #[test]
    fn blocks_that_are_longer_than_the_window_are_read_to_their_end() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(
            (0..200_000i64).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64)),
        ));
        let rows = column.as_primitive::<Int64Type>().values().to_vec();
        let batch = RecordBatch::try_from_iter([("id", column)]).unwrap();
        let text = r#"{"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}"#;
        let options = WriteOptions { block_bytes: 500_000, ..WriteOptions::new(*b"0123456789abcdef") };
        let mut writer = Writer::new(Vec::new(), text, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        let file = Arc::new(Memory { bytes: writer.finish().unwrap(), ..Memory::default() });
        let length = file.bytes.len() as u64;
        let header = divided(&file, length).unwrap();
        let found: Vec<i64> = (0..length)
            .step_by(100_000)
            .filter_map(|start| {
                let range = start..(start + 100_000).min(length);
                of_range(&file, "m", length, range, header.clone()).unwrap()
            })
            .flat_map(ids)
            .collect();
        assert_eq!(found, rows);
    }

    #[test]
    fn a_file_of_another_length_is_not_divided() {
        let file = file(1000);
        let length = file.bytes.len() as u64;
        assert!(divided(&file, length).is_some());
        for recorded in [length - 1, length + 1, 2 * length] {
            assert!(divided(&file, recorded).is_none());
        }
    }

    #[test]
    fn a_file_that_was_cut_meanwhile_is_an_error() {
        let whole = file(3000);
        let length = whole.bytes.len() as u64;
        let header = divided(&whole, length).unwrap();
        let (_, blocks) =
            Blocks::open(Buffer::from_vec(whole.bytes.clone()).into(), Limits::DEFAULT).unwrap();
        let cut = usize::try_from(blocks.last().unwrap().unwrap().offset).unwrap();
        let file = Memory { bytes: whole.bytes[..cut].to_vec(), ..Memory::default() };
        let read = of_range(&file, "m", length, length / 2..length, header);
        assert_eq!(read.err().unwrap().kind(), ErrorKind::Avro(AvroKind::Truncated));
    }

    #[test]
    fn errors_have_their_offset_in_the_whole_file() {
        let whole = file(1000);
        let length = whole.bytes.len() as u64;
        let header = divided(&whole, length).unwrap();
        let mut bytes = whole.bytes.clone();
        let (_, blocks) = Blocks::open(Buffer::from_vec(bytes.clone()).into(), Limits::DEFAULT).unwrap();
        let broken = blocks.last().unwrap().unwrap().offset;
        bytes[usize::try_from(broken).unwrap() + 20] ^= 0x55;
        let file = Memory { bytes, ..Memory::default() };
        let content = of_range(&file, "m", length, broken - 40..length, header).unwrap().unwrap();
        let part = content.part.clone().unwrap();
        let error = Reader::open(content.into_bytes().unwrap().into(), ReadOptions::default())
            .unwrap()
            .find_map(|batch| batch.err());
        let error = part.in_whole_file(Error::from(error.unwrap()));
        assert_eq!((error.location().offset, error.location().block), (Some(broken), None));
        assert!(matches!(error.kind(), ErrorKind::Avro(_)));
    }
}
