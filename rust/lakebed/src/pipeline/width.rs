//! How much a pipeline does in parallel.

use std::num::NonZeroUsize;

use crate::storage::Storage;

/// More reads at once than any storage serves better than fewer; each has a thread.
const MOST_READS: usize = 1024;

/// The most parallel reads, and the most threads that decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) reads: usize,
    pub(crate) threads: usize,
}

impl Width {
    /// One after another.
    pub(crate) const ONE: Width = Width { reads: 1, threads: 1 };

    /// The width for a storage and a number of threads.
    ///
    /// A local read returns at once, so one per thread is enough, and with one thread no others are needed.
    /// More threads than processors read more in parallel, as a mounted object store needs it. They do not
    /// decode faster, and would only take memory, so decoding has no more threads than processors.
    pub(crate) fn new(storage: &dyn Storage, threads: usize) -> Width {
        let reads = storage.concurrent_reads().unwrap_or(threads).clamp(1, MOST_READS);
        let processors = std::thread::available_parallelism().map_or(threads, NonZeroUsize::get);
        Width { reads, threads: threads.min(processors).max(1) }
    }

    /// The most requests that are in progress at once.
    pub(crate) fn most(self) -> usize {
        self.reads.max(self.threads)
    }

    /// Whether one thread does all of the work.
    pub(crate) fn is_one(self) -> bool {
        self.reads <= 1 && self.threads <= 1
    }
}
