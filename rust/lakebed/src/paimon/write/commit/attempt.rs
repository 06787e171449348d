//! The attempts at a commit, until one is made.

use std::cell::Cell;

use arrow_array::{Int8Array, Int64Array, RecordBatch};
use arrow_buffer::Buffer;

use super::base::Base;
use super::file_changes::{FileChanges, SnapshotChanges};
use super::index::Index;
use super::manifest_writer::ManifestWriter;
use super::options::CommitOptions;
use super::row_ids::assign;
use crate::error::{Result, fitting};
use crate::paimon::jackson;
use crate::paimon::manifest::ADD;
use crate::paimon::paths::{snapshot_file, statistics_file};
use crate::paimon::snapshot::{CommitKind, Snapshot};
use crate::paimon::table::Table;
use crate::paimon::write::json::snapshot_object;
use crate::paimon::write::{ATTEMPTS, LONGEST_WAIT};
use crate::record::column;
use crate::storage::present;
use crate::write::commit::{self as engine, Commit, Preparation, RetryLimits};
use crate::write::{ExistingFile, make_folder, now_millis};

/// The identifier of batch writers, which have none.
const BATCH: i64 = i64::MAX;
/// The version of snapshots since Paimon 0.4.
const VERSION: i32 = 3;

/// Makes changes of files in one snapshot. Returns the table at it.
///
/// # Errors
/// Those of [`commit`](super::commit); `Conflict` after [`ATTEMPTS`] lost races.
pub(super) fn commit_files(table: &Table, options: &CommitOptions, changes: &FileChanges) -> Result<Table> {
    engine::commit(CommitAttempt { table, options, changes, number: Cell::new(0), seen: 0 })
}

/// A commit to a table.
struct CommitAttempt<'a> {
    table: &'a Table,
    options: &'a CommitOptions,
    changes: &'a FileChanges,
    /// The number of the next file, across all attempts.
    number: Cell<u64>,
    /// Snapshots up to this one cannot be this commit.
    seen: i64,
}

impl Commit for CommitAttempt<'_> {
    type Base = Base;
    type Next = Snapshot;
    type Outcome = Table;

    fn base(&mut self) -> Result<Base> {
        match self.changes.relisted() {
            Some(id) => Base::relisted(self.table, id),
            None => Base::latest(self.table),
        }
    }

    fn prepare(&mut self, base: &Base, _attempt: u32) -> Result<Preparation<Snapshot, Table>> {
        let (options, kind) = (self.options, self.changes.kind());
        if let Some(done) = committed(base, options, kind, self.seen)? {
            return self.table.at_snapshot(done).map(Preparation::Done);
        }
        self.seen = base.snapshot().map_or(0, |snapshot| snapshot.id);
        let Some(changes) = self.changes.on(base)? else { return Ok(Preparation::Done(base.table.clone())) };
        let mut writer = ManifestWriter::new(base, options, &self.number, self.changes.manifest_bytes())?;
        let snapshot = write_all(base, changes, kind, options, &mut writer)?;
        let text = jackson::pretty(&snapshot_object(&snapshot, &base.carried)?)?;
        let path = base.table.files().own(&snapshot_file(snapshot.id));
        make_folder(base.table.storage().as_ref(), &path)?;
        Ok(Preparation::Next {
            written: writer.written(),
            path,
            bytes: Buffer::from_vec(text.into_bytes()),
            next: snapshot,
        })
    }

    fn made(&mut self, base: Base, snapshot: Snapshot) -> Result<Table> {
        write_hints(&base.table, snapshot.id);
        base.table.standing_at(snapshot)
    }

    fn retry_limits(&self, _base: &Base) -> RetryLimits {
        let path = self.table.location().to_owned();
        RetryLimits { attempts: ATTEMPTS, longest_wait: LONGEST_WAIT, path }
    }
}

/// The snapshot after `seen` that is this commit already. Only commits with an identifier can be recognised.
fn committed(base: &Base, options: &CommitOptions, kind: CommitKind, seen: i64) -> Result<Option<i64>> {
    let Some(identifier) = options.identifier.filter(|identifier| *identifier != BATCH) else {
        return Ok(None);
    };
    let files = base.table.files();
    for id in files.snapshot_ids()?.into_iter().rev().take_while(|id| *id > seen) {
        let Some(snapshot) = present(files.snapshot(id))? else { continue };
        let same = (&snapshot.commit_user, snapshot.commit_identifier, snapshot.commit_kind);
        if same == (&options.user, identifier, kind) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Writes manifests and lists. Returns the snapshot that names them.
fn write_all(
    base: &Base,
    changes: SnapshotChanges<'_>,
    kind: CommitKind,
    options: &CommitOptions,
    writer: &mut ManifestWriter<'_>,
) -> Result<Snapshot> {
    let before = base.snapshot();
    let last = before.map_or(0, |snapshot| snapshot.id);
    let id = fitting(last.checked_add(1), "the id of the next snapshot")?;
    let (entries, next_row_id) = assign(&changes.entries, base, id)?;
    let rows = rows_added(&entries)?;
    let delta = writer.manifests(&mut entries.into_iter().map(Ok))?;
    let changelog = changes.changelog.map(|entries| -> Result<_> {
        let rows = rows_added(std::slice::from_ref(&entries))?;
        let manifests = writer.manifests(&mut std::iter::once(Ok(entries)))?;
        let (name, size) = writer.list(&manifests)?;
        Ok((name, i64::try_from(size).ok(), rows))
    });
    let changelog = changelog.transpose()?;
    let rows_lost = changes.manifests.as_ref().map_or(0, |manifests| manifests.rows_lost);
    let (base_name, base_size) = match changes.manifests {
        Some(rewritten) => {
            let list = rewritten.write(base, writer)?;
            writer.list(&list)?
        }
        None => writer.list_again(base)?,
    };
    let (delta_name, delta_size) = writer.list(&delta)?;
    let index_manifest = match changes.index {
        Index::AsBefore => before.and_then(|snapshot| snapshot.index_manifest.clone()),
        Index::None => None,
        Index::New(records) => Some(writer.index(&records)?),
    };
    let delta_rows = fitting(rows.checked_sub(rows_lost), ROWS)?;
    let total = before.and_then(|snapshot| snapshot.total_record_count).unwrap_or(0);
    let total = fitting(total.checked_add(delta_rows), ROWS)?;
    let watermark = before.and_then(|snapshot| snapshot.watermark);
    let properties = (!options.properties.is_empty()).then(|| options.properties.clone());
    Ok(Snapshot {
        version: VERSION,
        uuid: None,
        id,
        schema_id: base.schema().id,
        base_manifest_list: base_name,
        base_manifest_list_size: i64::try_from(base_size).ok(),
        delta_manifest_list: delta_name,
        delta_manifest_list_size: i64::try_from(delta_size).ok(),
        changelog_manifest_list: changelog.as_ref().map(|(name, ..)| name.clone()),
        changelog_manifest_list_size: changelog.as_ref().and_then(|(_, size, _)| *size),
        index_manifest,
        commit_user: options.user.clone(),
        writer_version: None,
        commit_identifier: options.identifier.unwrap_or(BATCH),
        commit_kind: kind,
        // Times ascend with the ids, even if clocks of writers differ: time travel relies on it.
        time_millis: before.map_or(0, |snapshot| snapshot.time_millis).max(now_millis()),
        log_offsets: None,
        total_record_count: Some(total),
        delta_record_count: Some(delta_rows),
        changelog_record_count: changelog.map(|(.., rows)| rows),
        watermark: watermark.max(options.watermark),
        statistics: statistics(base)?,
        properties,
        next_row_id: Some(next_row_id),
        operation: None,
    })
}

/// What does not fit where numbers of rows are forged.
const ROWS: &str = "the snapshot's number of rows";

/// Rows of added files less those of deleted ones.
///
/// # Errors
/// `Mismatch` where they do not fit.
fn rows_added(entries: &[RecordBatch]) -> Result<i64> {
    let mut sum = 0_i64;
    for entries in entries {
        let kinds = column::<Int8Array>(entries, "kind")?.values();
        let rows = column::<Int64Array>(entries, "row_count")?;
        for (kind, rows) in kinds.iter().zip(rows.values()) {
            sum = fitting(if *kind == ADD { sum.checked_add(*rows) } else { sum.checked_sub(*rows) }, ROWS)?;
        }
    }
    Ok(sum)
}

/// The statistics of the last snapshot, as long as they are of the latest schema, and the file is there.
///
/// # Errors
/// Those of reading and parsing the file.
fn statistics(base: &Base) -> Result<Option<String>> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Statistics {
        schema_id: i64,
    }
    let Some(name) = base.snapshot().and_then(|snapshot| snapshot.statistics.clone()) else {
        return Ok(None);
    };
    let path = base.table.files().shared(&statistics_file(&name));
    let Some(bytes) = present(base.table.read_recorded(&path, None))? else { return Ok(None) };
    let statistics: Statistics = crate::json::parse(&bytes).map_err(|error| error.in_file(&path))?;
    Ok((statistics.schema_id == base.schema().id).then_some(name))
}

/// Writes hints, which tell readers where to look first. They are optional, so a failure is ignored.
pub(super) fn write_hints(table: &Table, id: i64) {
    let files = table.files();
    let hint = |name: &str, existing| {
        table.storage().publish(&files.own(&format!("snapshot/{name}")), existing, id.to_string().as_bytes())
    };
    let _ = hint("LATEST", ExistingFile::Replace);
    if id == 1 {
        let _ = hint("EARLIEST", ExistingFile::Refuse);
    }
}
