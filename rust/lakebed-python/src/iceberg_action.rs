//! The changes that commits to Iceberg tables make, as types.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_select::concat::concat_batches;
use lakebed::iceberg::metadata::RefKind;
use lakebed::iceberg::write::ManifestContent;
use lakebed::iceberg::write::commit::{
    self, CherryPick, ColumnChange, Expire, FileChange, InputFiles, NewRef, RefChange, Rewrite, Rules,
    SchemaChange, SettingsChange, SnapshotChoice, SpecChange, StatisticsKind,
};
use lakebed::reach::Retention;
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::Codec;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::error::write_error_to_python;
use crate::view::Place;

/// The purpose of a change of files.
#[pyclass(frozen, module = "lakebed._native")]
pub struct FileChangeKind(commit::FileChangeKind);

#[pymethods]
impl FileChangeKind {
    #[classattr]
    const APPEND: FileChangeKind = FileChangeKind(commit::FileChangeKind::Append);
    #[classattr]
    const DELETE: FileChangeKind = FileChangeKind(commit::FileChangeKind::Delete);
    #[classattr]
    const OVERWRITE: FileChangeKind = FileChangeKind(commit::FileChangeKind::Overwrite);
    #[classattr]
    const ROW_DELTA: FileChangeKind = FileChangeKind(commit::FileChangeKind::RowDelta);
    #[classattr]
    const REPLACE: FileChangeKind = FileChangeKind(commit::FileChangeKind::Replace);
}

/// Which concurrent changes are allowed.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Isolation(commit::Isolation);

#[pymethods]
impl Isolation {
    #[classattr]
    const SERIALIZABLE: Isolation = Isolation(commit::Isolation::Serializable);
    #[classattr]
    const SNAPSHOT: Isolation = Isolation(commit::Isolation::Snapshot);
    #[classattr]
    const NONE: Isolation = Isolation(commit::Isolation::None);
}

/// A change that a commit makes, alone or after others.
#[pyclass(frozen, module = "lakebed._native")]
pub struct IcebergAction(pub Arc<commit::Action>);

/// How long refs and snapshots are kept: `min_snapshots_to_keep`, `max_snapshot_age_ms`, `max_ref_age_ms`.
type Kept = (Option<i32>, Option<i64>, Option<i64>);

/// Where a snapshot is, and the id of the table's own.
type Chosen<'py> = (Option<PyRef<'py, Place>>, Option<i64>);

#[pymethods]
impl IcebergAction {
    /// Takes the attributes that Python's `file_change` gives; streams of files are read now.
    #[staticmethod]
    fn files(change: &Bound<'_, PyAny>) -> PyResult<IcebergAction> {
        let of = |name: &str| change.getattr(name);
        Ok(made(commit::Action::Files(FileChange {
            kind: of("kind")?.cast::<FileChangeKind>()?.get().0,
            data: input_files(&of("data")?, ManifestContent::Data)?,
            deletes: input_files(&of("deletes")?, ManifestContent::Deletes)?,
            removed: of("removed")?.extract()?,
            removed_deletes: of("removed_deletes")?.extract()?,
            filter: of("filter")?.extract()?,
            data_sequence_number: of("data_sequence_number")?.extract()?,
            since: of("since")?.extract()?,
            isolation: of("isolation")?.cast::<Isolation>()?.get().0,
            conflict_filter: of("conflict_filter")?.extract()?,
            merge: of("merge")?.extract()?,
            properties: of("properties")?.extract()?,
        })))
    }

    /// Takes the attributes that `rewrite_manifests` of Python gives.
    #[staticmethod]
    fn rewrite_manifests(rewrite: &Bound<'_, PyAny>) -> PyResult<IcebergAction> {
        let of = |name: &str| rewrite.getattr(name);
        let codec: Option<String> = of("codec")?.extract()?;
        let codec = codec.as_deref().map(Codec::named).transpose();
        Ok(made(commit::Action::RewriteManifests(Rewrite {
            target_bytes: of("target_bytes")?.extract()?,
            by: of("by")?.extract()?,
            filter: of("filter")?.extract()?,
            memory_bytes: of("memory_bytes")?.extract()?,
            codec: codec.map_err(|error| write_error_to_python(rewrite.py(), error.into()))?,
            block_bytes: of("block_bytes")?.extract()?,
            properties: of("properties")?.extract()?,
        })))
    }

    #[staticmethod]
    fn create_branch(name: String, of: Chosen<'_>, replace: bool, kept: Kept) -> IcebergAction {
        let (snapshot, rules) = (chosen(&of), rules(kept));
        create(NewRef { name, kind: RefKind::Branch, snapshot, replace, rules })
    }

    #[staticmethod]
    fn create_tag(name: String, of: Chosen<'_>, replace: bool, kept: Kept) -> IcebergAction {
        let (snapshot, rules) = (chosen(&of), rules(kept));
        create(NewRef { name, kind: RefKind::Tag, snapshot, replace, rules })
    }

    #[staticmethod]
    fn delete_branch(name: String) -> IcebergAction {
        made(commit::Action::Refs(RefChange::Delete(name, RefKind::Branch)))
    }

    #[staticmethod]
    fn delete_tag(name: String) -> IcebergAction {
        made(commit::Action::Refs(RefChange::Delete(name, RefKind::Tag)))
    }

    #[staticmethod]
    fn set_retention(name: String, kept: Kept) -> IcebergAction {
        made(commit::Action::Refs(RefChange::Retain(name, rules(kept))))
    }

    #[staticmethod]
    fn fast_forward(to: String) -> IcebergAction {
        made(commit::Action::Refs(RefChange::FastForward(to)))
    }

    #[staticmethod]
    fn rollback_to(of: Chosen<'_>) -> IcebergAction {
        made(commit::Action::Refs(RefChange::RollBack(chosen(&of))))
    }

    #[staticmethod]
    fn set_current_snapshot(of: Chosen<'_>) -> IcebergAction {
        made(commit::Action::Refs(RefChange::SetCurrent(chosen(&of))))
    }

    #[staticmethod]
    fn cherry_pick(of: Chosen<'_>) -> IcebergAction {
        made(commit::Action::CherryPick(CherryPick(chosen(&of))))
    }

    #[staticmethod]
    fn expire_snapshots(older_than_ms: Option<i64>, retain_last: Option<i32>, now_ms: i64) -> IcebergAction {
        made(commit::Action::Expire(Expire(Retention { older_than_ms, retain_last, now_ms })))
    }

    #[staticmethod]
    fn update_properties(set: Vec<(String, String)>, remove: Vec<String>) -> IcebergAction {
        made(commit::Action::Settings(SettingsChange::Properties { set, remove }))
    }

    #[staticmethod]
    fn upgrade(format_version: i32) -> IcebergAction {
        made(commit::Action::Settings(SettingsChange::Upgrade(format_version)))
    }

    /// Takes the object that describes the file in the metadata, as JSON.
    #[staticmethod]
    fn set_statistics(py: Python<'_>, file: &str, of_partitions: bool) -> PyResult<IcebergAction> {
        let (kind, file) = (kind(of_partitions), parsed(py, file)?);
        Ok(made(commit::Action::Settings(SettingsChange::SetStatistics { kind, file })))
    }

    #[staticmethod]
    fn remove_statistics(of: Chosen<'_>, of_partitions: bool) -> IcebergAction {
        let (kind, snapshot) = (kind(of_partitions), chosen(&of));
        made(commit::Action::Settings(SettingsChange::RemoveStatistics { kind, snapshot }))
    }

    /// Takes the changes of columns as JSON, since types and defaults are that.
    #[staticmethod]
    fn update_schema(
        py: Python<'_>,
        changes: Vec<String>,
        allow_incompatible_changes: bool,
    ) -> PyResult<IcebergAction> {
        let changes = changes.iter().map(|change| parsed::<ColumnChange>(py, change));
        let changes = changes.collect::<PyResult<_>>()?;
        Ok(made(commit::Action::Schema(SchemaChange { changes, allow_incompatible_changes })))
    }

    #[staticmethod]
    fn update_spec(
        remove: Vec<String>,
        rename: Vec<(String, String)>,
        add: Vec<(String, Option<String>)>,
    ) -> IcebergAction {
        made(commit::Action::Spec(SpecChange { remove, rename, add }))
    }
}

fn made(action: commit::Action) -> IcebergAction {
    IcebergAction(Arc::new(action))
}

fn create(new: NewRef) -> IcebergAction {
    made(commit::Action::Refs(RefChange::Create(new)))
}

fn chosen((at, own): &Chosen<'_>) -> SnapshotChoice {
    SnapshotChoice { at: at.as_ref().map(|place| place.0.clone()), own: *own }
}

fn rules((min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms): Kept) -> Rules {
    Rules { min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms }
}

fn kind(of_partitions: bool) -> StatisticsKind {
    if of_partitions { StatisticsKind::Partitions } else { StatisticsKind::Table }
}

/// The files of a stream, which is read whole; `None` for None.
fn input_files(given: &Bound<'_, PyAny>, content: ManifestContent) -> PyResult<Option<InputFiles>> {
    if given.is_none() {
        return Ok(None);
    }
    let stream = caller_stream(given)?;
    let files = detached(given.py(), || Ok(whole(stream).and_then(|files| InputFiles::new(files, content))))?;
    // Errors in arguments and errors in files become different exceptions.
    files.map(Some).map_err(|error| write_error_to_python(given.py(), error))
}

/// All batches of a stream as one.
fn whole(reader: impl RecordBatchReader) -> Result<RecordBatch> {
    let schema = reader.schema();
    let batches = reader.map(sent).collect::<Result<Vec<_>>>()?;
    concat_batches(&schema, &batches).map_err(Into::into)
}

/// What Python passes as JSON.
fn parsed<T: DeserializeOwned>(py: Python<'_>, json: &str) -> PyResult<T> {
    let failed = |error| Error::new(ErrorKind::Argument, format!("a change that is none: {error}"));
    serde_json::from_str(json).map_err(|error| write_error_to_python(py, failed(error)))
}
