//! The commits of a table, one after another: the views `growth`, `file_history` and `changes`.
//!
//! The changes of a commit are recorded in the manifests that it wrote, so each manifest is read once,
//! however many snapshots have it. This is checked: the lists count what is live, and where a snapshot has
//! other files than its commit's changes lead to, it is compared with the snapshot before.
//!
//! # Advice for whoever changes this
//! Manifests that were rewritten, replaced or appended by another tool say other things than the commit did; only the
//! counts of the lists show it. Whoever adds a shortcut keeps that check, and holds it to the tables of both formats whose
//! manifests were compacted.

mod changes;
mod columns;
mod file_history;
mod growth;
mod line;
mod totals;

use std::sync::Arc;

pub(crate) use changes::ChangesScan;
pub(crate) use columns::with_change;
pub(crate) use file_history::FileHistoryScan;
pub(crate) use growth::GrowthScan;

use crate::diff::DiffScan;
use crate::error::Result;
use crate::scan::{Batches, Content, EntrySource, Format, Scan, ScanOptions};

/// A snapshot among those that led to the table's snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) snapshot_id: i64,
    /// Its parent, whether it still exists or not.
    pub(crate) parent_id: Option<i64>,
    /// Commit time [milliseconds since 1970 UTC].
    pub(crate) committed_ms: i64,
    /// The kind of commit, in the format's own term.
    pub(crate) operation: Option<String>,
}

/// A manifest, and the commit that wrote it.
pub(crate) struct CommittedManifest<M> {
    pub(crate) commit: Arc<Commit>,
    pub(crate) manifest: M,
}

/// Numbers of data files, of their rows, of delete files, and of the rows that those delete.
pub(crate) type Counts = [i64; 4];

/// What the lists of a snapshot record.
pub(crate) struct SnapshotLists<M> {
    /// The manifests that record which files its own commit added and removed.
    pub(crate) own: Vec<M>,
    /// How many more such manifests the filter excludes.
    pub(crate) pruned: u64,
    /// What is live, by the counts in the lists; `None` without counts.
    pub(crate) live: Option<Counts>,
    /// What its own commit added less what it removed.
    pub(crate) changed: Option<Counts>,
}

/// The deletes of a snapshot that are in no manifest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnlistedDeletes {
    pub(crate) files: i64,
    /// The rows that they delete; `None` where they are not counted.
    pub(crate) rows: Option<i64>,
}

impl UnlistedDeletes {
    /// No deletes.
    pub(crate) const NONE: UnlistedDeletes = UnlistedDeletes { files: 0, rows: Some(0) };
}

/// Deletes that are in no manifest: those that are live at a snapshot and, where the snapshot before is
/// known, those that its commit added and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeleteChanges {
    pub(crate) live: UnlistedDeletes,
    pub(crate) added: Option<UnlistedDeletes>,
    pub(crate) removed: Option<UnlistedDeletes>,
}

/// What reads the manifests that commits wrote.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
fn written_by<F: Format>(table: &F, options: &ScanOptions) -> Result<EntrySource<F>> {
    let table_filter = table.filter_of_removed(options.table_filter.as_deref())?;
    let program = table.program(F::HISTORY, &ScanOptions { table_filter, ..options.clone() })?;
    Ok(EntrySource::new(Arc::new(program), table.clone()))
}

/// What such a manifest says of its commit: the requested columns of the view `files`, then `change`.
fn opened<F: Format>(
    source: &EntrySource<F>,
    CommittedManifest { commit, manifest }: &CommittedManifest<F::Manifest>,
    content: Content,
    threads: usize,
) -> Result<Batches> {
    source.opened(manifest, content, threads, |program, manifest| F::changes(program, manifest, commit))
}

/// The difference of the files of two snapshots: `change`, then the requested columns of the view `files`.
///
/// # Errors
/// Those of reading the lists.
fn compared<F: Format>(
    table: &F,
    before: &F::Snapshot,
    after: &F::Snapshot,
    options: &ScanOptions,
) -> Result<Batches> {
    DiffScan::new(table.clone(), table.at_state(before)?, table.at_state(after)?, options)?.stream()
}
