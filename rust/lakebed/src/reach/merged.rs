//! The records of a part, merged into one row for each file.

use hashbrown::HashTable;

use super::kind::Kind;
use super::record::{Fact, Record};
use super::sets::{SetId, SharedSets};

/// The files of a part, in the order of their first records.
#[derive(Default)]
pub(super) struct Merged<'r> {
    places: HashTable<usize>,
    files: Vec<Claims<'r>>,
}

/// What records state about the files at one path.
struct Claims<'r> {
    hash: u64,
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
pub(super) struct ReachedFile<'r> {
    pub(super) path: &'r str,
    pub(super) kind: Kind,
    pub(super) size: Option<i64>,
    pub(super) set: SetId,
}

impl<'r> Merged<'r> {
    pub(super) fn take(&mut self, record: &Record<'r>, sets: &SharedSets) {
        let files = &mut self.files;
        let is_it = |place: &usize| {
            files.get(*place).is_some_and(|file| file.hash == record.hash && file.path == record.path)
        };
        let place = match self.places.find(record.hash, is_it) {
            Some(place) => *place,
            None => {
                let (hash, path, kind, size) = (record.hash, record.path, record.kind, record.size);
                let first = Claim::of(record.value);
                files.push(Claims { hash, path, kind, size, first, others: Vec::new() });
                let place = files.len() - 1;
                self.places.insert_unique(hash, place, |place| files.get(*place).map_or(0, |file| file.hash));
                place
            }
        };
        let Some(file) = files.get_mut(place) else { return };
        if file.size < 0 {
            file.size = record.size;
        }
        if file.first.identity == record.value {
            return file.first.take(record, sets);
        }
        match file.others.iter_mut().find(|claim| claim.identity == record.value) {
            Some(claim) => claim.take(record, sets),
            None => {
                let mut claim = Claim::of(record.value);
                claim.take(record, sets);
                file.others.push(claim);
            }
        }
    }

    /// Each file that a root reaches.
    pub(super) fn reached(self, sets: &SharedSets) -> impl Iterator<Item = ReachedFile<'r>> {
        self.files.into_iter().filter_map(|file| {
            let left = |claim: &Claim| sets.difference(claim.reached, claim.deleted);
            let set = file.others.iter().fold(left(&file.first), |all, claim| sets.union(all, left(claim)));
            let size = Some(file.size).filter(|size| *size >= 0);
            (set != SetId::NONE).then_some(ReachedFile { path: file.path, kind: file.kind, size, set })
        })
    }
}
