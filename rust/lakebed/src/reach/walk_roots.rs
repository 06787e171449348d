//! The roots of a walk, and the rows of the files that they reach.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::record::{Fact, Record, records};
use super::rows::FileRows;
use super::sets::{RootSets, SetId, SharedSets};
use super::walk::{RemovedItem, Root, Walk};
use crate::error::Result;

/// The roots of a walk and their sets.
#[derive(Clone, Serialize, Deserialize)]
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

    /// Rows for what is removed and is not a file, and for the files that no manifest names.
    pub(super) fn named(&self, walk: &Walk) -> Result<RecordBatch> {
        let mut rows = FileRows::default();
        for RemovedItem { kind, snapshot_id, name } in &walk.removed {
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
    pub(super) fn part(&self, pieces: &[RecordBatch]) -> Result<RecordBatch> {
        let mut files = PartFiles::default();
        files.places.reserve(pieces.iter().map(RecordBatch::num_rows).sum());
        for piece in pieces {
            records(piece)?.try_for_each(|record| record.map(|record| files.take(&record, &self.sets)))?;
        }
        let mut rows = FileRows::default();
        self.add(&mut rows, files.reached(&self.sets));
        rows.finish()
    }
}

/// The files of a part, in the order of their first records.
#[derive(Default)]
struct PartFiles<'r> {
    places: HashMap<&'r str, usize, RandomState>,
    files: Vec<Claims<'r>>,
}

/// What records state about the files at one path.
struct Claims<'r> {
    path: &'r str,
    kind: Kind,
    size: i64,
    first: Claim,
    /// What they state about other files at the same path; mostly there are none.
    others: Vec<Claim>,
}

/// What records state about one file.
#[derive(Clone, Copy)]
struct Claim {
    identity: i64,
    /// The roots that reach it, and those that list it as deleted.
    reached: SetId,
    deleted: SetId,
}

impl Claim {
    fn of(identity: i64) -> Claim {
        Claim { identity, reached: SetId::NONE, deleted: SetId::NONE }
    }

    fn take(&mut self, record: &Record<'_>, sets: &SharedSets) {
        let set = if record.fact == Fact::Deleted { &mut self.deleted } else { &mut self.reached };
        *set = sets.union(*set, record.set);
    }
}

/// A file that a root reaches.
struct ReachedFile<'r> {
    path: &'r str,
    kind: Kind,
    size: Option<i64>,
    set: SetId,
}

impl<'r> PartFiles<'r> {
    fn take(&mut self, record: &Record<'r>, sets: &SharedSets) {
        let Record { path, kind, size, value, .. } = *record;
        let place = *self.places.entry(path).or_insert(self.files.len());
        if place == self.files.len() {
            self.files.push(Claims { path, kind, size, first: Claim::of(value), others: Vec::new() });
        }
        let Some(file) = self.files.get_mut(place) else { return };
        if file.size < 0 {
            file.size = size;
        }
        let mut claims = std::iter::once(&mut file.first).chain(&mut file.others);
        if let Some(claim) = claims.find(|claim| claim.identity == value) {
            return claim.take(record, sets);
        }
        let mut claim = Claim::of(value);
        claim.take(record, sets);
        file.others.push(claim);
    }

    /// Each file that a root reaches.
    fn reached(self, sets: &SharedSets) -> impl Iterator<Item = ReachedFile<'r>> {
        self.files.into_iter().filter_map(|file| {
            let left = |claim: &Claim| sets.difference(claim.reached, claim.deleted);
            let set = file.others.iter().fold(left(&file.first), |all, claim| sets.union(all, left(claim)));
            let size = Some(file.size).filter(|size| *size >= 0);
            (set != SetId::NONE).then_some(ReachedFile { path: file.path, kind: file.kind, size, set })
        })
    }
}
