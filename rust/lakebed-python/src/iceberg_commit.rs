//! Commits to Iceberg tables, and the changes that they make, as types.

use std::sync::Arc;

use lakebed::iceberg::Table as IcebergTable;
use lakebed::iceberg::metadata::RefKind;
use lakebed::iceberg::write::commit::{
    self, Action, CherryPick, CommitOptions, Expire, FileChange, Identity, InputFiles, ListRebuild, NewRef,
    NewTable, RefChange, Repairs, Rewrite, Rules, SchemaChange, SettingsChange, SnapshotChoice, SpecChange,
    StatisticsKind, commit, create_table, fields_json, stage,
};
use lakebed::iceberg::write::{FormatVersion, ManifestContent};
use lakebed::reach::Retention;
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::Codec;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::arguments::{Limits, Reviewed, constants, of_attributes};
use crate::arrow::import_schema;
use crate::boundary::{checked, detached_as};
use crate::caller_stream::rows_of;
use crate::error::commit_error_to_python;
use crate::table::Table;
use crate::view::Place;

constants! {
    /// The purpose of a change of files.
    FileChangeKind(commit::FileChangeKind) {
        APPEND = Append, DELETE = Delete, OVERWRITE = Overwrite, ROW_DELTA = RowDelta, REPLACE = Replace
    }
}

constants! {
    /// Which concurrent changes are allowed.
    Isolation(commit::Isolation) { SERIALIZABLE = Serializable, SNAPSHOT = Snapshot, NONE = None }
}

/// A change that a commit makes, alone or after others.
#[pyclass(frozen, module = "lakebed._native")]
pub struct IcebergAction(pub Arc<Action>);

/// How long refs and snapshots are kept: `min_snapshots_to_keep`, `max_snapshot_age_ms`, `max_ref_age_ms`.
type RefRules = (Option<i32>, Option<i64>, Option<i64>);

/// Where a snapshot is, and the id of the table's own.
type Choice<'py> = (Option<PyRef<'py, Place>>, Option<i64>);

#[pymethods]
impl IcebergAction {
    /// Takes the attributes that `file_change` of Python's `lakebed.commits.iceberg` gives; streams of files are read now.
    #[staticmethod]
    fn files(change: &Bound<'_, PyAny>) -> PyResult<IcebergAction> {
        Ok(made(Action::Files(Box::new(of_attributes!(change, FileChange {
            removed, removed_deletes, removed_vectors, filter, data_sequence_number, since, conflict_filter, merge, properties;
            kind: change.getattr("kind")?.cast::<FileChangeKind>()?.get().0,
            isolation: change.getattr("isolation")?.cast::<Isolation>()?.get().0,
            data: input_files(&change.getattr("data")?, ManifestContent::Data)?,
            deletes: input_files(&change.getattr("deletes")?, ManifestContent::Deletes)?,
            repairs: of_attributes!(change.getattr("repairs")?, Repairs {
                restores_rows, left_out, duplicates, moved, merged;
                described: input_files(
                    &change.getattr("repairs")?.getattr("described")?, ManifestContent::Data
                )?
            })
        })))))
    }

    /// Takes the attributes that `rewrite_manifests` of Python gives.
    #[staticmethod]
    fn rewrite_manifests(rewrite: &Bound<'_, PyAny>) -> PyResult<IcebergAction> {
        let codec: Option<String> = rewrite.getattr("codec")?.extract()?;
        let codec = checked(rewrite.py(), || Ok(codec.as_deref().map(Codec::named).transpose()?))?;
        Ok(made(Action::RewriteManifests(of_attributes!(rewrite, Rewrite {
            target_bytes, by, filter, memory_bytes, block_bytes, properties;
            codec
        }))))
    }

    #[staticmethod]
    fn rebuild_list(snapshot_id: i64, properties: Vec<(String, String)>) -> IcebergAction {
        made(Action::RebuildList(ListRebuild { snapshot_id, properties }))
    }

    #[staticmethod]
    fn remove_snapshots(ids: Vec<i64>) -> IcebergAction {
        made(Action::Refs(RefChange::RemoveSnapshots(ids)))
    }

    #[staticmethod]
    fn create_branch(name: String, of: Choice<'_>, replace: bool, kept: RefRules) -> IcebergAction {
        create(name, RefKind::Branch, &of, replace, kept)
    }

    #[staticmethod]
    fn create_tag(name: String, of: Choice<'_>, replace: bool, kept: RefRules) -> IcebergAction {
        create(name, RefKind::Tag, &of, replace, kept)
    }

    #[staticmethod]
    fn delete_branch(name: String) -> IcebergAction {
        made(Action::Refs(RefChange::Delete(name, RefKind::Branch)))
    }

    #[staticmethod]
    fn delete_tag(name: String) -> IcebergAction {
        made(Action::Refs(RefChange::Delete(name, RefKind::Tag)))
    }

    #[staticmethod]
    fn set_retention(name: String, kept: RefRules) -> IcebergAction {
        made(Action::Refs(RefChange::Retain(name, rules(kept))))
    }

    #[staticmethod]
    fn fast_forward(to: String) -> IcebergAction {
        made(Action::Refs(RefChange::FastForward(to)))
    }

    #[staticmethod]
    fn rollback_to(of: Choice<'_>) -> IcebergAction {
        made(Action::Refs(RefChange::RollBack(chosen(&of))))
    }

    #[staticmethod]
    fn set_current_snapshot(of: Choice<'_>) -> IcebergAction {
        made(Action::Refs(RefChange::SetCurrent(chosen(&of))))
    }

    #[staticmethod]
    fn cherry_pick(of: Choice<'_>) -> IcebergAction {
        made(Action::CherryPick(CherryPick(chosen(&of))))
    }

    #[staticmethod]
    fn expire_snapshots(
        older_than_ms: Option<i64>,
        retain_last: Option<i32>,
        now_ms: i64,
        reviewed: Option<Reviewed>,
    ) -> IcebergAction {
        let retention = Retention { older_than_ms, retain_last, now_ms };
        made(Action::Expire(Expire { retention, reviewed: reviewed.map(|reviewed| reviewed.0) }))
    }

    #[staticmethod]
    fn update_properties(set: Vec<(String, String)>, remove: Vec<String>) -> IcebergAction {
        made(Action::Settings(SettingsChange::Properties { set, remove }))
    }

    #[staticmethod]
    fn upgrade(format_version: i32) -> IcebergAction {
        made(Action::Settings(SettingsChange::Upgrade(format_version)))
    }

    /// Takes the object that describes the file in the metadata, as JSON.
    #[staticmethod]
    fn set_statistics(py: Python<'_>, file: &str, of_partitions: bool) -> PyResult<IcebergAction> {
        let (kind, file) = (kind(of_partitions), parsed(py, file)?);
        Ok(made(Action::Settings(SettingsChange::SetStatistics { kind, file })))
    }

    #[staticmethod]
    fn remove_statistics(of: Choice<'_>, of_partitions: bool) -> IcebergAction {
        let (kind, snapshot) = (kind(of_partitions), chosen(&of));
        made(Action::Settings(SettingsChange::RemoveStatistics { kind, snapshot }))
    }

    /// Takes an array of changes of columns as JSON, since types and defaults are that.
    #[staticmethod]
    fn update_schema(
        py: Python<'_>,
        changes: &str,
        allow_incompatible_changes: bool,
    ) -> PyResult<IcebergAction> {
        let changes = parsed(py, changes)?;
        Ok(made(Action::Schema(SchemaChange { changes, allow_incompatible_changes })))
    }

    #[staticmethod]
    fn update_spec(
        remove: Vec<String>,
        rename: Vec<(String, String)>,
        add: Vec<(String, Option<String>)>,
    ) -> IcebergAction {
        made(Action::Spec(SpecChange { remove, rename, add }))
    }
}

fn made(action: Action) -> IcebergAction {
    IcebergAction(Arc::new(action))
}

fn create(name: String, kind: RefKind, of: &Choice<'_>, replace: bool, kept: RefRules) -> IcebergAction {
    let new = NewRef { name, kind, snapshot: chosen(of), replace, rules: rules(kept) };
    made(Action::Refs(RefChange::Create(new)))
}

fn chosen((at, own): &Choice<'_>) -> SnapshotChoice {
    SnapshotChoice { at: at.as_ref().map(|place| place.0.clone()), own: *own }
}

fn rules((min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms): RefRules) -> Rules {
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
    let files = rows_of(given)?;
    checked(given.py(), || InputFiles::new(files, content).map(Some))
}

/// What Python passes as JSON.
fn parsed<T: DeserializeOwned + Send>(py: Python<'_>, json: &str) -> PyResult<T> {
    let failed = |error| Error::new(ErrorKind::Argument, format!("a change that is none: {error}"));
    checked(py, || serde_json::from_str(json).map_err(failed))
}

pub fn iceberg_table(table: &Table) -> Result<&IcebergTable> {
    let found = table.0.as_any().downcast_ref::<IcebergTable>();
    found.ok_or_else(|| Error::new(ErrorKind::Unsupported, "not an Iceberg table"))
}

/// Makes a commit of actions to the table's branch, or writes the files of one for a catalog.
fn committed<T: Send>(
    py: Python<'_>,
    table: &Table,
    is_staged: bool,
    (actions, random): (Vec<Py<IcebergAction>>, [u8; 24]),
    commit: impl FnOnce(&IcebergTable, &[Arc<Action>], &CommitOptions) -> Result<T> + Send,
) -> PyResult<T> {
    detached_as(py, commit_error_to_python, || {
        let table = iceberg_table(table)?;
        let (is_possible, otherwise) = match is_staged {
            true => (
                table.storage().is_writable(),
                "commits are staged where the storage writes, of tables opened without relocate=: open a \
                 catalog's without storage=, or with a store of obstore",
            ),
            false => (
                table.storage().is_local(),
                "commits without a catalog are made on the local file system alone, to tables opened without \
                 relocate=: elsewhere a catalog makes them, open_table(catalog.load_table(…))",
            ),
        };
        if !is_possible {
            return Err(Error::new(ErrorKind::Unsupported, otherwise).in_file(table.location()));
        }
        let actions: Vec<_> = actions.iter().map(|action| Arc::clone(&action.get().0)).collect();
        let (identity, branch) = (Identity::new(random), table.branch().to_owned());
        let options = CommitOptions { identity, branch, limits: table.decoding().limits };
        commit(table, &actions, &options)
    })
}

/// Makes all actions in one commit to a table without a catalog. Returns the table after it, and the metadata file that
/// it is based on; None where there was nothing to do.
#[pyfunction]
pub fn iceberg_commit(
    py: Python<'_>,
    table: &Table,
    actions: Vec<Py<IcebergAction>>,
    random: [u8; 24],
) -> PyResult<Option<(Table, String)>> {
    let made = committed(py, table, false, (actions, random), |table, actions, options| {
        let committed = commit(table.location(), Arc::clone(table.storage()), actions, options)?;
        committed.map(|committed| Ok((table.after(&committed)?, committed.before))).transpose()
    })?;
    made.map(|(after, before)| Ok((Table::warned(py, Box::new(after))?, before))).transpose()
}

/// The files of a staged commit, and what the catalog needs: metadata, requirements and updates as JSON.
type StagedParts = (Vec<String>, String, String, String);

/// Writes the files of one commit of all actions, for a catalog to make it; None where there is nothing to do.
#[pyfunction]
pub fn iceberg_stage(
    py: Python<'_>,
    table: &Table,
    actions: Vec<Py<IcebergAction>>,
    random: [u8; 24],
) -> PyResult<Option<StagedParts>> {
    committed(py, table, true, (actions, random), |table, actions, options| {
        let staged = stage(table.metadata_file(), Arc::clone(table.storage()), actions, options)?;
        let json = |value: serde_json::Value| value.to_string();
        Ok(staged.map(|one| (one.files, one.metadata, json(one.requirements), json(one.updates))))
    })
}

/// Creates a table with the attributes that Python's `lakebed.creating` gives.
#[pyfunction]
pub fn iceberg_create_table(
    py: Python<'_>,
    location: &str,
    definition: &Bound<'_, PyAny>,
    random: [u8; 16],
    limits: Limits,
) -> PyResult<()> {
    let version: i32 = definition.getattr("format_version")?.extract()?;
    let table = of_attributes!(definition, NewTable {
        partition_by, properties;
        schema: import_schema(&definition.getattr("schema")?)?,
        version: checked(py, || FormatVersion::try_from(version))?,
        random
    });
    checked(py, || create_table(location, &table, limits.0))
}

/// The current schema of a table and one of its partition specs, by default the default one, as JSON.
#[pyfunction]
pub fn iceberg_layout(py: Python<'_>, table: &Table, spec_id: Option<i32>) -> PyResult<(String, String)> {
    checked(py, || {
        let table = iceberg_table(table)?;
        let metadata = table.metadata();
        let spec_id = spec_id.unwrap_or(metadata.default_spec_id);
        let spec = metadata.partition_specs.iter().find(|spec| spec.spec_id == spec_id);
        let spec = spec.ok_or_else(|| {
            Error::new(ErrorKind::Argument, format!("the table has no partition spec {spec_id}"))
        })?;
        Ok((table.schema().to_json().to_string(), spec.to_json().to_string()))
    })
}

/// The schema fields of an Arrow schema's columns, as JSON.
#[pyfunction]
pub fn iceberg_fields(py: Python<'_>, schema: &Bound<'_, PyAny>) -> PyResult<String> {
    let schema = import_schema(schema)?;
    checked(py, || Ok(fields_json(schema.fields())?.to_string()))
}
