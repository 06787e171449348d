//! Makes an older snapshot the latest one again, as a snapshot of its own (Paimon's `RollbackHelper.java` removes the
//! snapshots between them; here they stay).

use std::cell::Cell;

use arrow_buffer::Buffer;

use super::attempt::write_hints;
use super::base::{Base, check_latest};
use super::manifest_writer::ManifestWriter;
use super::options::CommitOptions;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::jackson;
use crate::paimon::paths::snapshot_file;
use crate::paimon::snapshot::{CommitKind, Snapshot};
use crate::paimon::table::Table;
use crate::paimon::write::json::snapshot_object;
use crate::paimon::write::{ATTEMPTS, LONGEST_WAIT};
use crate::write::commit::{self as engine, Commit, Preparation, RetryLimits};
use crate::write::now_millis;

/// Makes the snapshot `id` the one after the table's own, which must be the latest still. Returns the table at it.
///
/// # Errors
/// `SnapshotNotFound`; `Conflict` where another snapshot is the latest; those of reading its lists and of writing.
pub(super) fn restore(table: &Table, id: i64, options: &CommitOptions) -> Result<Table> {
    engine::commit(Restoration { table, id, options, number: Cell::new(0) })
}

struct Restoration<'a> {
    table: &'a Table,
    id: i64,
    options: &'a CommitOptions,
    /// The number of the next file, across all attempts.
    number: Cell<u64>,
}

impl Commit for Restoration<'_> {
    type Base = Base;
    type Next = Snapshot;
    type Outcome = Table;

    /// The older snapshot: the lists of the latest one may be gone.
    fn base(&mut self) -> Result<Base> {
        Base::at(self.table.at_snapshot(self.id)?)
    }

    fn prepare(&mut self, base: &Base, _attempt: u32) -> Result<Preparation<Snapshot, Table>> {
        let files = self.table.files();
        let (own, latest) = (self.table.snapshot(), files.latest_snapshot()?);
        let (Some(own), Some(latest), Some(older)) = (own, latest, base.snapshot()) else {
            return Err(Error::new(ErrorKind::SnapshotNotFound, "the table has no snapshot"));
        };
        check_latest(self.table, own.id, latest.id)?;
        let mut writer = ManifestWriter::new(base, self.options, &self.number, None)?;
        let (base_manifest_list, base_size) = writer.list_again(base)?;
        let none = writer.manifests(&mut std::iter::empty())?;
        let (delta_manifest_list, delta_size) = writer.list(&none)?;
        let rows = |snapshot: &Snapshot| snapshot.total_record_count;
        let delta = rows(older).zip(rows(&latest)).and_then(|(now, before)| now.checked_sub(before));
        let next = Snapshot {
            uuid: None,
            writer_version: None,
            operation: None,
            id: fitting(latest.id.checked_add(1), "the id of the next snapshot")?,
            schema_id: self.table.latest_schema()?.id,
            base_manifest_list,
            base_manifest_list_size: i64::try_from(base_size).ok(),
            delta_manifest_list,
            delta_manifest_list_size: i64::try_from(delta_size).ok(),
            changelog_manifest_list: None,
            changelog_manifest_list_size: None,
            changelog_record_count: None,
            commit_user: self.options.user.clone(),
            commit_identifier: i64::MAX,
            commit_kind: CommitKind::Overwrite,
            time_millis: latest.time_millis.max(now_millis()),
            delta_record_count: delta,
            watermark: older.watermark.max(latest.watermark),
            next_row_id: older.next_row_id.max(latest.next_row_id),
            properties: (!self.options.properties.is_empty()).then(|| self.options.properties.clone()),
            ..older.clone()
        };
        let bytes = Buffer::from_vec(jackson::pretty(&snapshot_object(&next, &base.carried)?)?.into_bytes());
        Ok(Preparation::Next {
            written: writer.written(),
            path: files.own(&snapshot_file(next.id)),
            bytes,
            next,
        })
    }

    fn made(&mut self, base: Base, snapshot: Snapshot) -> Result<Table> {
        write_hints(&base.table, snapshot.id);
        self.table.latest()
    }

    fn retry_limits(&self, _base: &Base) -> RetryLimits {
        let path = self.table.location().to_owned();
        RetryLimits { attempts: ATTEMPTS, longest_wait: LONGEST_WAIT, path }
    }
}
