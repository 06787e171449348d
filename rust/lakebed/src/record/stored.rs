//! What there is of a file: its bytes, or the columns that a cache has kept of it.

use std::sync::{Arc, OnceLock};

use arrow_buffer::Buffer;

use super::{RecordReader, RecordResolver};
use crate::cache::{Cache, CachedFile, Found, KeptRecords, Slot, batch_bytes};
use crate::columnar::Decoding;
use crate::error::{Error, Result};
use crate::storage::{Storage, read_recorded};

/// The records of one file.
#[derive(Clone)]
pub(crate) enum Stored {
    /// Its bytes.
    Bytes(Buffer),
    /// Its bytes, and where their records are to be kept.
    Missed(Buffer, Arc<Slot>),
    /// Its records.
    Kept(Arc<KeptRecords>),
    /// Whatever there is once it is known which columns are wanted.
    Asked(Arc<AskedFile>),
}

impl From<Buffer> for Stored {
    fn from(bytes: Buffer) -> Stored {
        Stored::Bytes(bytes)
    }
}

impl Stored {
    /// What there is for the columns of `resolver`: never [`Stored::Asked`].
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn found(self, format: &'static str, resolver: &RecordResolver) -> Result<Stored> {
        match self {
            Stored::Asked(file) => match file.kept(format, resolver)? {
                Ok(kept) => Ok(Stored::Kept(kept)),
                Err(slot) => file.missed(slot),
            },
            stored => Ok(stored),
        }
    }

    /// The bytes of the file; `None` where only its columns are there.
    ///
    /// # Errors
    /// Those of the storage, where they are read now.
    pub(crate) fn bytes(&self) -> Result<Option<Buffer>> {
        match self {
            Stored::Bytes(bytes) | Stored::Missed(bytes, _) => Ok(Some(bytes.clone())),
            Stored::Kept(_) => Ok(None),
            Stored::Asked(file) => file.bytes().map(Some),
        }
    }

    /// The size of the file \[bytes\].
    ///
    /// # Errors
    /// As [`Stored::bytes`].
    pub(crate) fn length(&self) -> Result<u64> {
        match self {
            Stored::Kept(kept) => Ok(kept.file_bytes),
            stored => Ok(stored.bytes()?.map_or(0, |bytes| bytes.len() as u64)),
        }
    }
}

/// A file of which a cache may have the columns, and whose bytes are read where it does not.
pub(crate) struct AskedFile {
    pub(crate) cache: Arc<Cache>,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: String,
    /// Its recorded size \[bytes\].
    pub(crate) size: Option<u64>,
    pub(crate) decoding: Decoding,
    pub(crate) bytes: OnceLock<Buffer>,
}

impl AskedFile {
    /// Its columns, else where they are to be kept; `None` for nowhere.
    pub(crate) fn kept(
        &self,
        format: &'static str,
        resolver: &RecordResolver,
    ) -> Result<std::result::Result<Arc<KeptRecords>, Option<Arc<Slot>>>> {
        let AskedFile { cache, storage, path, size, decoding, .. } = self;
        let columns = &resolver.signature();
        let file = CachedFile { path, size: *size, format, columns, limits: &decoding.limits };
        let found = cache.find(storage.as_ref(), &file).map_err(|error| error.in_file(path))?;
        Ok(match found {
            Some(Found::Kept(kept)) => Ok(kept),
            Some(Found::Missed(slot)) => Err(Some(Arc::new(slot))),
            None => Err(None),
        })
    }

    /// Its bytes, which are read once.
    ///
    /// # Errors
    /// Those of the storage; `Limit`.
    pub(crate) fn bytes(&self) -> Result<Buffer> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes.clone());
        }
        let read = read_recorded(self.storage.as_ref(), &self.path, self.size, &self.decoding.limits);
        let bytes = read.map_err(|error: Error| error.in_file(&self.path))?;
        Ok(self.bytes.get_or_init(|| bytes).clone())
    }

    /// Whether the cache has some columns of it, as far as that is seen without looking for them.
    ///
    /// # Errors
    /// `Location` for a path that the storage may not open.
    pub(crate) fn may_be_kept(&self) -> Result<bool> {
        self.cache
            .may_have(self.storage.as_ref(), &self.path, self.size)
            .map_err(|error| error.in_file(&self.path))
    }

    pub(crate) fn missed(&self, slot: Option<Arc<Slot>>) -> Result<Stored> {
        let bytes = self.bytes()?;
        Ok(slot.map_or_else(|| Stored::Bytes(bytes.clone()), |slot| Stored::Missed(bytes.clone(), slot)))
    }
}

/// All records of a file, to be kept; `None` where they are too large, or where there is an error: what reads the file
/// without a cache is told of it.
pub(super) fn decoded(
    bytes: &Buffer,
    resolver: &RecordResolver,
    decoding: &Decoding,
    threads: usize,
    most: u64,
) -> Option<KeptRecords> {
    let mut reader = RecordReader::open(bytes.clone(), resolver.unguarded(), None, decoding, threads).ok()?;
    let (mut batches, mut left) = (Vec::new(), most);
    for batch in &mut reader {
        let batch = batch.ok()?;
        left = left.checked_sub(batch_bytes(&batch))?;
        batches.push(batch);
    }
    let schema = batches.first().map_or_else(|| reader.stored.clone(), |batch| batch.schema());
    let metadata = KEPT_KEYS.into_iter().filter_map(|key| {
        Some((key.to_owned(), std::str::from_utf8(reader.metadata(key)?).ok()?.to_owned()))
    });
    Some(KeptRecords { schema, batches, metadata: metadata.collect(), file_bytes: bytes.len() as u64 })
}

/// The keys of a file's header that readers of its records ask for.
const KEPT_KEYS: [&str; 3] = ["content", "format-version", "partition-spec-id"];
