//! Limits how many reads a storage serves at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow_buffer::Buffer;

use super::Storage;
use crate::error::Result;
use crate::separate_thread::PATIENCE;

/// A storage that serves at most this many reads at once, for all calls of a table together, whatever limit it
/// has itself.
pub struct AtOnce {
    storage: Arc<dyn Storage>,
    reads: usize,
    /// How many more reads may start.
    free: Mutex<usize>,
    freed: Condvar,
    /// The process whose reads are counted.
    process: u32,
}

impl AtOnce {
    /// Limits `storage` to `reads` reads, at least one.
    pub fn new(storage: Arc<dyn Storage>, reads: usize) -> AtOnce {
        let reads = reads.max(1);
        let (free, freed) = (Mutex::new(reads), Condvar::new());
        AtOnce { storage, reads, free, freed, process: std::process::id() }
    }

    /// Runs `read` when it may start.
    ///
    /// # Errors
    /// The interruption of who waits for that; those of `read`.
    fn with_permit<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        // In a forked process, reads of the parent never end.
        if self.process != std::process::id() {
            return read();
        }
        // Nothing panics while the lock is held.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            drop(self.freed.wait_timeout(free, PATIENCE));
            // What answers an interruption may read too, so nothing is locked meanwhile.
            self.storage.interrupted()?;
            free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        let _permit = Permit(self);
        read()
    }
}

/// Returns its permit when the read ends, in whichever way.
struct Permit<'a>(&'a AtOnce);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
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
