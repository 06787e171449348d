//! What the commits of a table did, one after another: the views `growth` and `file_history`.
//!
//! What a commit changed stands in the manifests that it wrote, so that each manifest is read once, however many
//! snapshots have it. That these say all is not taken for granted: the lists count what is live, and where a snapshot
//! has other files than its commit leads to from the snapshot before, the two snapshots are compared.

mod columns;
mod file_history;
mod filter;
mod growth;
mod line;
mod totals;

use std::sync::Arc;

use arrow_schema::SchemaRef;

pub(crate) use columns::with_change;
pub(crate) use file_history::FileHistoryScan;
pub(crate) use growth::GrowthScan;

use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, ManifestSource, ScanOptions};
use crate::storage::Storage;

/// A snapshot among those that led to where a table stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) snapshot_id: i64,
    /// The snapshot that it was made from, there or not.
    pub(crate) parent_id: Option<i64>,
    /// When [milliseconds since 1970 UTC].
    pub(crate) committed_ms: i64,
    /// What kind of commit, in the format's own word.
    pub(crate) operation: Option<String>,
}

/// A manifest, and the commit that wrote it.
pub(crate) struct Written<M> {
    pub(crate) commit: Arc<Commit>,
    pub(crate) manifest: M,
}

/// Data files, their rows, delete files and the rows that those delete.
pub(crate) type Counts = [i64; 4];

/// What the lists of a snapshot say.
pub(crate) struct Listed<M> {
    /// The manifests that say which files its own commit added and removed.
    pub(crate) own: Vec<M>,
    /// How many more of those there are that a filter leaves out.
    pub(crate) pruned: u64,
    /// What is live, as the lists count it; `None` where they do not.
    pub(crate) live: Option<Counts>,
    /// What its own commit added, less what it removed.
    pub(crate) changed: Option<Counts>,
}

/// Deletes that stand in no manifest, as a snapshot has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Deletes {
    pub(crate) files: i64,
    /// The rows that they delete; `None` where no writer counted them.
    pub(crate) rows: Option<i64>,
}

impl Deletes {
    /// No deletes, which delete no rows.
    pub(crate) const NONE: Deletes = Deletes { files: 0, rows: Some(0) };
}

/// Deletes that stand in no manifest: those that are live at a snapshot and, where the snapshot before is known, what
/// its commit did to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeleteChanges {
    pub(crate) live: Deletes,
    pub(crate) added: Option<Deletes>,
    pub(crate) removed: Option<Deletes>,
}

/// What a format knows of the commits of a table.
pub(crate) trait History: Clone + Send + Sync + 'static {
    /// A snapshot as the format has it.
    type Snapshot: Clone + Send + Sync + 'static;
    /// A manifest as a list records it.
    type Manifest: Clone + Send + Sync + 'static;
    /// How the manifests of commits become rows.
    type Changes: ManifestSource<Manifest = Written<Self::Manifest>>;

    /// How many of the [`Counts`] the lists of the format have, from the first on.
    const COUNTED: usize;

    /// What reads the table's files.
    fn files_storage(&self) -> &Arc<dyn Storage>;

    /// What is odd about the manifests that are read.
    fn notes(&self) -> Notes;

    /// The snapshots that led to where the table stands, as far as they are there, the oldest first.
    ///
    /// # Errors
    /// Those of reading them.
    fn line(&self) -> Result<Vec<(Commit, Self::Snapshot)>>;

    /// Reads the lists of a snapshot.
    ///
    /// # Errors
    /// Those of reading the lists; of a filter on the table's columns.
    fn listed(&self, snapshot: &Self::Snapshot, filter: Option<&str>) -> Result<Listed<Self::Manifest>>;

    /// How the manifests of commits become the columns of the view `files` that are asked for and, behind them,
    /// `change`: "added" or "removed". The schema is that of the former.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    fn changes(&self, options: &ScanOptions) -> Result<(SchemaRef, Self::Changes)>;

    /// The view `files` of a snapshot.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn files_at(&self, snapshot: &Self::Snapshot, options: ScanOptions) -> Result<Batches>;

    /// What differs in files between two snapshots: `change`, then the columns of the view `files` that are asked for.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn compared(
        &self,
        before: &Self::Snapshot,
        after: &Self::Snapshot,
        options: ScanOptions,
    ) -> Result<Batches>;

    /// Of each snapshot the deletes that stand in no manifest; `None` where the format has none of these.
    ///
    /// # Errors
    /// Those of reading the files that name them.
    fn deletes(&self, snapshots: &[Self::Snapshot], threads: usize) -> Result<Option<Vec<DeleteChanges>>>;
}
