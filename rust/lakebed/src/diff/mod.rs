//! Which files came and went between two snapshots, regardless of the format: those that are live in one of
//! them only, and those that appends added in between.
//!
//! For the first, manifests that both snapshots have cannot differ and are not read. Those that one alone
//! has are read for the identities of their files, of which those on both sides cancel; then for the rows
//! of the others.

mod appends;
mod columns;
mod exchange;
mod net;
mod scan;
mod stream;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::distributed::Exchanged;
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Step};

use appends::manifests_step;
pub(crate) use appends::{AppendScan, Appends, appended_step};
pub(crate) use columns::ChangeColumns;
pub(crate) use exchange::{DiffGather, diff_pieces};
pub(crate) use scan::DiffScan;

/// Name of the column that says how a file changed.
pub(crate) const CHANGE: &str = "change";

/// What became of a file between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    /// Live in the first snapshot only.
    Removed,
    /// Live in the second snapshot only.
    Added,
}

impl Change {
    /// The word that rows have for it.
    fn name(self) -> &'static str {
        match self {
            Change::Removed => "removed",
            Change::Added => "added",
        }
    }

    /// What an entry that says so counts.
    fn sign(self) -> i64 {
        match self {
            Change::Removed => -1,
            Change::Added => 1,
        }
    }
}

/// What a format knows of two snapshots.
pub(crate) trait Sides: Send + Sync {
    /// Reads the manifest lists of both.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn inputs(&self) -> Result<DiffInputs>;

    /// What an engine needs to find the differences. Reads the manifest lists of both.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn exchange(&self) -> Result<Exchanged>;

    /// What is odd about the manifests that were read.
    fn notes(&self) -> Notes {
        Notes::default()
    }
}

/// The manifests that one of the snapshots alone has.
pub(crate) struct DiffInputs {
    /// What changes the files, in the order of the rows: a file that several legs say changed the same way
    /// is shown as the first of them has it.
    pub(crate) inputs: Vec<DiffInput>,
    /// How many manifests those are, of all.
    pub(crate) manifests: Step,
}

/// Entries that say the same of their files.
pub(crate) struct DiffInput {
    /// What the entries say, as seen from the first snapshot.
    pub(crate) change: Change,
    /// Starts reading the identities of the files, a binary column that is the last.
    pub(crate) identities: Reader,
    /// Starts reading the files: the columns of the view `files` that are asked for, then the identity.
    pub(crate) rows: Reader,
}

/// Starts reading, once more each time.
pub(crate) type Reader = Box<dyn Fn() -> Batches + Send>;

/// The manifests of a snapshot: those that a filter keeps, and those that it prunes.
pub(crate) struct Side<M> {
    pub(crate) kept: Vec<M>,
    pub(crate) pruned: Vec<M>,
}

/// The manifests that one of two snapshots alone has, and how many those are of all.
///
/// `about` gives the name of a manifest and its bytes.
pub(crate) fn apart<M>(
    before: Side<M>,
    after: Side<M>,
    about: impl Fn(&M) -> (&str, u64),
) -> (Vec<M>, Vec<M>, Step) {
    let all = [&before.kept, &before.pruned, &after.kept, &after.pruned];
    let all: HashMap<&str, u64> = all.into_iter().flatten().map(&about).collect();
    let total = (all.len(), all.values().sum());
    let names = |manifests: &[M]| manifests.iter().map(|one| about(one).0.to_owned()).collect::<HashSet<_>>();
    let (one, other) = (names(&before.kept), names(&after.kept));
    let alone = |mut manifests: Vec<M>, others: &HashSet<String>| {
        manifests.retain(|manifest| !others.contains(about(manifest).0));
        manifests
    };
    let (before, after) = (alone(before.kept, &other), alone(after.kept, &one));
    let bytes = before.iter().chain(&after).map(|manifest| about(manifest).1).sum();
    let why = "in one snapshot only; bounds of the partition in the manifest lists";
    let step = manifests_step((before.len() + after.len(), bytes), total, why);
    (before, after, step)
}
