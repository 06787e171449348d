//! The status of entries, checked and counted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// Status of a file that an earlier snapshot added.
pub const EXISTING: i32 = 0;
/// Status of a file that the entry's snapshot added.
pub const ADDED: i32 = 1;
/// Status of a file that the entry's snapshot deleted: no longer in the table.
pub const DELETED: i32 = 2;

/// Which entries of a manifest are wanted, by their status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statuses {
    /// Those that are EXISTING.
    pub existing: bool,
    /// Those that are ADDED.
    pub added: bool,
    /// Those that are DELETED.
    pub deleted: bool,
}

impl Statuses {
    /// All entries.
    pub const ALL: Statuses = Statuses { existing: true, added: true, deleted: true };
    /// Entries of files that are in the table.
    pub const LIVE: Statuses = Statuses { existing: true, added: true, deleted: false };

    /// Whether entries of that status are among them.
    pub fn has(self, status: i32) -> bool {
        match status {
            EXISTING => self.existing,
            ADDED => self.added,
            _ => self.deleted,
        }
    }
}

/// What all threads of one manifest found.
#[derive(Default)]
pub(super) struct Tally {
    seen: [AtomicU64; 3],
    dropped_rows: [AtomicU64; 3],
    failure: Mutex<Option<Error>>,
}

impl Tally {
    /// Counts an entry of that status.
    ///
    /// # Errors
    /// `Mismatch` for a status that there is not.
    pub(super) fn count(&self, status: i64) -> Result<()> {
        let seen = usize::try_from(status).ok().and_then(|status| self.seen.get(status));
        let seen = seen.ok_or_else(|| {
            let message = format!("status is {status}, none of 0 (EXISTING), 1 (ADDED) and 2 (DELETED)");
            Error::new(ErrorKind::Mismatch, message).in_field("status")
        })?;
        seen.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Counts the rows of an entry of that status that is dropped for its tuple.
    pub(super) fn drop_rows(&self, status: i64, rows: Option<i64>) {
        let sum = usize::try_from(status).ok().and_then(|status| self.dropped_rows.get(status));
        if let (Some(sum), Some(Ok(rows))) = (sum, rows.map(u64::try_from)) {
            sum.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Entries seen so far, by status.
    pub(super) fn seen(&self) -> [u64; 3] {
        self.seen.each_ref().map(|seen| seen.load(Ordering::Relaxed))
    }

    /// Rows of the entries that were dropped for their tuples, by status.
    pub(super) fn dropped_rows(&self) -> [u64; 3] {
        self.dropped_rows.each_ref().map(|rows| rows.load(Ordering::Relaxed))
    }

    /// Keeps what went wrong inside a guard; the first such error counts.
    pub(super) fn fail(&self, error: Error) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
    }

    /// What went wrong inside a guard, once.
    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().ok().and_then(|mut failure| failure.take())
    }
}
