//! The status of entries: checked and counted, and judged before the file behind it is decoded.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lakebed_avro::{Guard, GuardFactory, Peek, Slot};

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

    /// Entries seen so far, by status.
    pub(super) fn seen(&self) -> [u64; 3] {
        [0, 1, 2]
            .map(|status| self.seen.get(status).map_or(0, |seen: &AtomicU64| seen.load(Ordering::Relaxed)))
    }

    /// What went wrong inside a guard, once.
    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().ok().and_then(|mut failure| failure.take())
    }
}

/// Makes guards that drop entries not among `wanted`, and count all of them.
pub(super) fn guard(slots: &[Slot], wanted: Statuses, tally: &Arc<Tally>) -> GuardFactory {
    let (slot, tally) = (slots.first().copied(), Arc::clone(tally));
    Arc::new(move || Box::new(StatusGuard { slot, wanted, tally: Arc::clone(&tally) }))
}

struct StatusGuard {
    slot: Option<Slot>,
    wanted: Statuses,
    tally: Arc<Tally>,
}

impl Guard for StatusGuard {
    fn keep(&mut self, record: Peek<'_>) -> bool {
        let status = self.slot.and_then(|slot| record.number(slot));
        let counted = match status {
            Some(status) => self.tally.count(status),
            None => Err(Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Schema), "status is not an int")),
        };
        if let Err(error) = counted {
            if let Ok(mut failure) = self.tally.failure.lock() {
                failure.get_or_insert(error);
            }
            return false;
        }
        status.and_then(|status| i32::try_from(status).ok()).is_some_and(|status| self.wanted.has(status))
    }
}
