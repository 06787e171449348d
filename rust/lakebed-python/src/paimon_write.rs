//! Writing of `lakebed.paimon`.

use lakebed::Result;
use lakebed::paimon::write::{FileKind, FileOptions, Layout, RecordWriter, schema_file, snapshot_file};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::caller_stream::{caller_stream, sent};
use crate::error::write_error_to_python;
use crate::limits::extract;
use crate::sink::{Encoding, Sink, write_into};

/// A kind of file of records.
#[pyclass(frozen, module = "lakebed._native")]
pub struct PaimonFileKind(FileKind);

#[pymethods]
impl PaimonFileKind {
    #[classattr]
    const MANIFEST: PaimonFileKind = PaimonFileKind(FileKind::Manifest);
    #[classattr]
    const MANIFEST_LIST: PaimonFileKind = PaimonFileKind(FileKind::List);
    #[classattr]
    const INDEX_MANIFEST: PaimonFileKind = PaimonFileKind(FileKind::Index);
}

/// The attributes of Python's `lakebed.paimon.writing.FileOptions`.
#[derive(FromPyObject)]
pub struct Options<'py> {
    layout: String,
    encoding: Encoding,
    overwrite: bool,
    limits: Bound<'py, PyAny>,
}

#[pyfunction]
pub fn paimon_write_records(
    py: Python<'_>,
    kind: &PaimonFileKind,
    data: &Bound<'_, PyAny>,
    sink: Option<Sink>,
    options: Options<'_>,
) -> PyResult<Option<Py<PyBytes>>> {
    let (kind, limits, overwrite) = (kind.0, extract(&options.limits)?, options.overwrite);
    let layout = Layout::named(&options.layout);
    let options = layout.and_then(|layout| Ok(FileOptions::new(layout, options.encoding.options(limits)?)));
    let options = options.map_err(|error| write_error_to_python(py, error))?;
    let batches = caller_stream(data)?;
    write_into(py, sink, overwrite, |sink| {
        let mut writer = RecordWriter::new(sink, kind, options)?;
        for batch in batches {
            writer.write(&sent(batch)?)?;
        }
        writer.finish()?;
        Ok(())
    })
}

#[pyfunction]
pub fn paimon_write_snapshot(
    py: Python<'_>,
    json: &str,
    sink: Option<Sink>,
    overwrite: bool,
) -> PyResult<Option<Py<PyBytes>>> {
    write_json(py, || snapshot_file(json.as_bytes()), sink, overwrite)
}

#[pyfunction]
pub fn paimon_write_schema(
    py: Python<'_>,
    json: &str,
    sink: Option<Sink>,
    overwrite: bool,
) -> PyResult<Option<Py<PyBytes>>> {
    write_json(py, || schema_file(json.as_bytes()), sink, overwrite)
}

fn write_json(
    py: Python<'_>,
    text: impl FnOnce() -> Result<String> + Send,
    sink: Option<Sink>,
    overwrite: bool,
) -> PyResult<Option<Py<PyBytes>>> {
    write_into(py, sink, overwrite, |sink| Ok(sink.write_all(text()?.as_bytes())?))
}
