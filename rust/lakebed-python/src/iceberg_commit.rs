//! The commits of `lakebed.iceberg`.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_select::concat::concat_batches;
use lakebed::iceberg::Table as IcebergTable;
use lakebed::iceberg::write::FormatVersion;
use lakebed::iceberg::write::commit::{
    Action, CommitOptions, FileChange, FileChangeKind, Identity, Isolation, NewTable, Rewrite, commit_action,
    create_table, fields_json, stage_action,
};
use lakebed::reach::Retention;
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::Codec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::arrow::import_schema;
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::error::write_error_to_python;
use crate::limits::extract;
use crate::table::Table;

/// The name of a commit's action, and its argument.
type Named<'py> = (String, Bound<'py, PyAny>);

/// An action that is made while detached from the interpreter, since streams are read then.
type Pending = Box<dyn FnOnce() -> Result<Action> + Send>;

fn pending(change: Named<'_>) -> PyResult<Pending> {
    let (name, given) = change;
    Ok(match name.as_str() {
        "files" => file_change(given.extract()?)?,
        "rewrite_manifests" => {
            let (target_bytes, by, filter, memory_bytes) = given.extract()?;
            Box::new(move || Ok(Action::RewriteManifests(Rewrite { target_bytes, by, filter, memory_bytes })))
        }
        "refs" => {
            let change = parsed(&given)?;
            Box::new(move || Ok(Action::Refs(change)))
        }
        "settings" => {
            let change = parsed(&given)?;
            Box::new(move || Ok(Action::Settings(change)))
        }
        "schema" => {
            let change = parsed(&given)?;
            Box::new(move || Ok(Action::Schema(change)))
        }
        "spec" => {
            let change = parsed(&given)?;
            Box::new(move || Ok(Action::Spec(change)))
        }
        "cherry_pick" => {
            let snapshot_id = given.extract()?;
            Box::new(move || Ok(Action::CherryPick(snapshot_id)))
        }
        "expire" => {
            let (older_than_ms, retain_last, now_ms) = given.extract()?;
            Box::new(move || Ok(Action::Expire(Retention { older_than_ms, retain_last, now_ms })))
        }
        other => return Err(PyValueError::new_err(format!("unknown change {other:?}"))),
    })
}

/// The attributes of `lakebed.iceberg.committing.FileChange`.
#[derive(FromPyObject)]
struct GivenFiles<'py> {
    kind: String,
    data: Option<Bound<'py, PyAny>>,
    deletes: Option<Bound<'py, PyAny>>,
    removed: Vec<String>,
    removed_deletes: Vec<String>,
    filter: Option<String>,
    data_sequence_number: Option<i64>,
    since: Option<i64>,
    isolation: Option<String>,
    conflict_filter: Option<String>,
    merge: bool,
}

fn file_change(given: GivenFiles<'_>) -> PyResult<Pending> {
    let stream = |files: &Option<Bound<'_, PyAny>>| files.as_ref().map(caller_stream).transpose();
    let (data, deletes) = (stream(&given.data)?, stream(&given.deletes)?);
    let kind = match given.kind.as_str() {
        "append" => FileChangeKind::Append,
        "delete" => FileChangeKind::Delete,
        "overwrite" => FileChangeKind::Overwrite,
        "row_delta" => FileChangeKind::RowDelta,
        "replace" => FileChangeKind::Replace,
        other => return Err(PyValueError::new_err(format!("unknown change of files {other:?}"))),
    };
    let isolation = match given.isolation.as_deref() {
        None => Isolation::None,
        Some("snapshot") => Isolation::Snapshot,
        Some("serializable") => Isolation::Serializable,
        Some(other) => return Err(PyValueError::new_err(format!("unknown isolation {other:?}"))),
    };
    let GivenFiles { removed, removed_deletes, filter, data_sequence_number, since, .. } = given;
    let (conflict_filter, merge) = (given.conflict_filter, given.merge);
    Ok(Box::new(move || {
        let (data, deletes) = (data.map(whole).transpose()?, deletes.map(whole).transpose()?);
        Ok(Action::Files(FileChange {
            kind,
            data,
            deletes,
            removed,
            removed_deletes,
            filter,
            data_sequence_number,
            since,
            isolation,
            conflict_filter,
            merge,
        }))
    }))
}

/// All batches of a stream as one.
fn whole(reader: impl RecordBatchReader) -> Result<RecordBatch> {
    let schema = reader.schema();
    let batches = reader.map(sent).collect::<Result<Vec<_>>>()?;
    concat_batches(&schema, &batches).map_err(Into::into)
}

/// A change that Python passes as JSON.
fn parsed<T: DeserializeOwned>(given: &Bound<'_, PyAny>) -> PyResult<T> {
    let json: String = given.extract()?;
    serde_json::from_str(&json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The result of a commit.
#[derive(IntoPyObject)]
pub enum Committed {
    /// It was made: the metadata file that it is based on.
    Made(String),
    /// The files of a staged commit, and what the catalog needs: metadata, requirements and updates as JSON.
    Staged(Vec<String>, String, String, String),
}

/// The Iceberg table to commit to.
fn committable(table: &Table, staged: bool) -> Result<&IcebergTable> {
    let found = table.0.as_any().downcast_ref::<IcebergTable>();
    let table = found.ok_or_else(|| Error::new(ErrorKind::Unsupported, "not an Iceberg table"))?;
    let refused = |message: &str| Err(Error::new(ErrorKind::Unsupported, message).in_file(table.location()));
    let storage = table.storage();
    if staged && !storage.is_writable() {
        return refused(
            "commits are staged where the storage writes, of tables opened without relocate=: open a \
             catalog's without storage=, or with a store of obstore",
        );
    }
    if !staged && !storage.is_local() {
        return refused(
            "commits without a catalog are made on the local file system alone, to tables opened without \
             relocate=: elsewhere a catalog makes them, open_table(catalog.load_table(…))",
        );
    }
    Ok(table)
}

/// Runs a commit; errors in arguments and errors in files become different exceptions.
fn committed<T: Send>(py: Python<'_>, commit: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached(py, || Ok(commit()))?.map_err(|error| write_error_to_python(py, error))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // what all commits take
pub fn iceberg_commit(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    change: Named<'_>,
    properties: Vec<(String, String)>,
    codec: Option<&str>,
    block_bytes: usize,
    random: [u8; 24],
    staged: bool,
    limits: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Committed>> {
    let codec =
        codec.map(Codec::named).transpose().map_err(|error| write_error_to_python(py, error.into()))?;
    let identity = Identity::new(random);
    let table = table.get();
    let branch = table.0.branch().to_owned();
    let limits = limits.map(extract).transpose()?;
    let action = pending(change)?;
    committed(py, move || {
        let table = committable(table, staged)?;
        let limits = limits.unwrap_or(table.decoding().limits);
        let options = CommitOptions { identity, branch, properties, codec, block_bytes, limits };
        let storage = Arc::clone(table.storage());
        if !staged {
            let made = commit_action(table.location(), storage, action()?, &options)?;
            return Ok(made.map(Committed::Made));
        }
        let staged = stage_action(table.metadata_file(), storage, action()?, &options)?;
        Ok(staged.map(|staged| {
            let [requirements, updates] = [staged.requirements, staged.updates].map(|json| json.to_string());
            Committed::Staged(staged.files, staged.metadata, requirements, updates)
        }))
    })
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // the keywords of `lakebed.iceberg.create_table`
pub fn iceberg_create_table(
    py: Python<'_>,
    location: &str,
    schema: &Bound<'_, PyAny>,
    partition_by: Vec<String>,
    format_version: i32,
    properties: Vec<(String, String)>,
    random: [u8; 16],
    limits: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (schema, limits) = (import_schema(schema)?, extract(limits)?);
    committed(py, || {
        let version = FormatVersion::try_from(format_version)?;
        let table = NewTable { schema, partition_by, version, properties, random };
        create_table(location, &table, limits)
    })
}

/// The current schema of a table and one of its partition specs, by default the default one, as JSON.
#[pyfunction]
pub fn iceberg_layout(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    spec_id: Option<i32>,
) -> PyResult<(String, String)> {
    let table = table.get();
    committed(py, || {
        let found = table.0.as_any().downcast_ref::<IcebergTable>();
        let table = found.ok_or_else(|| Error::new(ErrorKind::Unsupported, "not an Iceberg table"))?;
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
    committed(py, || Ok(fields_json(schema.fields())?.to_string()))
}
