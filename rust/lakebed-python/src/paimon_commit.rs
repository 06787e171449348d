//! Commits to Paimon tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lakebed::location::Guarded;
use lakebed::paimon;
use lakebed::paimon::write::{self, Change, Committed, TableDefinition};
use lakebed::scan::ScanOptions;
use lakebed::table::Table as _;
use lakebed::view::View;
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{export_schema, import_schema};
use crate::boundary::detached;
use crate::columnar::PyarrowEncoder;
use crate::error::{to_python, write_error_to_python};
use crate::limits::decoding;
use crate::paimon_change::PaimonChange;
use crate::storage::storage_of;
use crate::stream::BatchStream;
use crate::table::Table;

/// What Python's `lakebed.commits.paimon` says of a commit.
#[derive(FromPyObject)]
pub struct CommitOptions {
    user: String,
    identifier: Option<i64>,
    properties: BTreeMap<String, String>,
    watermark: Option<i64>,
    uuid: u128,
    zone_offset_millis: i64,
}

impl From<CommitOptions> for write::CommitOptions {
    fn from(options: CommitOptions) -> write::CommitOptions {
        let CommitOptions { user, identifier, properties, watermark, uuid, zone_offset_millis } = options;
        let properties = properties.into_iter().collect();
        let encoder = Some(Arc::new(PyarrowEncoder) as _);
        write::CommitOptions { user, identifier, properties, watermark, uuid, zone_offset_millis, encoder }
    }
}

/// The exception for invalid arguments; errors in a file have its path.
fn refused(py: Python<'_>, error: Error) -> PyErr {
    if error.location().path.is_some() { to_python(py, error) } else { write_error_to_python(py, error) }
}

/// Rows that were worked out before anything was removed, to be read again and again.
#[pyclass(frozen, module = "lakebed._native")]
pub struct FreedFiles {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
}

#[pymethods]
impl FreedFiles {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.schema)
    }

    fn stream(&self) -> BatchStream {
        BatchStream::new(Arc::clone(&self.schema), Box::new(self.rows.clone().into_iter().map(Ok)))
    }
}

impl FreedFiles {
    /// Of a table whose commit has freed them.
    fn of(table: &paimon::Table, rows: Vec<RecordBatch>) -> Result<FreedFiles> {
        let schema = match rows.first() {
            Some(batch) => batch.schema(),
            None => Arc::clone(table.scan(View::Reachable, ScanOptions::default())?.schema()),
        };
        Ok(FreedFiles { schema, rows })
    }
}

/// Makes changes to a table, all in one commit. Returns the table after it, and the files that a removal of
/// snapshots, tags or a branch has freed.
#[pyfunction]
pub fn paimon_commit(
    py: Python<'_>,
    table: &Table,
    changes: Vec<PyRef<'_, PaimonChange>>,
    options: CommitOptions,
) -> PyResult<(Table, FreedFiles)> {
    let changes: Vec<Change> = changes.iter().map(|change| change.0.clone()).collect();
    let committed = detached(py, || {
        let format = table.0.format();
        let own = table.0.as_any().downcast_ref::<paimon::Table>();
        let own = own.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("a Paimon table is expected, not one of {format}"))
        })?;
        Ok(write::commit(own, &changes, &options.into()).and_then(|Committed { table, freed }| {
            let freed = FreedFiles::of(&table, freed)?;
            Ok((table, freed))
        }))
    })?;
    let (table, freed) = committed.map_err(|error| refused(py, error))?;
    Ok((Table::warned(py, Box::new(table))?, freed))
}

/// Columns as an Arrow schema, or as JSON.
#[derive(FromPyObject)]
enum Columns<'py> {
    Json(String),
    Arrow(Bound<'py, PyAny>),
}

/// What Python's `lakebed.creating` gives.
#[derive(FromPyObject)]
pub struct NewTable<'py> {
    columns: Columns<'py>,
    partition_keys: Vec<String>,
    primary_keys: Vec<String>,
    options: Vec<(String, String)>,
    comment: Option<String>,
}

#[pyfunction]
pub fn paimon_create_table(
    py: Python<'_>,
    location: &str,
    storage: Option<Py<PyAny>>,
    table: NewTable<'_>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Table> {
    let (decoding, storage) = (decoding(limits)?, storage_of(py, storage, None)?);
    let NewTable { columns, partition_keys, primary_keys, options, comment } = table;
    let fields = match columns {
        Columns::Json(text) => TableDefinition::fields_from_json(&text),
        Columns::Arrow(schema) => TableDefinition::fields_from_arrow(&import_schema(&schema)?),
    };
    let fields = fields.map_err(|error| refused(py, error))?;
    let definition = TableDefinition { fields, partition_keys, primary_keys, options, comment };
    let made = detached(py, || {
        let storage = Guarded::of_table(storage, location, [], None)?;
        Ok(write::create_table(location, Arc::new(storage), &definition, decoding))
    })?;
    made.map(|table| Table(Arc::new(table))).map_err(|error| refused(py, error))
}

/// The columns of a schema as `fields` of a schema file, without ids.
#[pyfunction]
pub fn paimon_fields(py: Python<'_>, schema: &Bound<'_, PyAny>) -> PyResult<String> {
    let fields = TableDefinition::fields_from_arrow(&import_schema(schema)?);
    let fields = fields.map_err(|error| write_error_to_python(py, error))?;
    Ok(serde_json::Value::Array(fields).to_string())
}
