//! A cache for files that one scan reads more than once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::read_each;
use crate::error::Result;
use crate::storage::{Storage, read_recorded};

/// The most bytes that are cached. What no longer fits is read again each time.
const KEPT_BYTES: u64 = 16 << 20;

/// A storage that caches what it reads for as long as the scan holds it, up to [`KEPT_BYTES`].
pub(crate) struct ReadCache {
    storage: Arc<dyn Storage>,
    ranges: Mutex<Ranges>,
}

/// Path, start and length of a range → its bytes.
#[derive(Default)]
struct Ranges {
    read: HashMap<(String, u64, u64), Buffer>,
    bytes: u64,
}

impl ReadCache {
    /// Wraps a storage whose requests take time. A local storage is returned as it is: it reads a file again
    /// as fast as this cache would.
    pub(crate) fn around(storage: &Arc<dyn Storage>) -> Arc<dyn Storage> {
        if storage.concurrent_reads().is_none() {
            return Arc::clone(storage);
        }
        Arc::new(ReadCache { storage: Arc::clone(storage), ranges: Mutex::default() })
    }

    /// Reads files with recorded sizes in parallel, for a consumer that later reads them one after another.
    /// Each file is read once, and only files that fit into the cache are read.
    ///
    /// # Errors
    /// Those of [`read_recorded`], with the file.
    pub(crate) fn fetch(
        storage: &Arc<dyn Storage>,
        files: impl IntoIterator<Item = (String, Option<u64>)>,
        limits: Limits,
    ) -> Result<()> {
        if storage.concurrent_reads().is_none() {
            return Ok(());
        }
        let (mut left, mut named) = (KEPT_BYTES, HashSet::new());
        let fits = |(path, bytes): &(String, Option<u64>)| {
            let Some(rest) = bytes.and_then(|bytes| left.checked_sub(bytes)) else { return false };
            let is_new = named.insert(path.clone());
            if is_new {
                left = rest;
            }
            is_new
        };
        let files = files.into_iter().filter(fits).collect();
        let read = move |storage: &dyn Storage, (path, bytes): &(String, Option<u64>)| {
            read_recorded(storage, path, *bytes, &limits).map(drop).map_err(|error| error.in_file(path))
        };
        read_each(storage, files, 1, read).map(drop)
    }

    fn ranges(&self) -> MutexGuard<'_, Ranges> {
        // Nothing panics while the lock is held.
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keeping(
        &self,
        range: (&str, u64, u64),
        read: impl FnOnce(&dyn Storage) -> Result<Buffer>,
    ) -> Result<Buffer> {
        let key = (range.0.to_owned(), range.1, range.2);
        if let Some(bytes) = self.ranges().read.get(&key) {
            return Ok(bytes.clone());
        }
        let bytes = read(self.storage.as_ref())?;
        let mut ranges = self.ranges();
        let with_these = ranges.bytes.saturating_add(bytes.len() as u64);
        if with_these <= KEPT_BYTES && ranges.read.insert(key, bytes.clone()).is_none() {
            ranges.bytes = with_these;
        }
        Ok(bytes)
    }
}

impl Storage for ReadCache {
    fn read(&self, path: &str) -> Result<Buffer> {
        self.keeping((path, 0, u64::MAX), |storage| storage.read(path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        self.keeping((path, start, length), |storage| storage.read_range(path, start, length))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.storage.list(folder)
    }

    fn inner(&self) -> Option<&dyn Storage> {
        Some(self.storage.as_ref())
    }
}
