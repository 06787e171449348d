//! What the guards of one file count, and the errors that they find, each in its own thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::Error;

/// Sums of `N` kinds over all guards of a file, and the first error in any of them.
pub(crate) struct Tally<const N: usize> {
    counters: Mutex<Vec<Arc<[AtomicU64; N]>>>,
    failure: Mutex<Option<Error>>,
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Tally<N> {
        Tally { counters: Mutex::default(), failure: Mutex::default() }
    }
}

impl<const N: usize> Tally<N> {
    /// A counter for one more guard.
    pub(crate) fn counter(&self) -> Counter<N> {
        let counts: Arc<[AtomicU64; N]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
        if let Ok(mut counters) = self.counters.lock() {
            counters.push(Arc::clone(&counts));
        }
        Counter(counts)
    }

    /// The sums of all counters so far, by kind.
    pub(crate) fn sums(&self) -> [u64; N] {
        let mut sums = [0_u64; N];
        for counts in self.counters.lock().iter().flat_map(|counters| counters.iter()) {
            for (sum, count) in sums.iter_mut().zip(counts.iter()) {
                *sum = sum.saturating_add(count.load(Ordering::Relaxed));
            }
        }
        sums
    }

    /// Keeps an error of a guard; the first error counts.
    pub(crate) fn fail(&self, error: Error) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    /// The error of a guard; it is given once.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().ok().and_then(|mut failure| failure.take())
    }
}

/// The counts of one guard. No other thread writes to them, so there is no lock for each entry.
pub(crate) struct Counter<const N: usize>(Arc<[AtomicU64; N]>);

impl<const N: usize> Counter<N> {
    /// Counts `more` of a kind; `None` for an invalid kind.
    #[inline]
    pub(crate) fn add(&mut self, kind: usize, more: u64) -> Option<()> {
        let count = self.0.get(kind)?;
        count.store(count.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
        Some(())
    }
}
