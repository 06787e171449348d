//! The changes of a table's commits, as recorded in the commits' manifests.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use super::Scan;
use super::diff::diff;
use super::plan::{EntrySource, Plan};
use super::program::program;
use crate::error::Result;
use crate::history::{Commit, Counts, DeleteChanges, History, Listed, Written, with_change};
use crate::iceberg::manifest::ADDED;
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{self, Batches, ManifestSource, ScanOptions};
use crate::storage::Storage;
use crate::view::View;

impl History for Table {
    type Snapshot = Snapshot;
    type Manifest = ManifestFile;
    type Changes = Changes;

    const COUNTED: usize = 4;

    fn files_storage(&self) -> &Arc<dyn Storage> {
        self.storage()
    }

    fn notes(&self) -> Notes {
        self.noted().clone()
    }

    fn line(&self) -> Result<Vec<(Commit, Snapshot)>> {
        let commit = |snapshot: Snapshot| {
            let commit = Commit {
                snapshot_id: snapshot.snapshot_id,
                parent_id: snapshot.parent_id,
                committed_ms: snapshot.timestamp_ms,
                operation: snapshot.operation.clone(),
            };
            (commit, snapshot)
        };
        Ok(self.snapshots_to_here()?.into_iter().map(commit).collect())
    }

    fn listed(&self, snapshot: &Snapshot, filter: Option<&str>) -> Result<Listed<ManifestFile>> {
        let list = match filter {
            Some(_) => self.list_of(snapshot)?,
            None => self.brief_list_of(snapshot)?,
        };
        let by = find(&list, "added_snapshot_id")?;
        let by = by.as_primitive::<Int64Type>().iter();
        let is_own: BooleanArray =
            by.map(|id| Some(id.is_none_or(|id| id == snapshot.snapshot_id))).collect();
        let own = filter_record_batch(&list, &is_own)?;
        let (live, changed) =
            (counted(&list, ["added", "existing"], [1, 1])?, counted(&own, ["added", "deleted"], [1, -1])?);
        let Plan { mut manifests, mut pruned, .. } = Plan::of_list(self, own, filter)?;
        let has_own_entries = |manifest: &ManifestFile| {
            [manifest.added, manifest.deleted].iter().any(|recorded| recorded.files != Some(0))
        };
        manifests.retain(has_own_entries);
        pruned.retain(has_own_entries);
        Ok(Listed { own: manifests, pruned: pruned.len() as u64, live, changed })
    }

    fn changes(&self, options: &ScanOptions) -> Result<(SchemaRef, Changes)> {
        let program = program(Role::History, self, options)?;
        let schema = Arc::clone(program.view.schema());
        let program = program.needing(["status", "snapshot_id"].into_iter(), &[])?;
        let source = EntrySource::new(Arc::new(program), self.clone(), self.noted().clone());
        Ok((schema, Changes { source }))
    }

    fn files_at(&self, snapshot: &Snapshot, options: ScanOptions) -> Result<Batches> {
        let at = self.at_snapshot(snapshot.snapshot_id)?;
        scan::Scan::stream(&Scan::new(at, View::Files, options)?)
    }

    fn compared(&self, before: &Snapshot, after: &Snapshot, options: ScanOptions) -> Result<Batches> {
        let [before, after] = [before, after].map(|snapshot| self.at_snapshot(snapshot.snapshot_id));
        scan::Scan::stream(&diff(self, before?, after?, &options)?)
    }

    fn deletes(&self, _snapshots: &[Snapshot], _threads: usize) -> Result<Option<Vec<DeleteChanges>>> {
        Ok(None)
    }
}

/// The counts of two statuses in manifests, each times a factor; `None` where a manifest does not record one.
fn counted(list: &RecordBatch, statuses: [&str; 2], times: [i64; 2]) -> Result<Option<Counts>> {
    let content = find(list, "content")?;
    let content = content.as_primitive::<Int32Type>().values();
    let mut counts: Counts = [0; 4];
    for (status, times) in statuses.into_iter().zip(times) {
        let files = find(list, &format!("{status}_files_count"))?;
        let rows = find(list, &format!("{status}_rows_count"))?;
        let (files, rows) = (files.as_primitive::<Int32Type>(), rows.as_primitive::<Int64Type>());
        if files.null_count() > 0 || rows.null_count() > 0 {
            return Ok(None);
        }
        for ((content, files), rows) in content.iter().zip(files.values()).zip(rows.values()) {
            let [data_files, data_rows, delete_files, delete_rows] = &mut counts;
            let (of_files, of_rows) =
                if *content == DELETES { (delete_files, delete_rows) } else { (data_files, data_rows) };
            *of_files = of_files.saturating_add(i64::from(*files).saturating_mul(times));
            *of_rows = of_rows.saturating_add(rows.saturating_mul(times));
        }
    }
    Ok(Some(counts))
}

/// How manifests of commits are decoded to rows.
pub(crate) struct Changes {
    source: EntrySource,
}

impl ManifestSource for Changes {
    type Manifest = Written<ManifestFile>;

    fn storage(&self) -> &dyn Storage {
        self.source.storage()
    }

    fn size(&self, written: &Written<ManifestFile>) -> u64 {
        self.source.size(&written.manifest)
    }

    fn read(&self, written: &Written<ManifestFile>) -> Result<Buffer> {
        self.source.read(&written.manifest)
    }

    fn open(&self, written: &Written<ManifestFile>, bytes: Buffer, threads: usize) -> Result<Batches> {
        let path = written.manifest.path.clone();
        let entries = self.source.entries(&written.manifest, bytes, threads)?;
        // A manifest without a list may also have entries of other commits.
        let of = written.manifest.added.files.is_none().then_some(written.commit.snapshot_id);
        let program = Arc::clone(self.source.program());
        Ok(Box::new(entries.map(move |entries| {
            let entries = of_commit(&entries?, of)?;
            let files = program.rows(&entries, &path).map_err(|error| error.in_file(&path))?;
            let statuses = find(&entries, "status")?;
            with_change(
                &files,
                statuses.as_primitive::<Int32Type>().values().iter().map(|status| *status == ADDED),
            )
        })))
    }
}

/// The entries of the commit `id`; all for `None`.
fn of_commit(entries: &RecordBatch, id: Option<i64>) -> Result<RecordBatch> {
    let Some(id) = id else { return Ok(entries.clone()) };
    let by = find(entries, "snapshot_id")?;
    let is_own: BooleanArray = by.as_primitive::<Int64Type>().iter().map(|by| Some(by == Some(id))).collect();
    filter_record_batch(entries, &is_own).map_err(Into::into)
}
