//! The result of a walk over a table's metadata.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::kind::{Kind, Kinds};
use super::moved::MovedTable;
use super::partitioner::Partitioner;
use super::sets::{RootSets, SetId};
use crate::error::Result;
use crate::scan::{Batches, Step};
use crate::storage::total_size;

/// Rules of the caller that replace the table's, and the current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Snapshots older than this, in milliseconds since 1970 UTC, may expire; `None` for the table's rule.
    pub older_than_ms: Option<i64>,
    /// How many snapshots are kept at any age; `None` for the table's rule.
    pub retain_last: Option<i32>,
    /// The current time in milliseconds since 1970 UTC, from which ages are computed.
    pub now_ms: i64,
}

/// What an expiry removes at most, whatever its rules say by now: what somebody has reviewed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewedRemovals {
    /// Ids of snapshots.
    pub snapshots: BTreeSet<i64>,
    /// (Paimon) Ids of changelogs.
    pub changelogs: BTreeSet<i64>,
    /// (Iceberg) Names of branches and tags.
    pub refs: BTreeSet<String>,
}

/// Which roots are removed, for rows of the files that only these reach.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Removal<'r> {
    /// None: rows are of all files.
    None,
    /// Those that rules of retention remove.
    By(&'r Retention),
    /// Those that the [`Reach`](super::Reach) itself marks, since a commit has removed them.
    Marked,
}

impl<'r> Removal<'r> {
    pub(super) fn retention(self) -> Option<&'r Retention> {
        if let Removal::By(retention) = self { Some(retention) } else { None }
    }

    pub(super) fn is_some(self) -> bool {
        !matches!(self, Removal::None)
    }
}

/// What a walk is to return.
pub(crate) struct WalkOptions<'r> {
    /// The rules by which roots are removed, if any.
    pub(crate) retention: Option<&'r Retention>,
    /// The kinds of files that are wanted: files that only name others are not read.
    pub(crate) kinds: Kinds,
    /// Distributes the records of entries.
    pub(crate) partitioner: Arc<Partitioner>,
    pub(crate) threads: usize,
}

/// Something that keeps files: a snapshot, a tag, a changelog, or the table itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Root {
    /// The snapshot; `None` for the table itself.
    pub(crate) snapshot_id: Option<i64>,
    /// Its name in rows: `snapshot 3`, `tag v1`, `table`.
    pub(crate) name: String,
    /// Whether it is removed, as by rules of retention.
    pub(crate) is_removed: bool,
    /// Whether it is the table itself, or the snapshot that the table is at.
    pub(crate) is_current: bool,
}

impl Root {
    /// A root that is not removed, and not what the table is at.
    pub(crate) fn new(snapshot_id: Option<i64>, name: String) -> Root {
        Root { snapshot_id, name, is_removed: false, is_current: false }
    }
}

/// A file that is named without a manifest.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) size: Option<u64>,
    /// The roots that reach it.
    pub(crate) set: SetId,
}

/// Files that are named without a manifest, each once, in the order of their first mention.
#[derive(Debug, Default)]
pub(crate) struct NamedFiles {
    files: Vec<File>,
    places: HashMap<String, usize>,
    /// Those that are named but not reached.
    named: Vec<String>,
}

impl NamedFiles {
    /// Adds a file that `set` reaches, or adds the roots to a file that is known already.
    pub(crate) fn add(
        &mut self,
        path: String,
        kind: Kind,
        size: Option<u64>,
        set: SetId,
        sets: &mut RootSets,
    ) {
        if let Some(file) = self.places.get(&path).and_then(|place| self.files.get_mut(*place)) {
            file.set = sets.union(file.set, set);
            file.size = file.size.or(size);
            return;
        }
        self.places.insert(path.clone(), self.files.len());
        self.files.push(File { path, kind, size, set });
    }

    /// The same files by where those of a moved table are now.
    ///
    /// # Errors
    /// `Location` for one that may be elsewhere.
    pub(super) fn placed(self, moved: &MovedTable, sets: &mut RootSets) -> Result<NamedFiles> {
        let mut placed = NamedFiles { named: self.named, ..NamedFiles::default() };
        for File { path, kind, size, set } in self.files {
            placed.add(moved.place(&path)?.into_owned(), kind, size, set, sets);
        }
        Ok(placed)
    }

    /// Adds a file that is named but not reached.
    pub(crate) fn add_named(&mut self, path: String) {
        self.named.push(path);
    }

    pub(crate) fn reached(&self) -> &[File] {
        &self.files
    }

    pub(super) fn named(&self) -> &[String] {
        &self.named
    }
}

/// Something that is removed and is not a file.
#[derive(Debug, Clone)]
pub(crate) struct RemovedItem {
    pub(crate) kind: Kind,
    pub(crate) snapshot_id: i64,
    pub(crate) name: String,
}

/// The step of the funnel for manifests: those that are read have these sizes \[bytes\], lists name `named`.
pub(crate) fn manifests_step(sizes: impl ExactSizeIterator<Item = u64>, named: u64) -> Step {
    let why = "each is read once, however many lists name it";
    let step = Step::rows("manifests", sizes.len() as u64, named, why);
    Step { bytes_kept: Some(total_size(sizes)), ..step }
}

/// The roots of a table, and what they reach.
pub(crate) struct Walk {
    /// In the order of commits, to which first and last refer.
    pub(crate) roots: Vec<Root>,
    pub(crate) sets: RootSets,
    pub(crate) files: NamedFiles,
    /// Reads the records of manifests, in the form that
    /// [`PartitionedRecords::finish`](super::partitioner::PartitionedRecords::finish) returns; empty where other
    /// processes read the manifests.
    pub(crate) entries: Batches,
    /// How many manifests are read, of all that roots name.
    pub(crate) manifests: Step,
    /// What is removed besides files.
    pub(crate) removed: Vec<RemovedItem>,
}

impl Walk {
    /// The same walk, with where the files of a moved table are now.
    ///
    /// # Errors
    /// As [`NamedFiles::placed`].
    pub(super) fn of_moved(mut self, moved: Option<&MovedTable>) -> Result<Walk> {
        if let Some(moved) = moved {
            self.files = std::mem::take(&mut self.files).placed(moved, &mut self.sets)?;
        }
        Ok(self)
    }
}
