//! Commits to Iceberg tables.

use std::sync::Arc;

use lakebed::iceberg::Table as IcebergTable;
use lakebed::iceberg::write::FormatVersion;
use lakebed::iceberg::write::commit::{
    Action, CommitOptions, Identity, NewTable, commit, create_table, fields_json, stage,
};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::arrow::import_schema;
use crate::boundary::detached;
use crate::error::write_error_to_python;
use crate::iceberg_action::IcebergAction;
use crate::limits::extract;
use crate::table::Table;

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

/// The actions of a commit to the table's branch, and its options.
fn arguments(
    table: &IcebergTable,
    actions: &[Py<IcebergAction>],
    random: [u8; 24],
) -> (Vec<Arc<Action>>, CommitOptions) {
    let actions = actions.iter().map(|action| Arc::clone(&action.get().0)).collect();
    let (identity, branch) = (Identity::new(random), table.branch().to_owned());
    (actions, CommitOptions { identity, branch, limits: table.decoding().limits })
}

/// Makes all actions in one commit to a table without a catalog. Returns the metadata file that it is based on;
/// None where there was nothing to do.
#[pyfunction]
pub fn iceberg_commit(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    actions: Vec<Py<IcebergAction>>,
    random: [u8; 24],
) -> PyResult<Option<String>> {
    let table = table.get();
    committed(py, || {
        let table = committable(table, false)?;
        let (actions, options) = arguments(table, &actions, random);
        commit(table.location(), Arc::clone(table.storage()), &actions, &options)
    })
}

/// The files of a staged commit, and what the catalog needs: metadata, requirements and updates as JSON.
type StagedParts = (Vec<String>, String, String, String);

/// Writes the files of one commit of all actions, for a catalog to make it; None where there is nothing to do.
#[pyfunction]
pub fn iceberg_stage(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    actions: Vec<Py<IcebergAction>>,
    random: [u8; 24],
) -> PyResult<Option<StagedParts>> {
    let table = table.get();
    committed(py, || {
        let table = committable(table, true)?;
        let (actions, options) = arguments(table, &actions, random);
        let staged = stage(table.metadata_file(), Arc::clone(table.storage()), &actions, &options)?;
        let json = |value: serde_json::Value| value.to_string();
        Ok(staged.map(|one| (one.files, one.metadata, json(one.requirements), json(one.updates))))
    })
}

/// The attributes of Python's `lakebed.creating._IcebergDefinition`.
#[derive(FromPyObject)]
pub struct TableDefinition<'py> {
    schema: Bound<'py, PyAny>,
    partition_by: Vec<String>,
    format_version: i32,
    properties: Vec<(String, String)>,
}

#[pyfunction]
pub fn iceberg_create_table(
    py: Python<'_>,
    location: &str,
    definition: TableDefinition<'_>,
    random: [u8; 16],
    limits: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let TableDefinition { schema, partition_by, format_version, properties } = definition;
    let (schema, limits) = (import_schema(&schema)?, extract(limits)?);
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
