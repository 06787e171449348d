//! Cherry-picks a snapshot: adds the files that it added (Iceberg's `CherryPickOperation.java`).

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, new_null_array};

use super::attempt::{Outcome, PendingSnapshot, StateChange};
use super::base::{Base, SnapshotChoice};
use super::entries::{CommitEntries, rows_where, with_status};
use super::files::rewritten;
use super::merge::{SnapshotManifest, merge, stored};
use super::select::ManifestSelection;
use super::store::{count_files, encode_manifests};
use super::summary::Summary;
use super::uncommitted::UncommittedFiles;
use super::update::Update;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::{ADDED, Statuses};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::metadata;
use crate::iceberg::write::ManifestContent;
use crate::record::column;

/// The summary keys for the picked snapshot, and for the id under which it was staged.
const SOURCE: &str = "source-snapshot-id";
const STAGED_AS: &str = "wap.id";
const PUBLISHED: &str = "published-wap-id";

/// Applies a snapshot of the table to the branch: if its parent is the branch's head the branch moves to it,
/// else the files of an append are added again.
#[derive(Debug, Clone)]
pub struct CherryPick(pub SnapshotChoice);

impl StateChange for CherryPick {
    fn apply(&self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        let id = base.chosen(&self.0, "cherry-pick")?;
        let Some(picked) = base.snapshot(id)? else {
            return Err(refused(base, ErrorKind::SnapshotNotFound, format!("no snapshot {id}")));
        };
        if picked.parent_id == base.head() {
            let one = base.head_ref(id);
            return Ok(Some(Outcome::Updates(vec![Update::SetRef(base.branch().to_owned(), one)])));
        }
        if picked.operation.as_deref() != Some("append") {
            let message = format!(
                "snapshot {id} is not an append, and its parent is not the head of branch {:?}: it cannot be \
                cherry-picked",
                base.branch()
            );
            return Err(refused(base, ErrorKind::Unsupported, message));
        }
        let mut summary = Summary::default();
        summary.properties = CherryPick::properties(base, picked)?;
        let selected = ManifestSelection::none(base)?;
        let mut new = Vec::new();
        for (spec_id, entries) in added(base, picked)? {
            let spec = base.spec(spec_id)?;
            let entries = fresh(&entries, uncommitted.snapshot_id())?;
            count_files(base, &mut summary, spec, &entries, true)?;
            new.extend(
                encode_manifests(base, uncommitted, spec, ManifestContent::Data, &entries)?
                    .into_iter()
                    .map(SnapshotManifest::new),
            );
        }
        new.extend(rewritten(base, uncommitted, &selected, None, &mut summary)?);
        let merged = merge(base, uncommitted, &selected, new)?;
        let manifests = stored(base, uncommitted, &selected, merged, &mut summary)?;
        Ok(Some(Outcome::Snapshot(Box::new(PendingSnapshot { operation: "append", manifests, summary }))))
    }
}

impl CherryPick {
    /// The keys of the new summary.
    ///
    /// # Errors
    /// `Argument` for a snapshot that the branch has, or has picked before.
    fn properties(base: &Base, picked: &metadata::Snapshot) -> Result<Vec<(String, String)>> {
        let id = picked.snapshot_id.to_string();
        let named = property(picked, STAGED_AS);
        for ancestor in base.ancestors(base.head()) {
            let summary = base.snapshot(ancestor)?;
            let recorded = |key: &str| summary.and_then(|snapshot| property(snapshot, key));
            let same_name = named.is_some() && (recorded(STAGED_AS) == named || recorded(PUBLISHED) == named);
            if ancestor == picked.snapshot_id || recorded(SOURCE) == Some(id.as_str()) || same_name {
                let message = format!("branch {:?} already has snapshot {id}, as {ancestor}", base.branch());
                return Err(refused(base, ErrorKind::Argument, message));
            }
        }
        let mut properties = vec![(SOURCE.to_owned(), id)];
        properties.extend(named.map(|name| (PUBLISHED.to_owned(), name.to_owned())));
        Ok(properties)
    }
}

/// The value of a key in a snapshot's summary.
fn property<'s>(snapshot: &'s metadata::Snapshot, key: &str) -> Option<&'s str> {
    let mut pairs = snapshot.summary.iter().flatten();
    pairs.find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// The entries of the data files that a snapshot added, by manifest, with the spec of each.
fn added(base: &Base, snapshot: &metadata::Snapshot) -> Result<Vec<(i32, RecordBatch)>> {
    let list = base.table.list_of(snapshot)?;
    let own = ManifestFile::all(&list)?.into_iter().filter(|manifest| {
        manifest.content != DELETES && manifest.added_snapshot_id == Some(snapshot.snapshot_id)
    });
    let entries = CommitEntries::all(base)?;
    let statuses = Statuses { added: true, existing: false, deleted: false };
    own.map(|manifest| {
        let batch = entries.read(&manifest, statuses)?;
        let ids = column::<Int64Array>(&batch, "snapshot_id")?.iter();
        let is_own: BooleanArray = ids.map(|id| Some(id == Some(snapshot.snapshot_id))).collect();
        Ok((manifest.spec_id, rows_where(&batch, &is_own)?))
    })
    .filter(|part| part.as_ref().map_or(true, |(_, entries)| entries.num_rows() > 0))
    .collect()
}

/// Entries of new files: values that a commit assigns are not set.
fn fresh(entries: &RecordBatch, snapshot_id: i64) -> Result<RecordBatch> {
    let added = with_status(entries, &Int32Array::from_value(ADDED, entries.num_rows()), snapshot_id)?;
    let columns = added.schema_ref().fields().iter().zip(added.columns()).map(|(field, column)| match field
        .name()
        .as_str()
    {
        "sequence_number" | "file_sequence_number" | "first_row_id" => {
            new_null_array(field.data_type(), column.len())
        }
        _ => Arc::clone(column) as ArrayRef,
    });
    RecordBatch::try_new(added.schema(), columns.collect()).map_err(Into::into)
}

#[cold]
fn refused(base: &Base, kind: ErrorKind, message: String) -> Error {
    Error::new(kind, message).in_field("at").in_file(base.table.metadata_file())
}
