//! Limits how many reads a storage serves at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow_buffer::Buffer;

use super::Storage;
use crate::error::Result;
use crate::separate_thread::PATIENCE;

/// How many more reads may start, for one storage or for several that share them.
pub struct ReadPermits {
    reads: usize,
    free: Mutex<usize>,
    freed: Condvar,
    /// The process whose reads are counted.
    process: u32,
}

impl ReadPermits {
    /// Permits for `reads` reads at once, at least one.
    pub fn new(reads: usize) -> ReadPermits {
        let reads = reads.max(1);
        ReadPermits { reads, free: Mutex::new(reads), freed: Condvar::new(), process: std::process::id() }
    }

    /// How many reads there may be at once.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Runs `read` when it may start.
    ///
    /// # Errors
    /// Those of `interrupted`, which is asked while it waits; those of `read`.
    fn with_permit<T>(
        &self,
        interrupted: impl Fn() -> Result<()>,
        read: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // In a forked process, reads of the parent never end.
        if self.process != std::process::id() {
            return read();
        }
        // Nothing panics while the lock is held.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            drop(self.freed.wait_timeout(free, PATIENCE));
            // What answers an interruption may read too, so nothing is locked meanwhile.
            interrupted()?;
            free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        let _permit = Permit(self);
        read()
    }
}

/// Returns its permit when the read ends, in whichever way.
struct Permit<'a>(&'a ReadPermits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// A storage that serves at most so many reads at once, for all calls of a table together, whatever limit it has
/// itself; with permits that tables share, for all of these.
pub struct AtOnce {
    storage: Arc<dyn Storage>,
    permits: Arc<ReadPermits>,
    /// How many of them readers are to ask for at once.
    reads: usize,
}

impl AtOnce {
    /// Limits `storage` to `reads` reads, at least one.
    pub fn new(storage: Arc<dyn Storage>, reads: usize) -> AtOnce {
        AtOnce::sharing(storage, Arc::new(ReadPermits::new(reads)), reads)
    }

    /// Limits `storage` to permits that others have too; `reads` of them at most are for its own readers at once.
    pub fn sharing(storage: Arc<dyn Storage>, permits: Arc<ReadPermits>, reads: usize) -> AtOnce {
        let reads = reads.clamp(1, permits.reads());
        AtOnce { storage, permits, reads }
    }

    fn with_permit<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.permits.with_permit(|| self.storage.interrupted(), read)
    }
}

impl Storage for AtOnce {
    fn read(&self, path: &str) -> Result<Buffer> {
        self.with_permit(|| self.storage.read(path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        self.with_permit(|| self.storage.read_range(path, start, length))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.storage.list(folder)
    }

    fn inner(&self) -> Option<&dyn Storage> {
        Some(self.storage.as_ref())
    }

    fn concurrent_reads(&self) -> Option<usize> {
        Some(self.reads)
    }
}
