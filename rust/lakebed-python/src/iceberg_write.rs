//! The writing half of `lakebed.iceberg`.

use std::io::Write;

use arrow_array::RecordBatchReader;
use lakebed::iceberg::partition::PartitionSpec;
use lakebed::iceberg::write::{
    FormatVersion, ListHeader, ManifestContent, ManifestLayout, metadata_bytes, metadata_text,
    write_manifest, write_manifest_list,
};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::caller_stream::{caller_stream, sent};
use crate::limits::extract;
use crate::sink::{Encoding, Sink, write_into};

/// JSON that Python's own writer made.
fn parsed(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::new(ErrorKind::Json, error.to_string()))
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
    let reader = caller_stream(entries)?;
    write_into(py, sink, overwrite, |sink: &mut dyn Write| {
        let (version, content) = (FormatVersion::try_from(format_version)?, ManifestContent::named(content)?);
        let spec = match parsed(spec)? {
            fields @ Value::Array(_) => PartitionSpec::from_fields(0, &fields)?,
            spec => PartitionSpec::from_json(&spec)?,
        };
        let arrow = reader.schema();
        let layout = ManifestLayout::new(version, content, &parsed(schema)?, &spec, &arrow)?;
        write_manifest(&arrow, reader.map(sent), &layout, sink, encoding.options(limits)?).map(|_| ())
    })
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
    let reader = caller_stream(manifests)?;
    write_into(py, sink, overwrite, |sink: &mut dyn Write| {
        let version = FormatVersion::try_from(format_version)?;
        let header = ListHeader { version, snapshot_id, parent_snapshot_id, sequence_number, first_row_id };
        let arrow = reader.schema();
        write_manifest_list(&arrow, reader.map(sent), &header, sink, encoding.options(limits)?).map(|_| ())
    })
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
    let name = if let Some(Sink::Path(path)) = &sink { path.clone() } else { String::new() };
    write_into(py, sink, overwrite, |sink: &mut dyn Write| {
        let bytes = metadata_bytes(metadata_text(metadata, limits)?, &name)?;
        Ok(sink.write_all(&bytes)?)
    })
}
