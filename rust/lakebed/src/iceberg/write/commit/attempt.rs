//! Tries a commit until no other commit is made in between (Iceberg's `SnapshotProducer.java`,
//! `BaseTransaction.java`, `HadoopTableOperations.java`).

use std::sync::Arc;

use arrow_buffer::Buffer;
use serde_json::Value;

use super::Action;
use super::base::Base;
use super::document::Document;
use super::head::ListContent;
use super::next::{NewSnapshot, branch_updates, next_metadata, updated};
use super::options::CommitOptions;
use super::store::write_list;
use super::summary::Summary;
use super::uncommitted::UncommittedFiles;
use super::update::{Update, requirements};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::discovery::HINT;
use crate::iceberg::write::metadata_bytes;
use crate::storage::Storage;
use crate::write::commit::{Commit, Preparation, RetryLimits};
use crate::write::now_millis;
use crate::write::publish::replace_hint;

/// A change to a state of a table.
pub(super) trait StateChange {
    /// Writes the manifests of the new snapshot, if there is one; `None` where there is nothing to do.
    /// Invalid changes are refused before anything is written.
    fn apply(&self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<Option<Outcome>>;
}

/// The result of a change.
pub(super) enum Outcome {
    /// A new snapshot at the head of the branch.
    Snapshot(Box<PendingSnapshot>),
    /// Changes of the metadata only.
    Updates(Vec<Update>),
}

/// A new snapshot.
pub(super) struct PendingSnapshot {
    pub(super) operation: &'static str,
    /// Its manifest list.
    pub(super) manifests: ListContent,
    pub(super) summary: Summary,
}

/// The metadata file of a commit that was made.
#[derive(Debug, Clone)]
pub struct CommittedMetadata {
    /// The metadata file that the commit is based on.
    pub before: String,
    /// Its path, with the location that the metadata has.
    pub path: String,
    /// Its bytes.
    pub bytes: Buffer,
}

/// The files of a staged commit, and what a catalog needs to make the commit.
#[derive(Debug, Clone)]
pub struct StagedCommit {
    /// The files that were written.
    pub files: Vec<String>,
    /// The metadata that the table would have, as text.
    pub metadata: String,
    /// The requirements, in the form of the REST catalog specification.
    pub requirements: Value,
    /// The updates, in the same form.
    pub updates: Value,
}

/// How often a commit is tried again, unless the table has `commit.retry.num-retries`: each failed attempt
/// means that another commit has succeeded.
const RETRIES: u32 = 1000;

/// The longest wait between two attempts \[ms\].
const LONGEST_WAIT: u64 = 50;

/// A commit to a table without a catalog.
pub(super) struct CommitAttempt<'a> {
    pub(super) location: &'a str,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) actions: &'a [Arc<Action>],
    pub(super) options: &'a CommitOptions,
}

impl Commit for CommitAttempt<'_> {
    type Base = Base;
    /// The number of the metadata file, and what is in it.
    type Next = (u64, CommittedMetadata);
    /// `None` where there was nothing to do.
    type Outcome = Option<CommittedMetadata>;

    fn base(&mut self) -> Result<Base> {
        Base::read(self.location, &self.options.branch, Arc::clone(&self.storage), self.options.limits)
    }

    fn prepare(
        &mut self,
        base: &Base,
        attempt: u32,
    ) -> Result<Preparation<(u64, CommittedMetadata), Option<CommittedMetadata>>> {
        let Some(number) = base.number() else { return Err(of_a_catalog(base)) };
        let next = fitting(number.checked_add(1), "the number of the next metadata file");
        let next = next.map_err(|error| error.in_file(base.table.metadata_file()))?;
        let mut uncommitted = UncommittedFiles::new(self.options.identity, base);
        let Some(changed) = ChangedTable::by(self.actions, base, attempt, &mut uncommitted)? else {
            return Ok(Preparation::Done(None));
        };
        let path = base.metadata_path(next);
        let bytes = Buffer::from_vec(metadata_bytes(changed.metadata.into_text()?, &path)?);
        let before = base.table.metadata_file().to_owned();
        let committed = CommittedMetadata { before, path: path.clone(), bytes: bytes.clone() };
        Ok(Preparation::Next { written: uncommitted.written(), path, bytes, next: (next, committed) })
    }

    fn made(
        &mut self,
        base: Base,
        (next, committed): (u64, CommittedMetadata),
    ) -> Result<Option<CommittedMetadata>> {
        // Versions are found without the hint, which only tells where to start looking; a failure is ignored.
        let hint = base.path(HINT);
        let _ = replace_hint(&hint, &next.to_string());
        Ok(Some(committed))
    }

    fn retry_limits(&self, base: &Base) -> RetryLimits {
        let retries = base.metadata.property("commit.retry.num-retries").and_then(|text| text.parse().ok());
        let (attempts, path) = (retries.unwrap_or(RETRIES).saturating_add(1), base.table.metadata_file());
        RetryLimits { attempts, longest_wait: LONGEST_WAIT, path: path.to_owned() }
    }
}

/// A table after the changes of a commit, whose metadata must only be published.
struct ChangedTable {
    metadata: Document,
    updates: Vec<Update>,
}

impl ChangedTable {
    /// Makes one change after the other, each of the state which those before it leave. `None` where none has
    /// anything to do.
    fn by(
        actions: &[Arc<Action>],
        base: &Base,
        attempt: u32,
        uncommitted: &mut UncommittedFiles,
    ) -> Result<Option<ChangedTable>> {
        let (mut updates, mut snapshots) = (Vec::new(), Vec::new());
        // What the changes so far leave: as metadata and, once another change follows, as a state to change.
        let (mut metadata, mut now): (Option<Document>, Option<Base>) = (None, None);
        let mut change = |number: usize, action: &Action| -> Result<()> {
            if let Some(json) = metadata.take() {
                now = Some(now.as_ref().unwrap_or(base).after(json, snapshots.last().copied())?);
            }
            let base = now.as_ref().unwrap_or(base);
            uncommitted.begin(number);
            let Some(outcome) = action.change().apply(base, uncommitted)? else { return Ok(()) };
            let now_ms = now_millis().max(base.metadata.last_updated_ms);
            let made = match outcome {
                Outcome::Updates(updates) => updates,
                Outcome::Snapshot(snapshot) => {
                    snapshots.push(uncommitted.snapshot_id());
                    added(base, *snapshot, attempt, uncommitted, now_ms)?
                }
            };
            metadata = Some(updated(base, &made, now_ms)?);
            updates.extend(made);
            Ok(())
        };
        for (number, action) in actions.iter().enumerate() {
            change(number, action).map_err(|error| match actions.len() {
                1 => error,
                all => error.after_words(&format!("change {} of {all}: ", number.saturating_add(1))),
            })?;
        }
        let Some(metadata) = metadata.or(now.map(|now| now.json)) else { return Ok(None) };
        Ok(Some(ChangedTable { metadata: next_metadata(base, metadata, &snapshots)?, updates }))
    }
}

/// Writes the manifest list of a new snapshot. Returns the updates that make it the head of the branch.
fn added(
    base: &Base,
    snapshot: PendingSnapshot,
    attempt: u32,
    uncommitted: &mut UncommittedFiles,
    timestamp_ms: i64,
) -> Result<Vec<Update>> {
    let summary = snapshot.summary.json(snapshot.operation, base.table.snapshot()?);
    let (manifest_list, row_ids) = write_list(base, uncommitted, attempt, snapshot.manifests)?;
    let id = uncommitted.snapshot_id();
    Ok(branch_updates(base, NewSnapshot { id, timestamp_ms, manifest_list, summary, row_ids })?.into())
}

/// Prepares changes of the table at `location`, on a storage that can write, for a catalog to commit.
///
/// # Errors
/// Those of the changes.
pub(super) fn stage(
    location: &str,
    storage: Arc<dyn Storage>,
    actions: &[Arc<Action>],
    options: &CommitOptions,
) -> Result<Option<StagedCommit>> {
    let base = Base::read(location, &options.branch, storage, options.limits)?;
    let mut uncommitted = UncommittedFiles::new(options.identity, &base);
    let Some(changed) = ChangedTable::by(actions, &base, 1, &mut uncommitted)? else { return Ok(None) };
    let requirements = requirements(&base, &changed.updates);
    let updates = changed.updates.iter().flat_map(Update::json).collect();
    let metadata = changed.metadata.into_text()?;
    let written = uncommitted.written();
    written.settle()?;
    Ok(Some(StagedCommit { files: written.keep(), metadata, requirements, updates }))
}

#[cold]
fn of_a_catalog(base: &Base) -> Error {
    let path = base.table.metadata_file();
    let message = "the table has a catalog, which alone can commit to it: open it through the catalog, or stage \
        the commit";
    Error::new(ErrorKind::Unsupported, message).in_file(path)
}
