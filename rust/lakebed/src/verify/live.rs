//! Finds the live files by their identities, with a few bytes per file.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use arrow_array::{BinaryArray, Int32Array};

/// Hashes identities twice, with random keys, so that an attacker cannot make two files with the same hashes.
#[derive(Default)]
pub(super) struct IdentityKeys([RandomState; 2]);

impl IdentityKeys {
    /// The hashes of an identity.
    pub(super) fn hashed(&self, identity: &[u8]) -> u128 {
        let [one, other] = self.0.each_ref().map(|key| u128::from(key.hash_one(identity)));
        (one << 64) | other
    }

    /// The entries that add a file (1) or delete it (-1), by the hashes of its identity.
    pub(super) fn counts<'e>(
        &'e self,
        signs: &'e Int32Array,
        identities: &'e BinaryArray,
    ) -> impl Iterator<Item = (u128, i32)> + 'e {
        let counted = signs.values().iter().zip(identities).filter(|(sign, _)| **sign != 0);
        counted.map(|(sign, identity)| (self.hashed(identity.unwrap_or_default()), *sign))
    }
}

/// Counts files by the hashes of their identities.
#[derive(Default)]
pub(super) struct IdentityCounts {
    counts: HashMap<u128, Count>,
    /// The number of identities that are added more than once, or deleted more often than added.
    odd: usize,
}

/// How much more often a file is added than deleted, and whether it was seen in the second pass.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    net: i64,
    is_met: bool,
}

/// What is known of a file when it is seen in the second pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// Live, seen for the first time.
    First,
    /// Live, seen before.
    Again,
    /// Deleted more often than added.
    Owed,
    /// Not live.
    Gone,
}

impl IdentityCounts {
    /// Counts an entry that adds the file (1) or deletes it (-1).
    pub(super) fn count(&mut self, hashed: u128, sign: i32) {
        let count = self.counts.entry(hashed).or_default();
        let was_odd = count.is_odd();
        count.net += i64::from(sign);
        match (was_odd, count.is_odd()) {
            (false, true) => self.odd += 1,
            (true, false) => self.odd -= 1,
            _ => {}
        }
    }

    /// Whether every file is live once or not at all.
    pub(super) fn is_right(&self) -> bool {
        self.odd == 0
    }

    /// The state of an entry's file in the second pass, after all entries are counted.
    pub(super) fn meet(&mut self, hashed: u128, sign: i32) -> FileState {
        let Some(count) = self.counts.get_mut(&hashed) else { return FileState::Gone };
        let met_before = std::mem::replace(&mut count.is_met, true);
        match sign {
            1 if count.net > 0 && !met_before => FileState::First,
            1 if count.net > 1 => FileState::Again,
            -1 if count.net < 0 && !met_before => FileState::Owed,
            _ => FileState::Gone,
        }
    }
}

impl Count {
    fn is_odd(self) -> bool {
        !(0..=1).contains(&self.net)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_met_as_often_as_they_are_live() {
        let (keys, mut live) = (IdentityKeys::default(), IdentityCounts::default());
        let entries = [("a", 1), ("b", 1), ("b", 1), ("c", -1), ("d", -1), ("d", 1)];
        for (name, sign) in entries {
            live.count(keys.hashed(name.as_bytes()), sign);
        }
        assert!(!live.is_right());
        let met = entries.map(|(name, sign)| live.meet(keys.hashed(name.as_bytes()), sign));
        assert_eq!(
            met,
            [
                FileState::First,
                FileState::First,
                FileState::Again,
                FileState::Owed,
                FileState::Gone,
                FileState::Gone
            ]
        );
    }

    #[test]
    fn a_file_that_is_added_again_is_right() {
        let (keys, mut live) = (IdentityKeys::default(), IdentityCounts::default());
        for (name, sign) in [("a", -1), ("a", 1), ("a", 1)] {
            live.count(keys.hashed(name.as_bytes()), sign);
        }
        assert!(live.is_right());
    }
}
