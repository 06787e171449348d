//! The difference of two sets of files: those that both have cancel.

use std::collections::HashMap;

use arrow_array::{BinaryArray, BooleanArray};

use super::Change;

/// For each file, by its identity, how many more times it was added than removed. Files without a difference
/// are dropped, so memory is at most the entries of one side and the difference.
#[derive(Default)]
pub(super) struct NetCounts(HashMap<Box<[u8]>, i64>);

impl NetCounts {
    /// Counts files with this change.
    pub(super) fn count(&mut self, identities: &BinaryArray, change: Change) {
        for identity in identities.iter().flatten() {
            if self.0.contains_key(identity) {
                self.add(identity, change.sign());
            } else {
                self.0.insert(identity.into(), change.sign());
            }
        }
    }

    /// How many files have this change.
    pub(super) fn left(&self, change: Change) -> u64 {
        let counts = self.0.values().filter(|count| count.signum() == change.sign());
        counts.map(|count| count.unsigned_abs()).sum()
    }

    /// True for each file that has this change and was not claimed as often before.
    pub(super) fn claim(&mut self, identities: &BinaryArray, change: Change) -> BooleanArray {
        let claim = |identity: Option<&[u8]>| {
            let Some(identity) = identity else { return Some(false) };
            let changed = self.0.get(identity).is_some_and(|count| count.signum() == change.sign());
            if changed {
                self.add(identity, -change.sign());
            }
            Some(changed)
        };
        identities.iter().map(claim).collect()
    }

    fn add(&mut self, identity: &[u8], more: i64) {
        let Some(count) = self.0.get_mut(identity) else { return };
        *count += more;
        if *count == 0 {
            self.0.remove(identity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_both_cancel_and_the_others_are_claimed_once() {
        let files = |names: &[&str]| BinaryArray::from_iter_values(names.iter().map(|name| name.as_bytes()));
        let mut net = NetCounts::default();
        net.count(&files(&["kept", "old", "twice", "twice"]), Change::Removed);
        net.count(&files(&["new", "kept", "twice"]), Change::Added);
        assert_eq!((net.left(Change::Removed), net.left(Change::Added)), (2, 1));
        let claimed = net.claim(&files(&["kept", "twice", "old", "twice", "new"]), Change::Removed);
        assert_eq!(claimed, BooleanArray::from(vec![false, true, true, false, false]));
        assert_eq!(net.claim(&files(&["new", "new"]), Change::Added), BooleanArray::from(vec![true, false]));
        assert_eq!((net.left(Change::Removed), net.left(Change::Added)), (0, 0));
    }
}
