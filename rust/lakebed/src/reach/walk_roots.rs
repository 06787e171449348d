//! The roots of a walk, and the rows of the files that they reach.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use super::merged::{Merged, ReachedFile};
use super::record::records;
use super::rows::FileRows;
use super::sets::{RootSets, Run, SetId, SharedSets};
use super::walk::{Removed, Root, Walk};
use crate::error::Result;

/// The roots of a walk and their sets.
pub(super) struct WalkRoots {
    roots: Vec<Root>,
    sets: SharedSets,
    /// The roots that are not removed.
    remaining: SetId,
    /// The table itself, and the snapshot that it is at.
    current: SetId,
    /// Whether only those files are wanted that no remaining root reaches.
    only_removed: bool,
}

/// The serialized form, for the processes that make the rows of parts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredRoots {
    roots: Vec<Root>,
    sets: Vec<Box<[Run]>>,
    remaining: SetId,
    current: SetId,
    only_removed: bool,
}

impl From<&StoredRoots> for WalkRoots {
    fn from(StoredRoots { roots, sets, remaining, current, only_removed }: &StoredRoots) -> WalkRoots {
        let sets = SharedSets::new(RootSets::restored(sets.clone()));
        let (remaining, current, only_removed) = (*remaining, *current, *only_removed);
        WalkRoots { roots: roots.clone(), sets, remaining, current, only_removed }
    }
}

impl WalkRoots {
    /// Takes the roots of a walk and their sets, for all files, or with `only_removed` for those that only removed
    /// roots reach.
    pub(super) fn of(walk: &mut Walk, only_removed: bool) -> WalkRoots {
        let roots = std::mem::take(&mut walk.roots);
        let mut sets = std::mem::replace(&mut walk.sets, RootSets::new());
        let mut of = |is_meant: fn(&Root) -> bool| {
            let places = roots.iter().enumerate();
            sets.of(places.filter_map(|(place, root)| is_meant(root).then_some(place)))
        };
        let (remaining, current) = (of(|root| !root.is_removed), of(|root| root.is_current));
        WalkRoots { roots, sets: SharedSets::new(sets), remaining, current, only_removed }
    }

    /// Whether only those files are wanted that no remaining root reaches.
    pub(super) fn only_removed(&self) -> bool {
        self.only_removed
    }

    pub(super) fn stored(&self) -> StoredRoots {
        let (roots, sets) = (self.roots.clone(), self.sets.stored());
        let (remaining, current, only_removed) = (self.remaining, self.current, self.only_removed);
        StoredRoots { roots, sets, remaining, current, only_removed }
    }

    /// Rows for what is removed and is not a file, and for the files that no manifest names.
    pub(super) fn named(&self, walk: &Walk) -> Result<RecordBatch> {
        let mut rows = FileRows::default();
        for Removed { kind, snapshot_id, name } in &walk.removed {
            let root = Root::new(Some(*snapshot_id), name.clone());
            rows.push(None, *kind, None, Some(&root), Some(&root), false);
        }
        let files = walk.files.reached().iter().map(|file| {
            let size = file.size.and_then(|size| i64::try_from(size).ok());
            ReachedFile { path: &file.path, kind: file.kind, size, set: file.set }
        });
        self.add(&mut rows, files);
        rows.finish()
    }

    /// Adds the wanted files.
    fn add<'r>(&self, rows: &mut FileRows, files: impl Iterator<Item = ReachedFile<'r>>) {
        // Files of one manifest follow each other, and the same roots reach them.
        let (mut known, mut ends, mut is_current) = (None, None, false);
        for ReachedFile { path, kind, size, set } in files {
            if known != Some(set) {
                (known, ends) = (Some(set), self.ends(set));
                is_current = self.sets.difference(set, self.current) != set;
            }
            if let Some((first, last)) = ends {
                rows.push(Some(path), kind, size, self.roots.get(first), self.roots.get(last), is_current);
            }
        }
    }

    /// The first and the last root of a set; `None` where its files are not wanted.
    fn ends(&self, set: SetId) -> Option<(usize, usize)> {
        let is_wanted = !self.only_removed || self.sets.difference(set, self.remaining) == set;
        self.sets.ends(set).filter(|_| is_wanted)
    }

    /// The rows of a part, from its records.
    pub(super) fn part(&self, pieces: &[Buffer]) -> Result<RecordBatch> {
        let mut files = Merged::default();
        for record in pieces.iter().flat_map(|piece| records(piece)) {
            files.take(&record?, &self.sets);
        }
        let mut rows = FileRows::default();
        self.add(&mut rows, files.reached(&self.sets));
        rows.finish()
    }
}
