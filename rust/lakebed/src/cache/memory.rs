//! What is kept in memory: the least recently used goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::KeptRecords;

/// What the table of entries takes for each of them, beside key and columns \[bytes\].
const OVERHEAD: u64 = 256;
/// How often a process that was forked asks for a lock.
const TRIES: usize = 64;

/// Columns by key, as many as fit.
pub(super) struct Memory {
    most: u64,
    /// The process that made it. In one that was forked from it a thread that no longer exists may hold the lock, so there
    /// nobody waits for it.
    process: u32,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Arc<str>, Entry>,
    /// Keys by when they were last used.
    by_use: BTreeMap<u64, Arc<str>>,
    uses: u64,
    bytes: u64,
}

struct Entry {
    kept: Arc<KeptRecords>,
    bytes: u64,
    used: u64,
}

impl Memory {
    pub(super) fn new(most: u64) -> Memory {
        Memory { most, process: std::process::id(), entries: Mutex::default() }
    }

    /// `None` in a forked process whose lock is held.
    fn entries(&self) -> Option<MutexGuard<'_, Entries>> {
        if self.process == std::process::id() {
            return Some(self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        }
        for _ in 0..TRIES {
            match self.entries.try_lock() {
                Ok(entries) => return Some(entries),
                Err(TryLockError::Poisoned(entries)) => return Some(entries.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<KeptRecords>> {
        if self.most == 0 {
            return None;
        }
        self.entries()?.get(key)
    }

    /// Keeps columns that fit, in place of those that were used least recently.
    pub(super) fn put(&self, key: &Arc<str>, kept: &Arc<KeptRecords>) {
        let bytes = kept.bytes().saturating_add(key.len() as u64).saturating_add(OVERHEAD);
        if bytes > self.most {
            return;
        }
        if let Some(mut entries) = self.entries() {
            entries.put(key, kept, bytes, self.most);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.entries().map_or(0, |entries| entries.bytes)
    }

    pub(super) fn clear(&self) {
        if let Some(mut entries) = self.entries() {
            *entries = Entries::default();
        }
    }
}

impl Entries {
    fn get(&mut self, key: &str) -> Option<Arc<KeptRecords>> {
        let entry = self.by_key.get_mut(key)?;
        self.uses = self.uses.saturating_add(1);
        if let Some(key) = self.by_use.remove(&entry.used) {
            self.by_use.insert(self.uses, key);
        }
        entry.used = self.uses;
        Some(Arc::clone(&entry.kept))
    }

    fn put(&mut self, key: &Arc<str>, kept: &Arc<KeptRecords>, bytes: u64, most: u64) {
        self.remove(key);
        while self.bytes.saturating_add(bytes) > most {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.remove(&oldest);
        }
        self.uses = self.uses.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.by_use.insert(self.uses, Arc::clone(key));
        self.by_key.insert(Arc::clone(key), Entry { kept: Arc::clone(kept), bytes, used: self.uses });
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::tests::records;

    #[test]
    fn the_least_recently_used_goes_first_and_what_is_too_large_is_not_kept() {
        let kept = Arc::new(records(10));
        let keys: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        let each = kept.bytes() + 1 + OVERHEAD;
        let memory = Memory::new(2 * each);
        let there = |memory: &Memory| keys.iter().map(|key| memory.get(key).is_some()).collect::<Vec<_>>();
        memory.put(&keys[0], &kept);
        memory.put(&keys[1], &kept);
        assert!(memory.get("a").is_some());
        memory.put(&keys[2], &kept);
        assert_eq!((there(&memory), memory.bytes()), (vec![true, false, true], 2 * each));
        // Again the same key: nothing else goes.
        memory.put(&keys[2], &kept);
        memory.put(&"large".into(), &Arc::new(records(100_000)));
        assert_eq!((there(&memory), memory.bytes()), (vec![true, false, true], 2 * each));
        memory.clear();
        assert_eq!((there(&memory), memory.bytes()), (vec![false; 3], 0));
    }

    #[test]
    fn a_forked_process_does_not_wait_for_a_lock() {
        let memory = Memory { process: 0, ..Memory::new(1 << 20) };
        memory.put(&"a".into(), &Arc::new(records(1)));
        let held = memory.entries.lock().unwrap();
        assert!(memory.get("a").is_none());
        drop(held);
        assert!(memory.get("a").is_some());
    }
}
