//! Tries a commit until no other commit comes in between (Iceberg's `SnapshotProducer.java`,
//! `HadoopTableOperations.java`).

use std::sync::Arc;

use serde_json::Value;

use super::base::Base;
use super::document::Document;
use super::head::Listing;
use super::next::{NewSnapshot, branch_updates, next_metadata};
use super::options::CommitOptions;
use super::scratch::Scratch;
use super::store::write_list;
use super::summary::Summary;
use super::update::{Update, requirements};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::write::metadata_bytes;
use crate::storage::Storage;
use crate::write::commit::{self as engine, Commit, Prepared, RetryLimits};
use crate::write::publish::replace_hint;
use crate::write::{fitting, now_millis};

/// A change to the latest state of a table.
pub(super) trait Change {
    /// Writes the manifests of the new snapshot, if there is one; `None` where there is nothing to do.
    /// Invalid changes are refused before anything is written.
    fn apply(&self, base: &Base, scratch: &mut Scratch) -> Result<Option<Outcome>>;
}

/// The result of a change.
pub(super) enum Outcome {
    /// A new snapshot at the head of the branch.
    Snapshot(Box<Snapshot>),
    /// Changes of the metadata only.
    Updates(Vec<Update>),
}

/// A new snapshot.
pub(super) struct Snapshot {
    pub(super) operation: &'static str,
    /// Its manifest list.
    pub(super) manifests: Listing,
    pub(super) summary: Summary,
}

/// The files of a staged commit, and what a catalog needs to make the commit.
#[derive(Debug, Clone)]
pub struct Staged {
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

/// Commits a change to the table at `location`, which has no catalog. Returns the metadata file that the
/// commit is based on.
///
/// # Errors
/// `Unsupported` for a table with a catalog; those of the change; `Conflict` after too many lost attempts;
/// `Io` where it is unknown whether the commit has succeeded.
pub(super) fn commit(
    location: &str,
    storage: Arc<dyn Storage>,
    change: &dyn Change,
    options: &CommitOptions,
) -> Result<Option<String>> {
    engine::commit(Changing { location, storage, change, options })
}

/// A commit to a table.
struct Changing<'a> {
    location: &'a str,
    storage: Arc<dyn Storage>,
    change: &'a dyn Change,
    options: &'a CommitOptions,
}

impl Commit for Changing<'_> {
    type Base = Base;
    /// The number of the metadata file.
    type Next = u64;
    /// The metadata file before it, if there was something to do.
    type Made = Option<String>;

    fn base(&mut self) -> Result<Base> {
        Base::read(self.location, &self.options.branch, Arc::clone(&self.storage), self.options.limits)
    }

    fn prepare(&mut self, base: &Base, attempt: u32) -> Result<Prepared<u64, Option<String>>> {
        let Some(number) = base.number() else { return Err(of_a_catalog(base)) };
        let next = fitting(number.checked_add(1), "the number of the next metadata file");
        let next = next.map_err(|error| error.in_file(base.table.metadata_file()))?;
        let mut scratch = Scratch::new(self.options, base);
        let Some(prepared) = prepare(base, self.change, self.options, attempt, &mut scratch)? else {
            return Ok(Prepared::Done(None));
        };
        let path = base.metadata_path(next);
        let bytes = metadata_bytes(prepared.metadata.into_text()?, &path)?;
        Ok(Prepared::Next { written: scratch.written(), path, bytes, next })
    }

    fn made(&mut self, base: Base, next: u64) -> Result<Option<String>> {
        // Versions are found without the hint, which only tells where to start looking; a failure is ignored.
        let hint = base.path("version-hint.text");
        let _ = replace_hint(&hint, &next.to_string());
        Ok(Some(base.table.metadata_file().to_owned()))
    }

    fn retry_limits(&self, base: &Base) -> RetryLimits {
        let retries = base.metadata.property("commit.retry.num-retries").and_then(|text| text.parse().ok());
        let (attempts, path) = (retries.unwrap_or(RETRIES).saturating_add(1), base.table.metadata_file());
        RetryLimits { attempts, longest_wait: LONGEST_WAIT, path: path.to_owned() }
    }
}

/// A commit whose metadata must only be published.
struct NextState {
    metadata: Document,
    updates: Vec<Update>,
}

fn prepare(
    base: &Base,
    change: &dyn Change,
    options: &CommitOptions,
    attempt: u32,
    scratch: &mut Scratch,
) -> Result<Option<NextState>> {
    let Some(outcome) = change.apply(base, scratch)? else { return Ok(None) };
    let now_ms = now_millis().max(base.metadata.last_updated_ms);
    let updates = match outcome {
        Outcome::Updates(updates) => updates,
        Outcome::Snapshot(outcome) => {
            let summary =
                outcome.summary.json(outcome.operation, base.table.snapshot()?, &options.properties);
            let (manifest_list, row_ids) = write_list(base, scratch, attempt, outcome.manifests)?;
            let id = options.identity.snapshot_id();
            let new = NewSnapshot { id, timestamp_ms: now_ms, manifest_list, summary, row_ids };
            branch_updates(base, new)?.into()
        }
    };
    let metadata = next_metadata(base, &updates, now_ms)?;
    Ok(Some(NextState { metadata, updates }))
}

/// Prepares a change of the table at `location`, on a storage that can write, for a catalog to commit.
///
/// # Errors
/// Those of the change.
pub(super) fn stage(
    location: &str,
    storage: Arc<dyn Storage>,
    change: &dyn Change,
    options: &CommitOptions,
) -> Result<Option<Staged>> {
    let base = Base::read(location, &options.branch, storage, options.limits)?;
    let mut scratch = Scratch::new(options, &base);
    let Some(prepared) = prepare(&base, change, options, 1, &mut scratch)? else { return Ok(None) };
    let requirements = requirements(&base, &prepared.updates);
    let updates = prepared.updates.iter().flat_map(Update::json).collect();
    let metadata = prepared.metadata.into_text()?;
    let written = scratch.written();
    written.settle()?;
    Ok(Some(Staged { files: written.keep(), metadata, requirements, updates }))
}

#[cold]
fn of_a_catalog(base: &Base) -> Error {
    let path = base.table.metadata_file();
    let message = "the table has a catalog, which alone can commit to it: stage the commit (commit=False)";
    Error::new(ErrorKind::Unsupported, message).in_file(path)
}
