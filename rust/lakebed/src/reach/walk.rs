//! What one walk over a table's metadata gives.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::deal::Dealer;
use super::expire::Retention;
use super::kind::{Kind, Kinds};
use super::sets::{RootSets, SetId};
use crate::scan::{Batches, Step};

/// What is asked of a walk.
pub(crate) struct Wanted<'r> {
    /// By which rules roots go, if any do.
    pub(crate) retention: Option<&'r Retention>,
    /// The kinds of files that are of interest: what names others alone is not read.
    pub(crate) kinds: Kinds,
    /// What deals out what entries say.
    pub(crate) dealer: Arc<Dealer>,
    pub(crate) threads: usize,
}

/// What keeps files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Root {
    /// The snapshot; none for the table itself.
    pub(crate) snapshot_id: Option<i64>,
    /// What it is called in rows: `snapshot 3`, `tag v1`, `table`.
    pub(crate) name: String,
    /// Whether the rules of retention let it go.
    pub(crate) goes: bool,
}

impl Root {
    /// One that stays.
    pub(crate) fn new(snapshot_id: Option<i64>, name: String) -> Root {
        Root { snapshot_id, name, goes: false }
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

/// Files that are named without a manifest, each once, in the order in which they were first named.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: Vec<File>,
    places: HashMap<String, usize>,
    /// Those that are named and reached by nothing.
    named: Vec<String>,
}

impl Files {
    /// Adds what `set` reaches, or more roots to a file that is there.
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

    /// Adds a file that something names and nothing reaches.
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

/// Something that goes by the rules of retention and is no file.
#[derive(Debug, Clone)]
pub(crate) struct Removed {
    pub(crate) kind: Kind,
    pub(crate) snapshot_id: i64,
    pub(crate) name: String,
}

/// The roots of a table, and what they reach.
pub(crate) struct Walk {
    /// In the order of first and last: that of commits.
    pub(crate) roots: Vec<Root>,
    pub(crate) sets: RootSets,
    pub(crate) files: Files,
    /// Starts reading what manifests name, as [`Deal::finish`](super::deal::Deal::finish) gives it; nothing where they are
    /// read elsewhere.
    pub(crate) entries: Batches,
    /// How many manifests are read, of how many that roots name.
    pub(crate) manifests: Step,
    /// What goes besides files.
    pub(crate) removed: Vec<Removed>,
}
