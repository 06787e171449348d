//! A commit: tried until no other came in between (Iceberg's `SnapshotProducer.java`,
//! `HadoopTableOperations.java`).

use std::io;
use std::thread::sleep;
use std::time::Duration;

use arrow_array::RecordBatch;
use lakebed_avro::{Codec, Limits};
use serde_json::{Map, Value};

use super::base::Base;
use super::next::{NewSnapshot, next_metadata};
use super::scratch::{Identity, Scratch};
use super::store::write_list;
use super::summary::Summary;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::write::metadata::compact;
use crate::iceberg::write::metadata_bytes;
use crate::write::{Existing, now_millis, publish_bytes};

/// What a commit does to the latest state of a table.
pub(super) trait Change {
    /// Writes the manifests of the new snapshot; `None` where there is nothing to do. What does not fit is
    /// refused before anything is written.
    fn apply(&self, base: &Base, scratch: &mut Scratch) -> Result<Option<Outcome>>;
}

/// What a change comes to.
pub(super) struct Outcome {
    pub(super) operation: &'static str,
    /// The manifest list of the new snapshot.
    pub(super) manifests: RecordBatch,
    pub(super) summary: Summary,
}

/// How a commit is made.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// What tells it from every other.
    pub identity: Identity,
    /// Keys that its snapshot's summary has besides.
    pub properties: Vec<(String, String)>,
    /// The codec of the manifests that are written; `None` for the table's own.
    pub codec: Option<Codec>,
    /// Bytes of entries, not compressed, at which a block of those manifests ends.
    pub block_bytes: usize,
    /// What reading the table may cost.
    pub limits: Limits,
}

/// Files of a commit that has not happened, and what a catalog is told to make it happen.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The files that were written.
    pub files: Vec<String>,
    /// The metadata that the table would have.
    pub metadata: Value,
    /// What must still hold, as the REST catalog specification spells it.
    pub requirements: Value,
    /// What changes, likewise.
    pub updates: Value,
}

/// How often a commit is tried, unless the table's `commit.retry.num-retries` says otherwise: each that fails
/// has made way for another that did not.
const ATTEMPTS: u32 = 1000;

/// The longest that an attempt waits for others \[ms\].
const LONGEST_WAIT: u64 = 50;

/// What came of one attempt.
enum Attempted {
    /// The table stands at the new snapshot, or nothing was to be done.
    Done,
    /// Another commit was faster.
    Lost,
}

/// Commits a change to the table at `location`, which has no catalog.
///
/// # Errors
/// `Unsupported` for a table of a catalog's; those of the change; `Conflict` where the last attempt was lost too;
/// `Io` where it cannot be told whether the commit has happened.
pub(super) fn commit(location: &str, change: &dyn Change, options: &CommitOptions) -> Result<()> {
    let mut attempt = 0;
    loop {
        let base = Base::read(location, options.limits)?;
        attempt += 1;
        if let Attempted::Done = attempt_once(&base, change, options, attempt)? {
            return Ok(());
        }
        let retries = base.metadata.property("commit.retry.num-retries").and_then(|text| text.parse().ok());
        if attempt > retries.unwrap_or(ATTEMPTS) {
            let message = format!("{attempt} attempts lost to other commits");
            return Err(Error::new(ErrorKind::Conflict, message).in_file(base.table.metadata_file()));
        }
        // Different waits, so that those that met once do not meet again.
        let spread = options.identity.snapshot_id().unsigned_abs().rotate_left(attempt) % LONGEST_WAIT;
        sleep(Duration::from_millis(spread.min(u64::from(attempt) * 5)));
    }
}

fn attempt_once(
    base: &Base,
    change: &dyn Change,
    options: &CommitOptions,
    attempt: u32,
) -> Result<Attempted> {
    let Some(number) = base.number() else { return Err(of_a_catalog(base)) };
    let mut scratch = Scratch::new(options);
    let Some(prepared) = prepare(base, change, options, attempt, &mut scratch)? else {
        return Ok(Attempted::Done);
    };
    let next = number.saturating_add(1);
    let path = base.metadata_path(next);
    let bytes = metadata_bytes(compact(prepared.metadata), &path)?;
    match publish_bytes(&path, Existing::Refuse, &bytes) {
        Ok(()) => {}
        Err(error) if is_taken(&error) => return Ok(Attempted::Lost),
        Err(error) => match has_happened(base, options) {
            Some(true) => {}
            Some(false) => return Err(error),
            None => {
                // The table may need them.
                scratch.keep();
                return Err(error);
            }
        },
    }
    scratch.keep();
    // The version counts; the hint only says from where on to look for it.
    let _ = publish_bytes(&base.path("version-hint.text"), Existing::Replace, next.to_string().as_bytes());
    Ok(Attempted::Done)
}

/// A commit that only wants to be published.
struct Prepared {
    metadata: Map<String, Value>,
    snapshot: Value,
}

fn prepare(
    base: &Base,
    change: &dyn Change,
    options: &CommitOptions,
    attempt: u32,
    scratch: &mut Scratch,
) -> Result<Option<Prepared>> {
    let Some(outcome) = change.apply(base, scratch)? else { return Ok(None) };
    let parent = base.table.snapshot()?;
    let summary = outcome.summary.json(outcome.operation, parent, &options.properties);
    let (manifest_list, row_ids) = write_list(base, scratch, attempt, outcome.manifests)?;
    let new = NewSnapshot {
        id: options.identity.snapshot_id(),
        timestamp_ms: now_millis().max(base.metadata.last_updated_ms),
        manifest_list,
        summary,
        row_ids,
    };
    let (metadata, snapshot) = next_metadata(base, new)?;
    Ok(Some(Prepared { metadata, snapshot }))
}

/// Prepares a change of the table at `location`, which a catalog commits.
///
/// # Errors
/// Those of the change.
pub(super) fn stage(location: &str, change: &dyn Change, options: &CommitOptions) -> Result<Option<Staged>> {
    let base = Base::read(location, options.limits)?;
    let mut scratch = Scratch::new(options);
    let Some(prepared) = prepare(&base, change, options, 1, &mut scratch)? else { return Ok(None) };
    let uuid = base.metadata.table_uuid.clone();
    let mut requirements = Vec::new();
    requirements.extend(uuid.map(|uuid| serde_json::json!({ "type": "assert-table-uuid", "uuid": uuid })));
    requirements.push(serde_json::json!({
        "type": "assert-ref-snapshot-id",
        "ref": "main",
        "snapshot-id": base.metadata.current_snapshot_id,
    }));
    let updates = serde_json::json!([
        { "action": "add-snapshot", "snapshot": prepared.snapshot },
        {
            "action": "set-snapshot-ref",
            "ref-name": "main",
            "type": "branch",
            "snapshot-id": options.identity.snapshot_id(),
        },
    ]);
    let metadata = Value::Object(prepared.metadata);
    Ok(Some(Staged { files: scratch.keep(), metadata, requirements: Value::Array(requirements), updates }))
}

/// Whether a file was not published since one is there.
fn is_taken(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    source
        .and_then(|source| source.downcast_ref::<io::Error>())
        .is_some_and(|source| source.kind() == io::ErrorKind::AlreadyExists)
}

/// Whether the table has the snapshot of a commit whose publishing failed; `None` where that cannot be told.
fn has_happened(base: &Base, options: &CommitOptions) -> Option<bool> {
    let now = Base::read(base.table.location(), options.limits).ok()?;
    let id = options.identity.snapshot_id();
    Some(now.metadata.lineage.iter().any(|place| place.snapshot_id == id))
}

#[cold]
fn of_a_catalog(base: &Base) -> Error {
    let path = base.table.metadata_file();
    let message = "the table has a catalog, which alone can commit to it: stage the commit (commit=False)";
    Error::new(ErrorKind::Unsupported, message).in_file(path)
}
