//! Writing of `lakebed.paimon`.

use lakebed::paimon::write::{FileKind, FileOptions, Layout, RecordWriter, schema_file, snapshot_file};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::caller_stream::{caller_stream, sent};
use crate::error::write_error_to_python;
use crate::limits::extract;
use crate::sink::{Encoding, Sink, write_into};

/// The kind of file with that name in Python.
fn kind_of(name: &str) -> Result<FileKind> {
    match name {
        "manifest" => Ok(FileKind::Manifest),
        "list" => Ok(FileKind::List),
        "index" => Ok(FileKind::Index),
        _ => Err(Error::new(ErrorKind::Argument, format!("unknown kind of file {name:?}"))),
    }
}

#[pyfunction]
#[allow(clippy::too_many_arguments)] // the keywords of `lakebed.paimon.write_manifest`
pub fn paimon_write_records(
    py: Python<'_>,
    kind: &str,
    data: &Bound<'_, PyAny>,
    sink: Option<Sink>,
    layout: &str,
    encoding: Encoding,
    overwrite: bool,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyBytes>>> {
    let limits = extract(limits)?;
    let options =
        || Ok((kind_of(kind)?, FileOptions::new(Layout::named(layout)?, encoding.options(limits)?)));
    let (kind, options) = options().map_err(|error: Error| write_error_to_python(py, error))?;
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
pub fn paimon_write_json(
    py: Python<'_>,
    kind: &str,
    json: &str,
    sink: Option<Sink>,
    overwrite: bool,
) -> PyResult<Option<Py<PyBytes>>> {
    write_into(py, sink, overwrite, |sink| {
        let text = match kind {
            "snapshot" => snapshot_file(json.as_bytes())?,
            "schema" => schema_file(json.as_bytes())?,
            _ => return Err(Error::new(ErrorKind::Argument, format!("unknown kind of file {kind:?}"))),
        };
        Ok(sink.write_all(text.as_bytes())?)
    })
}
