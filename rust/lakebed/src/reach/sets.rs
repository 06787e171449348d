//! Sets of roots that reach a file, as runs of consecutive roots. Equal sets are stored once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The first and the last of consecutive roots.
pub(super) type Run = (u32, u32);

/// The number of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SetId(pub(super) u32);

impl SetId {
    /// The empty set.
    pub(crate) const NONE: SetId = SetId(0);
}

/// A list of roots, best added in ascending order: then it is as short as its set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roots(Vec<Run>);

impl Roots {
    /// Adds a root.
    pub(crate) fn push(&mut self, root: usize) {
        // Roots are in memory as files that were read: fewer than 2^32.
        let root = u32::try_from(root).unwrap_or(u32::MAX);
        self.push_run((root, root));
    }

    /// Adds the roots of another list.
    pub(crate) fn extend(&mut self, other: &Roots) {
        other.0.iter().for_each(|run| self.push_run(*run));
    }

    fn push_run(&mut self, (first, last): Run) {
        match self.0.last_mut() {
            Some((start, end)) if first >= *start && first <= end.saturating_add(1) => *end = last.max(*end),
            _ => self.0.push((first, last)),
        }
    }

    /// The same roots in ascending order, each once.
    fn sorted(mut self) -> Vec<Run> {
        if self.0.is_sorted_by(|(_, end), (start, _)| end.saturating_add(1) < *start) {
            return self.0;
        }
        self.0.sort_unstable();
        let mut sorted = Roots::default();
        self.0.into_iter().for_each(|run| sorted.push_run(run));
        sorted.0
    }
}

/// All sets in use, by number: thousands of files are reached by the same snapshots.
pub(crate) struct RootSets {
    runs: Vec<Box<[Run]>>,
    known: HashMap<Box<[Run]>, u32, RandomState>,
    unions: HashMap<(u32, u32), u32, RandomState>,
    differences: HashMap<(u32, u32), u32, RandomState>,
}

impl RootSets {
    /// Only the empty set.
    pub(crate) fn new() -> RootSets {
        let none: Box<[Run]> = Box::default();
        RootSets {
            runs: vec![none.clone()],
            known: HashMap::from_iter([(none, 0)]),
            unions: HashMap::default(),
            differences: HashMap::default(),
        }
    }

    fn id(&mut self, runs: Vec<Run>) -> u32 {
        let runs = runs.into_boxed_slice();
        if let Some(id) = self.known.get(&runs) {
            return *id;
        }
        // There are no more sets than unions of the manifests' sets: fewer than there are bytes of memory.
        let id = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        self.runs.push(runs.clone());
        self.known.insert(runs, id);
        id
    }

    /// The set of `roots`.
    pub(crate) fn of(&mut self, roots: impl IntoIterator<Item = usize>) -> SetId {
        let mut met = Roots::default();
        roots.into_iter().for_each(|root| met.push(root));
        self.of_roots(met)
    }

    /// The set of a list of roots.
    pub(crate) fn of_roots(&mut self, roots: Roots) -> SetId {
        SetId(self.id(roots.sorted()))
    }

    /// The roots in either set.
    pub(crate) fn union(&mut self, one: SetId, other: SetId) -> SetId {
        if one == other || other == SetId::NONE {
            return one;
        }
        if one == SetId::NONE {
            return other;
        }
        let key = (one.0.min(other.0), one.0.max(other.0));
        if let Some(id) = self.unions.get(&key) {
            return SetId(*id);
        }
        let all: Vec<Run> = self.runs(one).iter().chain(self.runs(other)).copied().collect();
        let id = self.id(Roots(all).sorted());
        self.unions.insert(key, id);
        SetId(id)
    }

    /// The roots in `one` that are not in `other`.
    pub(crate) fn difference(&mut self, one: SetId, other: SetId) -> SetId {
        if other == SetId::NONE || one == SetId::NONE {
            return one;
        }
        if let Some(id) = self.differences.get(&(one.0, other.0)) {
            return SetId(*id);
        }
        let mut runs = Vec::new();
        for &(first, last) in self.runs(one) {
            // The start of what is left of this run so far.
            let mut start = Some(first);
            for &(gone, until) in self.runs(other) {
                let Some(from) = start.filter(|from| until >= *from && gone <= last) else { continue };
                if gone > from {
                    runs.push((from, gone - 1));
                }
                start = (until < last).then(|| until + 1);
            }
            runs.extend(start.map(|from| (from, last)));
        }
        let id = self.id(runs);
        self.differences.insert((one.0, other.0), id);
        SetId(id)
    }

    /// The first and the last root of a set; `None` for the empty set.
    pub(crate) fn ends(&self, set: SetId) -> Option<(usize, usize)> {
        let runs = self.runs(set);
        let (first, last) = (runs.first()?.0, runs.last()?.1);
        Some((first as usize, last as usize))
    }

    fn runs(&self, set: SetId) -> &[Run] {
        self.runs.get(set.0 as usize).map_or(&[], AsRef::as_ref)
    }
}

/// Sets that several threads share.
#[derive(Clone)]
pub(super) struct SharedSets(Arc<Mutex<RootSets>>);

impl Serialize for SharedSets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.sets().runs.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedSets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SharedSets, D::Error> {
        let runs = Vec::<Box<[Run]>>::deserialize(deserializer)?;
        let known = runs.iter().cloned().zip(0..).collect();
        Ok(SharedSets::new(RootSets { runs, known, ..RootSets::new() }))
    }
}

impl SharedSets {
    pub(super) fn new(sets: RootSets) -> SharedSets {
        SharedSets(Arc::new(Mutex::new(sets)))
    }

    fn sets(&self) -> MutexGuard<'_, RootSets> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`RootSets::union`].
    pub(super) fn union(&self, one: SetId, other: SetId) -> SetId {
        match (one, other) {
            // The most common cases take no lock.
            _ if one == other => one,
            (SetId::NONE, other) => other,
            (one, SetId::NONE) => one,
            _ => self.sets().union(one, other),
        }
    }

    /// As [`RootSets::difference`].
    pub(super) fn difference(&self, one: SetId, other: SetId) -> SetId {
        if one == SetId::NONE || other == SetId::NONE { one } else { self.sets().difference(one, other) }
    }

    /// As [`RootSets::ends`].
    pub(super) fn ends(&self, set: SetId) -> Option<(usize, usize)> {
        self.sets().ends(set)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn roots(sets: &RootSets, set: SetId) -> BTreeSet<usize> {
        sets.runs(set).iter().flat_map(|(first, last)| *first as usize..=*last as usize).collect()
    }

    #[test]
    fn unions_and_differences_of_all_small_sets() {
        let mut sets = RootSets::new();
        let members = |bits: u32| (0..6usize).filter(move |root| bits >> root & 1 == 1);
        for one in 0..64u32 {
            for other in 0..64u32 {
                let (a, b) = (sets.of(members(one)), sets.of(members(other)));
                let (both, left) = (sets.union(a, b), sets.difference(a, b));
                assert_eq!(both, sets.of(members(one | other)), "{one:b} {other:b}");
                assert_eq!(left, sets.of(members(one & !other)), "{one:b} {other:b}");
                assert_eq!(roots(&sets, both), members(one | other).collect());
                assert_eq!((sets.union(a, b), sets.difference(a, b)), (both, left), "known by now");
            }
        }
        assert_eq!(sets.runs.len(), 64);
        let set = sets.of([1, 2, 5]);
        assert_eq!((sets.ends(set), sets.ends(SetId::NONE)), (Some((1, 5)), None));
    }
}
