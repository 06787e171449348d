//! Checks and counts the status of entries.

use crate::error::{Error, ErrorKind, Result};

/// Status of a file that an earlier snapshot added.
pub const EXISTING: i32 = 0;
/// Status of a file that the entry's snapshot added.
pub const ADDED: i32 = 1;
/// Status of a file that the entry's snapshot deleted: no longer in the table.
pub const DELETED: i32 = 2;

/// Which entries of a manifest are read, by status.
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

    /// Whether entries of that status are read.
    pub fn has(self, status: i32) -> bool {
        match status {
            EXISTING => self.existing,
            ADDED => self.added,
            _ => self.deleted,
        }
    }
}

/// Counts of entries seen, then of rows of entries dropped by their tuples, each by status.
pub(super) type Tally = crate::record::Tally<6>;

/// Entries seen so far, by status.
pub(super) fn seen(tally: &Tally) -> [u64; 3] {
    let [existing, added, deleted, ..] = tally.sums();
    [existing, added, deleted]
}

/// Rows of the entries that were dropped by their tuples, by status.
pub(super) fn dropped_rows(tally: &Tally) -> [u64; 3] {
    let [.., existing, added, deleted] = tally.sums();
    [existing, added, deleted]
}

/// One thread's part of a tally.
pub(super) struct Counter(crate::record::Counter<6>);

impl Counter {
    pub(super) fn of(tally: &Tally) -> Counter {
        Counter(tally.counter())
    }

    /// Counts an entry of that status.
    ///
    /// # Errors
    /// `Mismatch` for an invalid status.
    #[inline]
    pub(super) fn count(&mut self, status: i64) -> Result<()> {
        let kind = usize::try_from(status).ok().filter(|status| *status < 3);
        kind.and_then(|kind| self.0.add(kind, 1)).ok_or_else(|| {
            let message = format!("status is {status}, not 0 (EXISTING), 1 (ADDED) or 2 (DELETED)");
            Error::new(ErrorKind::Mismatch, message).in_field("status")
        })
    }

    /// Counts the rows of an entry of that status that is dropped by its tuple.
    pub(super) fn drop_rows(&mut self, status: i64, rows: Option<i64>) {
        if let (Ok(status), Some(Ok(rows))) = (usize::try_from(status), rows.map(u64::try_from)) {
            self.0.add(status.saturating_add(3), rows);
        }
    }
}
