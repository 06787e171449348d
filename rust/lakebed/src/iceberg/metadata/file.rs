//! Reads the bytes of a metadata file and its text, piece by piece.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use arrow_buffer::Buffer;
use flate2::bufread::MultiGzDecoder;
use lakebed_avro::Limits;

use super::encoding::Utf8;
use super::{TableMetadata, WantedElements};
use crate::error::{Error, ErrorKind, Result};
use crate::json::without_nuls;
use crate::separate_thread::{PendingResult, SeparateThread};
use crate::storage::{Storage, read_recorded};

/// How much of a file is read at a time; shorter files are read once and kept.
const PIECE_BYTES: u64 = 4 << 20;

/// How much is inflated at a time.
const INFLATED_BYTES: usize = 64 << 10;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";

/// A `metadata.json`. It is never changed, so what was read of it stays true.
///
/// Of a long file only the first piece is kept, and two more while it is read: the next one is read on another thread
/// while one is parsed.
#[derive(Clone)]
pub struct MetadataFile {
    /// Its path; `None` for bytes that were given.
    path: Option<String>,
    limits: Limits,
    head: Buffer,
    /// Reads the bytes after the first piece; `None` where the first piece is the whole file.
    rest: Option<Arc<dyn Storage>>,
}

impl MetadataFile {
    /// Opens the file at `path`; reads its first piece, which is the whole file unless it is very long.
    ///
    /// # Errors
    /// Those of the storage, `Missing` where there is no such file.
    pub fn open(path: &str, storage: Arc<dyn Storage>, limits: Limits) -> Result<MetadataFile> {
        let head = storage.read_range(path, 0, PIECE_BYTES)?;
        let is_whole = (head.len() as u64) < PIECE_BYTES;
        Ok(MetadataFile { path: Some(path.to_owned()), limits, head, rest: (!is_whole).then_some(storage) })
    }

    /// What opens files as [`MetadataFile::open`].
    pub(in crate::iceberg) fn opener(
        storage: &Arc<dyn Storage>,
        limits: Limits,
    ) -> impl Fn(&str) -> Result<MetadataFile> + Send + Sync + use<> {
        let storage = Arc::clone(storage);
        move |path| MetadataFile::open(path, Arc::clone(&storage), limits)
    }

    /// A file with these bytes.
    pub fn of_bytes(bytes: Buffer, limits: Limits) -> MetadataFile {
        MetadataFile { path: None, limits, head: bytes, rest: None }
    }

    /// The file at `path` with all of its bytes, for several reads.
    ///
    /// # Errors
    /// Those of the storage, `Missing` where there is no such file; `Limit` for more than `max_file_bytes`.
    pub(in crate::iceberg) fn open_whole(
        path: &str,
        storage: &dyn Storage,
        limits: Limits,
    ) -> Result<MetadataFile> {
        let head = read_recorded(storage, path, None, &limits)?;
        Ok(MetadataFile::with_bytes(path, head, limits))
    }

    /// The file at `path`, which has these bytes.
    pub(in crate::iceberg) fn with_bytes(path: &str, bytes: Buffer, limits: Limits) -> MetadataFile {
        MetadataFile { path: Some(path.to_owned()), limits, head: bytes, rest: None }
    }

    /// The same as after opening it: of a long file only the first piece is kept.
    pub(in crate::iceberg) fn on_storage(self, storage: Arc<dyn Storage>) -> MetadataFile {
        match self.head.as_slice().get(..PIECE_BYTES as usize) {
            Some(piece) => MetadataFile { head: Buffer::from_slice_ref(piece), rest: Some(storage), ..self },
            None => self,
        }
    }

    /// The same file with another text, which is not written yet.
    pub(in crate::iceberg) fn with_text(&self, text: String) -> MetadataFile {
        let head = Buffer::from(text.into_bytes());
        MetadataFile { path: self.path.clone(), limits: self.limits, head, rest: None }
    }

    /// The path of the file; empty for bytes that were given.
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or_default()
    }

    /// The error with the path of the file.
    pub(super) fn place(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// The limits for the file: `max_file_bytes` of text, `max_value_bytes` of one element.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The JSON, after checking that it is the metadata of a table.
    ///
    /// # Errors
    /// Those of [`TableMetadata::read`].
    pub fn to_json(&self) -> Result<String> {
        TableMetadata::read(self, &WantedElements::ALL)?;
        self.to_text()
    }

    /// The text of a file that was read before and was within limits.
    ///
    /// # Errors
    /// `Utf8`; those of the storage.
    pub(in crate::iceberg) fn to_text(&self) -> Result<String> {
        let mut json = String::new();
        let read = self.text()?.read_to_string(&mut json);
        read.map_err(|error| self.place(Error::new(ErrorKind::Utf8, error.to_string())))?;
        json.truncate(without_nuls(json.as_bytes()).len());
        Ok(json)
    }

    /// The JSON text in UTF-8, inflated where the file begins with gzip's magic, whatever its name.
    ///
    /// # Errors
    /// `Unsupported` for a file that is compressed in another way.
    pub(super) fn text(&self) -> Result<Box<dyn BufRead + '_>> {
        let end = self.head.len() as u64;
        let next = self
            .rest
            .as_ref()
            .map(|storage| NextPiece::begin(SeparateThread::start(), storage, self.path(), end));
        let pieces = FilePieces { piece: self.head.clone(), at: 0, end, next };
        let text = |bytes| Ok(Box::new(Utf8::new(bytes, self.limits)) as Box<dyn BufRead>);
        if self.head.starts_with(GZIP) {
            text(Box::new(BufReader::with_capacity(INFLATED_BYTES, MultiGzDecoder::new(pieces))))
        } else if self.head.starts_with(ZSTANDARD) {
            let message = "metadata compressed with zstandard is not read: the format has only gzip";
            Err(Error::new(ErrorKind::Unsupported, message))
        } else {
            text(Box::new(pieces))
        }
    }
}

/// A file's bytes in order.
struct FilePieces<'f> {
    piece: Buffer,
    /// How much of the piece was read.
    at: usize,
    /// The end of the piece in the file.
    end: u64,
    /// `None` after the last piece.
    next: Option<NextPiece<'f>>,
}

/// A piece that is read on another thread.
struct NextPiece<'f> {
    path: &'f str,
    storage: &'f Arc<dyn Storage>,
    thread: SeparateThread,
    bytes: PendingResult<Result<Buffer>>,
}

impl<'f> NextPiece<'f> {
    /// Begins to read the piece after the one that ends at `end`.
    fn begin(
        thread: SeparateThread,
        storage: &'f Arc<dyn Storage>,
        path: &'f str,
        end: u64,
    ) -> NextPiece<'f> {
        // Starts one byte earlier: object stores refuse a range that starts at the end of a file.
        let start = end.saturating_sub(1);
        let (reading, name) = (Arc::clone(storage), path.to_owned());
        let bytes = thread.begin(move || reading.read_range(&name, start, PIECE_BYTES));
        NextPiece { path, storage, thread, bytes }
    }
}

impl FilePieces<'_> {
    /// Replaces the piece by the next one, and begins to read the one after it.
    fn advance(&mut self) -> Result<()> {
        let Some(NextPiece { path, storage, thread, bytes }) = self.next.take() else { return Ok(()) };
        let piece = bytes.wait(|| storage.interrupted())??;
        let length = piece.len() as u64;
        (self.at, self.end) = (1, self.end.saturating_sub(1) + length);
        self.piece = piece;
        if length >= PIECE_BYTES {
            self.next = Some(NextPiece::begin(thread, storage, path, self.end));
        } else {
            thread.end();
        }
        Ok(())
    }

    fn unread(&self) -> &[u8] {
        self.piece.as_slice().get(self.at..).unwrap_or_default()
    }
}

impl BufRead for FilePieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.unread().is_empty() && self.next.is_some() {
            self.advance().map_err(io::Error::other)?;
        }
        Ok(self.unread())
    }

    fn consume(&mut self, amount: usize) {
        self.at = self.at.saturating_add(amount).min(self.piece.len());
    }
}

impl Read for FilePieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}
