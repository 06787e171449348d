//! The commits since a change started, and whether they conflict with it (the validations of Iceberg's
//! `MergingSnapshotProducer.java`).

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;

use super::base::Base;
use super::entries::{CommitEntries, rows_where};
use super::filter::FileFilter;
use super::select::{ManifestSelection, Targets};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{DELETE_INPUT, DeleteIndex, DeleteIndexBuilder};
use crate::iceberg::fields::POSITION_DELETES;
use crate::iceberg::manifest::{ADDED, DELETED, Statuses};
use crate::iceberg::manifest_list::{DATA, DELETES, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::scan::equality_fields;
use crate::iceberg::table::TableTypes;
use crate::iceberg::write::FormatVersion;
use crate::record::column;

/// Operations that may add data files, remove data files, add deletes, and add deletion vectors.
const ADDS_DATA: [&str; 2] = ["append", "overwrite"];
const REMOVES_DATA: [&str; 3] = ["overwrite", "replace", "delete"];
const ADDS_DELETES: [&str; 2] = ["overwrite", "delete"];
const ADDS_VECTORS: [&str; 3] = ["overwrite", "delete", "replace"];

/// Whose snapshots a change is checked against.
#[derive(Clone, Copy, PartialEq)]
enum HistoryOwner {
    /// Those of other commits.
    Others,
    /// Also those that earlier changes of the same commit have made: their caller may not have known them.
    Everyones,
}

/// The snapshots of a branch after the one that a change started from, the newest first.
pub(super) struct History<'b> {
    base: &'b Base,
    types: &'b TableTypes,
    snapshots: Vec<&'b Snapshot>,
}

impl<'b> History<'b> {
    /// The snapshots after `since` up to the head of the branch; all for `None`.
    ///
    /// # Errors
    /// `Conflict` where the head does not descend from that snapshot, or a snapshot in between has expired.
    pub(super) fn new(base: &'b Base, types: &'b TableTypes, since: Option<i64>) -> Result<History<'b>> {
        let mut snapshots = Vec::new();
        for id in base.ancestors(base.head()) {
            if Some(id) == since {
                return Ok(History { base, types, snapshots });
            }
            snapshots.extend(base.snapshot(id)?);
        }
        let parent = snapshots.last().map_or(since, |oldest| oldest.parent_id);
        if parent == since || base.head().is_none() && since.is_none() {
            return Ok(History { base, types, snapshots });
        }
        let known = since.map_or("the first".to_owned(), |id| id.to_string());
        Err(conflict(format!(
            "branch {:?} no longer descends from snapshot {known}, which the change started from",
            base.branch()
        )))
    }

    /// The entries that snapshots of `whose` with these operations added themselves, in batches of one manifest;
    /// tuples are in the table's partition type.
    fn added(
        &self,
        (whose, operations): (HistoryOwner, &[&str]),
        content: i32,
        columns: &[&str],
        mut each: impl FnMut(&ManifestFile, &RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let columns: Vec<&str> =
            ["status", "snapshot_id", "file_path"].iter().chain(columns).copied().collect();
        let entries = CommitEntries::shown(self.base, &columns, self.types)?;
        let of_operation = |snapshot: &&&Snapshot| {
            let is_meant = whose == HistoryOwner::Everyones || !self.base.is_own(snapshot.snapshot_id);
            let has = |operation| operations.contains(&operation);
            is_meant && snapshot.operation.as_deref().is_some_and(has)
        };
        for snapshot in self.snapshots.iter().filter(of_operation) {
            let manifests = ManifestFile::all(&self.base.table.list_of(snapshot)?)?;
            let own = manifests.into_iter().filter(|manifest| {
                manifest.content == content && manifest.added_snapshot_id == Some(snapshot.snapshot_id)
            });
            for manifest in own {
                let batch = entries.read(&manifest, Statuses::ALL)?;
                let ids = column::<Int64Array>(&batch, "snapshot_id")?.iter();
                let is_own: BooleanArray = ids.map(|id| Some(id == Some(snapshot.snapshot_id))).collect();
                each(&manifest, &rows_where(&batch, &is_own)?)?;
            }
        }
        Ok(())
    }

    /// The path of the first entry with that status that may match a filter.
    fn first(
        &self,
        operations: &[&str],
        (content, status): (i32, i32),
        filter: Option<&FileFilter>,
    ) -> Result<Option<String>> {
        let columns: Vec<&str> = filter.into_iter().flat_map(FileFilter::input).collect();
        let mut first = None;
        self.added((HistoryOwner::Others, operations), content, &columns, |manifest, entries| {
            let statuses = column::<Int32Array>(entries, "status")?;
            let mut found = BooleanBuffer::collect_bool(statuses.len(), |row| statuses.value(row) == status);
            if let Some(filter) = filter {
                found = &found & &filter.may_match(self.base.spec(manifest.spec_id)?, entries)?;
            }
            let row = (0..found.len()).find(|row| found.value(*row));
            first = first.take().or(row.map(|row| path_at(entries, row)).transpose()?);
            Ok(())
        })?;
        Ok(first)
    }

    /// Refuses data files of concurrent commits that may have rows of the filter.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_no_new_data(&self, filter: Option<&FileFilter>) -> Result<()> {
        refuse(
            self.first(&ADDS_DATA, (DATA, ADDED), filter)?,
            "was added meanwhile, with rows that may match too",
        )
    }

    /// Refuses concurrent removals of data files that may have rows of the filter.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_none_removed(&self, filter: Option<&FileFilter>) -> Result<()> {
        refuse(self.first(&REMOVES_DATA, (DATA, DELETED), filter)?, "was removed meanwhile")
    }

    /// Refuses delete files of concurrent commits that may delete rows of the filter.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_no_new_deletes(&self, filter: Option<&FileFilter>) -> Result<()> {
        refuse(self.first(&ADDS_DELETES, (DELETES, ADDED), filter)?, "was added meanwhile, and deletes rows")
    }

    /// Refuses delete files, of concurrent commits and of earlier changes of this one, that apply to removed
    /// data files: the rows that they delete would reappear.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_undeleted(&self, gone: &ManifestSelection, with_equality: bool) -> Result<()> {
        if self.base.version == FormatVersion::V1 {
            return Ok(());
        }
        // Each snapshot is checked separately: a vector may have replaced another.
        self.added((HistoryOwner::Everyones, &ADDS_DELETES), DELETES, &DELETE_INPUT, |manifest, entries| {
            let contents = column::<Int32Array>(entries, "content")?.values();
            let pairs = column::<Int32Array>(entries, "status")?.values().iter().zip(contents);
            let added = pairs.map(|(status, content)| {
                Some(*status == ADDED && (with_equality || *content == POSITION_DELETES))
            });
            let index = self.index(&rows_where(entries, &added.collect())?)?;
            self.refuse_by(
                manifest,
                gone.first_deleted(&index)?,
                "has new deletes of another commit since it was read",
            )
        })
    }

    fn index(&self, deletes: &RecordBatch) -> Result<DeleteIndex> {
        let mut index = DeleteIndexBuilder::new(self.types.clone())?;
        index.push(deletes)?;
        let ids = index.equality_ids();
        let newest = self.base.metadata.schemas.iter().rev().map(Arc::clone);
        let schemas: Vec<_> = std::iter::once(Arc::clone(&self.types.schema)).chain(newest).collect();
        index.finish(equality_fields(&schemas, &ids))
    }

    /// Refuses concurrent removals of data files that get new deletes, and deletion vectors for them, of
    /// concurrent commits and of earlier changes of this one.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_targets(&self, targets: &Targets) -> Result<()> {
        let named = |entries: &RecordBatch, status: i32, name: &str, only_vectors: bool| -> Result<_> {
            let statuses = column::<Int32Array>(entries, "status")?;
            let names = column::<StringArray>(entries, name)?;
            let is_meant = |row: &usize| {
                let target = names.is_valid(*row).then(|| targets.get(names.value(*row))).flatten();
                statuses.value(*row) == status
                    && target.is_some_and(|(_, rows)| !only_vectors || rows.is_some())
            };
            let row = (0..entries.num_rows()).find(is_meant);
            Ok(row.map(|row| names.value(row).to_owned()))
        };
        self.added((HistoryOwner::Others, &REMOVES_DATA), DATA, &[], |_, entries| {
            refuse(
                named(entries, DELETED, "file_path", false)?,
                "was removed meanwhile, and this commit adds deletes for it",
            )
        })?;
        let columns = ["referenced_data_file", "content_offset"];
        self.added((HistoryOwner::Everyones, &ADDS_VECTORS), DELETES, &columns, |manifest, entries| {
            let offsets = column::<Int64Array>(entries, "content_offset")?;
            let are_vectors = (0..offsets.len()).map(|row| Some(offsets.is_valid(row)));
            let vectors = rows_where(entries, &are_vectors.collect())?;
            let found = named(&vectors, ADDED, "referenced_data_file", true)?;
            self.refuse_by(
                manifest,
                found,
                "was given a deletion vector meanwhile: merge it into the new one",
            )
        })
    }
}

impl History<'_> {
    /// Refuses a file that the snapshot of a manifest, of whoever's, makes impossible.
    ///
    /// # Errors
    /// `Conflict`; `Unsupported` where an earlier change of the same commit made that snapshot, since trying
    /// again does not help then.
    fn refuse_by(&self, manifest: &ManifestFile, found: Option<String>, why: &str) -> Result<()> {
        match found {
            Some(path) if manifest.added_snapshot_id.is_some_and(|id| self.base.is_own(id)) => {
                let message = format!("{path:?} has new deletes of an earlier change of this commit");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            found => refuse(found, why),
        }
    }
}

fn path_at(entries: &RecordBatch, row: usize) -> Result<String> {
    Ok(column::<StringArray>(entries, "file_path")?.value(row).to_owned())
}

fn refuse(found: Option<String>, why: &str) -> Result<()> {
    found.map_or(Ok(()), |path| Err(conflict(format!("{path:?} {why}"))))
}

#[cold]
fn conflict(message: String) -> Error {
    Error::new(ErrorKind::Conflict, message)
}
