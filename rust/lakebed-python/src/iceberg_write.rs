//! The writing half of `lakebed.iceberg`.

use std::io::Write;

use arrow_array::RecordBatchReader;
use arrow_schema::Schema as ArrowSchema;
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

/// What a file is written to, and whether one that is there is replaced.
type Target = (Option<Sink>, bool);

/// What Python says of a manifest that is written.
#[derive(FromPyObject)]
pub struct ManifestForm {
    schema: String,
    spec: String,
    format_version: i32,
    content: String,
}

impl ManifestForm {
    fn layout(&self, entries: &ArrowSchema) -> Result<ManifestLayout> {
        let version = FormatVersion::try_from(self.format_version)?;
        let content = ManifestContent::named(&self.content)?;
        let spec = match parsed(&self.spec)? {
            fields @ Value::Array(_) => PartitionSpec::from_fields(0, &fields)?,
            spec => PartitionSpec::from_json(&spec)?,
        };
        ManifestLayout::new(version, content, &parsed(&self.schema)?, &spec, entries)
    }
}

#[pyfunction]
pub fn iceberg_write_manifest(
    py: Python<'_>,
    entries: &Bound<'_, PyAny>,
    target: Target,
    form: ManifestForm,
    encoding: Encoding,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let reader = caller_stream(entries)?;
    write_into(py, target.0, target.1, |sink: &mut dyn Write| {
        let arrow = reader.schema();
        let layout = form.layout(&arrow)?;
        write_manifest(&arrow, reader.map(sent), &layout, sink, encoding.options(limits)?).map(|_| ())
    })
}

/// What Python says of a manifest list that is written.
#[derive(FromPyObject)]
pub struct Header {
    format_version: i32,
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: i64,
    first_row_id: Option<i64>,
}

#[pyfunction]
pub fn iceberg_write_manifest_list(
    py: Python<'_>,
    manifests: &Bound<'_, PyAny>,
    target: Target,
    header: Header,
    encoding: Encoding,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let reader = caller_stream(manifests)?;
    let Header { format_version, snapshot_id, parent_snapshot_id, sequence_number, first_row_id } = header;
    write_into(py, target.0, target.1, |sink: &mut dyn Write| {
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
    target: Target,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let name = if let Some(Sink::Path(path)) = &target.0 { path.clone() } else { String::new() };
    write_into(py, target.0, target.1, |sink: &mut dyn Write| {
        let bytes = metadata_bytes(metadata_text(metadata, limits)?, &name)?;
        Ok(sink.write_all(&bytes)?)
    })
}
