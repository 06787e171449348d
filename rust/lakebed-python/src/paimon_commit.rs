//! Commits of `lakebed.paimon`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, StringArray};
use arrow_select::concat::concat_batches;
use lakebed::location::Guarded;
use lakebed::paimon;
use lakebed::paimon::write::{self, CommitOptions, Compaction, IndexFilesChange, TableDefinition};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::arrow::{import_array, import_schema};
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::columnar::PyarrowEncoder;
use crate::error::{to_python, write_error_to_python};
use crate::limits::decoding;
use crate::storage::storage_of;
use crate::table::Table;

/// Options of a commit: user, identifier, properties, watermark, a UUID and the offset of the wall clock
/// \[ms\].
pub type CommitArguments = (String, Option<i64>, BTreeMap<String, String>, Option<i64>, u128, i64);

pub fn options(arguments: CommitArguments) -> CommitOptions {
    let (user, identifier, properties, watermark, uuid, zone_offset_millis) = arguments;
    let properties = properties.into_iter().collect();
    let encoder = Some(Arc::new(PyarrowEncoder) as _);
    CommitOptions { user, identifier, properties, watermark, uuid, zone_offset_millis, encoder }
}

/// The exception for invalid arguments; errors in a file have its path.
fn refused(py: Python<'_>, error: Error) -> PyErr {
    if error.location().path.is_some() { to_python(py, error) } else { write_error_to_python(py, error) }
}

/// Runs a commit.
pub fn committed(
    py: Python<'_>,
    table: &Table,
    commit: impl FnOnce(&paimon::Table) -> Result<paimon::Table> + Send,
) -> PyResult<Table> {
    run(py, table, commit).and_then(|table| Table::warned(py, Box::new(table)))
}

/// Runs an operation on a Paimon table.
pub fn run<T: Send>(
    py: Python<'_>,
    table: &Table,
    work: impl FnOnce(&paimon::Table) -> Result<T> + Send,
) -> PyResult<T> {
    let done = detached(py, || {
        let format = table.0.format();
        let own = table.0.as_any().downcast_ref::<paimon::Table>();
        let own = own.ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("a Paimon table is expected, not one of {format}"))
        })?;
        Ok(work(own))
    })?;
    done.map_err(|error| refused(py, error))
}

/// All rows of a caller, as one batch.
fn gathered(data: &Bound<'_, PyAny>) -> PyResult<impl FnOnce() -> Result<RecordBatch> + Send> {
    let batches = caller_stream(data)?;
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
    changelog: Option<Bound<'_, PyAny>>,
    check: bool,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let (files, changelog) = (gathered(files)?, changelog.as_ref().map(gathered).transpose()?);
    committed(py, table.get(), |table| {
        let changelog = changelog.map(|changelog| changelog()).transpose()?;
        write::append_files(table, &files()?, changelog.as_ref(), check, &options(arguments))
    })
}

/// Paths or names.
fn texts(array: &ArrayRef) -> Result<&StringArray> {
    array.as_string_opt::<i32>().ok_or_else(|| Error::new(ErrorKind::Argument, "paths are strings"))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // the arguments of `lakebed.paimon.compact_files`
pub fn paimon_compact_files(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    removed: &Bound<'_, PyAny>,
    added: &Bound<'_, PyAny>,
    changelog: Option<Bound<'_, PyAny>>,
    index_files: Option<Bound<'_, PyAny>>,
    removed_index_files: &Bound<'_, PyAny>,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let (removed, removed_index) = (import_array(removed)?, import_array(removed_index_files)?);
    let (added, changelog) = (gathered(added)?, changelog.as_ref().map(gathered).transpose()?);
    let index_files = index_files.as_ref().map(gathered).transpose()?;
    committed(py, table.get(), |table| {
        let changelog = changelog.map(|changelog| changelog()).transpose()?;
        let index_files = index_files.map(|files| files()).transpose()?;
        let removed_index = texts(&removed_index)?;
        let vectors = index_files.as_ref().map(|added| IndexFilesChange { added, removed: removed_index });
        let (added, changelog) = (&added()?, changelog.as_ref());
        let compaction = Compaction { removed: texts(&removed)?, added, changelog, vectors };
        write::compact_files(table, &compaction, &options(arguments))
    })
}

#[pyfunction]
pub fn paimon_replace_deletion_vectors(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    index_files: &Bound<'_, PyAny>,
    removed: &Bound<'_, PyAny>,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let (files, removed) = (gathered(index_files)?, import_array(removed)?);
    committed(py, table.get(), |table| {
        let change = IndexFilesChange { added: &files()?, removed: texts(&removed)? };
        write::replace_deletion_vectors(table, &change, &options(arguments))
    })
}

#[pyfunction]
pub fn paimon_delete_files(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    paths: &Bound<'_, PyAny>,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let paths = import_array(paths)?;
    committed(py, table.get(), |table| write::delete_files(table, texts(&paths)?, &options(arguments)))
}

#[pyfunction]
pub fn paimon_overwrite_partition(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    files: &Bound<'_, PyAny>,
    partition: Option<Bound<'_, PyAny>>,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let (files, partition) = (gathered(files)?, partition.as_ref().map(import_array).transpose()?);
    committed(py, table.get(), |table| {
        let partition = partition.as_ref().map(|partition| {
            let partition = partition.as_struct_opt();
            partition.ok_or_else(|| Error::new(ErrorKind::Argument, "a partition is a struct"))
        });
        let partition = partition.transpose()?;
        write::overwrite_partition(table, &files()?, partition, &options(arguments))
    })
}

#[pyfunction]
pub fn paimon_compact_manifests(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    target_bytes: Option<u64>,
    sort: bool,
    memory_bytes: usize,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let compacted = |table: &_| {
        write::compact_manifests(table, target_bytes, sort, Some(memory_bytes), &options(arguments))
    };
    committed(py, table.get(), compacted)
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
    let made = detached(py, || {
        let storage = Guarded::of_table(storage, location, [], None)?;
        Ok(write::create_table(location, Arc::new(storage), &definition, decoding))
    })?;
    made.map(|table| Table(Arc::new(table))).map_err(|error| refused(py, error))
}
