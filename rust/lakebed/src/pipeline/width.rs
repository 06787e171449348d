//! How much a pipeline does at once.

use std::num::NonZeroUsize;

use crate::storage::Storage;

/// How many reads, and how many threads that make something of them, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) reads: usize,
    pub(crate) threads: usize,
}

impl Width {
    /// One after another.
    pub(crate) const ONE: Width = Width { reads: 1, threads: 1 };

    /// Of a storage, and so many threads.
    ///
    /// A local read is over at once: one that is under way for each thread is enough, and with one thread nobody else
    /// is needed. More threads than processors read more at once, as a mounted object store needs it, but make nothing
    /// sooner: what they would make at once only takes memory.
    pub(crate) fn new(storage: &dyn Storage, threads: usize) -> Width {
        let reads = storage.concurrent_reads().unwrap_or(threads).max(1);
        let processors = std::thread::available_parallelism().map_or(threads, NonZeroUsize::get);
        Width { reads, threads: threads.min(processors).max(1) }
    }

    /// How many requests have something to do at most.
    pub(crate) fn most(self) -> usize {
        self.reads.max(self.threads)
    }

    /// Whether one thread does all of it, one after another.
    pub(crate) fn is_one(self) -> bool {
        self.reads <= 1 && self.threads <= 1
    }
}
