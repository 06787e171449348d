//! The writing half of `lakebed.iceberg`.

use std::io::Write;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use lakebed::iceberg::partition::PartitionSpec;
use lakebed::iceberg::write::{
    FormatVersion, ListHeader, ManifestContent, ManifestLayout, metadata_bytes, metadata_text,
    write_manifest, write_manifest_list,
};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::arrow::import_stream;
use crate::boundary::detached;
use crate::error::unwritten;
use crate::limits::extract;
use crate::sink::{Encoding, Sink, write_into};

/// What of Arrow comes from Python, as the core takes it.
pub fn batches(reader: RecordBatchStreamReader) -> impl Iterator<Item = Result<arrow_array::RecordBatch>> {
    reader.map(|batch| batch.map_err(|error| Error::new(ErrorKind::Argument, error.to_string())))
}

/// JSON that Python's own writer made.
fn parsed(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::new(ErrorKind::Json, error.to_string()))
}

/// Runs a writer; what does not fit is told apart from what is wrong with a file.
pub fn written<T: Send>(py: Python<'_>, write: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached(py, || Ok(write()))?.map_err(|error| unwritten(py, error))
}

fn bytes(py: Python<'_>, bytes: Option<Vec<u8>>) -> Option<Py<PyBytes>> {
    bytes.map(|bytes| PyBytes::new(py, &bytes).unbind())
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // the keywords of `lakebed.iceberg.write_manifest`
pub fn iceberg_write_manifest(
    py: Python<'_>,
    entries: &Bound<'_, PyAny>,
    sink: Option<Sink>,
    schema: &str,
    spec: &str,
    format_version: i32,
    content: &str,
    encoding: Encoding,
    overwrite: bool,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let reader = import_stream(entries)?;
    let file = written(py, || {
        let (version, content) = (FormatVersion::try_from(format_version)?, ManifestContent::named(content)?);
        let spec = match parsed(spec)? {
            fields @ Value::Array(_) => PartitionSpec::from_fields(0, &fields)?,
            spec => PartitionSpec::from_json(&spec)?,
        };
        let arrow = reader.schema();
        let layout = ManifestLayout::new(version, content, &parsed(schema)?, &spec, &arrow)?;
        let options = encoding.options(Vec::new(), limits)?;
        write_into(sink, overwrite, |sink: &mut dyn Write| {
            write_manifest(&arrow, batches(reader), &layout, sink, options).map(|_| ())
        })
    })?;
    Ok(bytes(py, file))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // the keywords of `lakebed.iceberg.write_manifest_list`
pub fn iceberg_write_manifest_list(
    py: Python<'_>,
    manifests: &Bound<'_, PyAny>,
    sink: Option<Sink>,
    format_version: i32,
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: i64,
    first_row_id: Option<i64>,
    encoding: Encoding,
    overwrite: bool,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let reader = import_stream(manifests)?;
    let file = written(py, || {
        let version = FormatVersion::try_from(format_version)?;
        let header = ListHeader { version, snapshot_id, parent_snapshot_id, sequence_number, first_row_id };
        let options = encoding.options(Vec::new(), limits)?;
        let arrow = reader.schema();
        write_into(sink, overwrite, |sink: &mut dyn Write| {
            write_manifest_list(&arrow, batches(reader), &header, sink, options).map(|_| ())
        })
    })?;
    Ok(bytes(py, file))
}

#[pyfunction]
pub fn iceberg_write_metadata(
    py: Python<'_>,
    metadata: &str,
    sink: Option<Sink>,
    overwrite: bool,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let file = written(py, || {
        let text = metadata_text(metadata, limits)?;
        let name = if let Some(Sink::Path(path)) = &sink { path.clone() } else { String::new() };
        let bytes = metadata_bytes(text, &name)?;
        write_into(sink, overwrite, |sink| {
            sink.write_all(&bytes).map_err(|error| lakebed_avro::Error::from(error).into())
        })
    })?;
    Ok(bytes(py, file))
}
