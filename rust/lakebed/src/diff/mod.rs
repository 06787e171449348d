//! The files that were added and removed between two snapshots, for all formats: those that are live in only
//! one of them, and those that appends added in between.
//!
//! For the former, manifests that both snapshots have are not read. The manifests that only one has are read
//! twice: for the identities of their files, of which those on both sides cancel, then for the rows of the
//! remaining files.

mod appends;
mod columns;
mod job;
mod net;
mod scan;
mod stream;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::scan::{Batches, Format, Step};
use crate::storage::total_size;

pub(crate) use appends::AppendScan;
use appends::manifests_step;
pub(crate) use job::DiffJob;
pub(crate) use scan::DiffScan;

/// The name of the column that tells how a file changed.
pub(crate) const CHANGE: &str = "change";

/// How a file changed between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    /// Live in the first snapshot only.
    Removed,
    /// Live in the second snapshot only.
    Added,
}

impl Change {
    /// Its name in rows.
    fn name(self) -> &'static str {
        match self {
            Change::Removed => "removed",
            Change::Added => "added",
        }
    }

    /// The sign with which entries are counted.
    fn sign(self) -> i64 {
        match self {
            Change::Removed => -1,
            Change::Added => 1,
        }
    }
}

/// What entries of some manifests say of the difference of two snapshots.
pub(crate) struct Difference<F: Format> {
    /// How their files changed, as seen from the first snapshot.
    pub(crate) change: Change,
    /// The manifests that only this snapshot has: for `Removed` the first, for `Added` the second one.
    pub(crate) of: Change,
    /// The rows: the requested columns of the view `files`, then the identity.
    pub(crate) role: F::Role,
    /// Whether a manifest may have such entries.
    pub(crate) has: fn(&F::Manifest) -> bool,
}

/// The manifests that only one of the snapshots has.
pub(crate) struct DiffInputs {
    /// The inputs, in the order of the rows: a file that several inputs change in the same way is shown from
    /// the first of them.
    pub(crate) inputs: Vec<DiffInput>,
    /// How many of all manifests these are.
    pub(crate) manifests: Step,
}

/// Entries that change their files in the same way.
pub(crate) struct DiffInput {
    /// The change, as seen from the first snapshot.
    pub(crate) change: Change,
    /// Starts reading the identities of the files, in a binary column that is the last one.
    pub(crate) identities: Reader,
    /// Starts reading the files: the requested columns of the view `files`, then the identity.
    pub(crate) rows: Reader,
}

/// Starts reading from the beginning each time.
pub(crate) type Reader = Box<dyn Fn() -> Batches + Send>;

/// Manifests: those that the filter keeps, and those that it prunes.
pub(crate) struct OneSide<M> {
    pub(crate) kept: Vec<M>,
    pub(crate) pruned: Vec<M>,
}

/// The manifests that only one of two snapshots has, and how many of all these are.
fn apart<F: Format>(
    before: OneSide<F::Manifest>,
    after: OneSide<F::Manifest>,
) -> (Vec<F::Manifest>, Vec<F::Manifest>, Step) {
    let size = |manifest: &F::Manifest| F::size_of(manifest).unwrap_or(0);
    let all = [&before.kept, &before.pruned, &after.kept, &after.pruned];
    let all: HashMap<&str, u64> =
        all.into_iter().flatten().map(|manifest| (F::name_of(manifest), size(manifest))).collect();
    let total = (all.len(), total_size(all.values().copied()));
    let names = |manifests: &[F::Manifest]| {
        manifests.iter().map(|manifest| F::name_of(manifest).to_owned()).collect::<HashSet<_>>()
    };
    let (one, other) = (names(&before.kept), names(&after.kept));
    let alone = |mut manifests: Vec<F::Manifest>, others: &HashSet<String>| {
        manifests.retain(|manifest| !others.contains(F::name_of(manifest)));
        manifests
    };
    let (before, after) = (alone(before.kept, &other), alone(after.kept, &one));
    let bytes = total_size(before.iter().chain(&after).map(size));
    let why = "in one snapshot only; bounds of the partition in the manifest lists";
    let step = manifests_step((before.len() + after.len(), bytes), total, why);
    (before, after, step)
}
