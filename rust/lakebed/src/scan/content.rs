//! What there is of a manifest: its bytes, those of a part, or the columns that a cache has of it.

use std::sync::{Arc, OnceLock};

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::Content;
use crate::cache::Cache;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{AskedFile, RecordResolver, Stored};
use crate::storage::Storage;
use crate::table::TableCore;

impl Content {
    /// The bytes of a whole manifest.
    ///
    /// # Errors
    /// `Argument` for a part of one.
    pub fn whole(self) -> Result<Buffer> {
        self.undivided()?.into_bytes()
    }

    /// The bytes of what is there.
    ///
    /// # Errors
    /// `Internal` for what a cache has, which who asks for bytes was not to get.
    pub(crate) fn into_bytes(self) -> Result<Buffer> {
        let bytes = self.stored.bytes()?;
        bytes.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "a cache has the columns of a file, and not its bytes")
        })
    }

    /// The same of a whole manifest.
    ///
    /// # Errors
    /// `Argument` for a part of one.
    pub(crate) fn undivided(self) -> Result<Content> {
        if self.part.is_none() {
            return Ok(self);
        }
        Err(Error::new(ErrorKind::Argument, "a part of a manifest, where all of it is expected"))
    }

    /// A manifest with this recorded size, for the columns of `resolver`: what a cache has of it, else the `part` of it that
    /// is enough, else its bytes.
    ///
    /// # Errors
    /// Those of the storage, and of `part`; `Limit`; `Location` for a path that the storage may not open.
    pub(crate) fn of_columns(
        table: &TableCore,
        (path, size): (&str, Option<u64>),
        (format, resolver): (&'static str, &RecordResolver),
        part: impl FnOnce() -> Result<Option<Content>>,
    ) -> Result<Content> {
        let Some(cache) = &table.decoding.cache else {
            return part()?.map_or_else(|| table.read_recorded(path, size).map(Content::from), Ok);
        };
        let (cache, storage, decoding) =
            (Arc::clone(cache), Arc::clone(&table.storage), table.decoding.clone());
        let (path, bytes) = (path.to_owned(), OnceLock::new());
        let file = AskedFile { cache, storage, path, size, decoding, bytes };
        let stored = match file.kept(format, resolver)? {
            Ok(records) => Stored::Kept(records),
            Err(slot) => match part()? {
                Some(part) => return Ok(part),
                None => file.missed(slot)?,
            },
        };
        Ok(Content { stored, part: None })
    }

    /// A manifest with `length` recorded bytes, for whichever columns: what a cache has of them, else its bytes. They are read
    /// now unless the cache has some columns of the manifest.
    ///
    /// # Errors
    /// As [`Content::of_file`].
    pub fn of_cached_file(
        cache: &Arc<Cache>,
        storage: &Arc<dyn Storage>,
        path: &str,
        length: u64,
        limits: &Limits,
    ) -> Result<Content> {
        let (cache, storage, path) = (Arc::clone(cache), Arc::clone(storage), path.to_owned());
        let (size, decoding, bytes) = (Some(length), Decoding::from(*limits), OnceLock::new());
        let file = AskedFile { cache, storage, path, size, decoding, bytes };
        if !file.may_be_kept()? {
            file.bytes()?;
        }
        Ok(Content { stored: Stored::Asked(Arc::new(file)), part: None })
    }
}
