//! `lakebed.paimon`, and the tasks that Spark's executors run.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use lakebed::paimon::binary_row;
use lakebed::paimon::hash_index::read_hash_index;
use lakebed::paimon::index_manifest::read_index_manifest;
use lakebed::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use lakebed::paimon::manifest_list::read_manifest_list;
use lakebed::paimon::schema::TableSchema;
use lakebed::paimon::snapshot::Tag;
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::arrow::{import_array, import_schema};
use crate::boundary::detached;
use crate::file::{checked_text, read_whole};
use crate::limits::decoding;
use crate::source::{Source, in_path};
use crate::stream::{Batch, BatchStream};

fn argument(message: String) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// Binary of either offset width as binary of 32-bit offsets.
fn binary(array: &ArrayRef) -> lakebed::Result<BinaryArray> {
    if let Some(array) = array.as_binary_opt::<i32>() {
        return Ok(array.clone());
    }
    let wrong = || argument(format!("rows are binary, not {}", array.data_type()));
    let array = array.as_binary_opt::<i64>().ok_or_else(wrong)?;
    let small = i32::try_from(array.values().len()).is_ok();
    small.then(|| array.iter().collect()).ok_or_else(|| argument("more than 2 GiB of rows".to_owned()))
}

#[pyfunction]
pub fn decode_rows(py: Python<'_>, binary: &Bound<'_, PyAny>, types: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let (array, types) = (import_array(binary)?, import_schema(types)?);
    detached(py, || {
        let rows = self::binary(&array)?;
        Ok(Batch(Arc::new(binary_row::decode_rows(&rows, &types.fields)?)))
    })
}

#[pyfunction]
#[pyo3(name = "encode_rows", signature = (r#struct, types))]
pub fn encode_rows(
    py: Python<'_>,
    r#struct: &Bound<'_, PyAny>,
    types: Option<&Bound<'_, PyAny>>,
) -> PyResult<Batch> {
    let array = import_array(r#struct)?;
    let types = types.map(import_schema).transpose()?;
    detached(py, || {
        let rows = array
            .as_struct_opt()
            .ok_or_else(|| argument(format!("rows are a struct array, not {}", array.data_type())))?;
        let fields = types.as_ref().map_or(rows.fields(), |types| &types.fields);
        Ok(Batch(Arc::new(binary_row::encode_rows(rows, fields)?)))
    })
}

#[pyfunction]
pub fn paimon_read_manifest(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    limits: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let threads = crate::avro::threads(threads);
    let decoding = decoding(limits)?;
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let entries = entry_columns(columns.as_deref())?;
        let filter = EntryFilter::default();
        let open = || EntryReader::open(source.read()?, &entries, filter, None, &decoding, threads);
        let reader = open().map_err(|error| in_path(error, path.as_deref()))?;
        let schema = Arc::clone(reader.schema());
        let batches = reader.map(move |batch| batch.map_err(|error| in_path(error, path.as_deref())));
        Ok(BatchStream::new(schema, Box::new(batches)))
    })
}

#[pyfunction]
pub fn paimon_read_manifest_list(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<BatchStream> {
    read_whole(py, source, limits, |bytes, decoding| read_manifest_list(bytes, columns.as_deref(), decoding))
}

#[pyfunction]
pub fn paimon_read_index_manifest(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<BatchStream> {
    read_whole(py, source, limits, |bytes, decoding| read_index_manifest(bytes, columns.as_deref(), decoding))
}

#[pyfunction]
pub fn paimon_read_hash_index(py: Python<'_>, source: Source) -> PyResult<Batch> {
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let hashes = source.read().and_then(|bytes| read_hash_index(&bytes));
        Ok(Batch(Arc::new(hashes.map_err(|error| in_path(error, path.as_deref()))?)))
    })
}

#[pyfunction]
pub fn paimon_read_snapshot(py: Python<'_>, source: Source) -> PyResult<String> {
    checked_text(py, source, Tag::from_json)
}

#[pyfunction]
pub fn paimon_read_schema(py: Python<'_>, source: Source) -> PyResult<String> {
    checked_text(py, source, TableSchema::from_json)
}
