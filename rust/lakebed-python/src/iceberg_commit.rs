//! The commits of `lakebed.iceberg`.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use lakebed::iceberg::Table as IcebergTable;
use lakebed::iceberg::write::FormatVersion;
use lakebed::iceberg::write::commit::{
    Action, CommitOptions, Identity, NewTable, commit_action, create_table, stage_action,
};
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::Codec;
use pyo3::prelude::*;

use crate::arrow::{import_schema, import_stream};
use crate::boundary::detached;
use crate::error::write_error_to_python;
use crate::limits::extract;
use crate::sink::sent;
use crate::table::Table;

/// What a commit does, by the form of what Python gives.
#[derive(FromPyObject)]
enum Given {
    /// Bytes that a manifest is to have.
    Target(u64),
    /// The paths of files that go.
    Paths(Vec<String>),
    /// Files that come, in Arrow.
    Files(Py<PyAny>),
}

/// Files of a commit that a catalog is to make, and what it is told: metadata, requirements and updates in JSON.
type StagedParts = (Vec<String>, String, String, String);

/// The table of Iceberg's that commits are made to.
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
    if table.branch() != lakebed::iceberg::metadata::MAIN {
        return refused("commits are made to the branch main alone");
    }
    Ok(table)
}

/// Runs a commit; what does not fit is told apart from what is wrong with a file.
fn committed<T: Send>(py: Python<'_>, commit: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached(py, || Ok(commit()))?.map_err(|error| write_error_to_python(py, error))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // what all commits take
pub fn iceberg_commit(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    change: &Bound<'_, PyAny>,
    properties: Vec<(String, String)>,
    codec: Option<&str>,
    block_bytes: usize,
    random: [u8; 24],
    staged: bool,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<StagedParts>> {
    let codec =
        codec.map(Codec::named).transpose().map_err(|error| write_error_to_python(py, error.into()))?;
    let identity = Identity::new(random);
    let options = CommitOptions { identity, properties, codec, block_bytes, limits: extract(limits)? };
    let table = table.get();
    let action: Box<dyn FnOnce() -> Result<Action> + Send> = match change.extract::<Given>()? {
        Given::Target(bytes) => Box::new(move || Ok(Action::RewriteManifests(bytes))),
        Given::Paths(paths) => Box::new(move || Ok(Action::Delete(paths))),
        Given::Files(files) => {
            let reader = import_stream(files.bind(py))?;
            Box::new(move || {
                let schema = reader.schema();
                Ok(Action::Append(schema, reader.map(sent).collect::<Result<_>>()?))
            })
        }
    };
    committed(py, move || {
        let table = committable(table, staged)?;
        if !staged {
            return commit_action(table.location(), action()?, &options).map(|()| None);
        }
        let storage = Arc::clone(table.storage());
        let staged = stage_action(table.metadata_file(), storage, action()?, &options)?;
        Ok(staged.map(|staged| {
            let [metadata, requirements, updates] =
                [staged.metadata, staged.requirements, staged.updates].map(|json| json.to_string());
            (staged.files, metadata, requirements, updates)
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

/// The current schema of a table and one of its partition specs, its default one without an id, in JSON.
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
