//! Commits of `lakebed.paimon`.

use std::collections::BTreeMap;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_select::concat::concat_batches;
use lakebed::paimon;
use lakebed::paimon::write::{self, CommitOptions, TableDefinition};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::arrow::{import_array, import_schema, import_stream};
use crate::boundary::detached;
use crate::error::{to_python, write_error_to_python};
use crate::limits::decoding;
use crate::sink::sent;
use crate::storage::storage_of;
use crate::table::Table;

/// Who commits: user, identifier, properties, watermark, a UUID and the offset of the wall clock \[ms\].
type Who = (String, Option<i64>, BTreeMap<String, String>, Option<i64>, u128, i64);

fn options(who: Who) -> CommitOptions {
    let (user, identifier, properties, watermark, uuid, zone_offset_millis) = who;
    let properties = properties.into_iter().collect();
    CommitOptions { user, identifier, properties, watermark, uuid, zone_offset_millis }
}

/// The error of what does not fit; what is wrong with a file names that.
fn refused(py: Python<'_>, error: Error) -> PyErr {
    if error.location().path.is_some() { to_python(py, error) } else { write_error_to_python(py, error) }
}

/// Runs a commit.
fn committed(
    py: Python<'_>,
    table: &Table,
    commit: impl FnOnce(&paimon::Table) -> Result<paimon::Table> + Send,
) -> PyResult<Table> {
    let table = detached(py, || {
        let format = table.0.format();
        let own = table.0.as_any().downcast_ref::<paimon::Table>();
        let own = own.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("a Paimon table is wanted, not one of {format}"))
        })?;
        Ok(commit(own))
    })?;
    table.map_err(|error| refused(py, error)).and_then(|table| Table::warned(py, Box::new(table)))
}

/// All that a caller gives.
fn gathered(data: &Bound<'_, PyAny>) -> PyResult<impl FnOnce() -> Result<RecordBatch> + Send> {
    let batches = import_stream(data)?;
    Ok(move || {
        let schema = batches.schema();
        let batches = batches.map(sent).collect::<Result<Vec<_>>>()?;
        concat_batches(&schema, &batches).map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
    })
}

#[pyfunction]
pub fn paimon_append_files(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    files: &Bound<'_, PyAny>,
    who: Who,
) -> PyResult<Table> {
    let files = gathered(files)?;
    committed(py, table.get(), |table| write::append_files(table, &files()?, &options(who)))
}

#[pyfunction]
pub fn paimon_delete_files(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    paths: &Bound<'_, PyAny>,
    who: Who,
) -> PyResult<Table> {
    let paths = import_array(paths)?;
    committed(py, table.get(), |table| {
        let paths = paths.as_string_opt::<i32>();
        let paths = paths.ok_or_else(|| Error::new(ErrorKind::Argument, "paths are strings"))?;
        write::delete_files(table, paths, &options(who))
    })
}

#[pyfunction]
pub fn paimon_overwrite_partition(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    files: &Bound<'_, PyAny>,
    partition: &Bound<'_, PyAny>,
    who: Who,
) -> PyResult<Table> {
    let (files, partition) = (gathered(files)?, import_array(partition)?);
    committed(py, table.get(), |table| {
        let partition = partition.as_struct_opt();
        let partition =
            partition.ok_or_else(|| Error::new(ErrorKind::Argument, "a partition is a struct"))?;
        write::overwrite_partition(table, &files()?, partition, &options(who))
    })
}

#[pyfunction]
pub fn paimon_compact_manifests(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    target_bytes: Option<u64>,
    sort: bool,
    who: Who,
) -> PyResult<Table> {
    committed(py, table.get(), |table| write::compact_manifests(table, target_bytes, sort, &options(who)))
}

#[pyfunction]
pub fn paimon_create_tag(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    name: &str,
    retained_micros: Option<u64>,
    who: Who,
) -> PyResult<Table> {
    let retained = retained_micros.map(Duration::from_micros);
    committed(py, table.get(), |table| write::create_tag(table, name, retained, &options(who)))
}

/// Columns as an Arrow schema, or as JSON.
#[derive(FromPyObject)]
pub enum Columns<'py> {
    Json(String),
    Arrow(Bound<'py, PyAny>),
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // the keywords of `lakebed.paimon.create_table`
pub fn paimon_create_table(
    py: Python<'_>,
    location: &str,
    storage: Option<Py<PyAny>>,
    columns: Columns<'_>,
    partition_keys: Vec<String>,
    primary_keys: Vec<String>,
    table_options: Vec<(String, String)>,
    comment: Option<String>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Table> {
    let (decoding, storage) = (decoding(limits)?, storage_of(py, storage, None)?);
    let fields = match columns {
        Columns::Json(text) => TableDefinition::fields_from_json(&text),
        Columns::Arrow(schema) => TableDefinition::fields_from_arrow(&import_schema(&schema)?),
    };
    let fields = fields.map_err(|error| refused(py, error))?;
    let definition =
        TableDefinition { fields, partition_keys, primary_keys, options: table_options, comment };
    let made = detached(py, || Ok(write::create_table(location, storage, &definition, decoding)))?;
    made.map(|table| Table(Box::new(table))).map_err(|error| refused(py, error))
}
